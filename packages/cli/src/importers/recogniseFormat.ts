/** Which product wrote the files of an import, and which of them are its own. */
import { Effect, Stream } from "effect"
import { CommandFailed } from "../CommandFailed.ts"
import type { Columns } from "./csvItems.ts"
import { foreignElements } from "./foreignElements.ts"
import { foreignExports, foreignFormats, type ForeignFormat } from "./foreignFormats.ts"
import type { ImportFile, ImportFiles } from "./ImportFiles.ts"

export interface RecognisedFiles {
  readonly format: ForeignFormat
  readonly files: ReadonlyArray<ImportFile>
  /** Files beside them that are not read. */
  readonly passedOver: number
}

/** Elements of a file that are looked at. */
const elementsMax = 20

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
      // It ends within a value before the first element: the reading of it would say so, were it of this format.
      Effect.catchTag("CommandFailed", () => Effect.succeed(false))
    )
  })
