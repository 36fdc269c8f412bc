/** Changes of control.db in the commit log: numbers without gaps, behind the commit, followed by a copy. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import type { Account } from "@muniment/domain/Account"
import { credits } from "@muniment/domain/Money"
import { type ChangeLog, type ControlChange, followChanges } from "@muniment/control/database/ChangeLog"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { Ledger } from "@muniment/control/credits/Ledger"
import { Database } from "@muniment/sqlite/Database"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { crashImage } from "../CrashImage.ts"
import { loggedControlOf, numberOf, rowsOf, syncedLog } from "../LoggedControl.ts"
import { moneyOver } from "../MoneyLayers.ts"
import { it } from "../../../support/it.ts"
import { controlOf, memoryLog } from "../MemoryLog.ts"

const owner: Account = { id: "acc_1", name: "one", plan: "free", createdAt: 0 }

const addAccount = (name: string) =>
  ControlDatabase.use(({ sql, write }) =>
    write(sql`INSERT INTO account (id, name, plan, created_at) VALUES (${name}, ${name}, 'free', 0)`)
  )

const kept = Effect.gen(function* () {
  const { read, sql } = yield* ControlDatabase
  const rows = yield* read(sql<{ readonly number: number }>`SELECT number FROM change_record ORDER BY number`)
  return rows.map(({ number }) => number)
})

const isGapless = (changes: ReadonlyArray<ControlChange>) =>
  changes.every(({ number }, at) => number === changes[0]!.number + at)

describe("changes of control.db", () => {
  it.effect("can be recorded: every table has a primary key and is strict", () =>
    ControlDatabase.use(({ read, sql }) =>
      Effect.gen(function* () {
        const tables = yield* read(
          sql<{ readonly name: string; readonly strict: number; readonly keys: number }>`SELECT t.name, t.strict,
            (SELECT count(*) FROM pragma_table_info(t.name) WHERE pk > 0) AS keys
            FROM pragma_table_list AS t WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`
        )
        expect(tables.length).toBeGreaterThan(20)
        expect(tables.filter(({ keys, strict }) => keys === 0 || strict === 0)).toEqual([])
      })
    ).pipe(Effect.provide(controlOf(temporaryDirectory())))
  )

  it.live("make a copy of any moment the database again, with what triggers changed", function* () {
    const directory = temporaryDirectory()
    yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      const copies = [crashImage(directory)]
      for (let at = 0; at < 5; at++) {
        yield* addAccount(`account ${at}`)
        yield* ledger.adjust({ account: owner, amount: credits(10), key: `gift ${at}`, reason: "a gift" })
        yield* ledger.settle(yield* ledger.reserve({ account: owner, operation: "search", price: credits(2) }))
        yield* ledger.flush
        copies.push(crashImage(directory))
      }
      const changes = yield* (yield* syncedLog(directory)).controlBehind(0)
      expect([changes[0]?.number, changes[0]?.changes, isGapless(changes)]).toEqual([1, "base", true])
      const last = rowsOf(directory)
      for (const copy of copies) {
        expect(followChanges(join(copy, "control.db"), changes)).toBe(numberOf(directory))
        expect(rowsOf(copy)).toEqual(last)
      }
    }).pipe(Effect.provide(moneyOver(loggedControlOf(directory))))
  })

  it.live("follow up to the moment that is wanted, and not over a gap or of other tables", function* () {
    const directory = temporaryDirectory()
    yield* Effect.gen(function* () {
      const empty = crashImage(directory)
      for (const name of ["a", "b", "c"]) yield* addAccount(name)
      const changes = yield* (yield* syncedLog(directory)).controlBehind(0)
      const file = join(empty, "control.db")
      expect(followChanges(file, changes.toSpliced(2, 1))).toBeUndefined()
      expect(followChanges(file, changes.with(2, { ...changes[2]!, changes: "erased" }))).toBeUndefined()
      expect(followChanges(file, changes.with(2, { ...changes[2]!, version: 1 }))).toBeUndefined()
      expect(rowsOf(empty)["account"]).toEqual([])
      expect(followChanges(file, changes.slice(0, 3))).toBe(3)
      expect(rowsOf(empty)["account"]).toMatchObject([{ id: "a" }, { id: "b" }])
    }).pipe(Effect.provide(loggedControlOf(directory)))
  })

  it.effect("have no number if they are undone, or if there are none", () => {
    const { logs, state } = memoryLog()
    return Effect.gen(function* () {
      const { sql, write } = yield* ControlDatabase
      yield* addAccount("a")
      yield* Effect.flip(write(Effect.andThen(sql`DELETE FROM account`, Effect.fail("stop" as const))))
      yield* Effect.exit(addAccount("a"))
      yield* write(sql`SELECT * FROM account`)
      yield* write(sql`DELETE FROM account WHERE id = 'nobody'`)
      yield* addAccount("b")
      expect(state.changes.map(({ number }) => number)).toEqual([1, 2, 3])
      expect(yield* kept).toEqual([3])
    }).pipe(Effect.provide(ControlDatabase.layer(temporaryDirectory(), logs)))
  })

  it.effect("stay in control.db while the log is full, has ended or is not synced, and come later in order", () => {
    const { logs, reopen, state } = memoryLog()
    const directory = temporaryDirectory()
    return Effect.gen(function* () {
      yield* addAccount("a")
      state.isFailing = true
      yield* addAccount("b")
      yield* addAccount("c")
      expect(state.changes.map(({ number }) => number)).toEqual([1, 2])
      expect(rowsOf(directory)["account"]).toHaveLength(3)
      state.isFailing = false
      yield* addAccount("d")
      expect(state.changes.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5])
      state.syncedMax = 5
      yield* addAccount("e")
      yield* addAccount("f")
      expect(yield* kept).toEqual([6, 7])
      // The log ends, and has lost what was not synced.
      state.changes.length = 5
      state.syncedMax = Infinity
      reopen()
      yield* addAccount("g")
      expect(state.changes.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
      expect(state.changes.filter(({ changes }) => changes === "base")).toHaveLength(1)
    }).pipe(Effect.provide(ControlDatabase.layer(directory, logs)))
  })

  it.effect("are a base when one is too large", () => {
    const { logs, state } = memoryLog()
    return Effect.gen(function* () {
      const { sql, write } = yield* ControlDatabase
      yield* write(
        sql`INSERT INTO account (id, name, plan, created_at) VALUES ('a', ${"n".repeat(5_000_000)}, 'free', 0)`
      )
      yield* addAccount("b")
      expect(state.changes.map(({ changes }) => typeof changes)).toEqual(["string", "string", "object"])
    }).pipe(Effect.provide(ControlDatabase.layer(temporaryDirectory(), logs)))
  })

  it.effect("are a base when the log has not taken thousands of them", function* () {
    const { logs, state } = memoryLog()
    const directory = temporaryDirectory()
    yield* Effect.provide(addAccount("a"), Layer.fresh(ControlDatabase.layer(directory, logs)))
    const database = new Database({ filename: join(directory, "control.db") })
    database.exec(
      "INSERT INTO change_record (number, version, changes) SELECT 5000, version, changes FROM change_record"
    )
    database.close()
    state.isFailing = true
    yield* Effect.gen(function* () {
      yield* addAccount("b")
      expect(yield* kept).toEqual([5_001])
      yield* addAccount("c")
      state.isFailing = false
      yield* addAccount("d")
      expect(state.changes.slice(2).map(({ changes, number }) => [number, changes])).toEqual([[5_003, "base"]])
    }).pipe(Effect.provide(Layer.fresh(ControlDatabase.layer(directory, logs))))
  })

  it.effect("need not stay in the log once the file has them", () => {
    const { logs, reopen, state } = memoryLog()
    return Effect.gen(function* () {
      const { settle } = yield* ControlDatabase
      yield* addAccount("a")
      yield* settle
      expect(state.settled).toBe(2)
      reopen()
      state.settled = 0
      yield* addAccount("b")
      yield* settle
      expect(state.settled).toBe(3)
    }).pipe(Effect.provide(ControlDatabase.layer(temporaryDirectory(), logs)))
  })

  it.effect("of a release without a log begin with a base", function* () {
    const { logs, state } = memoryLog()
    const directory = temporaryDirectory()
    const start = (log: ChangeLog, name: string) =>
      Effect.provide(addAccount(name), Layer.fresh(ControlDatabase.layer(directory, log)))
    yield* start(memoryLog().logs, "a")
    const database = new Database({ filename: join(directory, "control.db") })
    database.exec("DELETE FROM change_record")
    database.close()
    yield* start(logs, "b")
    expect(state.changes.map(({ changes, number }) => [number, typeof changes])).toEqual([
      [2, "string"],
      [3, "object"]
    ])
  })
})
