/** A start whose control.db lacks what the commit log has, or the other way round; erasure in both. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Account } from "@muniment/domain/Account"
import { credits } from "@muniment/domain/Money"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { copyControl, loggedControlOf, loggedImage, numberOf, rowsOf, syncedLog } from "../LoggedControl.ts"
import { moneyOver } from "../MoneyLayers.ts"
import { it } from "../../../support/it.ts"

const owner: Account = { id: "acc_1", name: "one", plan: "free", createdAt: 0 }

const addAccount = (name: string) =>
  ControlDatabase.use(({ sql, write }) =>
    write(sql`INSERT INTO account (id, name, plan, created_at) VALUES (${name}, ${name}, 'free', 0)`)
  )

const accounts = (directory: string) => rowsOf(directory)["account"]?.map((row) => (row as { readonly id: string }).id)

/** One run of the process that adds accounts; -> what it leaves when it is killed at its end. */
const runOf = (directory: string, ...names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    for (const name of names) yield* addAccount(name)
    yield* syncedLog(directory)
    return loggedImage(directory)
  }).pipe(Effect.provide(loggedControlOf(directory)))

const start = (directory: string) => Effect.provide(ControlDatabase.use(Effect.succeed), loggedControlOf(directory))

const changesOf = (directory: string) =>
  Effect.flatMap(syncedLog(directory), (log) => log.controlBehind(0)).pipe(Effect.provide(loggedControlOf(directory)))

describe("a control.db that lacks what the log has", () => {
  it.live("gets it at the start, when it is an older copy: books in balance, and it goes on from there", function* () {
    const directory = temporaryDirectory()
    const older = yield* runOf(directory, "before")
    const money = moneyOver(loggedControlOf(directory))
    yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      for (let at = 0; at < 5; at++) {
        yield* ledger.adjust({ account: owner, amount: credits(10), key: `gift ${at}`, reason: "a gift" })
        yield* ledger.settle(yield* ledger.reserve({ account: owner, operation: "search", price: credits(2) }))
      }
    }).pipe(Effect.provide(money))
    const rows = rowsOf(directory)
    copyControl(older, directory)
    expect(rowsOf(directory)).not.toEqual(rows)
    yield* Effect.gen(function* () {
      expect(rowsOf(directory)).toEqual(rows)
      expect((yield* checkLedger).problems).toEqual([])
      yield* addAccount("behind")
    }).pipe(Effect.provide(money))
    const numbers = (yield* changesOf(directory)).map(({ number }) => number)
    expect(numbers).toEqual(numbers.map((_, at) => at + 1))
  })

  it.live("gets it after a bit has flipped anywhere in SQLite's own log", function* () {
    const directory = temporaryDirectory()
    const killed = yield* runOf(directory, "a", "b", "c", "d", "e")
    const rows = rowsOf(killed)
    const wal = readFileSync(join(killed, "control.db-wal"))
    for (let at = 3; at < wal.length; at += Math.ceil(wal.length / 12)) {
      const flipped = Buffer.from(wal)
      flipped[at]! ^= 4
      const image = loggedImage(killed)
      writeFileSync(join(image, "control.db-wal"), flipped)
      yield* start(image)
      expect(rowsOf(image)).toEqual(rows)
    }
  })

  it.live("is made again from nothing while the log has all", function* () {
    const directory = temporaryDirectory()
    const killed = yield* runOf(directory, "a", "b")
    const rows = rowsOf(killed)
    for (const name of ["control.db", "control.db-wal"]) rmSync(join(killed, name))
    yield* start(killed)
    expect(rowsOf(killed)).toEqual(rows)
  })

  it.live("is refused, and stays as it is, if the log has not all of it", function* () {
    const directory = temporaryDirectory()
    const older = yield* runOf(directory, "a")
    yield* Effect.gen(function* () {
      const { noteErasure, settle, write } = yield* ControlDatabase
      yield* addAccount("b")
      yield* write(noteErasure)
      yield* settle
    }).pipe(Effect.provide(loggedControlOf(directory)))
    const newest = numberOf(directory)
    copyControl(older, directory)
    const found = numberOf(older)
    const error = yield* Effect.flip(start(directory))
    expect(error).toMatchObject({ _tag: "ControlDatabaseBehind", found, logged: newest })
    expect(String(error)).toContain(`ends with change ${found}`)
    expect(accounts(directory)).toEqual(["a"])
    rmSync(join(directory, "control.db"))
    expect(yield* Effect.flip(start(directory))).toMatchObject({ _tag: "ControlDatabaseBehind", found: 0 })
  })
})

