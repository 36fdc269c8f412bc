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
import { Context, Deferred, Effect, Layer, Random, Schedule, type Scope, Semaphore } from "effect"
import {
  ChangeLogUnusable,
  type ControlChange,
  type NewControlChange,
  type OpenChangeLog,
  emptyNumber
} from "@muniment/control/database/ChangeLog"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { controlCopies, type ControlCopies, snapshotNumber } from "@muniment/control/database/check/ControlCopies"
import { type BaseStoreShape, openSnapshotThread, type SnapshotThread } from "../bases/BaseStore.ts"
import type { PostgresLog, Claim } from "../log/PostgresLog.ts"
import type { CopyState, NewCommit } from "@muniment/engine/log/CommitLog"
import { emptyBody, processTag } from "@muniment/engine/log/logFormat"
import type { ReadEntry } from "@muniment/engine/log/RecordReader"
import { Rounds } from "@muniment/worker/Rounds"

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

interface ReplicatedControlOptions {
  /** Folder of this node; an earlier ownership's files in its folder `control` are removed. */
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

/** A base is put into the place of more records than this, or of more bytes. */
const recordsMax = 2_000
const recordBytesMax = 16_777_216
/** Fewer than these the next owner reads in less time than it takes to fetch a new base. */
const handedOverMin = 16

interface SharedControlLogOptions {
  readonly log: PostgresLog
  readonly bases: BaseStoreShape
  readonly copies: ControlCopies
  /** Takes a copy of `control.db` to `copies.snapshot`. */
  readonly snapshots: SnapshotThread
  readonly claim: Claim
  /** Fails when this node is not the owner any more. */
  readonly lost: Deferred.Deferred<never, ChangeLogUnusable>
}

/**
 * The log of `control.db` where several nodes share it: one node owns the tag, every change is in PostgreSQL before its
 * caller goes on, and bases in the `BaseStore` hold what the log no longer has.
 *
 * Invariants: an append that fails, is fenced, or whose outcome is unknown, ends this ownership for good (`lost`); a
 * record that says its changes are only in a base comes after that base; an erasure puts a base without the text in the
 * place of all records and bases that have it.
 */
class SharedControlLog implements OpenChangeLog {
  readonly #options: SharedControlLogOptions
  #state: CopyState
  #isClaim = true
  #ordinal: number
  #baseOrdinal: number
  #bytes = 0
  /** A snapshot lies under one name until it is kept. */
  readonly #line = Semaphore.makeUnsafe(1)

  constructor(options: SharedControlLogOptions) {
    this.#options = options
    this.#state = options.claim.state ?? { epoch: 0, seq: 0 }
    this.#ordinal = options.claim.lastOrdinal
    this.#baseOrdinal = options.claim.base?.ordinal ?? 0
  }

  /** Numbers only. */
  readonly newest = Effect.sync(() =>
    this.#state.seq === 0 ? undefined : { number: this.#state.seq, version: 0, changes: "erased" as const }
  )

  readonly behind: OpenChangeLog["behind"] = (number) =>
    Effect.suspend(() => this.#options.log.tail(controlTag, this.#baseOrdinal)).pipe(
      Effect.map((entries) => entries.map(controlChange).filter((change) => change.number > number)),
      Effect.mapError((cause) => new ChangeLogUnusable({ cause }))
    )

