/**
 * One worker thread that answers requests: bounded queue, deadline, heap cap, restart. All threads of the service
 * are made here: commits, embedding, schema validation, rules and maps. The thread's side is `WorkerEntry.ts`.
 *
 * Invariants:
 * - Sent in the order of `ask`, urgent requests first, at most `concurrency` at a time; the others wait here.
 * - Every request ends once: with its reply, or with a `WorkerFailure`.
 * - A lost thread (deadline, heap, crash) fails what it was working on; what waits, and the next request, get a new
 *   thread. A thread keeps nothing between requests that its entry cannot make again.
 * - Closing the scope ends the thread and waits for its end. An idle thread does not keep the process alive.
 */
import { Data, Deferred, Effect, Option, Queue, Schedule, type Scope } from "effect"
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import { Rounds } from "./Rounds.ts"
import type { FromThread, ThreadData, ToThread } from "./WorkerEntry.ts"

export interface WorkerOptions {
  /** Names the thread in failures and in the log: "commit". */
  readonly name: string
  /** A module that calls `serve`. It gets no environment variables and no flags of the process. */
  readonly entry: URL
  /** Read by the entry with `settingsOf`. */
  readonly settings?: unknown
  /** Requests sent and not answered. */
  readonly concurrency: number
  /** Requests that wait to be sent; one more fails as "busy". */
  readonly queueMax: number
  readonly heapMegabytesMax?: number | undefined
  readonly youngHeapMegabytesMax?: number | undefined
  readonly stackMegabytes?: number | undefined
  /** How far the thread gives way to the others where processors are short, on Linux; default 0. */
  readonly niceness?: number | undefined
  /** The thread ends when it had no request for this long, and at the latest after twice as long. */
  readonly idleMillis?: number | undefined
  /** Interrupting `ask` ends the thread that works on the request, to free the core. Without it the reply is dropped. */
  readonly endsIfAbandoned?: boolean | undefined
  /** The thread is asked to end and given this long; for native code that aborts the process if it is terminated. */
  readonly closeMillisMax?: number | undefined
  /** Called once for each thread that ends, before its requests fail. */
  readonly onLost?: ((failure: WorkerFailure) => void) | undefined
}

export interface AskOptions {
  /** From the request, or from the start of a thread that is not ready yet, to the reply; waiting included. */
  readonly deadlineMillis?: number | undefined
  /**
   * Bound of the thread's processor time for the request, on a thread that works on one at a time. At the deadline the
   * request fails as "starved": whether it would have stayed within the bound is not known.
   */
  readonly cpuMillisMax?: number | undefined
  /** Buffers that are handed over instead of copied. */
  readonly transfer?: ReadonlyArray<ArrayBuffer>
  /** Goes before waiting requests that are not urgent. */
  readonly isUrgent?: boolean
}

export class WorkerFailure extends Data.TaggedError("WorkerFailure")<{
  /** failed: the thread's function threw, and the thread lives on. busy: nothing was sent. Otherwise the thread is gone. */
  readonly reason: "failed" | "busy" | "deadline" | "starved" | "memory" | "crash" | "abandoned" | "idle" | "closed"
  readonly detail: string
}> {
  override get message(): string {
    return this.detail
  }
}

/** After this many urgent requests in a row one of the others is sent. */
const urgentInARowMax = 8
/** Losses that wait for the log; beyond it the oldest are dropped. */
const lossesLoggedMax = 16
/** From its start until the thread is ready, on a machine with no processor time to spare. */
const startMillisMax = 30_000

export const openWorkerThread = Effect.fn("WorkerThread.open")(function* <Request, Reply>(
  options: WorkerOptions
): Effect.fn.Return<WorkerThread<Request, Reply>, never, Scope.Scope> {
  const losses = yield* Queue.sliding<WorkerFailure>(lossesLoggedMax)
  const thread = yield* Effect.acquireRelease(
    Effect.sync(() => new WorkerThread<Request, Reply>(options, (failure) => Queue.offerUnsafe(losses, failure))),
    (opened) => opened.close
  )
  yield* Rounds.each({
    name: "losses of threads",
    take: Queue.take(losses),
    work: ({ detail, reason }) =>
      Effect.logWarning("worker thread lost; the next request starts another", { worker: options.name, reason, detail })
  })
  if (options.idleMillis !== undefined) {
    const schedule = Schedule.spaced(options.idleMillis)
    yield* Rounds.add({ name: "idle threads", schedule, work: thread.endIfIdle, isCut: true })
  }
  return thread
})

