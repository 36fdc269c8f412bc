/**
 * Compares `control.db`, in use, with what its base and the commit log say: a snapshot of it with a file that is made
 * from the two up to the snapshot's number. A snapshot without a difference becomes the next base.
 *
 * Invariants: says nothing where base and log do not lead to the snapshot; what an erasure removed stays in no base:
 * `forget` removes it, and a check that was under way leaves none behind.
 */
import { existsSync, rmSync } from "node:fs"
import { Clock, Data, Effect, Schedule, Semaphore, type Scope } from "effect"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"
import { openWorkerThread, type WorkerThread } from "@muniment/worker/WorkerThread"
import { type ChangeLog, type ChangeLogUnusable, type ControlChange, emptyNumber } from "../ChangeLog.ts"
import { type ControlCopies, controlCopies, notedBase, removeBase } from "./ControlCopies.ts"
import type { ControlReply, ControlStep } from "./ControlCheckWorker.ts"

/** The comparison could not be made now; that says nothing about `control.db`. */
export class ControlUnchecked extends Data.TaggedError("ControlUnchecked")<{ readonly message: string }> {}

export interface ControlVerdict {
  /** Differences, with their tables; empty: none, or nothing to compare with. */
  readonly faults: ReadonlyArray<string>
  /** Base and log led to the snapshot. */
  readonly isCompared: boolean
}

/** A base that is further behind is replaced, before the log drops what leads on from it. */
const baseBehindMax = 2_000
/** Changes that the thread carries out in one step. */
const changesPerStep = 64
/** The steps of one check follow each other; a thread takes some 20 MB of memory. */
const idleMillis = 5_000
/** The log gets a change behind the commit. */
const untilLogged = { schedule: Schedule.spaced(20), times: 250 }

export class ControlCheck {
  readonly #copies: ControlCopies
  readonly #logs: ChangeLog
  readonly #thread: WorkerThread<ControlStep, ControlReply>
  readonly #turn = Semaphore.makeUnsafe(1)
  #erasures = 0

  constructor(dataDirectory: string, logs: ChangeLog, thread: WorkerThread<ControlStep, ControlReply>) {
    this.#copies = controlCopies(dataDirectory)
    this.#logs = logs
    this.#thread = thread
  }

  /** Compares. Findings stay noted until a check finds none, or the next start makes `control.db` again. */
  readonly check: Effect.Effect<ControlVerdict, ControlUnchecked> = Effect.suspend(() =>
    this.#turn.withPermit(Effect.ensuring(this.#check, Effect.ignore(this.#ask({ _tag: "Clear" }))))
  )

  /** Whether a base is missing, or far behind a number. */
  isDue(number: number): boolean {
    const base = notedBase(this.#copies)
    return base === undefined || number - base.number >= baseBehindMax
  }

  /** Milliseconds of the last check that found nothing; undefined: there is no base of one. */
  get checkedAt(): number | undefined {
    return notedBase(this.#copies)?.checkedAt
  }

  /** Removes the base, which has text that is to be erased. */
  readonly forget = (): void => {
    this.#erasures++
    removeBase(this.#copies)
  }

  get #check(): Effect.Effect<ControlVerdict, ControlUnchecked> {
    return Effect.gen({ self: this }, function* () {
      const erasures = this.#erasures
      const taken = yield* this.#ask({ _tag: "Snapshot" })
      const verdict = taken.faults.length > 0 ? { ...taken, isCompared: false } : yield* this.#compare(taken.number)
      const { faults, isCompared } = verdict
      if (faults.length > 0) replacePrivateFile(this.#copies.damaged, `${JSON.stringify(faults)}\n`)
      else if (isCompared) rmSync(this.#copies.damaged, { force: true })
      // Earlier findings that cannot be compared any more must not become the measure.
      if (!existsSync(this.#copies.damaged)) yield* this.#adopt(erasures)
      return { faults, isCompared }
    })
  }

  #adopt(erasures: number): Effect.Effect<void, ControlUnchecked> {
    return Effect.gen({ self: this }, function* () {
      if (this.#erasures === erasures) yield* this.#ask({ _tag: "Adopt", checkedAt: yield* Clock.currentTimeMillis })
      if (this.#erasures !== erasures) removeBase(this.#copies)
    })
  }

  #compare(number: number): Effect.Effect<ControlVerdict, ControlUnchecked> {
    return Effect.gen({ self: this }, function* () {
      const { number: from } = yield* this.#ask({ _tag: "Base" })
      if (from === 0 && notedBase(this.#copies) !== undefined)
        yield* Effect.logError("the base of control.db was damaged and is made anew")
      const changes = (yield* this.#changes(from, number)).filter((change) => change.number <= number)
      const isFromEmpty = changes[0]?.number === emptyNumber && changes[0].changes === "base"
      if (from === 0 && !isFromEmpty) return { faults: [], isCompared: false }
      yield* this.#ask({ _tag: "Begin", from })
      let reached = Math.max(from, emptyNumber)
      for (let at = 0; at < changes.length && reached > 0; at += changesPerStep)
        reached = (yield* this.#ask({ _tag: "Follow", changes: changes.slice(at, at + changesPerStep) })).number
      if (reached !== number) return { faults: [], isCompared: false }
      return { faults: (yield* this.#ask({ _tag: "Differences" })).faults, isCompared: true }
    })
  }

  #changes(behind: number, through: number): Effect.Effect<ReadonlyArray<ControlChange>, ControlUnchecked> {
    return Effect.gen({ self: this }, function* () {
      const log = yield* this.#logs.current
      const isThere = Effect.map(log.newest, (newest) => (newest?.number ?? 0) >= through)
      if (!(yield* Effect.repeat(isThere, { ...untilLogged, until: (is) => is })))
        return yield* new ControlUnchecked({ message: "the commit log has not taken all changes yet" })
      return yield* log.behind(behind)
    }).pipe(
      Effect.catchTag("ChangeLogUnusable", ({ message }: ChangeLogUnusable) =>
        Effect.fail(new ControlUnchecked({ message }))
      )
    )
  }

  #ask(step: ControlStep): Effect.Effect<ControlReply, ControlUnchecked> {
    return this.#thread.ask(step).pipe(
      Effect.mapError(({ message }) => new ControlUnchecked({ message })),
      Effect.flatMap((reply) =>
        reply.failure === undefined
          ? Effect.succeed(reply)
          : Effect.fail(new ControlUnchecked({ message: reply.failure }))
      )
    )
  }
}

export const openControlCheck = Effect.fnUntraced(function* (
  dataDirectory: string,
  logs: ChangeLog
): Effect.fn.Return<ControlCheck, never, Scope.Scope> {
  const thread = yield* openWorkerThread<ControlStep, ControlReply>({
    name: "control check",
    entry: new URL("./ControlCheckWorker.ts", import.meta.url),
    settings: { dataDirectory },
    concurrency: 1,
    queueMax: Infinity,
    idleMillis
  })
  return new ControlCheck(dataDirectory, logs, thread)
})
