/**
 * Failures of the store at a commit, an open or a read: all waiting callers fail, the actor stops, its file is reopened
 * or set aside, and all other namespaces serve.
 */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import { Limits } from "@muniment/domain/Limits"
import type { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { StoreDamaged, StoreFault, StoreFenced, StoreFull } from "@muniment/engine/store/StoreError"
import {
  allOf,
  creating,
  engineOf,
  memoryRecord,
  namespaceKey,
  newMemory,
  StoreProbe
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { effectOf, type Steps } from "../../support/it.ts"

const key = namespaceKey()
const other = namespaceKey("other")
const cause = new Error("made by the test")
const fault = new StoreFault({ cause })
const full = new StoreFull({ cause })
const damaged = new StoreDamaged({ reason: "made by the test", cause })

const one = (number: number, token?: string) => creating([newMemory(memoryRecord(number, `memory ${number}`))], token)
const ask = (number: number, token?: string) => NamespaceHost.use((host) => host.ask(key, one(number, token)))
const status = NamespaceHost.use((host) => host.status)
const idsOf = Effect.map(allOf(key), (all) => [...all.keys()].sort())

/** One namespace with one memory, under a probe. */
const withProbe = (test: (probe: StoreProbe, directory: string) => Steps<MemorySearch | NamespaceHost>) => {
  const probe = new StoreProbe()
  const directory = temporaryDirectory()
  return Effect.andThen(ask(1), effectOf(test(probe, directory))).pipe(Effect.provide(engineOf(directory, { probe })))
}

const probing = (name: string, test: Parameters<typeof withProbe>[0]): void => it.effect(name, () => withProbe(test))

describe("a commit that fails", () => {
  probing(
    "fails all waiting commands, also those suspended by a full mailbox; the next ones are served",
    function* (probe) {
      const gate = Deferred.makeUnsafe<void>()
      const held = Deferred.makeUnsafe<void>()
      probe.before = (call) => {
        if (call.name !== "commit") return Effect.void
        probe.before = () => Effect.void
        return Deferred.succeed(held, undefined).pipe(
          Effect.andThen(Deferred.await(gate)),
          Effect.andThen(Effect.fail(fault))
        )
      }
      const count = Limits.mailboxCapacity + Limits.commitBatchMax * 2
      const waiting = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: count }), (_, at) => Effect.flip(ask(10 + at)), {
          concurrency: "unbounded"
        })
      )
      yield* Deferred.await(held)
      yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      const told = yield* Fiber.join(waiting)
      expect(told.map(({ _tag }) => _tag)).toEqual(told.map(() => "Unavailable"))
      expect(yield* idsOf).toHaveLength(1)
      yield* ask(2)
      expect(probe.count("open")).toBe(2)
    }
  )

  probing("but was durable is not done twice by a retry with the same key", function* (probe) {
    probe.failNext("commit", fault, "after")
    expect(yield* Effect.flip(ask(2, "token"))).toMatchObject({ code: "namespace_unavailable" })
    const { created } = yield* ask(3, "token")
    expect(created.map(({ id }) => id)).toEqual([memoryRecord(2, "").id])
    expect(yield* idsOf).toEqual([memoryRecord(1, "").id, memoryRecord(2, "").id])
  })

  probing("by a defect fails them too, and the image is loaded again", function* (probe) {
    probe.before = (call) => {
      if (call.name !== "commit") return Effect.void
      probe.before = () => Effect.void
      return Effect.die(new RangeError("a broken invariant"))
    }
    expect(yield* Effect.flip(ask(2))).toMatchObject({ code: "namespace_unavailable" })
    yield* ask(3)
    expect(yield* idsOf).toEqual([memoryRecord(1, "").id, memoryRecord(3, "").id])
    expect(probe.count("open")).toBe(2)
  })

  probing("on a full disk answers 507 and stores nothing; reads and later writes work", function* (probe) {
    probe.failNext("commit", full)
    expect(yield* Effect.flip(ask(2))).toMatchObject({ _tag: "InsufficientStorage", code: "insufficient_storage" })
    expect(yield* idsOf).toEqual([memoryRecord(1, "").id])
    yield* ask(3)
  })

  probing("on a full disk is repeated with the ballast's space if it is a removal", function* (probe, directory) {
    const host = yield* NamespaceHost
    const ballast = join(directory, "ballast")
    expect(statSync(ballast).size).toBe(Limits.filesystemBallastBytes)
    probe.before = (call) => (call.name === "commit" && existsSync(ballast) ? Effect.fail(full) : Effect.void)
    expect(yield* Effect.flip(ask(2))).toMatchObject({ code: "insufficient_storage" })
    expect(existsSync(ballast)).toBe(true)
    const removed = yield* host.ask(key, {
      _tag: "RemoveMemories",
      ids: [memoryRecord(1, "").id],
      idempotency: undefined
    })
    expect(removed).toBe(1)
    expect(existsSync(ballast)).toBe(false)
    yield* host.maintain
    expect(statSync(ballast).size).toBe(Limits.filesystemBallastBytes)
  })

  probing(
    "on a full disk is repeated without more space too if it is a removal: its file was closed meanwhile",
    function* (probe) {
      const host = yield* NamespaceHost
      const commits = probe.count("commit")
      const opened = probe.count("open")
      const isSoon = () => probe.count("commit") <= commits + 2
      probe.before = (call) => (call.name === "commit" && isSoon() ? Effect.fail(full) : Effect.void)
      const remove = { _tag: "RemoveMemories", ids: [memoryRecord(1, "").id], idempotency: undefined } as const
      expect(yield* host.ask(key, remove)).toBe(1)
      expect(probe.count("commit")).toBe(commits + 3)
      expect(probe.count("open")).toBe(opened + 2)
    }
  )

  probing("by damage sets the file aside and leaves it alone, while others serve", function* (probe) {
    const host = yield* NamespaceHost
    yield* host.ask(other, one(1))
    const opened = probe.count("open")
    probe.faults = ["made by the test"]
    probe.failNext("commit", damaged)
    for (let again = 0; again < 3; again++) {
      expect(yield* Effect.flip(ask(2))).toMatchObject({ code: "namespace_unavailable" })
    }
    expect(yield* Effect.flip(host.answer(key, { _tag: "Counts" }))).toMatchObject({ code: "namespace_unavailable" })
    expect((yield* status).quarantined).toEqual([{ file: `namespaces/${key.tag}.db`, reason: "made by the test" }])
    expect(yield* Effect.map(host.answer(other, { _tag: "Counts" }), (counts) => counts.live)).toBe(1)
    yield* host.maintain
    expect(probe.count("open")).toBe(opened)
    expect((yield* status).open).toBe(1)
  })

  probing("because another process owns the file stops this owner, which does not reopen", function* (probe) {
    const opened = probe.count("open")
    probe.failNext("commit", new StoreFenced({ epoch: 7 }))
    expect(yield* Effect.flip(ask(2))).toMatchObject({ error: expect.stringContaining("another process") })
    expect(yield* Effect.flip(ask(3))).toMatchObject({ error: expect.stringContaining("another process") })
    expect(probe.count("open")).toBe(opened)
    expect((yield* status).quarantined).toHaveLength(1)
  })
})

