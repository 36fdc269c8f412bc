/** A language model's server that fails in every way it can: retries, deadlines, turns, the circuit. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Logger, Schedule } from "effect"
import type { ModelFailure } from "@muniment/models/llm/ModelFailure"
import { answer, type ModelReply, status } from "../../../support/ModelServerReplies.ts"
import { formats, liveWith, request, secretKey, tea, withModel } from "./ModelHarness.ts"

const timed = <A, E>(run: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const started = yield* Clock.currentTimeMillis
    const result = yield* run
    return { result, millis: (yield* Clock.currentTimeMillis) - started }
  })

// The tests wait more than they work.
describe.concurrent.each(formats)("a failing server that speaks %s", (format) => {
  const live = liveWith(format)
  const passing: ReadonlyArray<readonly [string, ModelReply]> = [
    ["408", status(408)],
    ["429", status(429)],
    ["500", status(500)],
    ["503", status(503)],
    ["529", status(529)],
    ["a connection that is reset", { kind: "reset" }],
    ["a connection that ends within the answer", { kind: "cut", value: tea }]
  ]
  it.live.each(passing)("is asked again after %s", ([, reply]) =>
    withModel(format, {}, function* ({ model, server }) {
      server.script(reply, answer(tea))
      expect(yield* model.generate(request)).toEqual(tea)
      expect(server.requests).toHaveLength(2)
    })
  )

  live("is given up after two more tries", {}, function* ({ entries, model, server }) {
    server.otherwise = () => status(503)
    const failure = yield* Effect.flip(model.generate(request))
    expect(failure).toMatchObject({ reason: "unreachable" })
    expect(failure.message).toContain("503")
    expect(server.requests).toHaveLength(3)
    expect(entries.map(({ used }) => used?.inputTokens)).toEqual([0, 0, 0])
  })

  it.live.each([401, 403, 404, 413, 301])("is not asked again after %s", (code) =>
    withModel(format, {}, function* ({ model, server }) {
      server.otherwise = () => status(code, code === 301 ? { location: "/elsewhere/chat/completions" } : {})
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "rejected" })
      expect(server.requests).toHaveLength(1)
    })
  )

  live("is left alone for as long as it asks, if that fits the deadline", {}, function* ({ model, server }) {
    server.script(status(429, { "retry-after": "1" }), answer(tea))
    const { millis, result } = yield* timed(model.generate(request))
    expect(result).toEqual(tea)
    expect(millis).toBeGreaterThanOrEqual(1_000)
  })

  live(
    "that asks to be left alone for longer is not asked again, by any account, and callers are told",
    {},
    function* ({ model, server }) {
      server.script(status(503, { "retry-after": "60" }))
      const failed = yield* Effect.flip(model.generate(request))
      expect(failed).toMatchObject({ reason: "unreachable", retryAfterSeconds: 60 })
      const inAMinute = new Date((yield* Clock.currentTimeMillis) + 60_000).toUTCString()
      server.script(status(429, { "retry-after": inAMinute }))
      for (const account of ["one", "other"]) {
        const limited = yield* Effect.flip(model.generate({ ...request, account }))
        expect(limited.reason).toBe("rate_limited")
        expect(limited.retryAfterSeconds).toBeGreaterThan(50)
        expect(limited.retryAfterSeconds).toBeLessThanOrEqual(60)
      }
      expect(server.requests).toHaveLength(2)
    }
  )

  live(
    "is not waited for where it asks for more than a moment, and is left alone at once",
    { deadlineMillis: 60_000 },
    function* ({ model, server }) {
      server.script(status(429, { "retry-after": "20" }), status(503, { "retry-after": "20" }))
      for (let call = 0; call < 2; call++) {
        expect((yield* Effect.flip(model.generate(request))).reason).toBe("rate_limited")
      }
      expect(server.requests).toHaveLength(1)
    }
  )

  live(
    "that does not say for how long it takes no more is left alone for a time that doubles",
    {},
    function* ({ model, server }) {
      server.otherwise = () => status(429)
      const seconds: Array<number | undefined> = []
      for (let call = 0; call < 4; call++) {
        const { reason, retryAfterSeconds } = yield* Effect.flip(model.generate(request))
        expect(reason).toBe("rate_limited")
        seconds.push(retryAfterSeconds)
        if (call === 1) yield* Effect.sleep(1_000)
      }
      // Two calls asked three times each, and after each of them one was refused.
      expect(seconds).toEqual([undefined, 1, undefined, 2])
      expect(server.requests).toHaveLength(6)
      server.otherwise = () => answer(tea)
      yield* Effect.sleep(2_000)
      expect(yield* model.generate(request)).toEqual(tea)
    }
  )

  live(
    "is asked again when the time is over that it asked for",
    { deadlineMillis: 2_000 },
    function* ({ model, server }) {
      server.script(status(429, { "retry-after": "4" }), answer(tea))
      const isLimited = ({ reason }: ModelFailure) => reason === "rate_limited"
      expect(isLimited(yield* Effect.flip(model.generate(request)))).toBe(true)
      const again = Effect.retry(model.generate(request), { while: isLimited, schedule: Schedule.spaced(100) })
      expect(yield* again).toEqual(tea)
      expect(server.requests).toHaveLength(2)
    }
  )

  const silent: ReadonlyArray<readonly [string, ModelReply]> = [
    ["never answers", { kind: "hang" }],
    ["answers too late", { kind: "slow", millis: 10_000, then: answer(tea) }],
    ["drips its answer", { kind: "drip", value: tea, everyMillis: 100 }]
  ]
  it.live.each(silent)("that %s runs into the time of an exchange, and counts as estimated", ([, reply]) =>
    withModel(format, { timeoutMillis: 2_000 }, function* ({ entries, model, server }) {
      server.script(reply)
      const { millis, result } = yield* timed(Effect.flip(model.generate(request)))
      expect(result).toMatchObject({ reason: "timeout" })
      expect(millis).toBeGreaterThanOrEqual(2_000)
      expect(server.requests).toHaveLength(1)
      expect(entries[0]?.used).toEqual(entries[0]?.estimate)
      yield* server.untilIdle
    })
  )

  live(
    "holds retries and repair inside one deadline",
    { timeoutMillis: 3_600_000, deadlineMillis: 4_000 },
    function* ({ model, server }) {
      server.script(status(503), answer({ wrong: true }), { kind: "hang" })
      const failure = yield* Effect.flip(model.generate(request))
      expect(failure).toMatchObject({ reason: "timeout" })
      expect(server.requests).toHaveLength(3)
    }
  )

  live("is unreachable where nothing listens", { baseUrl: "http://127.0.0.1:1" }, function* ({ model }) {
    const failure = yield* Effect.flip(model.generate(request))
    expect(failure).toMatchObject({ reason: "unreachable" })
    expect(failure.message).not.toContain("127.0.0.1")
  })

  live(
    "drops the request when its caller goes away, and settles its budget",
    {},
    function* ({ entries, model, server }) {
      server.otherwise = () => ({ kind: "hang" })
      const fiber = yield* Effect.forkChild(model.generate(request))
      yield* Effect.repeat(Effect.sleep(10), { until: () => server.underWay === 1 })
      yield* Fiber.interrupt(fiber)
      yield* server.untilIdle
      expect(entries[0]?.used).toEqual(entries[0]?.estimate)
    }
  )
})

describe("turns at the model", () => {
  const format = "openai-compatible"
  const live = liveWith(format)

  live("are taken by so many calls at once, and the others wait", { concurrency: 2 }, function* ({ model, server }) {
    server.otherwise = () => ({ kind: "slow", millis: 60, then: answer(tea) })
    yield* Effect.all(
      Array.from({ length: 6 }, () => model.generate(request)),
      { concurrency: "unbounded" }
    )
    expect(server.requests).toHaveLength(6)
    expect(server.underWayMax).toBe(2)
  })

  live("are refused when too many wait", { concurrency: 1, waitingCallsMax: 1 }, function* ({ model, server }) {
    server.otherwise = () => ({ kind: "slow", millis: 200, then: answer(tea) })
    const calls = Array.from({ length: 5 }, () => Effect.result(model.generate(request)))
    const results = yield* Effect.all(calls, { concurrency: "unbounded" })
    const reasons = results.map((result) => (result._tag === "Success" ? "answered" : result.failure.reason))
    expect(reasons).toEqual(["answered", "answered", "overloaded", "overloaded", "overloaded"])
    expect(yield* model.generate(request)).toEqual(tea)
  })

  it.live("are waited for no longer than the deadline, without a sign against the server", () =>
    withModel(
      format,
      { concurrency: 1, deadlineMillis: 1_600, timeoutMillis: 1_570, circuitFailuresMax: 2 },
      function* ({ model, server }) {
        server.script(answer(tea))
        server.otherwise = () => ({ kind: "slow", millis: 10_000, then: answer(tea) })
        const calls = Array.from({ length: 4 }, () => Effect.result(model.generate(request)))
        const results = yield* Effect.all(calls, { concurrency: "unbounded" })
        const reasons = results.map((result) => (result._tag === "Success" ? "answered" : result.failure.reason))
        expect(reasons).toEqual(["answered", "timeout", "overloaded", "overloaded"])
        expect(server.requests).toHaveLength(2)
        server.otherwise = () => answer(tea)
        expect(yield* model.generate(request)).toEqual(tea)
      }
    )
  )
})

describe("the circuit", () => {
  const format = "openai-compatible"
  const live = liveWith(format)
  const config = { circuitFailuresMax: 2, circuitCoolDownMillis: 300 }

  live(
    "opens after failures in a row, refuses without asking, and closes after a probe",
    config,
    function* ({ entries, model, server }) {
      server.otherwise = () => status(500)
      yield* Effect.flip(model.generate(request))
      yield* Effect.flip(model.generate(request))
      const asked = server.requests.length
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({
        reason: "circuit_open",
        message: expect.stringContaining("the server answered 500, several times in a row; calls are suspended"),
        retryAfterSeconds: 1
      })
      expect(server.requests).toHaveLength(asked)
      expect(entries).toHaveLength(asked)
      expect(yield* model.problem).toMatchObject({
        message: expect.stringContaining("the server answered 500"),
        remedy: expect.stringContaining("MUNIMENT_LLM_BASE_URL")
      })
      yield* Effect.sleep(300)
      server.otherwise = () => answer(tea)
      expect(yield* model.generate(request)).toEqual(tea)
      expect(yield* model.problem).toBeUndefined()
      expect(yield* model.generate(request)).toEqual(tea)
    }
  )

  it.live.each([401, 404])("opens for a key or a model that the server does not know (%s)", (code) =>
    withModel(format, config, function* ({ model, server }) {
      server.otherwise = () => status(code)
      for (let call = 0; call < 4; call++) yield* Effect.flip(model.generate(request))
      expect(server.requests).toHaveLength(config.circuitFailuresMax)
      expect((yield* Effect.flip(model.generate(request))).message).toContain(`${code}, several times in a row`)
    })
  )

  it.live("is a line of the log when it opens and when it closes, not at each probe", () => {
    const told: Array<unknown> = []
    const logger = Logger.make(({ message }) => void told.push(message))
    return withModel(format, { circuitFailuresMax: 1, circuitCoolDownMillis: 1 }, function* ({ model, server }) {
      server.otherwise = () => status(500)
      for (let call = 0; call < 3; call++) {
        yield* Effect.flip(model.generate(request))
        yield* Effect.sleep(10)
      }
      expect(server.requests).toHaveLength(9)
      server.otherwise = () => answer(tea)
      yield* model.generate(request)
      yield* model.generate(request)
      expect(told.map(String)).toEqual([
        expect.stringContaining("circuit of the language model is open"),
        expect.stringContaining("the server answered 500: see whether"),
        expect.stringContaining("answers again")
      ])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  live(
    "stays closed for a server that answers, however badly",
    { circuitFailuresMax: 1 },
    function* ({ model, server }) {
      const replies = [status(403), { kind: "refusal" }, { kind: "not_json" }] satisfies ReadonlyArray<ModelReply>
      for (const reply of replies) {
        server.script(reply)
        const { reason } = yield* Effect.flip(model.generate(request))
        expect(reason).not.toBe("circuit_open")
      }
      server.script(answer(tea), status(429, { "retry-after": "60" }))
      expect(yield* model.generate(request)).toEqual(tea)
      for (let call = 0; call < 2; call++) {
        expect((yield* Effect.flip(model.generate(request))).reason).toBe("rate_limited")
      }
    }
  )
})

describe("the circuit of an account", () => {
  const live = liveWith("openai-compatible")
  const config = { circuitFailuresMax: 2, circuitCoolDownMillis: 60_000, timeoutMillis: 2_000 }

  live("opens for its time-outs, while the calls of others pass", config, function* ({ model, server }) {
    server.otherwise = () => ({ kind: "hang" })
    for (let call = 0; call < config.circuitFailuresMax; call += 1) {
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "timeout" })
    }
    const asked = server.requests.length
    expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "circuit_open" })
    expect(server.requests).toHaveLength(asked)
    server.otherwise = () => answer(tea)
    expect(yield* model.generate({ ...request, account: "bob" })).toEqual(tea)
    expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "circuit_open" })
  })

  live("counts time-outs in a row only", config, function* ({ model, server }) {
    for (let round = 0; round < 2 * config.circuitFailuresMax; round += 1) {
      server.script({ kind: "hang" }, answer(tea))
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "timeout" })
      expect(yield* model.generate(request)).toEqual(tea)
    }
  })
})

it.live("a redirect never takes the key to another place", () =>
  withModel("anthropic", {}, (elsewhere) =>
    withModel("anthropic", {}, function* ({ model, server }) {
      server.script(status(307, { location: `${elsewhere.server.baseUrl("anthropic")}/v1/messages` }))
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "rejected" })
      expect(elsewhere.server.requests).toHaveLength(0)
      expect(server.requests[0]?.headers["x-api-key"]).toBe(secretKey)
    })
  )
)
