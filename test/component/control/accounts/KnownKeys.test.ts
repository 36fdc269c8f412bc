/** Callers that are kept in memory: asked for once, and never after a change of their key or account. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { hashApiKey } from "@muniment/trust/ApiKeys"
import { Limits } from "@muniment/domain/Limits"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { effectOf, type Steps } from "../../../support/it.ts"

const withKey = (
  use: (parts: {
    readonly secret: string
    readonly id: string
    readonly account: string
  }) => Steps<Layer.Success<ReturnType<typeof controlLayerOf>>>
) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeyStore
    const account = yield* (yield* Accounts).ensure("alice", "free")
    const { record, secret } = yield* keys.create(account, "")
    expect(yield* keys.authenticate(secret)).toMatchObject({ account: { name: "alice" }, keyId: record.id })
    return yield* effectOf(use({ secret, id: record.id, account: account.id }))
  }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))

const keyed = (name: string, use: Parameters<typeof withKey>[0]): void => it.effect(name, () => withKey(use))

describe("a key that is known", () => {
  keyed("is answered while a transaction is open, without a look at the file", function* ({ secret }) {
    const { write } = yield* ControlDatabase
    const open = yield* Effect.forkChild(write(Effect.never))
    yield* Effect.yieldNow
    expect(yield* (yield* ApiKeyStore).authenticate(secret)).toBeDefined()
    yield* Fiber.interrupt(open)
  })

  keyed("is refused on the next call when it was revoked", function* ({ id, secret }) {
    const keys = yield* ApiKeyStore
    yield* keys.revoke(id)
    expect(yield* keys.authenticate(secret)).toBeUndefined()
  })

  keyed("is refused from its end on", function* ({ account }) {
    const keys = yield* ApiKeyStore
    const owner = (yield* (yield* Accounts).byName("alice"))!
    expect(owner.id).toBe(account)
    const { secret } = yield* keys.create(owner, "", undefined, { expiresAt: 10_000 })
    expect(yield* keys.authenticate(secret)).toMatchObject({ keyExpiresAt: 10_000 })
    yield* TestClock.setTime(9_999)
    expect(yield* keys.authenticate(secret)).toBeDefined()
    yield* TestClock.setTime(10_000)
    expect(yield* keys.authenticate(secret)).toBeUndefined()
  })

  it.effect.each(["plan", "suspended_at", "remember", "name"])("shows a change of the account's %s at once", (column) =>
    withKey(function* ({ secret }) {
      const { sql, write } = yield* ControlDatabase
      const keys = yield* ApiKeyStore
      const values = { plan: "pro", suspended_at: 5, remember: "messages", name: "bob" } as const
      const value = values[column as keyof typeof values]
      yield* write(sql`UPDATE account SET ${sql.update({ [column]: value })}`)
      expect(Object.values((yield* keys.authenticate(secret))!.account)).toContain(value)
    })
  )

  keyed("is gone with its account", function* ({ secret }) {
    const { sql, write } = yield* ControlDatabase
    yield* write(sql`DELETE FROM api_key`)
    expect(yield* (yield* ApiKeyStore).authenticate(secret)).toBeUndefined()
  })

  keyed("is not kept when it changes while it is read", function* ({ id, secret }) {
    const { sql, write } = yield* ControlDatabase
    const keys = yield* ApiKeyStore
    // Empties what is known, and holds the file; the reader waits behind it, and the revocation behind the reader.
    const first = yield* Effect.forkChild(write(Effect.andThen(sql`UPDATE account SET plan = 'pro'`, Effect.yieldNow)))
    const reader = yield* Effect.forkChild(keys.authenticate(secret))
    const revoked = yield* Effect.forkChild(keys.revoke(id))
    yield* Fiber.join(first)
    yield* Fiber.join(reader)
    yield* Fiber.join(revoked)
    expect(yield* keys.authenticate(secret)).toBeUndefined()
  })
})

describe("many keys", () => {
  it.effect("are all answered; the oldest is looked up again", () =>
    withKey(({ secret }) =>
      Effect.gen(function* () {
        const { sql, write } = yield* ControlDatabase
        const keys = yield* ApiKeyStore
        const others = Array.from({ length: Limits.keysKnownMax }, (_, at) => `another-secret-of-someone-${at}`)
        const rows = others.map((other, at) => ({ id: `key_${at}`, hash: hashApiKey(other) }))
        yield* write(
          sql`INSERT INTO api_key (id, account, label, prefix, hash, created_at)
            SELECT value ->> 'id', (SELECT id FROM account), '', '', value ->> 'hash', 1
            FROM json_each(${JSON.stringify(rows)})`
        )
        for (const other of others) expect(yield* keys.authenticate(other)).toBeDefined()
        const open = yield* Effect.forkChild(write(Effect.never))
        yield* Effect.yieldNow
        expect(yield* keys.authenticate(others.at(-1)!)).toBeDefined()
        const oldest = yield* Effect.forkChild(keys.authenticate(secret))
        yield* Effect.yieldNow
        expect(oldest.pollUnsafe()).toBeUndefined()
        yield* Fiber.interrupt(open)
        expect(yield* Fiber.join(oldest)).toBeDefined()
      })
    )
  )
})
