/**
 * Elements of one file of another product's export, as they come: objects of JSON, lines, rows, or pages. No more than
 * one element of a file is kept at a time.
 */
import { Effect, FileSystem, Stdio, Stream } from "effect"
import { fromReadable } from "@effect/platform-node/NodeStream"
import { openPromise, type Entry, type ZipFile } from "yauzl"
import { basename, join } from "node:path"
import { Limits } from "@muniment/domain/Limits"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { type Columns, csvLines } from "./csvItems.ts"
import { type Fields, fieldsOf } from "./ForeignItems.ts"
import { foreignExports, type ForeignFormat } from "./foreignFormats.ts"

interface ForeignElement {
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

export interface ImportFile {
  /** Path below the folder or in the zip, with slashes. */
  readonly path: string
  readonly sizeBytes: number
  readonly bytes: Stream.Stream<Uint8Array, CommandFailed>
}

/**
 * Files of an import: one file, those of a folder with all below it, or those of a zip, also of zips in the folder. Each
 * can be read several times; standard input is kept in a temporary file for that, until the scope ends.
 */
export interface ImportFiles {
  readonly files: ReadonlyArray<ImportFile>
  /** A file that was named itself is read as what the caller says that it is. */
  readonly isSingle: boolean
}

export const importFiles = Effect.fnUntraced(function* (input: string) {
  const disk = yield* FileSystem.FileSystem
  if (input === "-") {
    const spooled = join(yield* disk.makeTempDirectoryScoped(), "standard input")
    yield* Stream.run((yield* Stdio.Stdio).stdin, disk.sink(spooled))
    return yield* filesOf(spooled, "standard input")
  }
  if (!(yield* disk.exists(input))) return yield* new CommandFailed({ reason: `There is no file or folder ${input}.` })
  return yield* filesOf(input, basename(input))
}, Effect.mapError(commandFailed))

const filesOf = Effect.fnUntraced(function* (path: string, name: string) {
  const disk = yield* FileSystem.FileSystem
  const { size, type } = yield* disk.stat(path)
  if (type === "Directory") return { files: yield* filesIn(path), isSingle: false } satisfies ImportFiles
  if (yield* isZip(path)) return { files: yield* filesInZip(path, ""), isSingle: false }
  return { files: [fileAt(disk, path, name, Number(size))], isSingle: true }
})

const fileAt = (disk: FileSystem.FileSystem, path: string, name: string, sizeBytes: number): ImportFile => ({
  path: name,
  sizeBytes,
  bytes: Stream.mapError(disk.stream(path), commandFailed)
})

/** Folders whose files no person has written as notes. */
const passedFolder = /(?:^|\/)(?:\.git|node_modules|__MACOSX)(?:\/|$)/

const filesIn = Effect.fnUntraced(function* (folder: string) {
  const disk = yield* FileSystem.FileSystem
  const names = (yield* disk.readDirectory(folder, { recursive: true })).map((name) => name.replaceAll("\\", "/"))
  const files: Array<ImportFile> = []
  for (const name of names.filter((one) => !passedFolder.test(one)).toSorted()) {
    const path = join(folder, name)
    const { size, type } = yield* disk.stat(path)
    if (type !== "File") continue
    if (/\.zip$/i.test(name)) files.push(...(yield* filesInZip(path, `${name}/`)))
    else files.push(fileAt(disk, path, name, Number(size)))
  }
  return files
})

const isZip = Effect.fnUntraced(function* (path: string) {
  if (/\.zip$/i.test(path)) return true
  const disk = yield* FileSystem.FileSystem
  const head = yield* Stream.runHead(disk.stream(path, { bytesToRead: 4 }))
  return head._tag === "Some" && Buffer.from(head.value).toString("latin1").startsWith("PK\u0003\u0004")
})

const filesInZip = Effect.fnUntraced(function* (path: string, place: string) {
  const failed = (cause: unknown) =>
    new CommandFailed({ reason: `${path} cannot be read as a zip: ${commandFailed(cause).reason}` })
  const zip = yield* Effect.acquireRelease(
    Effect.tryPromise({ try: () => openPromise(path, { autoClose: false }), catch: failed }),
    (opened) => Effect.sync(() => opened.close())
  )
  const entries = yield* Effect.tryPromise({ try: () => entriesOf(zip), catch: failed })
  return entries
    .filter(({ fileName }) => !fileName.endsWith("/") && !passedFolder.test(fileName))
    .map((entry): ImportFile => ({
      path: `${place}${entry.fileName}`,
      sizeBytes: entry.uncompressedSize,
      bytes: Stream.unwrap(
        Effect.map(Effect.tryPromise({ try: () => zip.openReadStreamPromise(entry), catch: failed }), (readable) =>
          fromReadable<Uint8Array, CommandFailed>({ evaluate: () => readable, onError: failed })
        )
      )
    }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
})

const entriesOf = async (zip: ZipFile): Promise<ReadonlyArray<Entry>> => {
  const entries: Array<Entry> = []
  for await (const entry of zip.eachEntry()) entries.push(entry)
  return entries
}
