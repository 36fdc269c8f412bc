/** Room for commands that other nodes plan (contract: Quotas), over a real control.db and real files. */
import { expect } from "vitest"
import { Effect, Layer } from "effect"
import { Accounts, Quotas } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { StorageMeter, StoredBytes } from "@muniment/engine/namespace/StorageMeter"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { memoryBytes } from "@muniment/engine/store/MemoryRow"
import { StorageUse } from "@muniment/server/memories/StorageUse"
import { memoryRecord, probedStore, StoreProbe } from "../../support/EngineFixtures.ts"
import { put, unit } from "../../support/storeConformance.ts"
import { controlLayerOf } from "../control/ControlLayers.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { itWith } from "../../support/it.ts"

const fresh = itWith(() => world())

const world = () => {
  const directory = temporaryDirectory()
  const files = probedStore(directory, new StoreProbe())
  return StorageUse.layer.pipe(
    Layer.provide(
      Layer.effect(
        StoredBytes,
        Effect.map(NamespaceStore, ({ storedBytes }) => ({ of: storedBytes }))
      )
    ),
    Layer.provideMerge(files),
    Layer.provideMerge(controlLayerOf(directory)),
    Layer.fresh
  )
}

const limit = 5_000

const bound = Effect.gen(function* () {
  const account = yield* Accounts.use((accounts) => accounts.create("bound"))
  yield* Quotas.use((quotas) => quotas.change({ account: account.id }, { bytes: limit }))
  const [first, second] = yield* Effect.forEach(["a", "b"], (agent) =>
    NamespaceDirectory.use((directory) => directory.ensure(account.id, agent))
  )
  return { account, first: first!, second: second!, meter: yield* StorageMeter, use: yield* StorageUse }
})

fresh.effect("what is under way gets what it needs, then what there is, and never more together", function* () {
  const { account, first, meter, second, use } = yield* bound
  const reserve = (key: typeof first, most: number) => meter.reserve(key, () => most)
  const all = yield* Effect.all(
    Array.from({ length: 20 }, (_, at) => reserve([first, second][at % 2]!, 2_000)),
    { concurrency: "unbounded" }
  )
  expect(all.map((one) => one?.held)).toEqual([2_000, 2_000, 1_000, ...Array.from({ length: 17 }, () => 0)])
  expect(all[2]?.room).toEqual({ limit, used: 4_000 })
  expect(all[3]?.room).toEqual({ limit, used: limit })
  // It took less than was held, and one that was refused took nothing.
  meter.settle(first, 2_000, 1_500)
  meter.settle(second, 2_000, undefined)
  expect((yield* reserve(second, 9_000))?.room).toEqual({ limit, used: 2_500 })
  expect(yield* use.usedBy(account.id)).toBe(1_500)
})

fresh.effect("an account without a quota has no room to keep to", function* () {
  const { account, first, meter } = yield* bound
  yield* Quotas.use((quotas) => quotas.change({ account: account.id }, { bytes: null }))
  expect(yield* meter.reserve(first, () => 9_000)).toBeUndefined()
})

fresh.effect("a command without an answer counts until its agent is asked, or heard", function* () {
  const { first, meter, second } = yield* bound
  const record = memoryRecord(0, "stored, but nobody heard it")
  const taken = memoryBytes(record)
  const reserve = (key: typeof first, most: number) => meter.reserve(key, () => most)
  expect((yield* reserve(first, 2_000))?.held).toBe(2_000)
  meter.settle(first, 2_000, "unknown")
  const store = yield* NamespaceStore
  yield* Effect.scoped(Effect.flatMap(store.open(first), (file) => file.commit(0, [unit([put(0, record)])], 1)))
  // There is room enough: nobody is asked.
  expect((yield* reserve(second, 1_000))?.room.used).toBe(2_000)
  meter.settle(second, 1_000, undefined)
  // There is not: the agent's file says what it took.
  expect(yield* reserve(second, 3_500)).toEqual({ room: { limit, used: taken }, held: 3_500 })
  meter.settle(second, 3_500, undefined)

  expect((yield* reserve(first, 2_000))?.held).toBe(2_000)
  meter.settle(first, 2_000, "unknown")
  meter.settle(first, 0, 2 * taken)
  expect((yield* reserve(second, 100))?.room.used).toBe(2 * taken)
})