describe("a log that lacks what control.db has", () => {
  it.live(
    "gets it at the start, after a kill between the commit and the log's sync: no number twice, none left out",
    function* () {
      const directory = temporaryDirectory()
      const earlier = yield* runOf(directory, "a")
      // Killed with b and c in control.db alone: the log is that of the earlier moment.
      const later = yield* Effect.gen(function* () {
        for (const name of ["b", "c"]) yield* addAccount(name)
        return loggedImage(directory)
      }).pipe(Effect.provide(loggedControlOf(directory)))
      copyControl(later, earlier)
      yield* runOf(earlier, "d")
      const changes = yield* changesOf(earlier)
      const numbers = changes.map(({ number }) => number)
      expect(numbers).toEqual(numbers.map((_, at) => at + 1))
      expect(changes.slice(1).every(({ changes: one }) => one instanceof Uint8Array)).toBe(true)
      for (const name of ["control.db", "control.db-wal"]) rmSync(join(earlier, name), { force: true })
      yield* start(earlier)
      expect(accounts(earlier)).toEqual(["a", "b", "c", "d"])
    }
  )

  it.live("gets a base after tables have changed, and after it was left", function* () {
    const directory = temporaryDirectory()
    yield* runOf(directory, "a")
    yield* Effect.gen(function* () {
      const { sql } = yield* ControlDatabase
      // As if the tables were migrated between this start and the next.
      yield* sql`UPDATE change_record SET version = version - 1`
    }).pipe(Effect.provide(loggedControlOf(directory)))
    yield* runOf(directory, "b")
    expect((yield* changesOf(directory)).slice(-2)).toMatchObject([{ changes: "base" }, { number: 4 }])
    rmSync(join(directory, logFolder), { recursive: true })
    yield* runOf(directory, "c")
    expect(yield* changesOf(directory)).toMatchObject([{ changes: "base", number: 4 }, { number: 5 }])
  })
})

describe("text that was removed from control.db", () => {
  const filesWith = (directory: string, word: string) =>
    globSync("{control.db*,log/*}", { cwd: directory }).filter((name) =>
      readFileSync(join(directory, name)).includes(word)
    )
  const remove = ControlDatabase.use(({ noteErasure, sql, write }) =>
    write(Effect.andThen(sql`DELETE FROM account WHERE id = 'zanzibar'`, noteErasure))
  )
  const settle = ControlDatabase.use((control) => control.settle)

  it.live("leaves both logs when the database settles; what is added later stays", function* () {
    const directory = temporaryDirectory()
    yield* Effect.gen(function* () {
      yield* addAccount("zanzibar")
      yield* remove
      yield* syncedLog(directory)
      expect(filesWith(directory, "zanzibar").some((name) => name.startsWith("log/"))).toBe(true)
      yield* settle
      expect(filesWith(directory, "zanzibar")).toEqual([])
      yield* addAccount("maputo")
      yield* settle
      yield* syncedLog(directory)
      expect(filesWith(directory, "maputo")).not.toEqual([])
    }).pipe(Effect.provide(loggedControlOf(directory)))
  })

  it.live("leaves them after a kill too, by the next start's first round", function* () {
    const directory = temporaryDirectory()
    yield* runOf(directory, "zanzibar")
    const killed = yield* Effect.gen(function* () {
      yield* remove
      yield* syncedLog(directory)
      return loggedImage(directory)
    }).pipe(Effect.provide(loggedControlOf(directory)))
    expect(filesWith(killed, "zanzibar")).not.toEqual([])
    yield* Effect.gen(function* () {
      yield* settle
      expect(filesWith(killed, "zanzibar")).toEqual([])
    }).pipe(Effect.provide(loggedControlOf(killed)))
  })
})
