/** Schemas of accounts without activity (contract: Plans and the daily job), over a real control.db and the job's clock. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Layer, References } from "effect"
import { TestClock } from "effect/testing"
import { credits } from "@muniment/domain/Money"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { StorageInsurance } from "@muniment/server/jobs/StorageInsurance"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { deposit, makeAccount, memory, moment, noon, numbersOf, storageWorld, store } from "./StorageWorld.ts"
import { effectOf, type Steps } from "../../../support/it.ts"

const run = StorageInsurance.use((insurance) => insurance.run())

/** A directory whose job is over for the day of `noon`. */
const world = (work: () => Steps<Layer.Success<ReturnType<typeof storageWorld>>>) =>
  Effect.andThen(TestClock.setTime(noon), Effect.provide(effectOf(work()), storageWorld(temporaryDirectory()))).pipe(
    Effect.provideService(References.MinimumLogLevel, "None")
  )

const during = (name: string, ...args: Parameters<typeof world>): void => it.effect(name, () => world(...args))

const schema = { name: "note", description: "d", schema: '{"type":"object"}' }
const schemasOf = (id: string) =>
  SchemaRegistry.use((registry) => Effect.map(registry.list(id), (all) => all.map(({ name }) => name)))

describe("schemas of a free account without balance", () => {
  /** Registered now; the names that are left after the runs of so many days. */
  const leftAfter = <R = never>(days: number, id: string, between?: Effect.Effect<unknown, never, R>) =>
    Effect.gen(function* () {
      for (let day = 1; day <= days; day++) {
        yield* TestClock.setTime(moment(day))
        if (day === 5 && between !== undefined) yield* between
        yield* run
      }
      return yield* schemasOf(id)
    })

  during("go with its memories once two runs found no activity of a week", function* () {
    const account = yield* makeAccount("idle", "free")
    yield* SchemaRegistry.use((registry) => registry.register(account.id, schema))
    yield* store(account, [memory(1, noon)])
    expect(yield* leftAfter(8, account.id)).toEqual(["note"])
    yield* TestClock.setTime(moment(9))
    yield* run
    expect([yield* numbersOf(account), yield* schemasOf(account.id)]).toEqual([[], []])
  })

  during("go without memories too", function* () {
    const account = yield* makeAccount("schemas", "free")
    yield* SchemaRegistry.use((registry) => registry.register(account.id, schema))
    expect(yield* leftAfter(8, account.id)).toEqual(["note"])
    yield* TestClock.setTime(moment(9))
    yield* run
    expect(yield* schemasOf(account.id)).toEqual([])
  })

  during("stay while a memory or a schema is younger than a week, and with a balance or on another plan", function* () {
    const [writing, changing, paying, starter] = [
      yield* makeAccount("writing", "free"),
      yield* makeAccount("changing", "free"),
      yield* makeAccount("paying", "free"),
      yield* makeAccount("starter", "starter")
    ]
    const registry = yield* SchemaRegistry
    for (const { id } of [writing, changing, paying, starter]) yield* registry.register(id, schema)
    yield* deposit(paying, credits(10), "k")
    yield* store(paying, [memory(1, noon)])
    const between = Effect.andThen(
      Effect.orDie(store(writing, [memory(2, moment(5))])),
      Effect.orDie(registry.update(changing.id, "note", { description: "e" }))
    )
    yield* leftAfter(10, writing.id, between)
    for (const { id } of [writing, changing, paying, starter]) expect(yield* schemasOf(id), id).toEqual(["note"])
  })
})
