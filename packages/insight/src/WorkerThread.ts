/**
 * A worker thread for one kind of work, that starts with its first task and ends when it has idled: no
 * environment, a capped heap, and an end by force when the signal of the task at work is aborted. Closing
 * the scope destroys it, and what is under way fails.
 */
import { Effect, type Scope } from "effect"
import { Piscina } from "piscina"

export interface WorkerThreadOptions {
  /** The module whose default export takes a task. */
  readonly entry: URL
  /** Tasks that wait; one more is at work. Callers keep to it too: the pool counts no task while its thread starts. */
  readonly queueMax: number
  readonly idleMillis: number
  readonly heapMegabytesMax: number
  readonly youngHeapMegabytesMax?: number
  readonly stackMegabytes: number
}

export const openWorkerThread = <Task, Answer>(
  options: WorkerThreadOptions
): Effect.Effect<Piscina<Task, Answer>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => startThread<Task, Answer>(options)),
    (started) => Effect.promise(() => started.destroy())
  )

const startThread = <Task, Answer>(options: WorkerThreadOptions): Piscina<Task, Answer> =>
  new Piscina<Task, Answer>({
    filename: options.entry.href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: options.idleMillis,
    maxQueue: options.queueMax + 1,
    env: {},
    execArgv: [],
    resourceLimits: {
      maxOldGenerationSizeMb: options.heapMegabytesMax,
      stackSizeMb: options.stackMegabytes,
      ...(options.youngHeapMegabytesMax !== undefined && { maxYoungGenerationSizeMb: options.youngHeapMegabytesMax })
    }
  })
