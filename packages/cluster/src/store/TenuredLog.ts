/**
 * The shared log as one open namespace sees it, from the claim of this node until its release.
 *
 * Invariants: an append that is fenced, or whose outcome is unknown, is a `LogFault`: its namespace closes, and its next
 * use claims it anew, on this node or another; an erasure puts a base without the text in the place of all records and of
 * the base that have it.
 */
import { rmSync } from "node:fs"
import { Effect, Random, Semaphore } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { NewCommit } from "@muniment/engine/log/CommitLog"
import { LogFault, type LogError } from "@muniment/engine/log/LogError"
import type { ReadEntry } from "@muniment/engine/log/RecordReader"
import type { CopiedLog } from "@muniment/engine/store/logged/CopyLine"
import { snapshotContent } from "@muniment/engine/store/sqlite/CopyComparison"
import { guarded } from "@muniment/engine/store/sqlite/storeErrorOf"
import type { BaseStoreShape, SnapshotThread } from "../bases/BaseStore.ts"
import type { Claim, PostgresLog } from "../log/PostgresLog.ts"

/** A base is put into the place of more records than this, or of more bytes, when the namespace closes ... */
const recordsAtCloseMax = 64
const bytesAtCloseMax = 262_144
/** ... and of more than this while it is open. */
const recordsMax = 2_000
const bytesMax = 16_777_216

interface TenuredLogOptions {
  readonly log: PostgresLog
  readonly bases: BaseStoreShape
  readonly snapshots: SnapshotThread
  readonly tag: NamespaceTag
  readonly filename: string
  readonly claim: Claim
}

export class TenuredLog implements CopiedLog {
  readonly #options: TenuredLogOptions
  readonly #turn = Semaphore.makeUnsafe(1)
  #records: number
  #bytes = 0

  constructor(options: TenuredLogOptions) {
    this.#options = options
    this.#records = options.claim.lastOrdinal - (options.claim.base?.ordinal ?? 0)
  }

  /** The claim has told the log what there is, and the namespace's scope releases it. */
  readonly attach = (): Effect.Effect<void> => Effect.void
  readonly release = (): Effect.Effect<void> => Effect.void

  readonly append = (commit: NewCommit): Effect.Effect<ReadEntry, LogFault> =>
    Effect.tap(unfenced(this.#options.log.append(commit)), ({ record }) =>
      Effect.sync(() => {
        this.#records++
        this.#bytes += record.header.length
      })
    )

  readonly whenSynced = (): Effect.Effect<void> => Effect.void

  readonly tail = (tag: NamespaceTag, afterOrdinal: number) => this.#options.log.tail(tag, afterOrdinal)

  readonly refuse = (tag: NamespaceTag, ordinal: number): Effect.Effect<void, LogFault> =>
    unfenced(this.#options.log.refuse(tag, ordinal))

  /** Publishes a base; how many records that took out of the log is not known. */
  readonly erase = (): Effect.Effect<number, LogFault> => Effect.as(this.publishBase, 0)

  readonly remove = (tag: NamespaceTag): Effect.Effect<void, LogFault> => unfenced(this.#options.log.remove(tag))

  /** The room of this machine is no matter of the log. */
  readonly isTight = (): boolean => false

  /** Keeps the file as it is now as the base, and drops the records and the base that it covers. */
  get publishBase(): Effect.Effect<void, LogFault> {
    return Effect.gen({ self: this }, function* () {
      const { bases, filename, log, snapshots, tag } = this.#options
      const snapshot = `${filename}.next-base`
      const records = this.#records
      const bytes = this.#bytes
      const unique = Math.abs(yield* Random.nextInt).toString(36)
      const old = yield* Effect.gen(function* () {
        yield* faulting(snapshots.ask({ filename, snapshot }))
        const { epoch, ordinal } = yield* guarded(() => snapshotContent(snapshot)).pipe(faulting)
        const name = `namespaces/${tag}/${epoch}-${ordinal}-${unique}`
        yield* faulting(bases.put(name, snapshot))
        // Without an answer it may count by now; if it does not, the sweep finds it.
        const unused = Effect.ignore(bases.remove(name))
        return yield* unfenced(Effect.tapErrorTag(log.rebase(tag, ordinal, name), "LogFenced", () => unused))
      }).pipe(Effect.ensuring(Effect.sync(() => rmSync(snapshot, { force: true }))))
      this.#records -= records
      this.#bytes -= bytes
      if (old !== undefined) yield* faulting(bases.remove(old))
    }).pipe(this.#turn.withPermit)
  }

  /** Whether the next owner would have much to read. */
  isBaseDue(isClosing: boolean): boolean {
    return isClosing
      ? this.#records > recordsAtCloseMax || this.#bytes > bytesAtCloseMax
      : this.#records > recordsMax || this.#bytes > bytesMax
  }
}

const faulting = <A>(step: Effect.Effect<A, unknown>): Effect.Effect<A, LogFault> =>
  Effect.mapError(step, (cause) => new LogFault({ cause }))

/** To be fenced is normal here: the namespace has moved. */
const unfenced = <A>(step: Effect.Effect<A, LogError>): Effect.Effect<A, LogFault> =>
  Effect.mapError(step, (cause) => (cause._tag === "LogFault" ? cause : new LogFault({ cause })))
