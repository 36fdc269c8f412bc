/**
 * Files of an import: one file, those of a folder with all below it, or those of a zip, also of zips in the folder. Each
 * can be read several times; standard input is kept in a temporary file for that, until the scope ends.
 */
import { fromReadable } from "@effect/platform-node/NodeStream"
import { Effect, FileSystem, Stdio, Stream } from "effect"
import { basename, join } from "node:path"
import { openPromise, type Entry, type ZipFile } from "yauzl"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"

export interface ImportFile {
  /** Path below the folder or in the zip, with slashes. */
  readonly path: string
  readonly sizeBytes: number
  readonly bytes: Stream.Stream<Uint8Array, CommandFailed>
}

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