describe("an open that fails", () => {
  it.effect("fails all who wait for it, and the next open is tried", () => {
    const probe = new StoreProbe()
    probe.before = (call) => {
      if (call.name !== "open") return Effect.void
      probe.before = () => Effect.void
      return Effect.andThen(Effect.yieldNow, Effect.fail(fault))
    }
    return Effect.gen(function* () {
      const told = yield* Effect.forEach([1, 2, 3], (number) => Effect.flip(ask(number)), { concurrency: "unbounded" })
      expect(told.map(({ _tag }) => _tag)).toEqual(["Unavailable", "Unavailable", "Unavailable"])
      yield* ask(4)
      expect(probe.count("open")).toBe(2)
      expect((yield* status).quarantined).toEqual([])
    }).pipe(Effect.provide(engineOf(temporaryDirectory(), { probe })))
  })

  it.effect("by damage sets the file aside", () => {
    const probe = new StoreProbe()
    probe.faults = ["made by the test"]
    probe.failNext("open", damaged)
    return Effect.gen(function* () {
      yield* Effect.flip(ask(1))
      yield* Effect.flip(ask(1))
      expect(probe.count("open")).toBe(1)
      expect((yield* status).quarantined).toHaveLength(1)
    }).pipe(Effect.provide(engineOf(temporaryDirectory(), { probe })))
  })

  it.effect("on a full disk is repeated with the ballast's space", () => {
    const probe = new StoreProbe()
    const directory = temporaryDirectory()
    probe.failNext("open", full)
    return Effect.gen(function* () {
      yield* ask(1)
      expect(existsSync(join(directory, "ballast"))).toBe(false)
    }).pipe(Effect.provide(engineOf(directory, { probe })))
  })
})

describe("a read that fails", () => {
  probing("fails alone: the namespace goes on", function* (probe) {
    probe.failNext("records", fault)
    expect(yield* Effect.flip(idsOf)).toMatchObject({ code: "namespace_unavailable" })
    expect(yield* idsOf).toHaveLength(1)
    expect(probe.count("open")).toBe(1)
  })

  probing("by damage sets the file aside and closes it", function* (probe) {
    probe.faults = ["made by the test"]
    probe.failNext("records", damaged)
    yield* Effect.flip(idsOf)
    yield* Effect.flip(ask(2))
    expect(yield* status).toMatchObject({ open: 0, quarantined: [{ reason: "made by the test" }] })
  })

  probing("while a command is planned stops the actor", function* (probe) {
    const host = yield* NamespaceHost
    probe.failNext("slotOf", fault)
    const ids = [memoryRecord(1, "").id]
    const remove = host.ask(key, { _tag: "RemoveMemories", ids, idempotency: undefined })
    expect(yield* Effect.flip(remove)).toMatchObject({ code: "namespace_unavailable" })
    expect(yield* remove).toBe(1)
    expect(probe.count("open")).toBe(2)
  })
})

probing("an interrupted caller does not interrupt the commit of the others", function* (probe) {
  const gate = Deferred.makeUnsafe<void>()
  const held = Deferred.makeUnsafe<void>()
  probe.before = (call) =>
    call.name === "commit" ? Effect.andThen(Deferred.succeed(held, undefined), Deferred.await(gate)) : Effect.void
  const leaving = yield* Effect.forkChild(ask(2))
  yield* Deferred.await(held)
  const staying = yield* Effect.forkChild(ask(3))
  yield* Effect.yieldNow
  yield* Fiber.interrupt(leaving)
  yield* Deferred.succeed(gate, undefined)
  yield* Fiber.join(staying)
  // The second memory was not acknowledged: it may be stored, but not partly.
  expect(yield* idsOf).toEqual([1, 2, 3].map((number) => memoryRecord(number, "").id))
})
