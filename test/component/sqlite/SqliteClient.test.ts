/** The effect/sql driver: rows, transactions in turn, savepoints, errors with their SQLite cause. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import { type SqlClient, SqlError } from "effect/sql"
import { join } from "node:path"
import { Database } from "@muniment/sqlite/Database"
import { makeSqliteClient, sqliteErrorOf } from "@muniment/sqlite/SqliteClient"
import { temporaryDirectory } from "./TemporaryDirectory.ts"
import { effectOf, type Steps } from "../../support/it.ts"

const withClient = (use: (sql: SqlClient.SqlClient, database: Database) => Steps) =>
  Effect.suspend(() => {
    const database = new Database({ filename: join(temporaryDirectory(), "test.db") })
    database.exec("CREATE TABLE entry (id INTEGER PRIMARY KEY, value UNIQUE)")
    return Effect.flatMap(makeSqliteClient(database), (sql) => effectOf(use(sql, database))).pipe(
      Effect.provide(Reactivity.layer),
      Effect.ensuring(Effect.sync(() => database.close()))
    )
  })

const connected = (name: string, use: Parameters<typeof withClient>[0]): void => it.effect(name, () => withClient(use))

describe("SqliteClient", () => {
  it.effect("writes and reads rows, booleans as numbers", () =>
    withClient((sql) =>
      Effect.gen(function* () {
        yield* sql`INSERT INTO entry ${sql.insert([
          { id: 1, value: "a" },
          { id: 2, value: true }
        ])}`
        expect(yield* sql`SELECT * FROM entry ORDER BY id`).toEqual([
          { id: 1, value: "a" },
          { id: 2, value: 1 }
        ])
        expect(yield* sql`SELECT id, value FROM entry WHERE id = ${1}`.values).toEqual([[1, "a"]])
        expect(yield* sql`UPDATE entry SET value = 'b' WHERE id = 1 RETURNING value`).toEqual([{ value: "b" }])
      })
    )
  )

  connected("rolls a failed transaction back and a failed savepoint alone", function* (sql) {
    const insert = (value: string) => sql`INSERT INTO entry (value) VALUES (${value})`
    yield* sql.withTransaction(Effect.andThen(insert("lost"), Effect.fail("stop"))).pipe(Effect.flip)
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* insert("outer")
        yield* Effect.flip(sql.withTransaction(Effect.andThen(insert("inner"), Effect.fail("stop"))))
      })
    )
    expect(yield* sql`SELECT value FROM entry`).toEqual([{ value: "outer" }])
  })

  connected("keeps the transactions of several fibers apart", function* (sql) {
    const step = sql.withTransaction(
      Effect.gen(function* () {
        const [row] = yield* sql<{ readonly n: number }>`SELECT count(*) AS n FROM entry`
        yield* Effect.yieldNow
        yield* sql`INSERT INTO entry (id) VALUES (${row!.n})`
      })
    )
    yield* Effect.all(
      Array.from({ length: 20 }, () => step),
      { concurrency: "unbounded" }
    )
    expect(yield* sql`SELECT count(*) AS n, max(id) AS last FROM entry`).toEqual([{ n: 20, last: 19 }])
  })

  connected("names a violated unique constraint and carries the SQLite error", function* (sql) {
    yield* sql`INSERT INTO entry (value) VALUES ('a')`
    const error = yield* Effect.flip(sql`INSERT INTO entry (value) VALUES ('a')`)
    expect(error).toBeInstanceOf(SqlError.SqlError)
    expect(error.reason).toMatchObject({ _tag: "UniqueViolation", constraint: "entry.value" })
    expect(sqliteErrorOf(error)?.reason).toBe("constraint")
  })

  connected("tells a full disk from other failures and keeps answering", function* (sql, database) {
    database.exec("PRAGMA max_page_count=4")
    const error = yield* Effect.flip(sql`INSERT INTO entry (value) VALUES (${"x".repeat(50_000)})`)
    expect(sqliteErrorOf(error)?.reason).toBe("full")
    expect(sqliteErrorOf(yield* Effect.flip(sql`SELECT * FROM missing`))?.reason).toBe("other")
    expect(yield* sql`SELECT count(*) AS n FROM entry`).toEqual([{ n: 0 }])
  })
})
