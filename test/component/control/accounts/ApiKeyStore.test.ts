/** Keys: shown once, stored as digests, revoked at once, last use written in the background. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Limits } from "@muniment/domain/Limits"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { lastUseFlushMillis } from "@muniment/control/accounts/LastUses"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { controlMigrations } from "@muniment/control/database/migrations/controlMigrations"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { hashApiKey } from "@muniment/trust/ApiKeys"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => controlLayerOf(temporaryDirectory()))

const alice = Accounts.use((accounts) => accounts.ensure("alice", "free"))
const brought = "a-secret-that-the-operator-chose"

describe("keys of an earlier version", () => {
  it.effect("have no restriction and no end", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const filename = join(directory, "control.db")
      const database = new Database({ filename })
      migrate(database, controlMigrations.slice(0, 7), { snapshot: `${filename}.none` })
      database.exec("INSERT INTO account (id, name, plan, created_at) VALUES ('a', 'alice', 'pro', 1)")
      database.exec(`INSERT INTO api_key (id, account, label, prefix, hash, created_at)
        VALUES ('key_1', 'a', '', 'mun_', '${hashApiKey(brought)}', 1)`)
      database.close()
      yield* Effect.gen(function* () {
        yield* TestClock.setTime(2_000_000_000_000)
        const known = yield* (yield* ApiKeyStore).authenticate(brought)
        expect(known).toMatchObject({ account: { id: "a" }, keyId: "key_1" })
        expect(known?.scope).toBeUndefined()
      }).pipe(Effect.provide(controlLayerOf(directory)))
    })
  )
})

describe("keys that keys made", () => {
  it.effect("are known from the audit log when they are older than their makers' column", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const filename = join(directory, "control.db")
      const database = new Database({ filename })
      migrate(database, controlMigrations.slice(0, 16), { snapshot: `${filename}.none` })
      database.exec("INSERT INTO account (id, name, plan, created_at) VALUES ('a', 'alice', 'pro', 1)")
      for (const id of ["key_1", "key_2"]) {
        database.exec(`INSERT INTO api_key (id, account, label, prefix, hash, created_at)
          VALUES ('${id}', 'a', '', 'mun_', '${hashApiKey(`${brought} ${id}`)}', 1)`)
      }
      database.exec(`INSERT INTO audit_event (at, action, subject, detail)
        VALUES (1, 'keys.createKey', 'alice', '{"keyId":"key_2","by":"key_1"}')`)
      database.close()
      yield* Effect.gen(function* () {
        const keys = yield* ApiKeyStore
        expect((yield* keys.list()).map(({ madeBy }) => madeBy)).toEqual([undefined, "key_1"])
        expect((yield* keys.revoke("key_1")).alsoRevoked).toEqual(["key_2"])
      }).pipe(Effect.provide(controlLayerOf(directory)))
    })
  )

  fresh.effect("are not made by one that was revoked after the request was let in", function* () {
    const keys = yield* ApiKeyStore
    const account = yield* alice
    const { record } = yield* keys.create(account, "")
    yield* keys.revoke(record.id)
    const refused = yield* Effect.flip(keys.create(account, "", undefined, { madeBy: record.id }))
    expect(refused).toMatchObject({ _tag: "Unauthenticated", code: "invalid_api_key" })
    expect(yield* keys.working(account.id)).toBe(0)
  })
})

fresh.effect(
  "webhooks are neither made, led elsewhere nor given a secret by a key that was revoked after it was let in",
  function* () {
    const keys = yield* ApiKeyStore
    const hooks = yield* AccountHooks
    const account = yield* alice
    const { record } = yield* keys.create(account, "")
    const hook = { url: "https://example.com/", secret: "sealed", cursor: "0" }
    const kept = yield* hooks.add(account.id, { ...hook, madeBy: undefined })
    yield* keys.revoke(record.id)
    const place = { id: kept.id, account: account.id }
    const refusals: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
      hooks.add(account.id, { ...hook, madeBy: record.id }),
      hooks.change(place, { url: "https://elsewhere.example.com/" }, record.id),
      hooks.change(place, { state: "paused" }, record.id),
      hooks.replaceSecret(place, "known to the key", record.id)
    ]
    for (const refusal of refusals) {
      expect(yield* Effect.flip(refusal)).toMatchObject({ _tag: "Unauthenticated", code: "invalid_api_key" })
    }
    expect(yield* hooks.list(account.id)).toEqual([kept])
  }
)

fresh.effect("scoped keys keep their scope, and work until their end and no longer", function* () {
  const keys = yield* ApiKeyStore
  const scope = { readOnly: true, agents: ["a"] } as const
  const { secret } = yield* keys.create(yield* alice, "bound", undefined, { scope, expiresAt: 1_000 })
  yield* TestClock.setTime(999)
  expect((yield* keys.authenticate(secret))?.scope).toEqual(scope)
  yield* TestClock.setTime(1_000)
  expect(yield* keys.authenticate(secret)).toBeUndefined()
  expect(yield* keys.list()).toEqual([expect.objectContaining({ ...scope, expiresAt: 1_000 })])
})

describe("creating keys", () => {
  fresh.effect("opens the account it was made for", function* () {
    const keys = yield* ApiKeyStore
    const account = yield* alice
    const { record, secret } = yield* keys.create(account, "laptop")
    expect(secret).toMatch(/^mun_[A-Za-z0-9_-]{40}$/)
    expect(record).toEqual({
      id: record.id,
      account: "alice",
      label: "laptop",
      prefix: secret.slice(0, 10),
      createdAt: 0
    })
    expect(yield* keys.authenticate(secret)).toEqual({ account, keyId: record.id })
    expect(yield* keys.authenticate(`${secret}x`)).toBeUndefined()
    expect(yield* keys.authenticate("")).toBeUndefined()
  })

  it.effect("never writes the secret to the disk", function* () {
    const directory = temporaryDirectory()
    const { secret } = yield* Effect.gen(function* () {
      return yield* (yield* ApiKeyStore).create(yield* alice, "laptop")
    }).pipe(Effect.provide(controlLayerOf(directory)))
    const files = readdirSync(directory)
    expect(files).toContain("control.db")
    for (const file of files) expect(readFileSync(join(directory, file)).includes(secret.slice(4))).toBe(false)
  })

  fresh.effect("takes a brought secret, gives the same key again, and refuses it to another account", function* () {
    const keys = yield* ApiKeyStore
    const account = yield* alice
    const first = yield* keys.create(account, "first", brought)
    expect(yield* keys.create(account, "second", brought)).toEqual(first)
    const bob = yield* Accounts.use((accounts) => accounts.create("bob"))
    expect(yield* Effect.flip(keys.create(bob, "stolen", brought))).toMatchObject({
      _tag: "Conflict",
      code: "id_conflict"
    })
    expect(yield* Effect.flip(keys.create(account, "short", "too-short"))).toMatchObject({ code: "invalid_request" })
  })

  it.effect("stops at the limit of working keys; a revoked one makes room", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeyStore
      const { sql, write } = yield* ControlDatabase
      const account = yield* alice
      const { record } = yield* keys.create(account, "first")
      yield* write(sql`INSERT INTO api_key (id, account, label, prefix, hash, created_at)
        WITH RECURSIVE n(value) AS (VALUES (2) UNION ALL SELECT value + 1 FROM n WHERE value < ${Limits.keysPerAccountMax})
        SELECT 'key' || value, ${account.id}, '', '', value, 0 FROM n`)
      expect(yield* Effect.flip(keys.create(account, "one too many"))).toMatchObject({ code: "limit_exceeded" })
      yield* keys.revoke(record.id)
      yield* keys.create(account, "in its place")
    }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))
  )
})

describe("revoking keys", () => {
  it.effect("acts on the next call, for ever, and only on that key", function* () {
    const directory = temporaryDirectory()
    const [gone, kept] = yield* Effect.gen(function* () {
      const keys = yield* ApiKeyStore
      const account = yield* alice
      const gone = yield* keys.create(account, "gone", brought)
      const kept = yield* keys.create(account, "kept")
      yield* TestClock.setTime(5_000)
      expect((yield* keys.revoke(gone.record.id)).record).toMatchObject({ id: gone.record.id, revokedAt: 5_000 })
      yield* TestClock.setTime(9_000)
      expect((yield* keys.revoke(gone.record.id)).record).toMatchObject({ revokedAt: 5_000 })
      expect(yield* keys.authenticate(gone.secret)).toBeUndefined()
      expect(yield* Effect.flip(keys.create(account, "again", brought))).toMatchObject({ code: "id_conflict" })
      return [gone, kept] as const
    }).pipe(Effect.provide(controlLayerOf(directory)))

    yield* Effect.gen(function* () {
      const keys = yield* ApiKeyStore
      expect(yield* keys.authenticate(gone.secret)).toBeUndefined()
      expect(yield* keys.authenticate(kept.secret)).toMatchObject({ keyId: kept.record.id })
      expect((yield* keys.list()).map(({ label }) => label)).toEqual(["gone", "kept"])
      expect(yield* keys.list("nobody")).toEqual([])
    }).pipe(Effect.provide(controlLayerOf(directory)))
  })

  fresh.effect("answers 404 for a key that does not exist", function* () {
    const keys = yield* ApiKeyStore
    expect(yield* Effect.flip(keys.revoke("key_none"))).toMatchObject({ _tag: "NotFound", code: "key_not_found" })
  })
})

describe("last use", () => {
  const stored = ControlDatabase.use(({ read, sql }) =>
    Effect.map(read(sql<{ readonly at: number | null }>`SELECT last_used_at AS at FROM api_key`), ([row]) => row?.at)
  )

  fresh.effect("is told at once and written once a minute", function* () {
    const keys = yield* ApiKeyStore
    const { secret } = yield* keys.create(yield* alice, "laptop")
    yield* TestClock.setTime(10_000)
    yield* keys.authenticate(secret)
    expect(yield* keys.list()).toMatchObject([{ lastUsedAt: 10_000 }])
    expect(yield* stored).toBe(null)
    yield* TestClock.adjust(lastUseFlushMillis)
    expect(yield* stored).toBe(10_000)
  })

  fresh.effect("waits for the next time when it cannot be written, and fails no request", function* () {
    const keys = yield* ApiKeyStore
    const { sql } = yield* ControlDatabase
    const { secret } = yield* keys.create(yield* alice, "laptop")
    yield* sql`CREATE TRIGGER refused BEFORE UPDATE ON api_key BEGIN SELECT RAISE(ABORT, 'refused'); END`
    yield* TestClock.setTime(10_000)
    yield* keys.authenticate(secret)
    yield* TestClock.adjust(lastUseFlushMillis)
    expect(yield* stored).toBe(null)
    expect(yield* keys.authenticate(secret)).toBeDefined()
    yield* sql`DROP TRIGGER refused`
    yield* TestClock.adjust(lastUseFlushMillis)
    expect(yield* stored).toBe(10_000 + lastUseFlushMillis)
  })

  it.effect("is written when the process ends", function* () {
    const directory = temporaryDirectory()
    yield* Effect.gen(function* () {
      const keys = yield* ApiKeyStore
      const { secret } = yield* keys.create(yield* alice, "laptop")
      yield* TestClock.setTime(10_000)
      yield* keys.authenticate(secret)
    }).pipe(Effect.provide(controlLayerOf(directory)))
    expect(yield* stored.pipe(Effect.provide(controlLayerOf(directory)))).toBe(10_000)
  })
})
