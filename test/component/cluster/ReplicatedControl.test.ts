/** `control.db` that several nodes own one after the other, over a real PostgreSQL and bases in a folder. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { ConfigProvider, Context, Effect, Exit, Layer, Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { expect } from "vitest"
import { zstdDecompressSync } from "node:zlib"
import { openTarget } from "@muniment/backup/target/openTarget"
import { BaseStore, packedBases } from "@muniment/cluster/bases/BaseStore"
import { ControlTenure, controlTag, replicatedControl } from "@muniment/cluster/control/ReplicatedControl"
import { openPostgresLog } from "@muniment/cluster/log/PostgresLog"
import { Ledger } from "@muniment/control/credits/Ledger"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import type { Account } from "@muniment/domain/Account"
import { credits } from "@muniment/domain/Money"
import { endLeases, inDatabase } from "../../support/ClusterDatabase.ts"
import { moneyOver } from "../control/MoneyLayers.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it } from "../../support/it.ts"
import { usePostgres } from "../../support/usePostgres.ts"

const server = usePostgres()

const account: Account = { id: "acc_1", name: "one", plan: "free", createdAt: 0 }

const inServer = <A, E>(use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.suspend(() => inDatabase(server.url(), use))

let names = 0

/** The owner from here on; `stop` is a planned end. */
const own = Effect.fnUntraced(function* (bases: string) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const log = yield* Scope.provide(openPostgresLog({ url: server.url(), node: `node ${names++}` }), scope)
  const store = yield* Scope.provide(basesIn(bases), scope)
  const control = replicatedControl({ directory: temporaryDirectory(), log, bases: store })
  const context = yield* Layer.buildWithScope(moneyOver(control, credits(0)), scope)
  return { ...usesOf(context), stop: Scope.close(scope, Exit.void) }
})

const basesIn = Effect.fnUntraced(function* (directory: string) {
  const target = yield* openTarget(directory).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({}))
  )
  return Context.get(yield* Layer.build(packedBases(target)), BaseStore)
})

const usesOf = (context: Context.Context<ControlDatabase | ControlTenure | Ledger>) => {
  const { noteErasure, read, settle, sql, write } = Context.get(context, ControlDatabase)
  const ledger = Context.get(context, Ledger)
  return {
    tenure: Context.get(context, ControlTenure),
    ledger,
    settle,
    note: (name: string) =>
      write(sql`INSERT INTO account (id, name, plan, created_at) VALUES (${name}, ${name}, 'free', 0)`),
    forget: (name: string) => write(Effect.andThen(sql`DELETE FROM account WHERE id = ${name}`, noteErasure)),
    names: read(
      Effect.map(sql<{ id: string }>`SELECT id FROM account ORDER BY id`, (rows) => rows.map(({ id }) => id))
    ),
    gift: (key: string) => ledger.adjust({ account, amount: credits(10), key, reason: "a gift" }),
    balances: ledger.balances,
    pragma: (name: string) => read(Effect.map(sql.unsafe(`PRAGMA ${name}`), ([row]) => row))
  }
}

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at)

const recordsKept = inServer((sql) =>
  Effect.map(
    sql<{ count: bigint }>`SELECT count(*) FROM muniment_log.namespace_log WHERE tag = ${controlTag}`,
    ([row]) => Number(row?.count)
  )
)

/** Each test begins with a database that nobody has owned. */
const withoutControl = Effect.ignore(
  inServer((sql) =>
    Effect.all([
      sql`DELETE FROM muniment_log.namespace_owner WHERE tag = ${controlTag}`,
      sql`DELETE FROM muniment_log.namespace_log WHERE tag = ${controlTag}`
    ])
  )
)

it.live("the next owner has everything, by the log alone or by a base and what came after", function* () {
  yield* withoutControl
  const bases = temporaryDirectory()
  const expected: Array<string> = []
  for (const tenure of upTo(4)) {
    const owner = yield* own(bases)
    expect(yield* owner.names).toEqual(expected)
    for (const number of upTo(5)) {
      const name = `account ${tenure}.${number}`
      yield* owner.note(name)
      yield* owner.gift(name)
      expected.push(name)
      // An erasure publishes a base.
      if (tenure === 1 && number === 2) {
        yield* owner.forget(name)
        yield* owner.settle
        expected.pop()
      }
    }
    yield* owner.ledger.flush
    const gifts = yield* owner.balances
    expect(gifts.reduce((sum, { credits, debits }) => sum + credits - debits, 0)).toBe(0)
    expect(Math.max(...gifts.map(({ credits }) => credits))).toBe(credits(10 * 5 * (tenure + 1)))
    yield* owner.stop
  }
})

it.live("an owner's changes do not wait for a sync of its copy, which no later start uses", function* () {
  yield* withoutControl
  const owner = yield* own(temporaryDirectory())
  expect(yield* owner.pragma("synchronous")).toEqual({ synchronous: 0 })
})

