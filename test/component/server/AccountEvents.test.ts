/** Events of an account's agents (contract: Events): what a free call costs, and that it misses nothing all the same. */
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Identity } from "@muniment/domain/Identity"
import { Limits } from "@muniment/domain/Limits"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { MoneyEvents } from "@muniment/control/payments/MoneyEvents"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { AccountEvents } from "@muniment/server/events/AccountEvents"
import { AccountSignals } from "@muniment/server/events/AccountSignals"
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

/** Providing it again for the same directory is a restart. */
const serviceOf = (directory: string, probe: StoreProbe) =>
  AccountEvents.layer.pipe(
    Layer.provideMerge(
      Layer.merge(NamespaceHost.layer({ dataDirectory: directory, index: exactOnly }), MoneyEvents.layer)
    ),
    Layer.provideMerge(AccountSignals.layer),
    Layer.provide(probedStore(directory, probe)),
    Layer.provideMerge(controlLayerOf(directory)),
    Layer.fresh
  )

const agents = ["a", "b", "c", "d", "e"]

let number = 0

/** One memory; its id. */
const store = Effect.fnUntraced(function* (caller: Identity, agentId: string) {
  const key = yield* NamespaceDirectory.use((directory) => directory.ensure(caller.account.id, agentId))
  const record = memoryRecord(++number, `fact ${number}`, { agentId })
  yield* NamespaceHost.use((host) => host.ask(key, creating([newMemory(record, axisVector(number))])))
  return record.id
})

/** An account with a memory of each agent. */
const furnished = Effect.gen(function* () {
  const account = yield* Accounts.use((accounts) => accounts.create("followed"))
  const caller: Identity = { account, keyId: "whole" }
  for (const agent of agents) yield* store(caller, agent)
  return caller
})

const page = Effect.fnUntraced(function* (caller: Identity, query: { cursor?: string; from?: "oldest" }) {
  const reader = yield* AccountEvents.use((events) => events.open(caller, query))
  const { events } = yield* reader.read(100, Effect.fail)
  return { ids: events.map(({ data }) => data.memoryId), cursor: reader.cursor }
})

it.effect("opens no agent, and reads none behind whose end the caller is", () => {
  const directory = temporaryDirectory()
  const probe = new StoreProbe()
  return Effect.gen(function* () {
    const caller = yield* Effect.provide(furnished, serviceOf(directory, new StoreProbe()))
    yield* Effect.gen(function* () {
      let { cursor } = yield* page(caller, {})
      for (let round = 0; round < 3; round++) ({ cursor } = yield* page(caller, round === 0 ? {} : { cursor }))
      expect([probe.count("open"), probe.count("events")]).toEqual([0, agents.length])
      // A cluster hears nothing of expiries on other nodes.
      yield* TestClock.adjust(Limits.eventHeartbeatMillis)
      expect(yield* page(caller, { cursor })).toEqual({ ids: [], cursor })
      expect([probe.count("open"), probe.count("events")]).toEqual([0, 2 * agents.length])
      expect((yield* page(caller, { from: "oldest" })).ids).toHaveLength(agents.length)
      expect((yield* NamespaceHost.use((host) => host.status)).open).toBe(0)
    }).pipe(Effect.provide(serviceOf(directory, probe)))
  })
})

it.effect("tells each event once, whether the agent is open or closed", () =>
  Effect.gen(function* () {
    const caller = yield* furnished
    const host = yield* NamespaceHost
    let { cursor } = yield* page(caller, {})
    for (const [at, agent] of [...agents, ...agents].entries()) {
      const id = yield* store(caller, agent)
      if (at % 2 === 0)
        yield* host.close(yield* NamespaceDirectory.use(({ ensure }) => ensure(caller.account.id, agent)))
      const next = yield* page(caller, { cursor })
      expect(next.ids).toEqual([id])
      cursor = next.cursor
      expect((yield* page(caller, { cursor })).ids).toEqual([])
    }
  }).pipe(Effect.provide(serviceOf(temporaryDirectory(), new StoreProbe())))
)

it.effect("tells what is stored while a file is read", () => {
  const directory = temporaryDirectory()
  const probe = new StoreProbe()
  return Effect.gen(function* () {
    const caller = yield* Effect.provide(furnished, serviceOf(directory, new StoreProbe()))
    yield* Effect.gen(function* () {
      const read = yield* Deferred.make<void>()
      const stored = yield* Deferred.make<void>()
      probe.after = ({ key, name }) =>
        name === "events" && key.agentId === "c"
          ? Effect.andThen(Deferred.succeed(read, undefined), Deferred.await(stored))
          : Effect.void
      const early = yield* Effect.forkChild(page(caller, {}))
      yield* Deferred.await(read)
      const id = yield* store(caller, "c")
      yield* Deferred.succeed(stored, undefined)
      const { cursor, ids } = yield* Fiber.join(early)
      expect([...ids, ...(yield* page(caller, { cursor })).ids]).toEqual([id])
    }).pipe(Effect.provide(serviceOf(directory, probe)))
  })
})
