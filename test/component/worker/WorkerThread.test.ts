import { spawnSync } from "node:child_process"
import { getPriority } from "node:os"
import { fileURLToPath } from "node:url"
import { describe, expect } from "vitest"
import { openWorkerThread, type WorkerFailure, type WorkerOptions } from "@muniment/worker/WorkerThread"
import { Effect, Exit, Fiber, Scope } from "effect"
import type { Order } from "./echoEntry.ts"
import { it } from "../../support/it.ts"

/** A thread starts in a tenth of a second, and in seconds on a busy machine. */
const opened = (options: Partial<WorkerOptions> = {}) =>
  openWorkerThread<Order, unknown>({
    name: "test",
    entry: new URL("./echoEntry.ts", import.meta.url),
    concurrency: 1,
    queueMax: 8,
    ...options
  })
const echo = (value: unknown): Order => ({ do: "echo", value })
const forever: Order = { do: "spin", millis: 60_000 }
const reasonOf = (failing: Effect.Effect<unknown, WorkerFailure>) => Effect.map(Effect.flip(failing), (f) => f.reason)

describe("a worker thread", () => {
  it.live("answers in the order of the requests, with its settings and without an environment", function* () {
    const thread = yield* opened({ concurrency: 4, settings: { size: 3 } })
    const ended: Array<unknown> = []
    const ask = (value: number) => Effect.map(thread.ask(echo(value)), (reply) => ended.push(reply))
    yield* Effect.all([1, 2, 3, 4, 5, 6, 7].map(ask), { concurrency: "unbounded" })
    expect(ended).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(yield* thread.ask({ do: "settings" })).toEqual({ size: 3 })
    expect(yield* thread.ask({ do: "environment" })).toEqual([])
  })

  it.live("gives way to the process by its niceness, on Linux, and leaves the process as it is", function* () {
    const before = getPriority()
    const thread = yield* opened({ niceness: 3 })
    const expected = process.platform === "linux" ? Math.min(19, before + 3) : before
    expect(yield* thread.ask({ do: "priority" })).toBe(expected)
    expect(getPriority()).toBe(before)
  })

  it.live("answers urgent requests first, and one of the others after eight of them", function* () {
    const thread = yield* opened({ queueMax: 20 })
    const ended: Array<number> = []
    const ask = (value: number) =>
      Effect.map(thread.ask(echo(value), { isUrgent: value >= 10 }), () => ended.push(value))
    yield* Effect.all([0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18].map(ask), { concurrency: "unbounded" })
    expect(ended).toEqual([0, 10, 11, 12, 13, 14, 15, 16, 17, 1, 18, 2])
  })

  it.live("says what its function threw, and goes on", function* () {
    const thread = yield* opened()
    const failure = yield* Effect.flip(thread.ask({ do: "throw" }))
    expect(failure).toMatchObject({ reason: "failed", detail: "thrown in the thread" })
    expect(yield* thread.ask(echo(1))).toBe(1)
  })

  it.live("refuses the request beyond its queue at once, and answers those that wait", function* () {
    const thread = yield* opened({ queueMax: 2 })
    const exits = yield* Effect.all(
      [1, 2, 3, 4].map((value) => Effect.result(thread.ask(echo(value)))),
      { concurrency: "unbounded" }
    )
    expect(exits.map((exit) => (exit._tag === "Success" ? exit.success : exit.failure.reason))).toEqual([
      1,
      2,
      3,
      "busy"
    ])
  })

  it.live("ends at a deadline, and a new one answers what waited", function* () {
    const lost: Array<string> = []
    const thread = yield* opened({ onLost: ({ reason }) => lost.push(reason) })
    const late = yield* Effect.forkChild(reasonOf(thread.ask(forever, { deadlineMillis: 50 })), {
      startImmediately: true
    })
    expect(yield* thread.ask(echo("waited"))).toBe("waited")
    expect(yield* Fiber.join(late)).toBe("deadline")
    expect(lost).toEqual(["deadline"])
  })

  it.live("counts processor time where it has a bound of it: what waits is not over, what computes is", function* () {
    const thread = yield* opened()
    yield* thread.start
    const bounds = { cpuMillisMax: 100, deadlineMillis: 60_000 }
    expect(yield* thread.ask({ do: "spin", millis: 400 }, bounds)).toBe("done")
    expect(yield* reasonOf(thread.ask({ do: "burn" }, bounds))).toBe("deadline")
    expect(yield* thread.ask(echo("next"), bounds)).toBe("next")
  })

  it.live("says at its deadline that it was starved where it had processor time left", function* () {
    const thread = yield* opened()
    yield* thread.start
    expect(yield* reasonOf(thread.ask(forever, { cpuMillisMax: 10_000, deadlineMillis: 200 }))).toBe("starved")
    expect(yield* thread.ask(echo("next"))).toBe("next")
  })

  it.live("does not count its start into the deadline", function* () {
    const thread = yield* opened()
    expect(yield* thread.ask(echo(1), { deadlineMillis: 1_000 })).toBe(1)
    yield* thread.end
    expect(yield* thread.ask(echo(2), { deadlineMillis: 1_000 })).toBe(2)
  })

  it.live("counts a reply that arrived while this thread was busy past the deadline", function* () {
    const thread = yield* opened()
    yield* thread.start
    const asked = yield* Effect.forkChild(thread.ask(echo("in time"), { deadlineMillis: 100 }), {
      startImmediately: true
    })
    yield* Effect.yieldNow
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
    expect(yield* Fiber.join(asked)).toBe("in time")
  })

  it.live("that exits or outgrows its heap fails its request, and the next one starts another", function* () {
    const thread = yield* opened({ heapMegabytesMax: 32 })
    const failure = yield* Effect.flip(thread.ask({ do: "exit" }))
    expect(failure).toMatchObject({ reason: "crash", detail: "the test thread ended with code 7" })
    expect(yield* reasonOf(thread.ask({ do: "fill" }))).toBe("memory")
    expect(yield* thread.ask(echo(1))).toBe(1)
  })

  it.each([
    { order: "exit", reason: "crash" },
    { order: "fill", reason: "memory" }
  ])("fails its request with $reason also in a process that has nothing else to wait for", ({ order, reason }) => {
    const program = fileURLToPath(new URL("./askOne.ts", import.meta.url))
    const { status, stdout } = spawnSync(process.execPath, [program, order], { encoding: "utf8" })
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(`${reason}$`) })
  })

  it.live("ends with an abandoned request if it is told to, and otherwise finishes it", function* () {
    const lost: Array<string> = []
    const ending = yield* opened({ endsIfAbandoned: true, onLost: ({ reason }) => lost.push(reason) })
    yield* ending.start
    yield* Effect.timeoutOption(ending.ask(forever), "20 millis")
    expect(lost).toEqual(["abandoned"])
    const finishing = yield* opened({ onLost: ({ reason }) => lost.push(reason) })
    yield* finishing.start
    yield* Effect.timeoutOption(finishing.ask({ do: "spin", millis: 100 }), "20 millis")
    expect(yield* finishing.ask(echo(1))).toBe(1)
    expect(lost).toEqual(["abandoned"])
  })

  it.live("ends when it is idle, and starts again when it is needed", function* () {
    const thread = yield* opened({ idleMillis: 50 })
    expect(yield* thread.ask(echo(1))).toBe(1)
    yield* Effect.sleep("10 millis").pipe(Effect.repeat({ while: () => thread.isRunning }))
    expect(yield* thread.ask(echo(2))).toBe(2)
  })

  it.live("is asked to end where it may not be terminated at once", function* () {
    const scope = yield* Scope.make()
    const thread = yield* Scope.provide(opened({ closeMillisMax: 20_000 }), scope)
    expect(yield* thread.ask(echo(1))).toBe(1)
    yield* Scope.close(scope, Exit.void)
    expect(thread.isRunning).toBe(false)
  })

  it.live("fails what is under way, what waits and what comes later when its scope closes", function* () {
    const scope = yield* Scope.make()
    const thread = yield* Scope.provide(opened(), scope)
    const asked = yield* Effect.forEach([forever, echo(1)], (order) =>
      Effect.forkChild(reasonOf(thread.ask(order)), { startImmediately: true })
    )
    yield* Scope.close(scope, Exit.void)
    expect(yield* Effect.forEach(asked, Fiber.join)).toEqual(["closed", "closed"])
    expect(yield* reasonOf(thread.ask(echo(2)))).toBe("closed")
  })
})
