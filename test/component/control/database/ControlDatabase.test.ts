/** control.db: made on the first start, kept over restarts, refused when it is newer, 507 when full. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { controlMigrations } from "@muniment/control/database/migrations/controlMigrations"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import { WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../../support/it.ts"
import { controlOf } from "../MemoryLog.ts"

const fresh = itWith(() => controlOf(temporaryDirectory()))

const account = (sql: ControlDatabase["Service"]["sql"], id: string) =>
  sql`INSERT INTO account (id, name, plan, created_at) VALUES (${id}, ${id}, 'free', 0)`

describe("ControlDatabase", () => {
  it.effect("creates its directory for the owner alone, and a durable file", function* () {
    const directory = join(temporaryDirectory(), "data")
    yield* Effect.gen(function* () {
      const { read, sql } = yield* ControlDatabase
      expect(yield* read(sql`PRAGMA synchronous`)).toEqual([{ synchronous: 2 }])
      expect(yield* read(sql`PRAGMA user_version`)).toEqual([{ user_version: controlMigrations.length }])
    }).pipe(Effect.provide(controlOf(directory)))
    expect(existsSync(join(directory, "control.db"))).toBe(true)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
  })

  it.effect("brings a file of the first release to this one, and keeps what is in it", function* () {
    const directory = temporaryDirectory()
    const filename = join(directory, "control.db")
    const database = new Database({ filename })
    migrate(database, controlMigrations.slice(0, 1), { snapshot: `${filename}.none` })
    database.exec("INSERT INTO account (id, name, plan, created_at) VALUES ('a', 'alice', 'pro', 1)")
    database.close()
    yield* Effect.gen(function* () {
      const { read, sql } = yield* ControlDatabase
      expect(yield* read(sql`SELECT name FROM account`)).toEqual([{ name: "alice" }])
      expect(yield* read(sql`SELECT * FROM wallet`)).toEqual([])
      expect(yield* read(sql`SELECT * FROM grant_revocation`)).toEqual([])
    }).pipe(Effect.provide(controlOf(directory)))
    expect(existsSync(`${filename}.before-migration.v1`)).toBe(true)
  })

  it.effect("takes the time of a credited payment's receipt from its deposit", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const filename = join(directory, "control.db")
      const database = new Database({ filename })
      migrate(database, controlMigrations.slice(0, 14), { snapshot: `${filename}.none` })
      database.exec(`INSERT INTO payment (id, account, network, payer, units, payload, state, created_at, updated_at)
        VALUES ('credited', 'a', 'base', '0x1', 100000, '{}', 'finalized', 1, 9),
          ('open', 'a', 'base', '0x1', 100000, '{}', 'broadcasting', 1, 2);
        INSERT INTO ledger_account (id, name, kind, debits, credits)
          VALUES (1, 'asset:usdc:base', 'asset', 0, 0), (2, 'liability:credits:a', 'liability', 0, 0);
        INSERT INTO transfer (key, debit, credit, amount, kind, account, at)
          VALUES ('deposit:credited', 1, 2, 100000000, 'deposit', 'a', 5)`)
      database.close()
      yield* Effect.gen(function* () {
        const { read, sql } = yield* ControlDatabase
        expect(yield* read(sql`SELECT id, resource, settled_at FROM payment`)).toEqual([
          { id: "credited", resource: null, settled_at: 5 },
          { id: "open", resource: null, settled_at: null }
        ])
      }).pipe(Effect.provide(controlOf(directory)))
    })
  )

  it.effect("brings the messages of all webhooks into one table, each with its order and state", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const filename = join(directory, "control.db")
      const database = new Database({ filename })
      const before = controlMigrations.findIndex(({ name }) => name === "one table of messages")
      migrate(database, controlMigrations.slice(0, before), { snapshot: `${filename}.none` })
      database.exec(`INSERT INTO account (id, name, plan, created_at) VALUES ('a', 'a', 'free', 0);
        INSERT INTO account_webhook (id, account, url, state, secret, cursor, created_at)
          VALUES ('hook', 'a', 'https://a.example', 'active', 's', 'c', 1);
        INSERT INTO account_webhook_message (sequence, id, webhook, account, agent, type, body, state, attempts, created_at,
          due_since, next_at, delivered_at, reason)
          VALUES (7, 'm1', 'hook', 'a', 'x', 'memory.created', '', 'delivered', 1, 1, 1, 1, 2, NULL),
            (9, 'm2', 'hook', 'a', 'x', 'memory.deleted', '{}', 'failed', 3, 4, 5, 6, NULL, 'status 500');
        INSERT INTO payment (id, account, network, payer, units, payload, state, created_at, updated_at)
          VALUES ('p', 'a', 'base', '0x1', 100000, '{}', 'settled', 1, 2);
        INSERT INTO webhook (sequence, id, payment, type, body, state, attempts, created_at, due_since, next_at)
          VALUES (9, 'o2', 'p', 'payment.reversed', '{"n":2}', 'pending', 0, 8, 8, 8),
            (7, 'o1', 'p', 'payment.settled', '{"n":1}', 'pending', 2, 1, 1, 0)`)
      database.close()
      yield* Effect.gen(function* () {
        const outbox = yield* WebhookOutbox
        const hooks = yield* AccountHooks
        expect(yield* outbox.list({ limit: 9 })).toMatchObject([
          { id: "o2", payment: "p", type: "payment.reversed", nextAt: 8 },
          { id: "o1", payment: "p", type: "payment.settled", attempts: 2, nextAt: 0 }
        ])
        expect(yield* outbox.due(9)).toMatchObject([
          { id: "o1", body: '{"n":1}' },
          { id: "o2", body: '{"n":2}' }
        ])
        expect(yield* hooks.deliveries({ account: "a", id: "hook" }, { limit: 9 })).toEqual([
          {
            id: "m2",
            agentId: "x",
            type: "memory.deleted",
            state: "failed",
            attempts: 3,
            createdAt: 4,
            nextAt: null,
            deliveredAt: null,
            reason: "status 500"
          },
          {
            id: "m1",
            agentId: "x",
            type: "memory.created",
            state: "delivered",
            attempts: 1,
            createdAt: 1,
            nextAt: null,
            deliveredAt: 2,
            reason: null
          }
        ])
      }).pipe(
        Effect.provide(
          Layer.mergeAll(WebhookOutbox.layer, AccountHooks.layer).pipe(
            Layer.provide(controlOf(directory)),
            Layer.provide(SecureRandom.layerWebCrypto)
          )
        )
      )
    })
  )

  it.effect("keeps the payments of a file whose journal knew of no reverts", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const filename = join(directory, "control.db")
      const database = new Database({ filename })
      migrate(database, controlMigrations.slice(0, 8), { snapshot: `${filename}.none` })
      database.exec(`INSERT INTO payment (id, account, network, payer, units, payload, state, created_at, updated_at)
        VALUES ('p', 'a', 'base', '0x1', 100000, '{}', 'settled', 1, 2)`)
      database.close()
      yield* Effect.gen(function* () {
        const { read, sql } = yield* ControlDatabase
        expect(yield* read(sql`SELECT id, state, units, reverted_at FROM payment`)).toEqual([
          { id: "p", state: "settled", units: 100_000, reverted_at: null }
        ])
      }).pipe(Effect.provide(controlOf(directory)))
    })
  )

  it.effect("refuses a file of a later release and says which it knows", function* () {
    const directory = temporaryDirectory()
    const database = new Database({ filename: join(directory, "control.db") })
    database.exec("PRAGMA user_version=99")
    database.close()
    const error = yield* Effect.flip(ControlDatabase.use(Effect.succeed).pipe(Effect.provide(controlOf(directory))))
    expect(error).toMatchObject({ _tag: "NewerDatabase", found: 99, known: controlMigrations.length })
  })

  fresh.effect("answers a write on a full disk with 507, undoes it, and still reads", function* () {
    const { read, sql, write } = yield* ControlDatabase
    yield* write(account(sql, "kept"))
    const [pages] = yield* sql<{ readonly page_count: number }>`PRAGMA page_count`
    yield* sql`PRAGMA max_page_count=${sql.literal(String(pages!.page_count))}`
    const fill = write(
      Effect.forEach(
        Array.from({ length: 500 }, (_, n) => `account-${n}`.repeat(50)),
        (id) => account(sql, id)
      )
    )
    expect(yield* Effect.flip(fill)).toMatchObject({ _tag: "InsufficientStorage", code: "insufficient_storage" })
    expect(yield* read(sql`SELECT id FROM account`)).toEqual([{ id: "kept" }])
    yield* write(sql`DELETE FROM account`)
  })

  fresh.effect("undoes a write that failed, and lets its error pass", function* () {
    const { read, sql, write } = yield* ControlDatabase
    expect(yield* Effect.flip(write(Effect.andThen(account(sql, "a"), Effect.fail("stop" as const))))).toBe("stop")
    expect(yield* read(sql`SELECT id FROM account`)).toEqual([])
  })

  fresh.effect("dies on SQL that is wrong, since that is no one's request", function* () {
    const { read, sql } = yield* ControlDatabase
    expect((yield* Effect.exit(read(sql`SELECT * FROM missing`))).toString()).toMatch(/no such table/)
  })
})
