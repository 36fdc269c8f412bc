/** Rot in control.db: a check names what its base and the commit log say otherwise, the next start makes it again. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { openDatabases, unlockedFiles } from "../../../support/FileLocks.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { loggedControlOf, rowsOf, syncedLog } from "../LoggedControl.ts"
import { it } from "../../../support/it.ts"
import { controlOf } from "../MemoryLog.ts"

const addAccount = (name: string) =>
  ControlDatabase.use(({ sql, write }) =>
    write(sql`INSERT INTO account (id, name, plan, created_at) VALUES (${name}, ${name}, 'free', 0)`)
  )

const check = ControlDatabase.use(({ comparison }) => comparison.check)
const erase = ControlDatabase.use(({ noteErasure, settle, write }) => Effect.andThen(write(noteErasure), settle))

const run = <A, E>(directory: string, step: Effect.Effect<A, E, ControlDatabase>) =>
  Effect.gen(function* () {
    const result = yield* step
    yield* syncedLog(directory)
    return result
  }).pipe(Effect.provide(loggedControlOf(directory)))

/** Flips a bit of each place of a text in control.db, in table and index alike. */
const rot = (directory: string, text: string): void => {
  const path = join(directory, "control.db")
  const bytes = readFileSync(path)
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) bytes[at]! ^= 1
  writeFileSync(path, bytes)
}

describe("control.db with rot in a row", () => {
  it.live.each([
    ["from the log alone", Effect.void],
    ["from a base and the log", Effect.asVoid(check)],
    ["from a base behind an erasure", Effect.andThen(Effect.andThen(check, erase), Effect.asVoid(check))]
  ] as const)("is named by a check and made again by the next start, %s", function* ([, prepare]) {
    const directory = temporaryDirectory()
    yield* run(directory, Effect.andThen(addAccount("narwhal"), prepare))
    yield* run(directory, addAccount("walrus"))
    const rows = rowsOf(directory)
    rot(directory, "narwhal")
    yield* run(
      directory,
      Effect.gen(function* () {
        expect(yield* check).toEqual({
          faults: ["table account: 1 rows are not as the commit log says"],
          isCompared: true
        })
        const { comparison } = yield* ControlDatabase
        expect(yield* comparison!.isDamaged).toBe(true)
        yield* addAccount("seal")
      })
    )
    yield* run(
      directory,
      Effect.gen(function* () {
        expect(yield* check).toEqual({ faults: [], isCompared: true })
        expect(rowsOf(directory)["account"]).toEqual([
          ...rows["account"]!,
          expect.objectContaining({ id: "seal", name: "seal" })
        ])
      })
    )
  })

  it.live.skipIf(!existsSync("/proc/locks"))("keeps its locks through a check and the making of a base (Linux)", () => {
    const directory = temporaryDirectory()
    const demandLocks = Effect.andThen(
      Effect.promise(() => unlockedFiles(directory, process.pid)),
      (unlocked) => Effect.sync(() => expect(unlocked).toEqual([]))
    )
    return run(
      directory,
      Effect.gen(function* () {
        yield* demandLocks
        yield* addAccount("narwhal")
        expect(yield* check).toEqual({ faults: [], isCompared: true })
        yield* demandLocks
        expect(openDatabases(directory, process.pid)).toBeGreaterThan(0)
        yield* erase
        yield* demandLocks
      })
    )
  })

  it.live("has no base with what an erasure has removed", function* () {
    const directory = temporaryDirectory()
    yield* run(
      directory,
      Effect.gen(function* () {
        yield* addAccount("narwhal")
        yield* check
        expect(readFileSync(join(directory, "control.db.base")).includes("narwhal")).toBe(true)
        const { sql, write } = yield* ControlDatabase
        yield* write(sql`DELETE FROM account WHERE id = 'narwhal'`)
        yield* erase
        expect(existsSync(join(directory, "control.db.base"))).toBe(false)
        expect(yield* check).toEqual({ faults: [], isCompared: false })
        expect(readFileSync(join(directory, "control.db.base")).includes("narwhal")).toBe(false)
      })
    )
  })

  it.live("is not mended by a base that is itself damaged, which is made anew", function* () {
    const directory = temporaryDirectory()
    yield* run(directory, Effect.andThen(addAccount("narwhal"), check))
    const path = join(directory, "control.db.base")
    const whole = readFileSync(path)
    const bytes = Buffer.from(whole)
    bytes[bytes.indexOf("narwhal")]! ^= 1
    writeFileSync(path, bytes)
    expect(yield* run(directory, check)).toEqual({ faults: [], isCompared: true })
    expect(readFileSync(path).includes("narwhal")).toBe(true)
  })
})

