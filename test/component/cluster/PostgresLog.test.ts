/** The shared log against a real PostgreSQL: what only a log of several nodes has to hold. */
import { Deferred, Effect, Fiber, Logger } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { describe, expect } from "vitest"
import { startLock } from "@muniment/cluster/log/logSchema"
import { openPostgresLog, type PostgresLog } from "@muniment/cluster/log/PostgresLog"
import type { LogError } from "@muniment/engine/log/LogError"
import { endLeases, inDatabase } from "../../support/ClusterDatabase.ts"
import { logCommit, logTag } from "../../support/CommitLogs.ts"
import { it } from "../../support/it.ts"
import { usePostgres } from "../../support/usePostgres.ts"

const server = usePostgres()

let names = 0
/** A node of its own. */
const node = () => Effect.suspend(() => openPostgresLog({ url: server.url(), node: `node ${names++}` }))

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at)

const inServer = <A, E>(use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.suspend(() => inDatabase(server.url(), use))

/** What the log has of the namespace: sequence numbers before each commit. */
const seqsOf = (log: PostgresLog, number: number) =>
  Effect.map(log.tail(logTag(number), 0), (entries) => entries.map(({ record }) => record.header.fromSeq))

const enter = Effect.fnUntraced(function* (log: PostgresLog, number: number) {
  const claim = yield* log.claim(logTag(number))
  yield* log.attach(logTag(number), { epoch: 1, seq: 0 })
  return claim.state?.seq ?? 0
})

describe("a node that starts", () => {
  it.live("asks again while another one migrates for longer than a statement may take", function* () {
    const release = yield* Deferred.make<void>()
    const isHeld = yield* Deferred.make<void>()
    yield* Effect.forkScoped(
      inServer((sql) =>
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT pg_advisory_xact_lock(${startLock}::int8)`
            yield* Deferred.succeed(isHeld, undefined)
            // Its transaction must not end as an idle one.
            yield* Effect.raceFirst(Effect.forever(Effect.delay(sql`SELECT 1`, 500)), Deferred.await(release))
          })
        )
      )
    )
    yield* Deferred.await(isHeld)
    const { lines, logger } = keptLines()
    const starting = yield* Effect.forkScoped(Effect.provide(node(), Logger.layer([logger])))
    yield* Effect.suspend(() => Effect.sleep(100)).pipe(Effect.repeat({ until: () => lines.length > 0 }))
    expect(lines[0]).toMatch(/does not let this node start yet; it tries again.*statement timeout/)
    yield* Deferred.succeed(release, undefined)
    const log = yield* Fiber.join(starting)
    expect(yield* enter(log, 71)).toBe(0)
  })

  it.live("gives up at once where another attempt finds the same", function* () {
    const { lines, logger } = keptLines()
    const absent = openPostgresLog({ url: server.url("no_such_database"), node: "nowhere" })
    const fault = yield* Effect.flip(Effect.provide(absent, Logger.layer([logger])))
    expect(fault.message).toMatch(/no_such_database/)
    expect(lines).toEqual([])
  })
})

const keptLines = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(JSON.stringify(message)))
  return { lines, logger }
}

describe("the commit log in PostgreSQL", () => {
  it.live("gives the next owner all that was acknowledged, and fences the earlier one", function* () {
    const [first, second] = [yield* node(), yield* node()]
    yield* enter(first, 1)
    for (const seq of upTo(3)) yield* first.append(logCommit(1, seq))
    expect(first.isCurrent(logTag(1))).toBe(true)
    yield* inServer(endLeases)
    expect(yield* second.claim(logTag(1))).toEqual({
      tenure: 2n,
      state: { epoch: 1, seq: 3 },
      lastOrdinal: 3,
      base: undefined
    })
    const errors: Array<LogError> = [yield* Effect.flip(first.append(logCommit(1, 3)))]
    errors.push(yield* Effect.flip(first.append(logCommit(1, 3))))
    errors.push(yield* Effect.flip(first.refuse(logTag(1), 3)))
    expect(errors.map(({ _tag }) => _tag)).toEqual(["LogFenced", "LogFenced", "LogFenced"])
    expect(first.isCurrent(logTag(1))).toBe(false)
    yield* second.append({ ...logCommit(1, 3), isClaim: true })
    expect(yield* seqsOf(second, 1)).toEqual([0, 1, 2, 3])
  })

  it.live("waits for the lease of an owner that lives, unless it has released", function* () {
    const [first, second] = [yield* node(), yield* node()]
    yield* enter(first, 2)
    yield* first.append(logCommit(2, 0))
    const claiming = yield* Effect.forkScoped(second.claim(logTag(2)))
    yield* Effect.sleep(500)
    expect(claiming.pollUnsafe()).toBeUndefined()
    yield* first.append(logCommit(2, 1))
    yield* first.release(logTag(2))
    expect((yield* Fiber.join(claiming)).state).toEqual({ epoch: 1, seq: 2 })
    expect((yield* Effect.flip(first.append(logCommit(2, 2))))._tag).toBe("LogFenced")
  })

  it.live("takes commits of many namespaces in few statements, each namespace's in order", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const log = yield* node()
        const numbers = upTo(60).map((at) => 100 + at)
        yield* Effect.forEach(numbers, (number) => enter(log, number), { concurrency: 4 })
        // Each namespace's appends are begun at once, so that they wait in its line.
        yield* Effect.forEach(
          numbers.flatMap((number) => upTo(5).map((seq) => logCommit(number, seq))),
          log.append,
          { concurrency: "unbounded" }
        )
        for (const number of numbers) expect(yield* seqsOf(log, number)).toEqual(upTo(5))
        const [row] = yield* inServer(
          (sql) => sql<{ n: bigint }>`
          SELECT count(DISTINCT xmin::text) AS n FROM muniment_log.namespace_log WHERE tag >= ${logTag(100)} AND tag < ${logTag(160)}`
        )
        expect(Number(row?.n)).toBeLessThan(30)
      })
    )
  )

  it.live("drops what a base covers, and says which base has it", function* () {
    const log = yield* node()
    yield* enter(log, 3)
    for (const seq of upTo(5)) yield* log.append(logCommit(3, seq))
    expect(yield* log.rebase(logTag(3), 3, "a/1-3")).toBeUndefined()
    expect((yield* Effect.flip(log.tail(logTag(3), 0)))._tag).toBe("LogDamaged")
    expect((yield* log.tail(logTag(3), 3)).map(({ ordinal }) => ordinal)).toEqual([4, 5])
    expect(yield* log.rebase(logTag(3), 5, "a/1-5")).toBe("a/1-3")
    // An older base, and one that holds more than the log ever had.
    expect((yield* Effect.flip(log.rebase(logTag(3), 4, "a/1-4")))._tag).toBe("LogFenced")
    expect((yield* Effect.flip(log.rebase(logTag(3), 6, "a/1-6")))._tag).toBe("LogFenced")
    expect((yield* log.claim(logTag(3))).base).toEqual({ object: "a/1-5", ordinal: 5 })
    yield* log.append(logCommit(3, 5))
    expect((yield* log.tail(logTag(3), 5)).map(({ ordinal }) => ordinal)).toEqual([6])
  })

  it.live("reads a tail of many pages, and large records", function* () {
    const log = yield* node()
    yield* enter(log, 4)
    for (const seq of upTo(300)) yield* log.append(logCommit(4, seq, seq % 100 === 0 ? "x".repeat(3_000_000) : "y"))
    expect(yield* seqsOf(log, 4)).toEqual(upTo(300))
  })

  it.live("names a record that was changed or lost in the database", function* () {
    const log = yield* node()
    yield* enter(log, 5)
    for (const seq of upTo(3)) yield* log.append(logCommit(5, seq))
    yield* inServer(
      (sql) =>
        sql`UPDATE muniment_log.namespace_log SET record = set_byte(record, 70, 0) WHERE tag = ${logTag(5)} AND ordinal = 2`
    )
    expect((yield* Effect.flip(log.tail(logTag(5), 0))).message).toContain("record 2 is damaged")
    yield* inServer((sql) => sql`DELETE FROM muniment_log.namespace_log WHERE tag = ${logTag(5)} AND ordinal = 2`)
    expect((yield* Effect.flip(log.tail(logTag(5), 0))).message).toContain("record 2 of")
    expect((yield* log.tail(logTag(5), 2)).length).toBe(1)
  })

  it.live(
    "lets an agent that was erased come again when the owner of the accounts says so, and nobody else",
    function* () {
      const [owner, other] = [yield* node(), yield* node()]
      const [accounts, agent] = [logTag(6), logTag(7)]
      yield* other.claim(accounts)
      // It does not know yet that it is the owner no more.
      yield* inServer(endLeases)
      yield* owner.claim(accounts)
      yield* other.eraseAgent(agent, "digest")
      const erased = Effect.map(other.claim(agent), (claim) => claim.erased)
      yield* other.readmitAgent(accounts, agent, "digest")
      yield* owner.readmitAgent(accounts, agent, "digest of another agent")
      expect(yield* erased).toBe("digest")
      yield* owner.readmitAgent(accounts, agent, "digest")
      expect(yield* erased).toBeUndefined()
    }
  )

  it.live("refuses a database of a later release, and leaves it as it is", function* () {
    yield* Effect.scoped(node())
    yield* inServer((sql) => sql`INSERT INTO muniment_log.migration (migration_id, name) VALUES (99, 'later')`)
    const fault = yield* Effect.scoped(Effect.flip(node()))
    yield* inServer((sql) => sql`DELETE FROM muniment_log.migration WHERE migration_id = 99`)
    expect(fault).toMatchObject({ _tag: "LogFault", message: expect.stringContaining("version 99") })
    yield* Effect.scoped(node())
  })

  it.live("is opened by several nodes at once on an empty database", function* () {
    yield* inServer((sql) => sql`DROP SCHEMA IF EXISTS muniment_log CASCADE`)
    yield* Effect.scoped(Effect.all(upTo(4).map(node), { concurrency: "unbounded" }))
  })
})
