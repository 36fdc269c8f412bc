/** Idempotency keys: one does the work, the others replay, wait or are refused. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { idempotencyKeyOf, IdempotencyStore } from "@muniment/control/requests/IdempotencyStore"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => controlLayerOf(temporaryDirectory()))

const key = idempotencyKeyOf("acc_1", "POST /memories", "client-key")

describe("IdempotencyStore", () => {
  fresh.effect("gives a key to one, and its answer to all who come later", function* () {
    const store = yield* IdempotencyStore
    expect(yield* store.claim(key, "body")).toEqual({ _tag: "Fresh" })
    expect(yield* store.claim(key, "body")).toEqual({ _tag: "InFlight" })
    yield* store.complete(key, 200, '{"success":true}', "acc_1")
    expect(yield* store.claim(key, "body")).toEqual({ _tag: "Replay", status: 200, body: '{"success":true}' })
  })

  fresh.effect("refuses another body, before the answer and after", function* () {
    const store = yield* IdempotencyStore
    yield* store.claim(key, "body")
    expect(yield* store.claim(key, "other")).toEqual({ _tag: "Mismatch" })
    yield* store.complete(key, 200, "{}", "acc_1")
    expect(yield* store.claim(key, "other")).toEqual({ _tag: "Mismatch" })
  })

  fresh.effect("has one winner among many that claim at once", function* () {
    const store = yield* IdempotencyStore
    const claims = yield* Effect.all(
      Array.from({ length: 50 }, () => store.claim(key, "body")),
      { concurrency: "unbounded" }
    )
    expect(claims.filter(({ _tag }) => _tag === "Fresh")).toHaveLength(1)
    expect(claims.filter(({ _tag }) => _tag === "InFlight")).toHaveLength(49)
  })

  fresh.effect("never does the work twice while claims and answers race", function* () {
    const store = yield* IdempotencyStore
    let worked = 0
    const request = Effect.gen(function* () {
      const claim = yield* store.claim(key, "body")
      if (claim._tag !== "Fresh") return claim._tag
      worked++
      yield* Effect.yieldNow
      yield* store.complete(key, 200, "{}", "acc_1")
      return claim._tag
    })
    const staggered = Array.from({ length: 100 }, (_, turns) =>
      Effect.repeat(Effect.yieldNow, { times: turns }).pipe(Effect.andThen(request))
    )
    const outcomes = yield* Effect.all(staggered, { concurrency: "unbounded" })
    expect(worked).toBe(1)
    expect(new Set(outcomes)).toContain("Replay")
  })

  fresh.effect("frees a key whose request failed, and keeps a finished answer", function* () {
    const store = yield* IdempotencyStore
    yield* store.claim(key, "body")
    yield* store.forget(key)
    expect(yield* store.claim(key, "other")).toEqual({ _tag: "Fresh" })
    yield* store.complete(key, 201, "{}", "acc_1")
    yield* store.forget(key)
    expect(yield* store.claim(key, "other")).toMatchObject({ _tag: "Replay", status: 201 })
  })

  fresh.effect("replays for a day and then forgets", function* () {
    const store = yield* IdempotencyStore
    yield* store.claim(key, "body")
    yield* store.complete(key, 200, "{}", "acc_1")
    yield* TestClock.adjust(Limits.idempotencyRetentionMillis)
    expect(yield* store.claim(key, "body")).toMatchObject({ _tag: "Replay" })
    yield* TestClock.adjust(1)
    expect(yield* store.claim(key, "other")).toEqual({ _tag: "Fresh" })
    yield* store.complete(key, 202, "{}", "acc_1")
    expect(yield* store.claim(key, "other")).toMatchObject({ _tag: "Replay", status: 202 })
  })

  fresh.effect("sweeps answers that are old enough", function* () {
    const store = yield* IdempotencyStore
    for (const name of ["old", "new"]) {
      yield* store.claim(name, "body")
      yield* store.complete(name, 200, "{}", "acc_1")
      yield* TestClock.adjust(10)
    }
    expect(yield* store.sweep(10)).toBe(1)
    expect(yield* store.claim("old", "body")).toEqual({ _tag: "Fresh" })
    expect(yield* store.claim("new", "body")).toMatchObject({ _tag: "Replay" })
  })

  fresh.effect("keeps the newest of an account with many bytes of answers, and leaves others alone", function* () {
    const store = yield* IdempotencyStore
    const body = "x".repeat(Limits.keptAnswersBytesMax / 8)
    const keep = Effect.fnUntraced(function* (name: string, account: string) {
      yield* TestClock.adjust(1)
      yield* store.claim(name, "body")
      yield* store.complete(name, 200, body, account)
    })
    yield* keep("other", "acc_2")
    for (let at = 0; at < 8; at++) yield* keep(`answer ${at}`, "acc_1")
    const isKept = (name: string) =>
      Effect.tap(
        Effect.map(store.claim(name, "body"), ({ _tag }) => _tag === "Replay"),
        () => store.forget(name)
      )
    expect(yield* isKept("answer 0")).toBe(true)
    yield* keep("answer 8", "acc_1")
    const names = Array.from({ length: 9 }, (_, at) => `answer ${at}`)
    const kept = yield* Effect.forEach(names, isKept)
    expect(kept).toEqual([false, false, false, false, false, true, true, true, true])
    expect(yield* isKept("other")).toBe(true)
  })

  it.effect("keeps answers over a restart; what was at work is free again", function* () {
    const path = temporaryDirectory()
    yield* Effect.gen(function* () {
      const store = yield* IdempotencyStore
      yield* store.claim(key, "body")
      yield* store.complete(key, 200, "{}", "acc_1")
      yield* store.claim("killed", "body")
    }).pipe(Effect.provide(controlLayerOf(path)))
    yield* Effect.gen(function* () {
      const store = yield* IdempotencyStore
      expect(yield* store.claim(key, "body")).toMatchObject({ _tag: "Replay" })
      expect(yield* store.claim("killed", "body")).toEqual({ _tag: "Fresh" })
    }).pipe(Effect.provide(controlLayerOf(path)))
  })

  fresh.effect("dies on an answer without a claim", function* () {
    const store = yield* IdempotencyStore
    expect((yield* Effect.exit(store.complete(key, 200, "{}", "acc_1")))._tag).toBe("Failure")
  })

  it("keeps accounts, routes and client keys apart", () => {
    const keys = [
      idempotencyKeyOf("a", "b", "c"),
      idempotencyKeyOf("ab", "", "c"),
      idempotencyKeyOf("a", "bc", ""),
      idempotencyKeyOf("a", "b", "d")
    ]
    expect(new Set(keys).size).toBe(4)
    for (const stored of keys) expect(stored).toMatch(/^[0-9a-f]{64}$/)
  })
})
