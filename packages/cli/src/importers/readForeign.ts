/**
 * Reads another product's export as records, in the order of its files, and counts what it leaves out and why. Finds out
 * first which product wrote the files.
 */
import { Effect, Stream } from "effect"
import { CommandFailed } from "../CommandFailed.ts"
import { makeProgress } from "../Terminal.ts"
import type { Columns } from "./csvItems.ts"
import { type ImportFile, type ImportFiles, foreignElements } from "./foreignElements.ts"
import { foreignExports, foreignFormats, type ForeignFormat } from "./foreignFormats.ts"
import type { ForeignItem, ImportOwner } from "./ForeignItems.ts"

export interface ForeignReading {
  elements: number
  records: number
  /** Records by their kind. */
  readonly kinds: Map<string, number>
  /** Elements that no record was made of, by reason. */
  readonly skipped: Map<string, number>
  /** Fields of elements that records do not have, by name. */
  readonly unkept: Map<string, number>
  /** The first records as they will be stored. */
  readonly first: Array<object>
}

const firstMax = 5

/** Calls `add` with each record as a line of an export, and the number of its element. */
export const readForeign = Effect.fnUntraced(function* <E, R>(
  { files, format }: RecognisedFiles,
  owner: ImportOwner,
  columns: Columns,
  add: (line: string, element: number) => Effect.Effect<void, E, R>
) {
  const reading: ForeignReading = {
    elements: 0,
    records: 0,
    kinds: new Map(),
    skipped: new Map(),
    unkept: new Map(),
    first: []
  }
  let [known, strange] = [0, ""]
  const { expects, isElement, reader } = foreignExports[format]
  const { items, note } = reader()
  const progress = yield* makeProgress("Importing")
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) * (note === undefined ? 1 : 2)
  let readBytes = 0
  const withProgress = (file: ImportFile): ImportFile => ({
    ...file,
    bytes: Stream.tap(file.bytes, (chunk) =>
      progress.update((readBytes += chunk.byteLength), Math.max(totalBytes, readBytes))
    )
  })
  const take = Effect.fnUntraced(function* (item: ForeignItem) {
    if ("skipped" in item) {
      count(reading.skipped, item.skipped)
      if (item.isUnknown === true) strange = item.skipped
      else known++
      return
    }
    for (const name of item.unkept ?? []) count(reading.unkept, name)
    count(reading.kinds, item.record.kind)
    reading.records++
    if (reading.first.length < firstMax) reading.first.push(item.record)
    yield* add(JSON.stringify(item.record), reading.elements)
  })
  if (note !== undefined) {
    for (const file of files) {
      yield* Stream.runForEach(foreignElements(format, withProgress(file), columns), ({ fields }) =>
        Effect.sync(() => typeof fields === "string" || note(fields))
      )
    }
  }
  for (const file of files) {
    yield* Stream.runForEach(foreignElements(format, withProgress(file), columns), ({ fields, isRest, key }) => {
      // Where arrays held the elements, the object around them is none unless it looks like one.
      if (isRest && (typeof fields === "string" || !isElement(fields))) return Effect.void
      reading.elements++
      if (typeof fields === "string") return take({ skipped: fields, isUnknown: true })
      return Effect.forEach(items(owner, fields, key), take, { discard: true })
    })
  }
  if (reading.records > 0 || known > 0) return reading
  const found = reading.elements === 0 ? "nothing like it" : strange
  return yield* new CommandFailed({ reason: `Nothing was imported: expected ${expects}; found ${found}.` })
}, Effect.scoped)

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)

/** Summary of the elements for a person. */
export const readingText = ({ kinds, skipped, unkept }: ForeignReading): string =>
  [
    ...[...kinds].map(([kind, number]) => `kept ${number}: ${kind}`),
    ...[...skipped].map(([reason, number]) => `skipped ${number}: ${reason}`),
    ...[...unkept].map(([name, number]) => `not kept of ${number}: ${name}`)
  ].join("\n")

export interface RecognisedFiles {
  readonly format: ForeignFormat
  readonly files: ReadonlyArray<ImportFile>
  /** Files beside them that are not read. */
  readonly passedOver: number
}

/** Elements of a file that are looked at. */
const elementsMax = 20

/** Which product wrote the files of an import, and which of them are its own. */
export const recogniseFormat = Effect.fnUntraced(function* (
  from: ForeignFormat | "auto",
  given: ImportFiles,
  columns: Columns,
  input: string
) {
  if (from !== "auto") {
    const files = given.isSingle ? given.files : yield* filesOf(from, given.files, columns)
    if (files.length > 0) return recognised(from, files, given)
    return yield* new CommandFailed({
      reason: `No file of ${input} is of ${from}: expected ${foreignExports[from].expects}.`
    })
  }
  const found: Array<RecognisedFiles> = []
  for (const format of foreignFormats) {
    if (found.length > 0 && foreignExports[format].isWeak === true) break
    const files = yield* filesOf(format, given.files, columns, given.isSingle)
    if (files.length > 0) found.push(recognised(format, files, given))
  }
  const [first, ...others] = found
  if (first === undefined) {
    const expected = foreignFormats.map((format) => `  ${format}: ${foreignExports[format].expects}`)
    return yield* new CommandFailed({
      reason: `${input} is of no known form. Expected one of these:\n${expected.join("\n")}`
    })
  }
  if (others.length > 0) {
    const names = found.map(({ files, format }) => `${format} (${files[0]!.path})`)
    return yield* new CommandFailed({
      reason: `${input} holds the exports of several products: ${names.join(", ")}. Say with --from which one is meant.`
    })
  }
  return first
})

const recognised = (format: ForeignFormat, files: ReadonlyArray<ImportFile>, given: ImportFiles): RecognisedFiles => ({
  format,
  files,
  passedOver: given.files.length - files.length
})

/** A file without an ending, such as standard input, may be of any format but those that take every text. */
const filesOf = (format: ForeignFormat, files: ReadonlyArray<ImportFile>, columns: Columns, isSingle = false) =>
  Effect.filter(files, (file) => {
    const { isByPage, isElement, isFile } = foreignExports[format]
    const isNameless = isSingle && isByPage !== true && !/\.\w+$/.test(file.path)
    if (!isFile(file.path) && !isNameless) return Effect.succeed(false)
    return foreignElements(format, file, columns).pipe(
      Stream.take(elementsMax),
      Stream.filter(({ fields }) => typeof fields !== "string" && isElement(fields)),
      Stream.runHead,
      Effect.map((head) => head._tag === "Some"),
      // A file that ends within a value before the first element fails when it is read, if it is of this format.
      Effect.catchTag("CommandFailed", () => Effect.succeed(false))
    )
  })