describe("control.db whose pages are damaged", () => {
  type Made = { readonly directory: string; readonly rows: ReturnType<typeof rowsOf> }
  /** Made once; each test has a copy. */
  const copiesOf = <E>(made: Effect.Effect<Made, E>) =>
    Effect.map(Effect.runSync(Effect.cached(made)), ({ directory, rows }): Made => {
      const copy = temporaryDirectory()
      cpSync(directory, copy, { recursive: true })
      return { directory: copy, rows }
    })
  /** With a base, and a log that goes on behind it. */
  const damaged = copiesOf(
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* run(directory, Effect.andThen(addAccount("narwhal"), erase))
      yield* run(directory, Effect.andThen(check, addAccount("walrus")))
      const rows = rowsOf(directory)
      const path = join(directory, "control.db")
      const bytes = readFileSync(path)
      bytes.fill(0xff, 4_096, 8_192)
      writeFileSync(path, bytes)
      return { directory, rows }
    })
  )
  const remade = copiesOf(Effect.tap(damaged, ({ directory }) => run(directory, Effect.void)))

  it.live("is made again by the start", function* () {
    const { directory, rows } = yield* damaged
    yield* run(directory, Effect.void)
    expect(rowsOf(directory)).toEqual(rows)
  })

  it.live.each([
    ["the name of a column has changed", (bytes: Buffer) => bytes.indexOf("id ", bytes.indexOf("TABLE refund "))],
    ["the column of its own numbers has", (bytes: Buffer) => bytes.indexOf("changes BLOB")],
    ["its header names a format that SQLite does not know", () => 47],
    ["its header lets it only be read", () => 18],
    ["its version is that of a later release, and its tables are not", () => 63],
    ["its version is none that a release had", () => 60]
  ] as const)("is made again where %s", function* ([, placeIn]) {
    const { directory, rows } = yield* remade
    const path = join(directory, "control.db")
    const bytes = readFileSync(path)
    const at = placeIn(bytes)
    const whole = bytes[at]
    bytes[at]! ^= 1
    writeFileSync(path, bytes)
    yield* run(directory, Effect.void)
    expect(rowsOf(directory)).toEqual(rows)
    expect(readFileSync(path)[at]).toBe(whole)
    yield* run(directory, addAccount("orca"))
  })

  it.live("is made again when it is gone", function* () {
    const { directory, rows } = yield* damaged
    rmSync(join(directory, "control.db"))
    yield* run(directory, Effect.void)
    expect(rowsOf(directory)).toEqual(rows)
  })

  it.live("is refused with a sentence where neither base nor log has it", function* () {
    const { directory } = yield* damaged
    rmSync(join(directory, "control.db.base"))
    const refusals = [loggedControlOf(directory), Layer.fresh(controlOf(directory))]
    for (const layer of refusals) {
      const error = yield* Effect.flip(Effect.provide(ControlDatabase.use(Effect.succeed), layer))
      expect(error._tag).toBe("ControlDatabaseDamaged")
      expect(String(error)).toMatch(/control\.db is damaged \(.*restore it from a backup/)
    }
  })
})
