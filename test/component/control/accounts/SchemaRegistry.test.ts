/** Registered schemas: unique in their account, listed by name, cleared and removed. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { cpSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Limits } from "@muniment/domain/Limits"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => controlLayerOf(temporaryDirectory()))

const contact = { name: "contact", description: "A person", uniqueOn: ["email"], schema: '{"type":"object"}' }
const accountOf = (name: string) =>
  Effect.map(
    Accounts.use((accounts) => accounts.ensure(name, "free")),
    ({ id }) => id
  )

describe("SchemaRegistry", () => {
  fresh.effect("returns what was registered, with its times", function* () {
    const registry = yield* SchemaRegistry
    const account = yield* accountOf("alice")
    yield* TestClock.setTime(1_000)
    const registered = yield* registry.register(account, contact)
    expect(registered).toEqual({ ...contact, createdAt: 1_000, updatedAt: 1_000 })
    expect(yield* registry.get(account, "contact")).toEqual(registered)
    expect(yield* registry.find(account, "other")).toBeUndefined()
    expect(yield* registry.register(account, { ...contact, name: "note", uniqueOn: [] })).not.toHaveProperty("uniqueOn")
  })

  fresh.effect("refuses a taken name in the account, not in another", function* () {
    const registry = yield* SchemaRegistry
    const [alice, bob] = [yield* accountOf("alice"), yield* accountOf("bob")]
    yield* registry.register(alice, contact)
    expect(yield* Effect.flip(registry.register(alice, contact))).toMatchObject({
      _tag: "Conflict",
      code: "schema_exists"
    })
    yield* registry.register(bob, contact)
    yield* registry.remove(bob, "contact")
    expect(yield* registry.list(alice)).toHaveLength(1)
  })

  fresh.effect("registers a name once for many that ask at once", function* () {
    const registry = yield* SchemaRegistry
    const account = yield* accountOf("alice")
    const outcomes = yield* Effect.all(
      Array.from({ length: 10 }, () => Effect.exit(registry.register(account, contact))),
      { concurrency: "unbounded" }
    )
    expect(outcomes.filter(({ _tag }) => _tag === "Success")).toHaveLength(1)
  })

  fresh.effect("lists by name", function* () {
    const registry = yield* SchemaRegistry
    const account = yield* accountOf("alice")
    for (const name of ["b", "a", "C"]) yield* registry.register(account, { ...contact, name })
    expect((yield* registry.list(account)).map(({ name }) => name)).toEqual(["C", "a", "b"])
  })

  fresh.effect("changes what a patch names, and clears uniqueOn by null or an empty list", function* () {
    const registry = yield* SchemaRegistry
    const account = yield* accountOf("alice")
    yield* registry.register(account, contact)
    yield* TestClock.setTime(2_000)
    expect(yield* registry.update(account, "contact", { description: "Someone" })).toEqual({
      ...contact,
      description: "Someone",
      createdAt: 0,
      updatedAt: 2_000
    })
    for (const uniqueOn of [null, []]) {
      yield* registry.update(account, "contact", { uniqueOn: ["email"] })
      expect(yield* registry.update(account, "contact", { uniqueOn })).not.toHaveProperty("uniqueOn")
    }
  })

  fresh.effect("answers 404 for a name that is not registered", function* () {
    const registry = yield* SchemaRegistry
    const account = yield* accountOf("alice")
    const missing = { _tag: "NotFound", code: "schema_not_found" }
    expect(yield* Effect.flip(registry.get(account, "contact"))).toMatchObject(missing)
    expect(yield* Effect.flip(registry.update(account, "contact", { description: "x" }))).toMatchObject(missing)
    expect(yield* Effect.flip(registry.remove(account, "contact"))).toMatchObject(missing)
  })

  fresh.effect("stops at the limit; a removed schema makes room", function* () {
    const registry = yield* SchemaRegistry
    const account = yield* accountOf("alice")
    for (let n = 0; n < Limits.schemasPerAccountMax; n++)
      yield* registry.register(account, { ...contact, name: `s${n}` })
    expect(yield* Effect.flip(registry.register(account, contact))).toMatchObject({
      _tag: "InvalidRequest",
      code: "limit_exceeded"
    })
    yield* registry.remove(account, "s0")
    yield* registry.register(account, contact)
  })

  it.effect("keeps schemas over a restart", function* () {
    const directory = temporaryDirectory()
    const register = Effect.gen(function* () {
      const account = yield* accountOf("alice")
      return [account, yield* (yield* SchemaRegistry).register(account, contact)] as const
    })
    const [account, registered] = yield* register.pipe(Effect.provide(controlLayerOf(directory)))
    const after = SchemaRegistry.use((registry) => registry.list(account))
    expect(yield* after.pipe(Effect.provide(controlLayerOf(directory)))).toEqual([registered])
  })

  it.effect(
    "leaves no deleted or replaced text in the files once the database has settled, also not one of an earlier process",
    function* () {
      const [directory, killed] = [temporaryDirectory(), temporaryDirectory()]
      const textOf = (word: string) => `{"type":"object","title":"${word}"}`
      const filesWith = (word: string) =>
        readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(word))
      yield* Effect.gen(function* () {
        const registry = yield* SchemaRegistry
        const account = yield* accountOf("alice")
        yield* registry.register(account, { ...contact, schema: textOf("zanzibar") })
        yield* registry.update(account, "contact", { schema: textOf("maputo") })
        expect(filesWith("zanzibar")).not.toEqual([])
        yield* (yield* ControlDatabase).settle
        expect([filesWith("zanzibar"), filesWith("maputo")]).toEqual([[], ["control.db"]])
        yield* registry.remove(account, "contact")
        yield* (yield* ControlDatabase).settle
        expect(filesWith("maputo")).toEqual([])
        yield* registry.register(account, { ...contact, schema: textOf("luanda") })
        yield* registry.remove(account, "contact")
        cpSync(directory, killed, { recursive: true })
      }).pipe(Effect.provide(controlLayerOf(directory)))

      const filesThere = () => readdirSync(killed).filter((name) => readFileSync(join(killed, name)).includes("luanda"))
      expect(filesThere()).not.toEqual([])
      yield* Effect.gen(function* () {
        yield* (yield* ControlDatabase).settle
        expect(filesThere()).toEqual([])
      }).pipe(Effect.provide(controlLayerOf(killed)))
    }
  )
})
