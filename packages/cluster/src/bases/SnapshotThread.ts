/**
 * The thread that takes copies of SQLite files in use, of which bases are made. It loads SQLite alone: the hand-over of a
 * node that leaves waits for its start, and with the modules that open files otherwise that took ten times as long.
 */
import type { Effect, Scope } from "effect"
import { openWorkerThread, type WorkerThread } from "@muniment/worker/WorkerThread"

/** A copy as of one moment, in the place of the last one. */
export interface SnapshotRequest {
  readonly filename: string
  readonly snapshot: string
}

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
