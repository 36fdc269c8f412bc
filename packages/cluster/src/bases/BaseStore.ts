/**
 * Port of the namespaces at rest. A base is the SQLite file of a namespace at one sequence number, kept under a name
 * that is never used twice; what is under a name is whole or absent, and never changes.
 */
import { Context, Data, Effect, Layer, Schema, type Scope } from "effect"
import { createHash } from "node:crypto"
import { type FileHandle, open, rename, rm } from "node:fs/promises"
import { promisify } from "node:util"
import { zstdCompress, zstdDecompress } from "node:zlib"
import { openWorkerThread, type WorkerThread } from "@muniment/worker/WorkerThread"
import type { BackupTarget } from "@muniment/backup/BackupStore"

/** The file before it was packed. */
interface BaseContent {
  readonly bytes: number
  /** Hex. */
  readonly sha256: string
}

export interface BaseStoreShape {
  /** Keeps the file. Names are parts of letters, digits, `_`, `-` and `.`, with `/` between them. */
  readonly put: (name: string, file: string) => Effect.Effect<BaseContent, BaseExists | BaseFault>
  /** Writes the base to `file`, which appears whole or not at all; it is not synced: a node throws its copies away. */
  readonly get: (name: string, file: string) => Effect.Effect<BaseContent, BaseAbsent | BaseDamaged | BaseFault>
  /** Names that begin with the prefix, ascending; also of bases that are not whole. */
  readonly list: (prefix: string) => Effect.Effect<ReadonlyArray<string>, BaseFault>
  /** Nothing under the name is no failure. */
  readonly remove: (name: string) => Effect.Effect<void, BaseFault>
}

export class BaseStore extends Context.Service<BaseStore, BaseStoreShape>()("muniment/cluster/BaseStore") {}

/** The name is taken; what is there stays. */
export class BaseExists extends Data.TaggedError("BaseExists")<{ readonly name: string }> {}

/** There is no base of the name. */
export class BaseAbsent extends Data.TaggedError("BaseAbsent")<{ readonly name: string }> {}

/** The object kept under the name is not the one that was put there. */
export class BaseDamaged extends Data.TaggedError("BaseDamaged")<{ readonly name: string; readonly reason: string }> {
  override get message(): string {
    return `base ${this.name} is damaged: ${this.reason}`
  }
}

