/**
 * Stands in for `@muniment/worker/WorkerThread`: a thread's entry runs in this thread, and answers requests when the
 * simulator gives it a turn. Requests of one thread keep their order.
 */
import { Data, Effect, type Scope } from "effect"
import type { AskOptions, WorkerOptions } from "@muniment/worker/WorkerThread"
import { type Answer, startEntry } from "./InlineEntry.ts"

/** As the real one fails. */
export class WorkerFailure extends Data.TaggedError("WorkerFailure")<{
  readonly reason: "failed" | "closed"
  readonly detail: string
}> {
  override get message(): string {
    return this.detail
  }
}

interface Waiting {
  readonly request: unknown
  readonly resume: (result: Effect.Effect<unknown, WorkerFailure>) => void
}

/** Threads that are open, in the order of their opening. */
export const inlineThreads: Array<WorkerThread<unknown, unknown>> = []

export const openWorkerThread = <Request, Reply>(
  options: WorkerOptions
): Effect.Effect<WorkerThread<Request, Reply>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const thread = new WorkerThread<Request, Reply>(options)
      inlineThreads.push(thread as WorkerThread<unknown, unknown>)
      return thread
    }),
    (thread) => thread.close
  )

export class WorkerThread<Request, Reply> {
  readonly name: string
  readonly #options: WorkerOptions
  readonly #waiting: Array<Waiting> = []
  #answer: Answer | undefined
  #isClosed = false

  constructor(options: WorkerOptions) {
    this.name = options.name
    this.#options = options
  }

  readonly start: Effect.Effect<void> = Effect.void
  readonly isRunning = true
  readonly end: Effect.Effect<void> = Effect.void
  readonly ended: Effect.Effect<void> = Effect.void
  readonly endIfIdle: Effect.Effect<void> = Effect.void

  get waiting(): number {
    return this.#waiting.length
  }

  ask(request: Request, _options: AskOptions = {}): Effect.Effect<Reply, WorkerFailure> {
    return Effect.callback((resume) => {
      if (this.#isClosed) resume(Effect.fail(new WorkerFailure({ reason: "closed", detail: "the thread is closed" })))
      else this.#waiting.push({ request, resume: resume as Waiting["resume"] })
    })
  }

  /** Works on the first requests; more than one only if the entry takes them together. */
  async turn(count: number): Promise<void> {
    this.#answer ??= await startEntry(this.#options.entry, this.#options.settings)
    await Promise.all(this.#waiting.splice(0, count).map((one) => this.#respond(one)))
  }

  get close(): Effect.Effect<void> {
    return Effect.sync(() => {
      this.#isClosed = true
      const at = inlineThreads.indexOf(this as WorkerThread<unknown, unknown>)
      if (at >= 0) inlineThreads.splice(at, 1)
      for (const { resume } of this.#waiting.splice(0))
        resume(Effect.fail(new WorkerFailure({ reason: "closed", detail: "the thread is closed" })))
    })
  }

  async #respond({ request, resume }: Waiting): Promise<void> {
    try {
      resume(Effect.succeed(await this.#answer?.(request)))
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause)
      resume(Effect.fail(new WorkerFailure({ reason: "failed", detail })))
    }
  }
}