  readonly append = (change: NewControlChange, atMillis: number): Effect.Effect<number, ChangeLogUnusable> =>
    Effect.gen({ self: this }, function* () {
      if (change.changes === "base" && change.number !== emptyNumber) yield* this.publishBase
      const commit = controlCommit(change, { ...this.#state, isClaim: this.#isClaim }, atMillis)
      const { ordinal } = yield* Effect.mapError(this.#options.log.append(commit), unusable)
      this.#state = { epoch: this.#state.epoch + (this.#isClaim ? 1 : 0), seq: change.number }
      this.#isClaim = false
      this.#ordinal = ordinal
      this.#bytes += change.changes.length
      return ordinal
    }).pipe(this.#ending)

  /** Appended changes are durable. */
  readonly syncedOrdinal = (): number => this.#ordinal

  readonly erase = (): Effect.Effect<void, ChangeLogUnusable> => this.publishBase

  /** The file is a copy of this node: what it holds is no reason to forget anything. */
  readonly settled = (): Effect.Effect<void> => Effect.void

  /** Keeps the database as it is now as the base, and drops the records and the base that it covers. */
  readonly publishBase: Effect.Effect<void, ChangeLogUnusable> = Effect.suspend(() =>
    this.#line.withPermit(this.#publish)
  )

  readonly #publish: Effect.Effect<void, ChangeLogUnusable> = Effect.gen({ self: this }, function* () {
    const { bases, copies, log, snapshots } = this.#options
    const ordinal = this.#ordinal
    yield* Effect.mapError(snapshots.ask(copies), unusable)
    const number = yield* Effect.try({ try: () => snapshotNumber(copies), catch: unusable })
    const unique = Math.abs(yield* Random.nextInt).toString(36)
    const name = `control/${this.#state.epoch}-${number}-${unique}`
    yield* Effect.mapError(bases.put(name, copies.snapshot), unusable)
    const old = yield* this.#ending(Effect.mapError(log.rebase(controlTag, ordinal, name), unusable))
    this.#baseOrdinal = ordinal
    this.#bytes = 0
    if (old !== undefined) yield* Effect.mapError(bases.remove(old), unusable)
  })

  /** Publishes a base when the next owner would have much to read. */
  readonly publishIfDue: Effect.Effect<void, ChangeLogUnusable> = Effect.suspend(() =>
    this.#ordinal - this.#baseOrdinal > recordsMax || this.#bytes > recordBytesMax ? this.publishBase : Effect.void
  )

  /** For an owner that leaves and still serves: the next one waits for what it has to read. */
  readonly handOver: Effect.Effect<void> = Effect.suspend(() =>
    this.#ordinal - this.#baseOrdinal < handedOverMin ? Effect.void : this.publishBase
  ).pipe(
    Effect.catch((error) => Effect.logWarning("the next owner of control.db reads the log", { error: error.message }))
  )

  readonly #ending = <A>(step: Effect.Effect<A, ChangeLogUnusable>): Effect.Effect<A, ChangeLogUnusable> =>
    Effect.tapError(step, (error) => Deferred.fail(this.#options.lost, error))
}

const unusable = (cause: unknown) => new ChangeLogUnusable({ cause })

/** Publishes bases while this node owns `control.db`, until the scope closes. */
const publishBases = (log: SharedControlLog): Effect.Effect<void, never, Scope.Scope> =>
  Rounds.add({ name: "bases of control.db", schedule: Schedule.spaced("1 minute"), work: log.publishIfDue })

/**
 * Changes of `control.db` as records of the shared log, where it is one more tag with an owner.
 *
 * No namespace has it.
 */
export const controlTag = processTag

/** Text of a record. Without bytes: earlier changes are only in a base. */
interface Said {
  readonly version: number
  readonly bytes?: number
}

/** `after`: what the log has before it. Its numbers are the sequence numbers of the tag. */
const controlCommit = (
  { changes, number, version }: NewControlChange,
  after: CopyState & { readonly isClaim: boolean },
  atMillis: number
): NewCommit => {
  const said: Said = changes === "base" ? { version } : { version, bytes: changes.byteLength }
  return {
    tag: controlTag,
    epoch: after.epoch,
    fromSeq: after.seq,
    changes: number - after.seq,
    isClaim: after.isClaim,
    atMillis,
    isErasure: false,
    body: { ...emptyBody, text: JSON.stringify(said), vectors: changes === "base" ? [] : [changes] }
  }
}

const controlChange = ({ record: { header, text, vectors } }: ReadEntry): ControlChange => {
  const { bytes, version } = JSON.parse(text) as Said
  const changes = bytes === undefined ? "base" : new Uint8Array(vectors.subarray(0, bytes))
  return { number: header.fromSeq + header.changes, version, changes }
}