/** The store refuses or does not answer, or the local file cannot be read or written. */
export class BaseFault extends Data.TaggedError("BaseFault")<{ readonly name: string; readonly cause: unknown }> {
  override get message(): string {
    return `base ${this.name}: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

/** A copy as of one moment, in the place of the last one. */
export interface SnapshotRequest {
  readonly filename: string
  readonly snapshot: string
}

/**
 * The thread that takes copies of SQLite files in use, of which bases are made. It loads SQLite alone: the hand-over of a
 * node that leaves waits for its start, and with the modules that open files otherwise that took ten times as long.
 */
export type SnapshotThread = WorkerThread<SnapshotRequest, void>

const idleMillis = 60_000

/** `name`: in failures and in the log. */
export const openSnapshotThread = (name: string): Effect.Effect<SnapshotThread, never, Scope.Scope> =>
  openWorkerThread({
    name,
    entry: new URL("./SnapshotWorker.ts", import.meta.url),
    concurrency: 1,
    queueMax: Infinity,
    idleMillis
  })

/**
 * Bases in a folder or a bucket, as objects of a backup's target: the file in parts of 8 MiB, each packed with
 * Zstandard, and a list of them that is written last and removed first.
 *
 * Invariants: a base exists if its list does; a list names parts that are all there; at most one part is in memory.
 */
const partBytes = 8_388_608
const listFormat = 1

const BaseList = Schema.fromJsonString(
  Schema.Struct({
    format: Schema.Literal(listFormat),
    bytes: Schema.Int,
    sha256: Schema.String,
    parts: Schema.Int
  })
)
type BaseList = typeof BaseList.Type

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

export const packedBases = (target: BackupTarget): Layer.Layer<BaseStore> => {
  const bases = new PackedBases(target)
  return Layer.succeed(BaseStore, { put: bases.put, get: bases.get, list: bases.list, remove: bases.remove })
}

class PackedBases {
  readonly #target: BackupTarget

  constructor(target: BackupTarget) {
    this.#target = target
  }

  readonly put = (name: string, file: string): Effect.Effect<BaseContent, BaseExists | BaseFault> =>
    Effect.gen({ self: this }, function* () {
      yield* checkName(name)
      const known = yield* this.#asked(name, this.#target.get(listName(name)))
      if (known !== undefined) return yield* new BaseExists({ name })
      const source = yield* opened(name, file, "r")
      const digest = createHash("sha256")
      let bytes = 0
      let parts = 0
      while (true) {
        const part = yield* attempt(name, () => readPart(source, bytes))
        if (part.byteLength === 0) break
        digest.update(part)
        bytes += part.byteLength
        const packed = yield* attempt(name, () => compress(part))
        yield* this.#asked(name, this.#target.put(partName(name, parts++), packed))
      }
      const content = { bytes, sha256: digest.digest("hex") }
      const list = JSON.stringify({ format: listFormat, ...content, parts })
      yield* this.#asked(name, this.#target.put(listName(name), Buffer.from(list)))
      return content
    }).pipe(Effect.scoped)

  readonly get = (name: string, file: string): Effect.Effect<BaseContent, BaseAbsent | BaseDamaged | BaseFault> =>
    Effect.gen({ self: this }, function* () {
      const { bytes, parts, sha256 } = yield* this.#listOf(name)
      const aside = `${file}.new`
      yield* Effect.addFinalizer(() => Effect.ignore(attempt(name, () => rm(aside, { force: true }))))
      const copy = yield* opened(name, aside, "w")
      const digest = createHash("sha256")
      let written = 0
      for (let at = 0; at < parts; at++) {
        const part = yield* this.#partOf(name, at)
        digest.update(part)
        yield* attempt(name, () => writePart(copy, part, written))
        written += part.byteLength
      }
      if (written !== bytes || digest.digest("hex") !== sha256)
        return yield* new BaseDamaged({ name, reason: "its bytes are not those that its list names" })
      yield* attempt(name, () => rename(aside, file))
      return { bytes, sha256 }
    }).pipe(Effect.scoped)

  readonly list = (prefix: string): Effect.Effect<ReadonlyArray<string>, BaseFault> =>
    Effect.map(this.#asked(prefix, this.#target.list(prefix)), (objects) => [
      ...new Set(objects.map((object) => object.slice(0, Math.max(0, object.lastIndexOf("/")))))
    ])

  readonly remove = (name: string): Effect.Effect<void, BaseFault> =>
    Effect.gen({ self: this }, function* () {
      yield* checkName(name)
      yield* this.#asked(name, this.#target.remove(listName(name)))
      const left = yield* this.#asked(name, this.#target.list(`${name}/`))
      for (const one of left) yield* this.#asked(name, this.#target.remove(one))
    })

  #listOf(name: string): Effect.Effect<BaseList, BaseAbsent | BaseDamaged | BaseFault> {
    return Effect.gen({ self: this }, function* () {
      yield* checkName(name)
      const found = yield* this.#asked(name, this.#target.get(listName(name)))
      if (found === undefined) return yield* new BaseAbsent({ name })
      return yield* Effect.mapError(
        Schema.decodeEffect(BaseList)(Buffer.from(found).toString("utf8")),
        () => new BaseDamaged({ name, reason: "its list cannot be read" })
      )
    })
  }

  #partOf(name: string, at: number): Effect.Effect<Buffer, BaseDamaged | BaseFault> {
    return Effect.gen({ self: this }, function* () {
      const packed = yield* this.#asked(name, this.#target.get(partName(name, at)))
      if (packed === undefined) return yield* new BaseDamaged({ name, reason: `part ${at} is missing` })
      return yield* Effect.tryPromise({
        try: () => decompress(packed, { maxOutputLength: partBytes }),
        catch: () => new BaseDamaged({ name, reason: `part ${at} cannot be unpacked` })
      })
    })
  }

  #asked<A, E>(name: string, answer: Effect.Effect<A, E>): Effect.Effect<A, BaseFault> {
    return Effect.mapError(answer, (cause) => new BaseFault({ name, cause }))
  }
}

const namePattern = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/
const listName = (name: string): string => `${name}/list`
const partName = (name: string, at: number): string => `${name}/${at}`

const checkName = (name: string): Effect.Effect<void, BaseFault> =>
  namePattern.test(name)
    ? Effect.void
    : Effect.fail(new BaseFault({ name, cause: new RangeError("this is no name of a base") }))

const attempt = <A>(name: string, step: () => Promise<A>): Effect.Effect<A, BaseFault> =>
  Effect.tryPromise({ try: step, catch: (cause) => new BaseFault({ name, cause }) })

const opened = (name: string, file: string, flags: "r" | "w"): Effect.Effect<FileHandle, BaseFault, Scope.Scope> =>
  Effect.acquireRelease(
    attempt(name, () => open(file, flags, 0o600)),
    (handle) => Effect.ignore(attempt(name, () => handle.close()))
  )

/** Fewer bytes than a part only at the end of the file. */
const readPart = async (source: FileHandle, at: number): Promise<Buffer> => {
  const part = Buffer.alloc(partBytes)
  let length = 0
  while (length < partBytes) {
    const { bytesRead } = await source.read(part, length, partBytes - length, at + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return part.subarray(0, length)
}

const writePart = async (target: FileHandle, part: Buffer, at: number): Promise<void> => {
  for (let done = 0; done < part.byteLength;) {
    const { bytesWritten } = await target.write(part, done, part.byteLength - done, at + done)
    done += bytesWritten
  }
}
