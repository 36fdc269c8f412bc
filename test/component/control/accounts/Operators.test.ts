/** Operators: shown once, stored as digests, revoked at once; a name means one for good. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Limits } from "@muniment/domain/Limits"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { Operators } from "@muniment/control/accounts/Operators"
import { controlMigrations } from "@muniment/control/database/migrations/controlMigrations"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => controlLayerOf(temporaryDirectory()))

const bob = { name: "bob", role: "viewer" } as const
const addBob = Operators.use((operators) => operators.add(bob, "operator"))

describe("an operator", () => {
  fresh.effect("is known by the secret and by name, until they are revoked", function* () {
    const operators = yield* Operators
    const { record, secret } = yield* addBob
    expect(record).toMatchObject({ ...bob, madeBy: "operator", prefix: secret.slice(0, 12) })
    const known = () => Effect.all([operators.authenticate(secret), operators.working("bob")])
    expect(yield* known()).toEqual([bob, bob])
    yield* TestClock.setTime(10_000)
    expect(yield* operators.revoke("bob", "operator")).toMatchObject({ revokedAt: 10_000 })
    expect(yield* known()).toEqual([undefined, undefined])
    yield* TestClock.setTime(20_000)
    expect(yield* operators.revoke("bob", "operator")).toMatchObject({ revokedAt: 10_000 })
    expect(yield* Effect.flip(operators.revoke("eve", "operator"))).toMatchObject({ code: "operator_not_found" })
  })

  fresh.effect("has a name that is used once, also after a revocation, and never the first one's", function* () {
    const operators = yield* Operators
    yield* addBob
    expect(yield* Effect.flip(addBob)).toMatchObject({ code: "operator_exists" })
    yield* operators.revoke("bob", "operator")
    expect(yield* Effect.flip(addBob)).toMatchObject({ code: "operator_exists" })
    const posing = operators.add({ name: "operator", role: "viewer" }, "operator")
    expect(yield* Effect.flip(posing)).toMatchObject({ code: "operator_exists" })
  })

  fresh.effect("is added by one who still works, and up to a number", function* () {
    const operators = yield* Operators
    yield* operators.add({ name: "root", role: "admin" }, "operator")
    yield* operators.revoke("root", "operator")
    expect(yield* Effect.flip(operators.add(bob, "root"))).toMatchObject({ code: "operator_only" })
    for (let at = 0; at < Limits.operatorsMax; at += 1) {
      yield* operators.add({ name: `operator-${at}`, role: "viewer" }, "operator")
    }
    expect(yield* Effect.flip(addBob)).toMatchObject({ code: "limit_exceeded" })
    yield* operators.revoke("operator-0", "operator")
    expect((yield* addBob).record.name).toBe("bob")
  })

  fresh.effect("is changed by one who is an admin still, when their turn comes", function* () {
    const operators = yield* Operators
    yield* operators.add({ name: "root", role: "admin" }, "operator")
    yield* addBob
    yield* operators.change({ name: "root", role: "viewer" }, "operator")
    const admin = { name: "bob", role: "admin" } as const
    const refusals = [
      yield* Effect.flip(operators.add({ name: "eve", role: "admin" }, "root")),
      yield* Effect.flip(operators.change(admin, "root")),
      yield* Effect.flip(operators.revoke("bob", "root"))
    ]
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: "operator_only" })
    expect((yield* operators.list).map(({ name, revokedAt, role }) => [name, role, revokedAt])).toEqual([
      ["root", "viewer", undefined],
      ["bob", "viewer", undefined]
    ])
    expect(yield* operators.change(admin, "oidc:alice@example.com")).toMatchObject({ role: "admin" })
  })

  fresh.effect("is listed with the last use", function* () {
    const operators = yield* Operators
    const { secret } = yield* addBob
    expect((yield* operators.list)[0]).not.toHaveProperty("lastUsedAt")
    yield* TestClock.setTime(10_000)
    yield* operators.authenticate(secret)
    expect(yield* operators.list).toMatchObject([{ name: "bob", lastUsedAt: 10_000 }])
  })

  it.effect("is in the file as a digest, and there after a restart, with the last use", function* () {
    const directory = temporaryDirectory()
    const secret = yield* Effect.gen(function* () {
      const added = yield* addBob
      yield* TestClock.setTime(10_000)
      yield* (yield* Operators).authenticate(added.secret)
      return added.secret
    }).pipe(Effect.provide(controlLayerOf(directory)))
    for (const name of readdirSync(directory).filter((each) => each.startsWith("control.db"))) {
      expect(readFileSync(join(directory, name)).includes(secret)).toBe(false)
    }
    yield* Effect.gen(function* () {
      const operators = yield* Operators
      expect(yield* operators.list).toMatchObject([{ name: "bob", lastUsedAt: 10_000 }])
      expect(yield* operators.authenticate(secret)).toEqual(bob)
    }).pipe(Effect.provide(controlLayerOf(directory)))
  })
})

describe("an audit log from before there were names", () => {
  it.effect("is read without them, and goes on with them", function* () {
    const directory = temporaryDirectory()
    const filename = join(directory, "control.db")
    const database = new Database({ filename })
    const before = controlMigrations.findIndex(({ name }) => name === "operators")
    migrate(database, controlMigrations.slice(0, before), { snapshot: `${filename}.none` })
    database.exec("INSERT INTO audit_event (at, action, subject, detail) VALUES (1, 'accounts.suspend', 'alice', '{}')")
    database.close()
    yield* Effect.gen(function* () {
      const log = yield* AuditLog
      yield* log.record({ action: "accounts.resume", operator: "bob", subject: "alice", detail: {} })
      expect(yield* log.list({ limit: 10 })).toMatchObject([{ operator: "bob" }, { operator: null }])
      expect(yield* log.list({ limit: 10, operator: "bob" })).toMatchObject([{ action: "accounts.resume" }])
    }).pipe(Effect.provide(controlLayerOf(directory)))
  })
})
