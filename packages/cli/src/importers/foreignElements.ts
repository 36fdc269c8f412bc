/**
 * Elements of one file of another product's export, as they come: objects of JSON, lines, rows, or pages. No more than
 * one element of a file is kept at a time.
 */
import { Effect, Stream } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { CommandFailed } from "../CommandFailed.ts"
import { type Columns, csvLines } from "./csvItems.ts"
import { type Fields, fieldsOf } from "./ForeignFields.ts"
import { foreignExports, type ForeignFormat } from "./foreignFormats.ts"
import type { ImportFile } from "./ImportFiles.ts"

export interface ForeignElement {
  /** A text: why it cannot be read. */
  readonly fields: Fields | string
  /** Name of the array that it stands in. */
  readonly key: string
  /** The rest of an object whose arrays held elements. */
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

interface JsonElement {
  /** Name of the array in the object at the root; empty otherwise. */
  readonly key: string
  /** Undefined: it is longer than the bound. */
  readonly text: string | undefined
  /** The rest of an object at the root whose arrays held elements. */
  readonly isRest: boolean
}

/**
 * The objects of a large JSON text one by one, out of chunks of it: those of an array at its root, those of the arrays
 * that an object at its root holds, with the key of theirs, and each object at the root itself, without what was taken
 * from its arrays. So an array, an object of arrays and lines of objects (JSONL) are read alike.
 *
 * Invariant: keeps no more than one element and the object around it, each at most
 * `Limits.importElementCharactersMax` long.
 */
export class JsonElements {
  readonly #isSplit: (key: string) => boolean
  #path: Array<"{" | "["> = []
  #isString = false
  #isEscaped = false
  #string = ""
  #key = ""
  /** Depth at which the element under way began; -1: none. */
  #depth = -1
  readonly #element = new BoundedText()
  readonly #rest = new BoundedText()
  #hasElements = false
  /** The array around had an element: what stands between its elements is no part of the rest. */
  #isInElements = false

  /** `isSplit`: whether the array of this name, in an object at the root, holds elements; else it stays in the rest. */
  constructor(isSplit: (key: string) => boolean = () => true) {
    this.#isSplit = isSplit
  }

  push(chunk: string): ReadonlyArray<JsonElement> {
    const found: Array<JsonElement> = []
    let from = 0
    const keep = (to: number): void => {
      const part = chunk.slice(from, to)
      if (this.#depth >= 0) this.#element.add(part)
      else if (!this.#isInElements && this.#path[0] === "{") this.#rest.add(part)
      from = to
    }
    for (let at = 0; at < chunk.length; at++) {
      const character = chunk[at]!
      if (this.#isString) {
        this.#inString(character)
        continue
      }
      if (character === '"') {
        this.#isString = true
        this.#string = ""
      } else if (character === ":" && this.#path.length === 1) this.#key = this.#string
      else if (character === "{" || character === "[") {
        if (this.#depth < 0 && character === "{" && this.#isElement()) {
          keep(at)
          this.#isInElements = this.#hasElements = true
          this.#depth = this.#path.length
        } else if (this.#path.length === 0) from = at
        this.#path.push(character)
      } else if (character === "}" || character === "]") {
        if (this.#isInElements && this.#depth < 0) {
          this.#isInElements = false
          from = at
        }
        if (this.#path.length === 1) keep(at + 1)
        const opened = this.#path.pop()
        if (this.#path.length === this.#depth) {
          keep(at + 1)
          this.#depth = -1
          found.push({ key: this.#path.length === 2 ? this.#key : "", text: this.#element.take(), isRest: false })
        } else if (this.#path.length === 0) {
          const text = this.#rest.take()
          if (opened === "{") found.push({ key: "", text, isRest: this.#hasElements })
          this.#hasElements = false
        }
      }
    }
    keep(chunk.length)
    return found
  }

  /** Whether the text has ended where a JSON value may. */
  get isWhole(): boolean {
    return this.#path.length === 0 && !this.#isString
  }

  #isElement(): boolean {
    if (this.#path.at(-1) !== "[" || this.#path.length > 2) return false
    return this.#path.length === 1 || (this.#path[0] === "{" && this.#isSplit(this.#key))
  }

  #inString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (character === "\\") this.#isEscaped = true
    else if (character === '"') {
      this.#isString = false
      return
    }
    if (this.#path.length === 1) this.#string += character
  }
}

class BoundedText {
  #parts: Array<string> = []
  #length = 0

  add(part: string): void {
    this.#length += part.length
    if (this.#length > Limits.importElementCharactersMax) this.#parts = []
    else this.#parts.push(part)
  }

  /** Undefined: it was longer than the bound. */
  take(): string | undefined {
    const text = this.#length > Limits.importElementCharactersMax ? undefined : this.#parts.join("")
    this.#parts = []
    this.#length = 0
    return text
  }
}