/** A request, from `ask` to its end. */
class Entry<Request, Reply> {
  readonly request: Request
  readonly transfer: ReadonlyArray<ArrayBuffer>
  /** Number of the message to the thread; 0 while it waits. */
  id = 0
  /** The thread that works on it; undefined while it waits. */
  life: Life<Request, Reply> | undefined
  result: Effect.Effect<Reply, WorkerFailure> | undefined
  #resume: ((result: Effect.Effect<Reply, WorkerFailure>) => void) | undefined

  constructor(request: Request, transfer: ReadonlyArray<ArrayBuffer>) {
    this.request = request
    this.transfer = transfer
  }

  readonly reply: Effect.Effect<Reply, WorkerFailure> = Effect.callback((resume) => {
    if (this.result !== undefined) resume(this.result)
    else this.#resume = resume
  })

  settle(result: Effect.Effect<Reply, WorkerFailure>): void {
    if (this.result !== undefined) return
    this.result = result
    this.#resume?.(result)
  }
}

/** One thread, from its start to its exit. */
interface Life<Request, Reply> {
  readonly worker: Worker
  readonly port: MessagePort
  readonly begun: BigInt64Array
  readonly ready: Deferred.Deferred<void, WorkerFailure>
  readonly exited: Deferred.Deferred<void>
  readonly underWay: Map<number, Entry<Request, Reply>>
}

export class WorkerThread<Request, Reply> {
  readonly #options: WorkerOptions
  readonly #logLoss: (failure: WorkerFailure) => void
  readonly #waiting: Array<Entry<Request, Reply>> = []
  readonly #urgent: Array<Entry<Request, Reply>> = []
  #urgentInARow = 0
  readonly #lives = new Set<Life<Request, Reply>>()
  #life: Life<Request, Reply> | undefined
  #lastId = 0
  #wasUsed = false
  #isClosed = false

  constructor(options: WorkerOptions, logLoss: (failure: WorkerFailure) => void) {
    this.#options = options
    this.#logLoss = logLoss
  }

  /** Starts the thread if it is not running; succeeds when it is ready. */
  readonly start: Effect.Effect<void, WorkerFailure> = Effect.suspend(() =>
    this.#isClosed ? Effect.fail(this.#failure("closed")) : this.#readiness(this.#life ?? this.#begin())
  )

  ask(
    request: Request,
    { cpuMillisMax, deadlineMillis, isUrgent = false, transfer = [] }: AskOptions = {}
  ): Effect.Effect<Reply, WorkerFailure> {
    return Effect.suspend(() => {
      const entry = new Entry<Request, Reply>(request, transfer)
      this.#enter(entry, isUrgent ? this.#urgent : this.#waiting)
      const bounded = cpuMillisMax === undefined ? entry.reply : this.#inCpuTime(entry, cpuMillisMax)
      const reply =
        deadlineMillis === undefined
          ? bounded
          : this.#inTime(entry, bounded, deadlineMillis, cpuMillisMax === undefined ? "deadline" : "starved")
      return Effect.onInterrupt(reply, () => this.#abandon(entry))
    })
  }

  get isRunning(): boolean {
    return this.#life !== undefined
  }

  /** Ends the thread, and fails what it works on; the next request starts another. */
  get end(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#life === undefined ? Effect.void : this.#end(this.#life, this.#failure("closed"))
    )
  }

