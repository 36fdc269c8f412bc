/**
 * Flipped bits in `control.db`, its base, SQLite's log of it and the commit log, as a kill leaves them: after a restart,
 * a check and another restart every row is as it was, or the damage is named. Nothing else is allowed.
 */
import { Cause, Effect, Exit } from "effect"
import { cpSync, existsSync, globSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Account } from "@muniment/domain/Account"
import { credits } from "@muniment/domain/Money"
import { Ledger } from "@muniment/control/credits/Ledger"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { loggedControlOf, loggedImage, rowsOf, syncedLog } from "../component/control/LoggedControl.ts"
import { moneyOver } from "../component/control/MoneyLayers.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { flipOne } from "./flipOne.ts"

const files = ["control.db", "control.db-wal", "control.db.base", "control.db.base.json"]

const service = (directory: string) => moneyOver(loggedControlOf(directory))

/** Accounts with credits and charges, as a caller makes them. */
const use = (random: SeededRandom, name: string) =>
  Effect.gen(function* () {
    const { sql, write } = yield* ControlDatabase
    const ledger = yield* Ledger
    const account: Account = { id: `acc_${name}`, name, plan: "free", createdAt: 0 }
    yield* write(sql`INSERT INTO account (id, name, plan, created_at) VALUES (${account.id}, ${name}, 'free', 0)`)
    for (let at = 0; at < random.between(3, 8); at++) {
      yield* ledger.adjust({ account, amount: credits(random.between(1, 50)), key: `${name} ${at}`, reason: "a gift" })
      yield* ledger.settle(yield* ledger.reserve({ account, operation: "search", price: credits(1) }))
    }
  })

const check = ControlDatabase.use(({ comparison }) => comparison.check)

/** What a kill leaves of a service that has erased something, has a base, and has changes behind it. */
export const controlToFlip = (directory: string, random: SeededRandom) =>
  Effect.gen(function* () {
    yield* Effect.gen(function* () {
      const { noteErasure, settle, write } = yield* ControlDatabase
      yield* use(random, "erased")
      yield* write(noteErasure)
      yield* settle
      yield* use(random, "based")
      yield* syncedLog(directory)
      yield* check
    }).pipe(Effect.provide(service(directory)))
    return yield* Effect.gen(function* () {
      yield* use(random, "filed")
      yield* (yield* ControlDatabase).settle
      yield* use(random, "behind")
      yield* syncedLog(directory)
      // A mark ends the log: a flip in the last group before it looks like the tail of a power cut.
      yield* Effect.sleep(100)
      const image = loggedImage(directory)
      for (const name of files.filter((one) => one.includes("base"))) cpSync(join(directory, name), join(image, name))
      return image
    }).pipe(Effect.provide(service(directory)))
  })

/** A start whose books are read, and a check; -> what they say is damaged. */
const restart = (directory: string) =>
  Effect.gen(function* () {
    const books = yield* checkLedger
    const verdict = yield* check
    return [...books.problems.map(String), ...verdict.faults]
  }).pipe(Effect.provide(service(directory)), Effect.exit)

/** Without their order: a file that follows patch sets has its rows in another. */
const rowsText = (directory: string): string =>
  JSON.stringify(
    Object.entries(rowsOf(directory)).map(([table, rows]) => [table, rows.map((row) => JSON.stringify(row)).toSorted()])
  )

export interface ControlFlipReport {
  /** Flips after which every row was as before, by the ending of the file's name. */
  readonly whole: Record<string, number>
  readonly named: Array<string>
  /** Named by an error of SQLite's instead of a sentence of ours. */
  readonly raw: Array<string>
  readonly silent: Array<string>
}

/** One in each copy of the image. */
export const flipControl = Effect.fnUntraced(function* (
  work: string,
  image: string,
  flips: number,
  random: SeededRandom
) {
  const rows = rowsText(image)
  const report: ControlFlipReport = { whole: {}, named: [], raw: [], silent: [] }
  const segments = globSync(`${logFolder}/[0-9]*.log`, { cwd: image }).toSorted()
  const kinds = [...files.filter((name) => existsSync(join(image, name))).map((name) => [name]), segments]
  const flipped = join(work, "flipped")
  for (let at = 0; at < flips; at++) {
    rmSync(flipped, { recursive: true, force: true })
    cpSync(image, flipped, { recursive: true })
    const told = flipOne(flipped, random.pick(kinds)!, random)
    yield* restart(flipped)
    const second = yield* restart(flipped)
    const kind = /\.[a-z.-]+(?=,)/.exec(told)![0]
    if (Exit.isFailure(second)) {
      const said = Cause.pretty(second.cause).split("\n", 1)[0]!
      ;(said.startsWith("SqliteError") ? report.raw : report.named).push(`${told}: ${said}`)
    } else if (rowsText(flipped) === rows) report.whole[kind] = (report.whole[kind] ?? 0) + 1
    else (second.value.length > 0 ? report.named : report.silent).push(`${told}: ${second.value.join("; ")}`)
  }
  return report
})
