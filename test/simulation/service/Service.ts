/** One life of the service: engine and store over one directory, from its start to its crash. */
import { Cause, Clock, type Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import { join } from "node:path"
import { exactOnly } from "../../support/EngineFixtures.ts"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { CommitLog } from "@muniment/engine/log/CommitLog"
import { openFileLog } from "@muniment/engine/log/FileLog"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { logFirstStore } from "@muniment/engine/store/logged/LogFirstStore"
import { inlineThreads } from "./InlineThread.ts"
import type { SimulatedClock } from "./SimulatedClock.ts"

export type Served = NamespaceHost | MemorySearch

/** Small, so that a run passes from one segment to the next. */
const segmentBytes = 32_768
/** Rounds of the event loop after which nothing runs any more that needs neither a thread's turn nor time. */
const rounds = 6
/** Of the few calls of `node:fs/promises` that go to the real disk: how long they take is up to the machine. */
const callsToDisk: ReadonlySet<string> = new Set(["FSReqPromise", "CloseReq"])

export const settle = async (): Promise<void> => {
  for (let quiet = 0; quiet < rounds; quiet++) {
    await new Promise<void>((done) => setImmediate(done))
    const underWay = process.getActiveResourcesInfo()
    if (underWay.some((kind) => callsToDisk.has(kind))) quiet = -1
    else if (!underWay.includes("Immediate")) return
  }
}

const logLayer = (directory: string): Layer.Layer<CommitLog> =>
  Layer.effect(
    CommitLog,
    Effect.map(Effect.orDie(openFileLog({ directory: join(directory, "log"), segmentBytes })), (log) => ({
      current: Effect.succeed(log),
      status: Effect.sync(() => log.status)
    }))
  )

const layerOf = (directory: string) =>
  MemorySearch.layer.pipe(
    Layer.provideMerge(NamespaceHost.layer({ dataDirectory: directory, index: exactOnly })),
    Layer.provide(logFirstStore(directory)),
    Layer.provide(logLayer(directory)),
    Layer.fresh
  )

const noLoggers = new Set<Logger.Logger<unknown, unknown>>()

export class Service {
  readonly directory: string
  readonly #clock: SimulatedClock
  readonly #scope = Scope.makeUnsafe()
  #context: Context.Context<Served> | undefined

  constructor(directory: string, clock: SimulatedClock) {
    this.directory = directory
    this.#clock = clock
  }

  get logDirectory(): string {
    return join(this.directory, "log")
  }

  get start(): Promise<void> {
    const built = Layer.buildWithScope(layerOf(this.directory), this.#scope)
    return this.#promise(built).then((context) => {
      this.#context = context
    })
  }

  run<A, E>(use: Effect.Effect<A, E, Served>): Promise<Exit.Exit<A, E>> {
    const context = this.#context
    if (context === undefined) throw new Error("the service has not started")
    return this.#promise(Effect.exit(Effect.provide(use, context)))
  }

  /** Ends what is left of a process whose files are gone. */
  get bury(): Promise<void> {
    return this.#promise(Effect.ignore(Scope.close(this.#scope, Exit.void)))
  }

  #promise<A, E>(effect: Effect.Effect<A, E>): Promise<A> {
    // Not by `Logger.layer`: every request would build it.
    const quiet = Effect.provideService(effect, Logger.CurrentLoggers, noLoggers)
    return Effect.runPromise(Effect.provideService(quiet, Clock.Clock, this.#clock))
  }
}

/** Threads that have something to do. */
export const busyThreads = () => inlineThreads.filter(({ waiting }) => waiting > 0)

/** The tag of a failure that is answered, or "defect". */
export const failureOf = <A, E>(exit: Exit.Exit<A, E>): string | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const failed = exit.cause.reasons.find(Cause.isFailReason)
  const error: unknown = failed?.error
  return typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : "defect"
}