it.live(
  "an owner that leaves puts what the next one would have to read into a base, and goes on meanwhile",
  function* () {
    yield* withoutControl
    const bases = temporaryDirectory()
    const owner = yield* own(bases)
    const names = upTo(20).map((number) => `before ${10 + number}`)
    yield* owner.tenure.handOver
    yield* owner.note(names[0]!)
    // A base of one record would be work for nothing.
    yield* owner.tenure.handOver
    expect(yield* recordsKept).toBeGreaterThan(0)
    yield* Effect.forEach(names.slice(1), owner.note)
    const before = yield* recordsKept
    yield* Effect.all([owner.tenure.handOver, owner.note("meanwhile")], { concurrency: 2 })
    expect(yield* recordsKept).toBeLessThan(before)
    yield* owner.note("afterwards")
    yield* owner.stop
    const next = yield* own(bases)
    expect(yield* next.names).toEqual(["afterwards", ...names, "meanwhile"])
  }
)

it.live("an owner that ends gives control.db away before its copy of it is closed", function* () {
  yield* withoutControl
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const directory = temporaryDirectory()
  const log = yield* Scope.provide(openPostgresLog({ url: server.url(), node: `node ${names++}` }), scope)
  const bases = yield* Scope.provide(basesIn(temporaryDirectory()), scope)
  // SQLite removes this file with the last connection.
  const isOpen = () => existsSync(join(directory, "control", "control.db-wal"))
  const wasOpen: Array<boolean> = []
  const told = Object.assign(Object.create(log) as typeof log, {
    isCurrent: (tag: typeof controlTag) => log.isCurrent(tag),
    release: (tag: typeof controlTag) =>
      Effect.andThen(
        Effect.sync(() => wasOpen.push(isOpen())),
        log.release(tag)
      )
  })
  const control = replicatedControl({ directory, log: told, bases })
  const context = yield* Layer.buildWithScope(moneyOver(control, credits(0)), scope)
  yield* usesOf(context).note("the last one")
  yield* Scope.close(scope, Exit.void)
  expect(wasOpen[0]).toBe(true)
  expect(isOpen()).toBe(false)
  const next = yield* own(temporaryDirectory())
  expect(yield* next.names).toEqual(["the last one"])
})

it.live("an owner that was frozen acknowledges nothing more, and the next has all that it did", function* () {
  yield* withoutControl
  const bases = temporaryDirectory()
  const first = yield* own(bases)
  yield* Effect.forEach(upTo(20), (number) => first.note(`told ${10 + number}`), { concurrency: 4 })
  expect(first.tenure.isCurrent()).toBe(true)
  yield* inServer(endLeases)
  const second = yield* own(bases)
  expect(yield* second.names).toEqual(upTo(20).map((number) => `told ${10 + number}`))
  const late = yield* Effect.exit(first.note("too late"))
  expect(Exit.isFailure(late)).toBe(true)
  expect((yield* Effect.flip(first.tenure.lost)).cause).toMatchObject({ _tag: "LogFenced" })
  expect(Exit.isFailure(yield* Effect.exit(first.gift("too late as well")))).toBe(true)
  yield* second.note("told 99")
  yield* second.stop
  const third = yield* own(bases)
  expect(yield* third.names).toEqual([...upTo(20).map((number) => `told ${10 + number}`), "told 99"])
  expect((yield* third.balances).every(({ credits, debits }) => credits === 0 && debits === 0)).toBe(true)
})

it.live("removed text is in no record and no base after the next settling", function* () {
  yield* withoutControl
  const bases = temporaryDirectory()
  const owner = yield* own(bases)
  yield* owner.note("kept narwhal")
  yield* owner.note("secret walrus")
  // A base with the text, from an erasure of something else.
  yield* owner.forget("nobody")
  yield* owner.settle
  expect(yield* contentOf(bases)).toContain("secret walrus")
  yield* owner.forget("secret walrus")
  yield* owner.settle
  const content = yield* contentOf(bases)
  expect(content).toContain("kept narwhal")
  expect(content).not.toContain("walrus")
})

/** Everything that the log and the bases hold, unpacked. */
const contentOf = (bases: string) =>
  Effect.map(
    inServer(
      (sql) =>
        sql<{ record: Uint8Array | null }>`SELECT record FROM muniment_log.namespace_log WHERE tag = ${controlTag}`
    ),
    (rows) => {
      const parts = readdirSync(bases, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /^\d+$/.test(entry.name))
        .map(({ name, parentPath }) => zstdDecompressSync(readFileSync(join(parentPath, name))))
      const records = rows.flatMap(({ record }) => (record === null ? [] : [Buffer.from(record)]))
      return [...parts, ...records].map((bytes) => bytes.toString("latin1")).join("\n")
    }
  )
