/**
 * The actor of a namespace over a real file: groups in one transaction, replies after the commit, reads of committed
 * data only, retries under an idempotency key.
 */
import { describe, expect } from "vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import {
  allOf,
  creating,
  engineOf,
  memoryRecord,
  namespaceKey,
  newMemory,
  patching,
  type StoreProbe
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"
import { withEngine } from "./withEngine.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()
const one = (number: number, text = `memory ${number}`) => creating([newMemory(memoryRecord(number, text))])

/** Delays every commit until `open`. */
const heldCommits = (probe: StoreProbe) => {
  const gate = Deferred.makeUnsafe<void>()
  const arrived = Deferred.makeUnsafe<void>()
  probe.before = (call) =>
    call.name === "commit" ? Effect.andThen(Deferred.succeed(arrived, undefined), Deferred.await(gate)) : Effect.void
  return { arrived: Deferred.await(arrived), open: Deferred.succeed(gate, undefined) }
}

describe("a group of commands", () => {
  withEngine("is one transaction for any number of concurrent commands", function* ({ probe }) {
    const host = yield* NamespaceHost
    const asked = 3 * Limits.commitBatchMax
    yield* Effect.forEach(Array.from({ length: asked }), (_, number) => host.ask(key, one(number)), {
      concurrency: "unbounded"
    })
    expect(probe.count("commit")).toBeLessThanOrEqual(asked / Limits.commitBatchMax + 2)
    expect((yield* allOf(key)).size).toBe(asked)
  })

  withEngine("is split where it would block the event loop for too long", function* ({ probe }) {
    const host = yield* NamespaceHost
    yield* host.ask(key, one(0))
    const held = heldCommits(probe)
    const first = yield* Effect.forkChild(host.ask(key, one(1)))
    yield* held.arrived
    const rest = yield* Effect.forkChild(
      Effect.forEach(
        Array.from({ length: 20 }),
        (_, request) =>
          host.ask(
            key,
            creating(
              Array.from({ length: 100 }, (_, at) => newMemory(memoryRecord(1_000 + request * 100 + at, "one of many")))
            )
          ),
        { concurrency: "unbounded" }
      )
    )
    yield* Effect.yieldNow
    yield* held.open
    yield* Fiber.join(first)
    yield* Fiber.join(rest)
    for (const call of probe.calls) {
      if (call.name !== "commit") continue
      const changes = call.group.reduce((sum, { changes }) => sum + changes.length, 0)
      expect(changes).toBeLessThan(Limits.changesPerCommitMax + Limits.memoriesPerRequestMax)
    }
    expect((yield* allOf(key)).size).toBe(2_002)
  })

  withEngine(
    "gives no reply before its commit, and reads meanwhile see exactly what was committed before",
    function* ({ probe }) {
      const host = yield* NamespaceHost
      const search = yield* MemorySearch
      yield* host.ask(key, one(1, "the cat sleeps"))
      const held = heldCommits(probe)
      const writing = yield* Effect.forkChild(host.ask(key, one(2, "the cat wakes")))
      yield* held.arrived
      const query = { text: "cat", vectors: new Map(), filter: {}, limit: 10, minRelevance: 0 }
      const { hits: during } = yield* search.search([key], query)
      expect(during.map(({ memory }) => memory.data)).toEqual([{ fact: "the cat sleeps" }])
      expect((yield* allOf(key)).size).toBe(1)
      expect(writing.pollUnsafe()).toBeUndefined()
      yield* held.open
      yield* Fiber.join(writing)
      expect((yield* search.search([key], query)).hits).toHaveLength(2)
    }
  )

  withEngine("lets a later command see what an earlier one of the group did", function* ({ probe }) {
    const host = yield* NamespaceHost
    const { id } = memoryRecord(2, "")
    yield* host.ask(key, one(1))
    const held = heldCommits(probe)
    const first = yield* Effect.forkChild(host.ask(key, one(3)))
    yield* held.arrived
    const group = yield* Effect.forkChild(
      Effect.all(
        [
          host.ask(key, one(2)),
          host.ask(key, patching([id], { tags: ["seen"] }, 5_000)),
          host.ask(key, { _tag: "RemoveMemories", ids: [id], idempotency: undefined }),
          host.ask(key, { _tag: "RemoveMemories", ids: [id], idempotency: undefined }),
          host.ask(key, { _tag: "RemoveMatching", filter: {} })
        ],
        { concurrency: "unbounded" }
      )
    )
    yield* Effect.yieldNow
    yield* held.open
    yield* Fiber.join(first)
    const [, patched, removed, removedAgain, matching] = yield* Fiber.join(group)
    expect(patched.map(({ tags }) => tags)).toEqual([["seen"]])
    expect([removed, removedAgain, matching]).toEqual([1, 0, 2])
    expect((yield* allOf(key)).size).toBe(0)
  })

  withEngine("does not find memories that expired through an earlier command of the group", function* ({ probe }) {
    const host = yield* NamespaceHost
    yield* host.ask(key, one(1))
    const { id } = memoryRecord(1, "")
    const held = heldCommits(probe)
    const first = yield* Effect.forkChild(host.ask(key, one(2)))
    yield* held.arrived
    const patch = (fields: { readonly tags?: ReadonlyArray<string>; readonly expiresAt?: number }) =>
      host.ask(key, patching([id], fields, 5_000))
    const both = yield* Effect.forkChild(
      Effect.all([patch({ expiresAt: -1 }), patch({ tags: ["late"] })], { concurrency: "unbounded" })
    )
    yield* Effect.yieldNow
    yield* held.open
    yield* Fiber.join(first)
    const [, late] = yield* Fiber.join(both)
    expect(late).toEqual([])
  })
})

