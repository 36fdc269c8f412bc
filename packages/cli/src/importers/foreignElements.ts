/** Elements of one file of another product's export, as they come: objects of JSON, lines, rows, or pages. */
import { Effect, Stream } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { CommandFailed } from "../CommandFailed.ts"
import { type Columns, csvLines } from "./csvItems.ts"
import { type Fields, fieldsOf } from "./ForeignFields.ts"
import { foreignExports, type ForeignFormat } from "./foreignFormats.ts"
import type { ImportFile } from "./ImportFiles.ts"
import { JsonElements } from "./JsonElements.ts"

export interface ForeignElement {
  /** A text: why it cannot be read. */
  readonly fields: Fields | string
  /** Name of the array that it stands in. */
  readonly key: string
  /** What is left of an object whose arrays held elements. */
  readonly isRest: boolean
}

export const foreignElements = (
  format: ForeignFormat,
  file: ImportFile,
  columns: Columns
): Stream.Stream<ForeignElement, CommandFailed> => {
  const text = Stream.decodeText(file.bytes)
  const { isByLine, isByPage, pageElements } = foreignExports[format]
  if (format === "csv") return Stream.map(csvLines(text, columns), asElement)
  if (isByPage === true || (pageElements !== undefined && /\.md$/i.test(file.path))) return pages(format, file)
  if (isByLine !== true) return objects(format, text)
  return Stream.unwrap(Effect.map(startsWithObject(text), (isLines) => (isLines ? lines(text) : objects(format, text))))
}

/** Whether the first line is an object; a line that is longer than is looked at counts as one where it begins so. */
const startsWithObject = (text: Stream.Stream<string, CommandFailed>) =>
  text.pipe(
    Stream.scan(
      () => "",
      (head, chunk) => (head + chunk).trimStart()
    ),
    Stream.takeUntil((head) => head.includes("\n") || head.length > headLengthMax),
    Stream.runLast,
    Effect.map((head) => {
      const [first = ""] = (head._tag === "Some" ? head.value : "").split("\n")
      return first.startsWith("{") && (first.length > headLengthMax || typeof parsed(first) !== "string")
    })
  )
const headLengthMax = 1_048_576

const lines = (text: Stream.Stream<string, CommandFailed>) =>
  text.pipe(
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== ""),
    Stream.map((line) => asElement(line.length > Limits.importElementCharactersMax ? undefined : line))
  )

const objects = (format: ForeignFormat, text: Stream.Stream<string, CommandFailed>) =>
  Stream.suspend(() => {
    const elements = new JsonElements(foreignExports[format].isList)
    let count = 0
    const end = Effect.suspend(() =>
      elements.isWhole
        ? Effect.succeed<ReadonlyArray<ForeignElement>>([])
        : Effect.fail(new CommandFailed({ reason: `the file ends within a value, after ${count} elements` }))
    )
    const found = Stream.map(text, (chunk) =>
      elements.push(chunk).map(({ isRest, key, text: one }): ForeignElement => {
        if (!isRest) count++
        return { ...asElement(one), key, isRest }
      })
    )
    return Stream.concat(found, Stream.fromEffect(end)).pipe(Stream.flatMap(Stream.fromIterable))
  })

/** A file whose bytes are no text is no page. */
const pages = (format: ForeignFormat, { bytes, path, sizeBytes }: ImportFile) =>
  Stream.unwrap(
    Effect.gen(function* () {
      if (sizeBytes > Limits.importElementCharactersMax) return Stream.make(asElement(undefined))
      const text = yield* Stream.mkString(Stream.decodeText(bytes))
      const elements = text.includes("\0") ? undefined : foreignExports[format].pageElements?.(path, text)
      const found = elements?.map((fields): ForeignElement => ({ fields, key: "", isRest: false }))
      return Stream.fromIterable(found ?? [{ fields: "a page of another kind", key: "", isRest: false }])
    })
  )

const asElement = (text: string | undefined): ForeignElement => ({
  fields: text === undefined ? "an element that is too long" : parsed(text),
  key: "",
  isRest: false
})

const parsed = (text: string): Fields | string => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? fieldsOf(value) : "no JSON object"
  } catch {
    return "not JSON"
  }
}
