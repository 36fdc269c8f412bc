/** Accounts: unique names, stable over restarts, created once however many ask. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => controlLayerOf(temporaryDirectory()))

describe("Accounts", () => {
  fresh.effect("creates on the free plan with an id of its own, unless told otherwise", function* () {
    const accounts = yield* Accounts
    yield* TestClock.setTime(1_700_000_000_000)
    const made = yield* accounts.create("alice")
    expect(made).toEqual({ id: made.id, name: "alice", plan: "free", createdAt: 1_700_000_000_000 })
    expect(made.id).toMatch(/^acc_[0-9A-HJKMNP-TV-Z]{26}$/)
    expect(yield* accounts.create("bob", { plan: "pro", id: "0xabc" })).toMatchObject({ id: "0xabc", plan: "pro" })
    expect(yield* accounts.byId("0xabc")).toMatchObject({ name: "bob" })
    expect(yield* accounts.byName("alice")).toEqual(made)
    expect(yield* accounts.byName("nobody")).toBeUndefined()
    expect((yield* accounts.list).map(({ name }) => name)).toEqual(["alice", "bob"])
  })

  fresh.effect("refuses a taken name or id", function* () {
    const accounts = yield* Accounts
    yield* accounts.create("alice", { id: "one" })
    expect(yield* Effect.flip(accounts.create("alice"))).toMatchObject({ _tag: "Conflict", code: "account_exists" })
    expect(yield* Effect.flip(accounts.create("bob", { id: "one" }))).toMatchObject({ code: "account_exists" })
    expect(yield* accounts.list).toHaveLength(1)
  })

  fresh.effect("ensures one account for many that ask at once, and keeps its plan", function* () {
    const accounts = yield* Accounts
    const made = yield* Effect.all(
      Array.from({ length: 20 }, () => accounts.ensure("owner", "owner")),
      { concurrency: "unbounded" }
    )
    expect(new Set(made.map(({ id }) => id)).size).toBe(1)
    expect(yield* accounts.ensure("owner", "free")).toMatchObject({ plan: "owner" })
  })

  it.effect("keeps accounts over a restart", function* () {
    const directory = temporaryDirectory()
    const made = yield* Accounts.use((accounts) => accounts.create("alice")).pipe(
      Effect.provide(controlLayerOf(directory))
    )
    expect(
      yield* Accounts.use((accounts) => accounts.byId(made.id)).pipe(Effect.provide(controlLayerOf(directory)))
    ).toEqual(made)
  })
})
