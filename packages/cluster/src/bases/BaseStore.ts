/**
 * Port of the namespaces at rest. A base is the SQLite file of a namespace at one sequence number, kept under a name
 * that is never used twice; what is under a name is whole or absent, and never changes.
 */
import { Context, Data, type Effect, type Scope } from "effect"
import { openWorkerThread, type WorkerThread } from "@muniment/worker/WorkerThread"

/** The file before it was packed. */
export interface BaseContent {
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
