/** The host: which namespaces it keeps open, and its housekeeping. */
import { describe, expect } from "vitest"
import { Context, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import {
  creating,
  engineOf,
  memoryRecord,
  namespaceKey,
  newMemory,
  StoreProbe,
  until,
  untilLater
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"
import { withEngine } from "./withEngine.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()
const one = (number: number, expiresAt?: number) => creating([newMemory(memoryRecord(number, "text", { expiresAt }))])
const open = NamespaceHost.use((host) => Effect.map(host.status, (status) => status.open))
const rows = NamespaceHost.use((host) => Effect.map(host.answer(key, { _tag: "Counts" }), (counts) => counts.rows))

class Marker extends Context.Service<Marker, string>()("test/Marker") {}

describe("the host", () => {
  fresh.effect("closes an idle namespace, although housekeeping visits it every minute", function* () {
    const host = yield* NamespaceHost
    yield* host.ask(key, one(1))
    yield* TestClock.adjust(Limits.namespaceIdleMillis - Limits.expirySweepMillis)
    expect(yield* open).toBe(1)
    yield* TestClock.adjust(Limits.expirySweepMillis * 2)
    yield* untilLater(open, (count) => count === 0)
    expect(yield* rows).toBe(1)
  })

  it.effect("does not reopen an evicted namespace for housekeeping", () => {
    const probe = new StoreProbe()
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      for (let agent = 0; agent < 12; agent++) yield* host.ask(namespaceKey(`agent-${agent}`), one(1))
      expect(yield* open).toBe(3)
      yield* host.maintain
      expect(probe.count("open")).toBe(12)
    }).pipe(Effect.provide(engineOf(temporaryDirectory(), { probe, openMax: 3 })))
  })

  fresh.effect("sweeps within a minute what has expired in an open namespace", function* () {
    const host = yield* NamespaceHost
    yield* host.ask(key, one(1, 30_000))
    yield* host.ask(key, one(2))
    yield* TestClock.adjust(Limits.expirySweepMillis)
    yield* until(rows, (count) => count === 1)
  })

  withEngine("opens a closed namespace to sweep what has expired in it", function* ({ probe }) {
    const host = yield* NamespaceHost
    yield* host.ask(key, one(1, Limits.namespaceIdleMillis * 2))
    yield* TestClock.adjust(Limits.namespaceIdleMillis + Limits.expirySweepMillis)
    yield* untilLater(open, (count) => count === 0)
    const opened = probe.count("open")
    yield* TestClock.adjust(Limits.namespaceIdleMillis)
    yield* untilLater(
      Effect.sync(() => probe.count("open")),
      (count) => count > opened
    )
    yield* until(rows, (count) => count === 0)
  })

  withEngine("erases from the log what was deleted, within a minute", function* ({ probe }) {
    const host = yield* NamespaceHost
    yield* host.ask(key, one(1))
    yield* host.maintain
    // What a killed process may have left in the log.
    expect(probe.count("checkpoint")).toBe(1)
    yield* host.ask(key, one(2))
    yield* host.maintain
    expect(probe.count("checkpoint")).toBe(1)
    yield* host.ask(key, { _tag: "RemoveMemories", ids: [memoryRecord(1, "").id], idempotency: undefined })
    yield* host.maintain
    yield* host.maintain
    expect(probe.count("checkpoint")).toBe(2)
  })

  it.effect("keeps no context of the request that opened a namespace", () => {
    const probe = new StoreProbe()
    const seen: Array<boolean> = []
    probe.before = (call) =>
      Effect.contextWith((context: Context.Context<never>) => {
        if (call.name === "commit") seen.push(Context.getOption(context, Marker)._tag === "Some")
        return Effect.void
      })
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      yield* Effect.provideService(host.ask(key, one(1)), Marker, "a request's body")
      expect(seen).toEqual([false])
    }).pipe(Effect.provide(engineOf(temporaryDirectory(), { probe })))
  })
})