  /** Waits until those threads are gone that were told to end, or lost. */
  get ended(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const ending = [...this.#lives].filter((life) => life !== this.#life)
      return Effect.forEach(ending, ({ exited }) => Deferred.await(exited), { discard: true })
    })
  }

  get endIfIdle(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const isIdle = this.#life?.underWay.size === 0 && !this.#wasUsed
      this.#wasUsed = false
      return isIdle && this.#life !== undefined ? this.#end(this.#life, this.#failure("idle")) : Effect.void
    })
  }

  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#isClosed = true
      const failure = this.#failure("closed")
      for (const entry of [...this.#urgent.splice(0), ...this.#waiting.splice(0)]) entry.settle(Effect.fail(failure))
      const ended = this.#life === undefined ? Effect.void : this.#end(this.#life, failure)
      return Effect.andThen(
        ended,
        Effect.forEach(this.#lives, ({ exited }) => Deferred.await(exited), { discard: true })
      )
    })
  }

  #enter(entry: Entry<Request, Reply>, queue: Array<Entry<Request, Reply>>): void {
    this.#wasUsed = true
    if (this.#isClosed) entry.settle(Effect.fail(this.#failure("closed")))
    else if (this.#hasRoom()) this.#send(entry)
    else if (this.#waitingCount < this.#options.queueMax) queue.push(entry)
    else entry.settle(Effect.fail(this.#failure("busy", `${this.#waitingCount} requests wait for the thread`)))
  }

  get #waitingCount(): number {
    return this.#waiting.length + this.#urgent.length
  }

  #hasRoom(): boolean {
    return (this.#life?.underWay.size ?? 0) < this.#options.concurrency
  }

  #send(entry: Entry<Request, Reply>): void {
    try {
      const life = this.#life ?? this.#begin()
      const id = ++this.#lastId
      const message: ToThread<Request> = { id, request: entry.request }
      life.port.postMessage(message, [...entry.transfer])
      entry.id = id
      entry.life = life
      life.underWay.set(id, entry)
      // The thread, and not its port, which closes before the thread's exit is told.
      life.worker.ref()
    } catch (cause) {
      entry.settle(Effect.die(cause))
    }
  }

  #begin(): Life<Request, Reply> {
    const { port1: port, port2 } = new MessageChannel()
    const begun = new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT))
    const life: Life<Request, Reply> = {
      worker: startWorker({ port: port2, begun }, this.#options),
      port,
      begun,
      ready: Deferred.makeUnsafe(),
      exited: Deferred.makeUnsafe(),
      underWay: new Map()
    }
    this.#life = life
    this.#lives.add(life)
    port.on("message", (message: FromThread<Reply>) => this.#hear(life, message))
    life.worker.on("error", (cause) => this.#lose(life, this.#failureOf(cause)))
    life.worker.on("exit", (code) => {
      this.#lose(life, this.#failure("crash", `the ${this.#options.name} thread ended with code ${code}`))
      port.close()
      this.#lives.delete(life)
      Deferred.doneUnsafe(life.exited, Effect.void)
    })
    life.worker.unref()
    port.unref()
    return life
  }

  #hear(life: Life<Request, Reply>, message: FromThread<Reply>): void {
    if (message === "ready") {
      Deferred.doneUnsafe(life.ready, Effect.void)
      return
    }
    const entry = life.underWay.get(message.id)
    life.underWay.delete(message.id)
    if (life.underWay.size === 0) life.worker.unref()
    entry?.settle(
      "error" in message ? Effect.fail(this.#failure("failed", message.error)) : Effect.succeed(message.reply)
    )
    this.#advance()
  }

  #advance(): void {
    while (this.#waitingCount > 0 && this.#hasRoom()) this.#send(this.#next())
  }

  #next(): Entry<Request, Reply> {
    const isTurnOfOthers = this.#urgentInARow >= urgentInARowMax && this.#waiting.length > 0
    const urgent = isTurnOfOthers ? undefined : this.#urgent.shift()
    this.#urgentInARow = urgent === undefined ? 0 : this.#urgentInARow + 1
    return urgent ?? this.#waiting.shift()!
  }

  #readiness(life: Life<Request, Reply>): Effect.Effect<void, WorkerFailure> {
    return Effect.timeoutOrElse(Deferred.await(life.ready), {
      duration: startMillisMax,
      orElse: () => {
        const failure = this.#failure("deadline", `the ${this.#options.name} thread did not start in time`)
        return Effect.andThen(this.#end(life, failure), Effect.fail(failure))
      }
    })
  }

  #inTime(
    entry: Entry<Request, Reply>,
    reply: Effect.Effect<Reply, WorkerFailure>,
    deadlineMillis: number,
    reason: "deadline" | "starved"
  ): Effect.Effect<Reply, WorkerFailure> {
    const readiness = this.#life === undefined ? Effect.void : Effect.ignore(this.#readiness(this.#life))
    const inTime = Effect.timeoutOrElse(reply, {
      duration: deadlineMillis,
      orElse: () => this.#expire(entry, this.#failure(reason, `no reply within ${deadlineMillis} ms`))
    })
    return Effect.andThen(readiness, inTime)
  }

  #inCpuTime(entry: Entry<Request, Reply>, cpuMillisMax: number): Effect.Effect<Reply, WorkerFailure> {
    const counted = Effect.gen({ self: this }, function* () {
      for (;;) {
        const leftMillis = cpuMillisMax - (yield* cpuMillisOf(entry))
        if (leftMillis <= 0) break
        // Threads take turns on a core: with little left it is asked again soon, but not all the time.
        const reply = yield* Effect.timeoutOption(entry.reply, Math.max(leftMillis, cpuPollMillisMin))
        if (Option.isSome(reply)) return reply.value
      }
      const failure = this.#failure("deadline", `no reply within ${cpuMillisMax} ms of processor time`)
      return yield* this.#expire(entry, failure)
    })
    return Effect.timeoutOrElse(entry.reply, { duration: cpuMillisMax, orElse: () => counted })
  }

  /** Timers run before messages: when this thread was busy, the reply may lie in the port unread. */
  #expire(entry: Entry<Request, Reply>, failure: WorkerFailure): Effect.Effect<Reply, WorkerFailure> {
    if (entry.life !== undefined) this.#readReplies(entry.life)
    if (entry.result !== undefined) return entry.result
    return Effect.andThen(this.#withdraw(entry, failure), Effect.fail(failure))
  }

  #abandon(entry: Entry<Request, Reply>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const isLeftAlone = entry.life !== undefined && this.#options.endsIfAbandoned !== true
      return isLeftAlone || entry.result !== undefined ? Effect.void : this.#withdraw(entry, this.#failure("abandoned"))
    })
  }

  /** A request that waits leaves the queue; one that is worked on takes its thread with it. */
  #withdraw(entry: Entry<Request, Reply>, failure: WorkerFailure): Effect.Effect<void> {
    if (entry.life !== undefined) return this.#end(entry.life, failure)
    for (const queue of [this.#waiting, this.#urgent]) {
      const at = queue.indexOf(entry)
      if (at !== -1) queue.splice(at, 1)
    }
    return Effect.void
  }

  #end(life: Life<Request, Reply>, failure: WorkerFailure): Effect.Effect<void> {
    if (this.#life !== life) return Effect.void
    this.#lose(life, failure)
    // Not a child of the caller: the caller goes on, and `close` waits for the exit.
    return Effect.asVoid(Effect.forkDetach(endOf(life, this.#options.closeMillisMax)))
  }

  #lose(life: Life<Request, Reply>, failure: WorkerFailure): void {
    if (this.#life !== life) return
    this.#life = undefined
    this.#readReplies(life)
    this.#options.onLost?.(failure)
    Deferred.doneUnsafe(life.ready, Effect.fail(failure))
    for (const entry of life.underWay.values()) entry.settle(Effect.fail(failure))
    life.underWay.clear()
    if (lossesLogged.has(failure.reason)) this.#logLoss(failure)
    if (!this.#isClosed) this.#advance()
  }

  /** Replies that arrived before the loss, or before the deadline, count. */
  #readReplies(life: Life<Request, Reply>): void {
    for (let next = receiveMessageOnPort(life.port); next !== undefined; next = receiveMessageOnPort(life.port)) {
      this.#hear(life, next.message)
    }
  }

  #failureOf(cause: unknown): WorkerFailure {
    const isMemory = cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY"
    return this.#failure(isMemory ? "memory" : "crash", cause instanceof Error ? cause.message : String(cause))
  }

  #failure(
    reason: WorkerFailure["reason"],
    detail = `the ${this.#options.name} thread ended: ${reason}`
  ): WorkerFailure {
    return new WorkerFailure({ reason, detail })
  }
}

