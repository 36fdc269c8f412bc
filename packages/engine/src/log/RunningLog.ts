/**
 * The commit log of the process, over its faults: an error of a write or a sync ends a log, and whoever needs the log
 * next opens it anew from its files, as a restart would.
 *
 * Invariants: at most one log of the directory is open; the thread of the one that ended is gone before the next reads
 * its files; whoever holds a log that has ended is told by every use of it, and never writes to the next one.
 */
import { Clock, Effect, Exit, Layer, Scope, Semaphore } from "effect"
import { CommitLog, type LogStatus } from "./CommitLog.ts"
import { type FileLog, type FileLogOptions, openFileLog } from "./FileLog.ts"
import type { LogFault } from "./LogError.ts"

export const fileLogLayer = (options: FileLogOptions): Layer.Layer<CommitLog, LogFault> =>
  Layer.effect(
    CommitLog,
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      return new RunningLog(options, scope, yield* openLife(options, scope))
    })
  )

/** Between two attempts to open it anew: each reads all segments. */
const attemptEveryMillis = 1_000

interface Life {
  readonly log: FileLog
  readonly scope: Scope.Closeable
}

class RunningLog {
  readonly #options: FileLogOptions
  readonly #scope: Scope.Scope
  readonly #turn = Semaphore.makeUnsafe(1)
  #life: Life
  #failed: { readonly atMillis: number; readonly fault: LogFault } | undefined

  constructor(options: FileLogOptions, scope: Scope.Scope, life: Life) {
    this.#options = options
    this.#scope = scope
    this.#life = life
  }

  get current(): Effect.Effect<FileLog, LogFault> {
    return Effect.suspend(() =>
      this.#life.log.isCurrent() ? Effect.succeed(this.#life.log) : this.#turn.withPermit(this.#reopened)
    )
  }

  get status(): Effect.Effect<LogStatus> {
    return Effect.sync(() => this.#life.log.status)
  }

  get #reopened(): Effect.Effect<FileLog, LogFault> {
    return Effect.gen({ self: this }, function* () {
      if (this.#life.log.isCurrent()) return this.#life.log
      const nowMillis = yield* Clock.currentTimeMillis
      if (this.#failed !== undefined && nowMillis - this.#failed.atMillis < attemptEveryMillis)
        return yield* Effect.fail(this.#failed.fault)
      yield* Scope.close(this.#life.scope, Exit.void)
      this.#life = yield* Effect.tapError(openLife(this.#options, this.#scope), (fault) =>
        Effect.sync(() => {
          this.#failed = { atMillis: nowMillis, fault }
        })
      )
      yield* Effect.logWarning("the commit log had ended by an error and is opened anew")
      return this.#life.log
    }).pipe(Effect.uninterruptible)
  }
}

const openLife = (options: FileLogOptions, around: Scope.Scope): Effect.Effect<Life, LogFault> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(around)
    const log = yield* Effect.onError(Scope.provide(openFileLog(options), scope), () => Scope.close(scope, Exit.void))
    return { log, scope }
  })
