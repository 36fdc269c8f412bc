/** The background work of a whole service, each kind of which dies once: on real files, by the tests' clock. */
import { afterEach, expect, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { JobLog } from "@muniment/control/jobs/JobLog"
import { Limits } from "@muniment/domain/Limits"
import { ServerConfig } from "@muniment/server/Config"
import { OperatorService } from "@muniment/server/operator/OperatorService"
import { serverLayer } from "@muniment/server/ServerLayer"
import { OpenRound, RoundBook } from "@muniment/worker/RoundBook"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

const { attempt, rest } = OpenRound.prototype
afterEach(() => Object.assign(OpenRound.prototype, { attempt, rest }))

/** The first step of each name dies. */
const killOnce = (): void => {
  const killed = new Set<string>()
  const dyingOnce = <A, E, R>({ name }: OpenRound, step: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      if (killed.has(name)) return step
      killed.add(name)
      return Effect.die(new Error("disk I/O error"))
    })
  Object.assign(OpenRound.prototype, {
    attempt(this: OpenRound, work: Effect.Effect<unknown, unknown>) {
      return attempt.call(this, dyingOnce(this, work))
    },
    rest(this: OpenRound, until: Effect.Effect<unknown>) {
      return rest.call(this, dyingOnce(this, until))
    }
  })
}

const started = Effect.fnUntraced(function* (directory: string, lines: Array<string> = []) {
  const env = {
    MUNIMENT_DATA_DIR: directory,
    MUNIMENT_EMBEDDING_MODEL: "none",
    MUNIMENT_INDEX: "exact",
    MUNIMENT_WEBHOOK_URL: "http://127.0.0.1:9/hook",
    MUNIMENT_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}`
  }
  const config = yield* ServerConfig.parse(ConfigProvider.fromEnv({ env }))
  const logger = Logger.make(({ message }) => void lines.push(JSON.stringify(message)))
  // The daily job is due soon.
  yield* TestClock.setTime(Date.parse("2026-03-01T00:05:00Z"))
  return yield* Layer.build(Layer.provide(serverLayer({ ...config, port: 0 }, undefined), Logger.layer([logger])))
})

const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))
/** Whatever the test's clock says. */
const realPause = Effect.promise(() => new Promise<void>((resolve) => void setTimeout(resolve, 50)))
const minutes = (count: number) =>
  Effect.repeat(Effect.andThen(TestClock.adjust("1 minute"), Effect.replicateEffect(turn, 5)), { times: count - 1 })

const roundsOf = <A>(services: Context.Context<A | OperatorService>) =>
  Effect.map(Context.get(services, OperatorService).status, ({ rounds }) => rounds)

/** Of a service without an embedding model and without payments. */
const known = [
  "clock of the jobs",
  "copies not fetched",
  "counts of vectors",
  "daily job",
  "files that seem damaged",
  "housekeeping",
  "housekeeping of agents",
  "idle threads",
  "losses of threads",
  "notes of conversations to be read",
  "readings of conversations",
  "reconciliation of payments",
  "refunds",
  "scrubber",
  "segments of the commit log",
  "vectors",
  "webhooks",
  "webhooks of accounts",
  "writes of the ledger"
]

/** Until the thread of the commit log has started, which the test's clock may outrun. */
const passing: ReadonlySet<string> = new Set(["commit log", "start of the log thread"])

it.effect("every kind of background work of a service goes on after it has died once", () =>
  Effect.gen(function* () {
    killOnce()
    const lines: Array<string> = []
    const services = yield* started(temporaryDirectory(), lines)
    yield* minutes(35)
    const rounds = (yield* roundsOf(services)).filter(({ name }) => !passing.has(name))
    expect(rounds.filter(({ open }) => open > 0).map(({ name }) => name)).toEqual(known)
    for (const { failures, isFailing, lastFailure, name, running } of rounds) {
      // Threads have a clock of their own: their rounds may not have ended, and the test's clock may outrun their deadlines.
      const died = /^(?:Error at BackgroundWork\.test\.ts:\d+|WorkerFailure\(deadline\) at WorkerThread\.ts:\d+)$/
      expect(failures, name).toBeGreaterThanOrEqual(1)
      expect({ name, goesOn: !isFailing || running > 0 }).toEqual({ name, goesOn: true })
      expect(lastFailure?.reason).toMatch(died)
      expect(lines.filter((line) => line.includes(`"round":"${name}"`))).not.toEqual([])
    }
  }).pipe(Effect.scoped, Effect.provideService(RoundBook.current, new RoundBook()))
)

it.effect("a control.db that is busy for too long costs one round, and the next one does its work", () =>
  Effect.gen(function* () {
    const directory = temporaryDirectory()
    const lines: Array<string> = []
    const services = yield* started(directory, lines)
    const jobs = Context.get(services, JobLog)
    const seenAt = yield* jobs.clockSeenAt
    // Both rounds are due in a second.
    yield* minutes(Limits.clockSeenMillis / 60_000 - 1)
    yield* TestClock.adjust("59 seconds")
    const other = new DatabaseSync(join(directory, "control.db"))
    yield* Effect.addFinalizer(() => Effect.sync(() => other.close()))
    other.exec("BEGIN IMMEDIATE")
    yield* TestClock.adjust("1 second")
    const failing = Effect.map(Effect.andThen(realPause, roundsOf(services)), (rounds) =>
      rounds.filter(({ isFailing }) => isFailing)
    )
    // Each waits for the file in real time, one after the other.
    const busy = yield* Effect.repeat(failing, { until: (rounds) => rounds.length > 1, times: 400 })
    expect(busy.map(({ name }) => name)).toEqual(expect.arrayContaining(["clock of the jobs", "housekeeping"]))
    expect(busy.map(({ lastFailure }) => lastFailure?.reason)).toEqual(
      expect.arrayContaining([expect.stringContaining("Unavailable(control_unavailable)")])
    )
    expect(lines.filter((line) => line.includes(`"round":"housekeeping"`))).not.toEqual([])
    const counted = yield* Metric.snapshot
    expect(counted.filter(({ id }) => id === "rounds_failed_total")).not.toEqual([])
    other.exec("COMMIT")
    yield* minutes(1)
    expect((yield* roundsOf(services)).filter(({ isFailing }) => isFailing)).toEqual([])
    expect(yield* jobs.clockSeenAt).toBeGreaterThanOrEqual((seenAt ?? 0) + Limits.clockSeenMillis)
  }).pipe(Effect.scoped, Effect.provideService(RoundBook.current, new RoundBook()))
)