/** The others are the service's own doing. */
const lossesLogged: ReadonlySet<WorkerFailure["reason"]> = new Set(["deadline", "starved", "memory", "crash"])

const cpuPollMillisMin = 5

/** Processor time that the entry has used; 0 before a thread began it, and after the thread's end: its reply comes first. */
const cpuMillisOf = <Request, Reply>({ id, life }: Entry<Request, Reply>): Effect.Effect<number> =>
  Effect.tryPromise(async () => {
    if (life === undefined) return 0
    const { system, user } = await life.worker.cpuUsage()
    return Atomics.load(life.begun, 0) === BigInt(id)
      ? (system + user - Number(Atomics.load(life.begun, 1))) / 1_000
      : 0
  }).pipe(Effect.orElseSucceed(() => 0))

const startWorker = ({ begun, port }: Pick<ThreadData, "begun" | "port">, options: WorkerOptions): Worker => {
  const { heapMegabytesMax, niceness = 0, settings, stackMegabytes, youngHeapMegabytesMax } = options
  const workerData: ThreadData = { port, begun, settings, niceness }
  return new Worker(options.entry, {
    workerData,
    transferList: [port],
    env: {},
    // The warning of Node 22 about its SQLite.
    execArgv: ["--disable-warning=ExperimentalWarning"],
    resourceLimits: {
      ...(heapMegabytesMax !== undefined && { maxOldGenerationSizeMb: heapMegabytesMax }),
      ...(youngHeapMegabytesMax !== undefined && { maxYoungGenerationSizeMb: youngHeapMegabytesMax }),
      ...(stackMegabytes !== undefined && { stackSizeMb: stackMegabytes })
    }
  })
}

const endOf = <Request, Reply>(
  { exited, port, worker }: Life<Request, Reply>,
  closeMillisMax: number | undefined
): Effect.Effect<void> => {
  const terminated = Effect.promise(() => worker.terminate()).pipe(Effect.asVoid)
  if (closeMillisMax === undefined) return terminated
  return Effect.sync(() => port.postMessage("close" satisfies ToThread<Request>)).pipe(
    Effect.andThen(Deferred.await(exited)),
    Effect.timeoutOrElse({ duration: closeMillisMax, orElse: () => terminated })
  )
}
