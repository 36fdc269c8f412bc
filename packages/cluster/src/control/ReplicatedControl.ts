/**
 * `control.db` of a cluster: the node that owns it has the SQLite file, made from the newest base and the log; every change
 * is in PostgreSQL before its caller goes on. Another node claims it when this one has released it, or when its lease has
 * ended, and has all that was acknowledged.
 *
 * Invariant: the owner whose lease has ended, or whose append was fenced or left without an answer, acknowledges nothing
 * more.
 */
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Context, Deferred, Effect, Layer } from "effect"
import type { ChangeLogUnusable } from "@muniment/control/database/ChangeLog"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { controlCopies } from "@muniment/control/database/check/ControlCopies"
import type { BaseStoreShape } from "../bases/BaseStore.ts"
import { openSnapshotThread } from "../bases/SnapshotThread.ts"
import type { PostgresLog } from "../log/PostgresLog.ts"
import { controlTag } from "./controlRecords.ts"
import { publishBases, SharedControlLog } from "./SharedControlLog.ts"

/** This node's ownership of `control.db`. */
export class ControlTenure extends Context.Service<
  ControlTenure,
  {
    /** Fails when it is over: what was acknowledged stays, and nothing more is. */
    readonly lost: Effect.Effect<never, ChangeLogUnusable>
    /** Asked after a look and before its answer. */
    readonly isCurrent: () => boolean
    /** Before a planned end, while it still serves. */
    readonly handOver: Effect.Effect<void>
  }
>()("muniment/cluster/ControlTenure") {}

export interface ReplicatedControlOptions {
  /** Of this node; what an earlier ownership left in its folder `control` is removed. */
  readonly directory: string
  readonly log: PostgresLog
  readonly bases: BaseStoreShape
}

/**
 * Provides `ControlDatabase` and `ControlTenure`; waits until no other node owns it, and gives it back when the scope
 * closes, once the layers above it have ended.
 */
export const replicatedControl = ({ bases, directory, log }: ReplicatedControlOptions) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const claim = yield* Effect.acquireRelease(log.claim(controlTag), () => log.release(controlTag), {
        interruptible: true
      })
      if (claim.state === undefined) yield* log.attach(controlTag, { epoch: 0, seq: 0 })
      const folder = join(directory, "control")
      const files = controlCopies(folder)
      const copies = { ...files, snapshot: `${files.filename}.next-base` }
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (claim.base !== undefined) yield* bases.get(claim.base.object, copies.filename)
      const lost = yield* Deferred.make<never, ChangeLogUnusable>()
      const snapshots = yield* openSnapshotThread("control base")
      const changes = new SharedControlLog({
        log,
        bases,
        copies,
        snapshots,
        claim,
        lost
      })
      return Layer.merge(
        Layer.effectDiscard(
          Effect.gen(function* () {
            // Those who change it have ended before this scope closes: the next owner need not wait for files and threads.
            yield* Effect.addFinalizer(() => log.release(controlTag))
            yield* publishBases(changes)
          })
        ).pipe(Layer.provideMerge(ControlDatabase.layer(folder, { isShared: true, current: Effect.succeed(changes) }))),
        Layer.succeed(ControlTenure, {
          lost: Deferred.await(lost),
          isCurrent: () => log.isCurrent(controlTag),
          handOver: changes.handOver
        })
      )
    })
  )
