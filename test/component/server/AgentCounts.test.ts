/** Live memories of agents in a free call (contract: Identity): what it costs, and that it is right all the same. */
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Identity } from "@muniment/domain/Identity"
import { Limits } from "@muniment/domain/Limits"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { StoredBytes } from "@muniment/engine/namespace/StorageMeter"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { AgentCounts } from "@muniment/server/memories/AccountFigures"
import { StorageUse } from "@muniment/server/memories/StorageUse"
import {
  axisVector,
  creating,
  exactOnly,
  memoryRecord,
  newMemory,
  probedStore,
  StoreProbe
} from "../../support/EngineFixtures.ts"
import { controlLayerOf } from "../control/ControlLayers.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { effectOf, type Steps } from "../../support/it.ts"

/** Providing it again for the same directory is a restart. */
const serviceOf = (directory: string, probe: StoreProbe) =>
  AgentCounts.layer.pipe(
    Layer.provideMerge(NamespaceHost.layer({ dataDirectory: directory, index: exactOnly, openMax: 2 })),
    Layer.provideMerge(StorageUse.layer),
    Layer.provide(
      Layer.effect(
        StoredBytes,
        Effect.map(NamespaceStore, ({ storedBytes }) => ({ of: storedBytes }))
      )
    ),
    Layer.provide(probedStore(directory, probe)),
    Layer.provideMerge(controlLayerOf(directory)),
    Layer.fresh
  )

const agents = ["a", "b", "c", "d", "e"]

/** The account, with two memories of each agent: one of the subject `s`, one that expires at 1,000. */
const furnished = Effect.gen(function* () {
  const account = yield* Accounts.use((accounts) => accounts.create("counted"))
  for (const agent of agents) yield* store(account.id, agent, [{ subjectId: "s" }, { expiresAt: 1_000 }])
  return { account, keyId: "whole" } satisfies Identity
})

let number = 0

const store = Effect.fnUntraced(function* (
  account: string,
  agent: string,
  memories: ReadonlyArray<Parameters<typeof memoryRecord>[2]>
) {
  const key = yield* NamespaceDirectory.use((directory) => directory.ensure(account, agent))
  const made = memories.map((fields) =>
    newMemory(memoryRecord(++number, `fact ${number}`, { agentId: agent, ...fields }), axisVector(number))
  )
  yield* NamespaceHost.use((host) => host.ask(key, creating(made)))
  return key
})

const counts = (caller: Identity) =>
  Effect.map(
    AgentCounts.use((service) => service.of(caller)),
    (agents) => agents.map(({ memories }) => memories)
  )

/** Once the furnished account has lain in files that no process had open. */
const restarted = (
  probe: StoreProbe,
  test: (caller: Identity) => Steps<Layer.Success<ReturnType<typeof serviceOf>>>
) => {
  const directory = temporaryDirectory()
  return Effect.flatMap(Effect.provide(furnished, serviceOf(directory, new StoreProbe())), (caller) =>
    Effect.provide(effectOf(test(caller)), serviceOf(directory, probe))
  )
}

it.effect("opens no agent, and reads a file once however often it is asked", () => {
  const probe = new StoreProbe()
  return restarted(probe, function* (caller) {
    for (let round = 0; round < 3; round++) expect(yield* counts(caller)).toEqual([2, 2, 2, 2, 2])
    expect([probe.count("open"), probe.count("census")]).toEqual([0, agents.length])
    expect((yield* NamespaceHost.use((host) => host.status)).open).toBe(0)
  })
})

it.effect("is right after each change and expiry, of open agents and closed ones", () => {
  const probe = new StoreProbe()
  return Effect.gen(function* () {
    const caller = yield* furnished
    expect(yield* counts(caller)).toEqual([2, 2, 2, 2, 2])
    yield* store(caller.account.id, "b", [{}, {}])
    expect(yield* counts(caller)).toEqual([2, 4, 2, 2, 2])
    // Their actors have said it.
    expect(probe.count("census")).toBe(0)
    yield* TestClock.adjust(1_000)
    const { open } = yield* NamespaceHost.use((host) => host.status)
    for (let round = 0; round < 3; round++) expect(yield* counts(caller)).toEqual([1, 3, 1, 1, 1])
    expect(probe.count("census")).toBe(agents.length - open)
  }).pipe(Effect.provide(serviceOf(temporaryDirectory(), probe)))
})

it.effect("counts for a key that is bound to subjects what it sees, once", () => {
  const probe = new StoreProbe()
  return restarted(probe, function* (caller) {
    const bound = (keyId: string, ...subjects: [string, ...Array<string>]) => ({
      ...caller,
      keyId,
      scope: { subjects }
    })
    const [seesOne, seesNone] = [bound("one", "s"), bound("none", "t")]
    for (let round = 0; round < 3; round++) {
      expect(yield* counts(seesOne)).toEqual([1, 1, 1, 1, 1])
      expect(yield* counts(seesNone)).toEqual([])
    }
    expect(probe.count("census")).toBe(2 * agents.length)
    const key = yield* store(caller.account.id, "a", [{ subjectId: "s" }, { subjectId: "t" }])
    const right = Effect.gen(function* () {
      expect(yield* counts(seesOne)).toEqual([2, 1, 1, 1, 1])
      expect(yield* counts(seesNone)).toEqual([1])
    })
    yield* right
    expect(probe.count("census")).toBe(2 * agents.length)
    yield* NamespaceHost.use((host) => host.close(key))
    yield* right
    expect(probe.count("census")).toBe(2 * agents.length + 2)
    // As many keys as one likes take no more room than this.
    for (let at = 0; at < Limits.countedPartsMax; at++) yield* counts(bound(`key ${at}`, "s"))
    const before = probe.count("census")
    yield* counts(seesOne)
    expect(probe.count("census")).toBe(before + agents.length)
  })
})

it.effect("forgets a count during which something was stored", () => {
  const probe = new StoreProbe()
  return restarted(probe, function* (caller) {
    const counted = yield* Deferred.make<void>()
    const stored = yield* Deferred.make<void>()
    probe.after = ({ key, name }) =>
      name === "census" && key.agentId === "a"
        ? Effect.andThen(Deferred.succeed(counted, undefined), Deferred.await(stored))
        : Effect.void
    const early = yield* Effect.forkChild(counts(caller))
    yield* Deferred.await(counted)
    const key = yield* store(caller.account.id, "a", [{}])
    yield* NamespaceHost.use((host) => host.close(key))
    yield* Deferred.succeed(stored, undefined)
    expect(yield* Fiber.join(early)).toEqual([2, 2, 2, 2, 2])
    expect(yield* counts(caller)).toEqual([3, 2, 2, 2, 2])
  })
})

it.effect("says null of an agent whose file is set aside, also if it was counted before", () => {
  const probe = new StoreProbe()
  return Effect.gen(function* () {
    const caller = yield* furnished
    expect(yield* counts(caller)).toEqual([2, 2, 2, 2, 2])
    const key = yield* NamespaceDirectory.use((directory) => directory.ensure(caller.account.id, "c"))
    probe.faults = ["a page is damaged"]
    yield* NamespaceHost.use((host) => host.check(key, () => Effect.void))
    expect(yield* counts(caller)).toEqual([2, 2, null, 2, 2])
    probe.faults = []
    yield* NamespaceHost.use((host) => host.check(key, () => Effect.void))
    expect(yield* counts(caller)).toEqual([2, 2, 2, 2, 2])
  }).pipe(Effect.provide(serviceOf(temporaryDirectory(), probe)))
})