describe("an idempotency key", () => {
  const twice = (number: number, fingerprint?: string) =>
    creating([newMemory(memoryRecord(number, "once"))], "token", fingerprint)

  fresh.effect("stores once for equal commands in one group, and refuses another request", function* () {
    const host = yield* NamespaceHost
    const replies = yield* Effect.forEach([1, 2, 3], (number) => host.ask(key, twice(number)), {
      concurrency: "unbounded"
    })
    const ids = replies.map(({ created }) => created.map(({ id }) => id))
    expect(ids).toEqual([ids[0], ids[0], ids[0]])
    expect((yield* allOf(key)).size).toBe(1)
    const refused = yield* Effect.flip(host.ask(key, twice(4, "another body")))
    expect(refused).toMatchObject({ _tag: "Conflict", code: "idempotency_conflict" })
  })

  it.effect(
    "may be used again a day later, for another request, though the namespace was closed meanwhile",
    function* () {
      const directory = temporaryDirectory()
      const write = (number: number, fingerprint: string) =>
        NamespaceHost.use((host) => host.ask(key, twice(number, fingerprint))).pipe(Effect.provide(engineOf(directory)))
      yield* write(1, "first")
      yield* TestClock.adjust(Limits.idempotencyRetentionMillis)
      expect(yield* Effect.flip(write(2, "second"))).toMatchObject({ _tag: "Conflict" })
      yield* TestClock.adjust(1)
      expect((yield* write(2, "second")).created).toHaveLength(1)
      expect(yield* Effect.flip(write(3, "third"))).toMatchObject({ _tag: "Conflict" })
    }
  )

  it.effect("returns its result after a restart, for creates, patches and removals", function* () {
    const directory = temporaryDirectory()
    const { id } = memoryRecord(1, "")
    const commands = Effect.gen(function* () {
      const host = yield* NamespaceHost
      const { created } = yield* host.ask(key, twice(1))
      const patched = yield* host.ask(key, {
        _tag: "PatchMemories",
        ids: [id, id, "mem_none"],
        patch: { tags: ["a", "b", "a"] },
        atMillis: 5_000,
        idempotency: { key: "patch", fingerprint: "f" }
      })
      return { created: created.map((memory) => memory.id), tags: patched.map(({ tags }) => tags) }
    })
    const removal = Effect.flatMap(NamespaceHost, (host) =>
      host.ask(key, { _tag: "RemoveMemories", ids: [id, id], idempotency: { key: "remove", fingerprint: "f" } })
    )
    const first = yield* Effect.provide(commands, engineOf(directory))
    expect(first).toEqual({ created: [id], tags: [["a", "b"]] })
    expect(yield* Effect.provide(commands, engineOf(directory))).toEqual(first)
    expect(yield* Effect.provide(removal, engineOf(directory))).toBe(1)
    expect(yield* Effect.provide(removal, engineOf(directory))).toBe(1)
    // A late retry of a create does not restore a removed memory.
    expect(yield* Effect.provide(commands, engineOf(directory))).toEqual({ created: [], tags: [] })
    expect((yield* Effect.provide(allOf(key), engineOf(directory))).size).toBe(0)
  })

  fresh.effect("is free again after a command that failed", function* () {
    const host = yield* NamespaceHost
    const missing = { ...newMemory(memoryRecord(9, "missing")), isReplacement: true }
    yield* Effect.flip(host.ask(key, creating([missing], "token")))
    const { created } = yield* host.ask(key, twice(1, "another body"))
    expect(created).toHaveLength(1)
  })
})
