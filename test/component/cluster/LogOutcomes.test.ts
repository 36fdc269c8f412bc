/** Appends whose outcome the owner does not learn, and owners that stand still in the middle of one: the claim decides. */
import { Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { describe, expect } from "vitest"
import { openPostgresLog, type PostgresLog } from "@muniment/cluster/log/PostgresLog"
import { endLeases, inDatabase } from "../../support/ClusterDatabase.ts"
import { logCommit, logTag } from "../../support/CommitLogs.ts"
import { effectOf, type Steps, it } from "../../support/it.ts"
import { usePostgres, useProxy } from "../../support/usePostgres.ts"

const server = usePostgres()
const proxy = useProxy(server)

let names = 0
const node = (port?: number) =>
  Effect.suspend(() => openPostgresLog({ url: server.url("postgres", port), node: `node ${names++}` }))
/** A node whose connections pass through the proxy. */
const proxied = Effect.suspend(() => node(proxy.port))

const inServer = <A, E>(use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.suspend(() => inDatabase(server.url(), use))

const seqsOf = (log: PostgresLog, number: number) =>
  Effect.map(log.tail(logTag(number), 0), (entries) => entries.map(({ record }) => record.header.fromSeq))

/** Claims the namespace and appends two commits. */
const begin = Effect.fnUntraced(function* (log: PostgresLog, number: number) {
  yield* log.claim(logTag(number))
  yield* log.attach(logTag(number), { epoch: 1, seq: 0 })
  for (const seq of [0, 1]) yield* log.append(logCommit(number, seq))
})

describe("an append whose outcome is unknown", () => {
  const cut = (number: number, fault: "beforeStatement" | "afterStatement" | "garbled", seqs: ReadonlyArray<number>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const log = yield* proxied
        yield* begin(log, number)
        const met = proxy.arm(logTag(number), fault)
        expect((yield* Effect.flip(log.append(logCommit(number, 2))))._tag).toBe("LogFault")
        yield* Effect.promise(() => met)
        // Nothing more until it is claimed, whatever has happened.
        for (const seq of [2, 3])
          expect((yield* Effect.flip(log.append(logCommit(number, seq))))._tag).toBe("LogFenced")
        const claim = yield* log.claim(logTag(number))
        expect(claim.state).toEqual({ epoch: 1, seq: seqs.length })
        expect(yield* seqsOf(log, number)).toEqual(seqs)
        yield* log.append(logCommit(number, seqs.length))
        expect(yield* seqsOf(log, number)).toEqual([...seqs, seqs.length])
      })
    )

  it.live("has not happened when the connection ends before the statement", () => cut(1, "beforeStatement", [0, 1]))
  it.live("has happened when the connection ends after the statement", () => cut(2, "afterStatement", [0, 1, 2]))
  it.live("has happened when the answer is not PostgreSQL's", () => cut(3, "garbled", [0, 1, 2]))
})

it.live("a commit that cannot be put into bytes takes no ordinal, and the next one is stored", function* () {
  const log = yield* node()
  yield* begin(log, 91)
  // More than the header has bits for.
  const failed = yield* Effect.exit(log.append({ ...logCommit(91, 2), changes: 2 ** 32 }))
  expect(Exit.hasDies(failed)).toBe(true)
  yield* log.append(logCommit(91, 2))
  expect(yield* seqsOf(log, 91)).toEqual([0, 1, 2])
})

describe("a database that refuses the statement of the appends", () => {
  const rename = (from: string, to: string) =>
    inServer((sql) => sql.unsafe(`ALTER FUNCTION muniment_log.${from} RENAME TO ${to}`))

  it.live("fails all that are under way and behind, and takes what comes once it can again", function* () {
    const log = yield* node()
    const numbers = [81, 82, 83, 84]
    for (const number of numbers) yield* begin(log, number)
    yield* rename("append", "absent")
    const appended = Effect.forEach(
      numbers.flatMap((number) => [2, 3, 4].map((seq) => logCommit(number, seq))),
      (commit) => Effect.result(log.append(commit)),
      { concurrency: "unbounded" }
    )
    const failed = yield* Effect.ensuring(appended, Effect.orDie(rename("absent", "append")))
    expect(failed.map((result) => (result._tag === "Failure" ? result.failure._tag : "stored"))).toEqual(
      Array(failed.length).fill("LogFault")
    )
    for (const number of numbers) {
      expect((yield* Effect.flip(log.append(logCommit(number, 2))))._tag).toBe("LogFenced")
      expect((yield* log.claim(logTag(number))).state).toEqual({ epoch: 1, seq: 2 })
      yield* log.append(logCommit(number, 2))
      expect(yield* seqsOf(log, number)).toEqual([0, 1, 2])
    }
  })
})

describe("a node that does not know whether it owns a namespace", () => {
  /** Another node gets it, while the lease of the first one is renewed all the time. */
  const isGivenUp = (number: number, lose: (log: PostgresLog) => Steps) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [first, second] = [yield* proxied, yield* node()]
        yield* effectOf(lose(first))
        yield* second.claim(logTag(number))
        expect(first.isCurrent(logTag(number))).toBe(false)
        expect(second.isCurrent(logTag(number))).toBe(true)
      })
    )
  const met = (happened: Promise<void>) => Effect.promise(() => happened)

  it.live("lets others have it after an append without an answer, and its close", () =>
    isGivenUp(51, function* (log) {
      yield* Effect.orDie(begin(log, 51))
      const cut = proxy.arm(logTag(51), "afterStatement")
      yield* Effect.flip(log.append(logCommit(51, 2)))
      yield* met(cut)
      yield* log.release(logTag(51))
    })
  )

  it.live("lets others have it after a claim whose answer was lost", () =>
    isGivenUp(52, function* (log) {
      const cut = proxy.arm(logTag(52), "afterStatement")
      yield* Effect.flip(log.claim(logTag(52)))
      yield* met(cut)
    })
  )

  it.live("lets others have it after a claim that was given up on its way, and happened then", () =>
    isGivenUp(53, function* (log) {
      const held = proxy.arm(logTag(53), "hold")
      const claiming = yield* Effect.forkChild(log.claim(logTag(53)))
      yield* met(held)
      const givenUp = yield* Effect.forkChild(Fiber.interrupt(claiming))
      proxy.letGo()
      yield* Fiber.join(givenUp)
    })
  )

  it.live("keeps what it has claimed again since", function* () {
    const [first, second] = [yield* proxied, yield* node()]
    const cut = proxy.arm(logTag(54), "afterStatement")
    yield* Effect.flip(first.claim(logTag(54)))
    yield* met(cut)
    yield* first.claim(logTag(54))
    yield* first.attach(logTag(54), { epoch: 1, seq: 0 })
    const claiming = yield* Effect.forkScoped(second.claim(logTag(54)))
    yield* Effect.sleep(1_500)
    expect(claiming.pollUnsafe()).toBeUndefined()
    yield* first.append(logCommit(54, 0))
    yield* first.release(logTag(54))
    expect((yield* Fiber.join(claiming)).state).toEqual({ epoch: 1, seq: 1 })
  })
})

describe("a node that leaves", () => {
  it.live("ends its lease: what it has not released is free", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const second = yield* node()
        const name = yield* Effect.scoped(
          Effect.gen(function* () {
            yield* begin(yield* node(), 61)
            return `node ${names - 1}`
          })
        )
        const [lease] = yield* inServer(
          (sql) => sql<{ ended: boolean }>`
            SELECT expires_at <= clock_timestamp() AS ended FROM muniment_log.node_lease WHERE node = ${name}`
        )
        expect(lease).toEqual({ ended: true })
        expect((yield* second.claim(logTag(61))).state).toEqual({ epoch: 1, seq: 2 })
      })
    )
  )
})

/** The stale owner's append is held on its way while another node claims and writes; what it is told, and all records. */
const staleAppend = (number: number, nextWrites: boolean) =>
  Effect.scoped(
    Effect.gen(function* () {
      const [stale, next] = [yield* proxied, yield* node()]
      yield* begin(stale, number)
      const held = proxy.arm(logTag(number), "hold")
      const appending = yield* Effect.forkScoped(Effect.result(stale.append(logCommit(number, 2, "stale"))))
      yield* Effect.promise(() => held)
      yield* inServer(endLeases)
      const claim = yield* next.claim(logTag(number))
      expect(claim.state).toEqual({ epoch: 1, seq: 2 })
      if (nextWrites) yield* next.append({ ...logCommit(number, 2, "next"), isClaim: true })
      proxy.letGo()
      const outcome = yield* Fiber.join(appending)
      const texts = (yield* next.tail(logTag(number), 2)).map(({ record }) => record.text)
      return { told: outcome._tag === "Success" ? "acknowledged" : outcome.failure._tag, texts }
    })
  )

describe("an owner that stands still in the middle of an append", () => {
  it.live("is fenced when it wakes, whether or not the next owner has written", function* () {
    expect(yield* staleAppend(11, true)).toEqual({ told: "LogFenced", texts: ["next"] })
    expect(yield* staleAppend(12, false)).toEqual({ told: "LogFenced", texts: [] })
  })

  it.live("would write beside the next owner without the fence", function* () {
    const [row] = yield* inServer(
      (sql) => sql<{ text: string }>`SELECT pg_get_functiondef('muniment_log.admits'::regproc) AS text`
    )
    const withBody = (body: string) => inServer((sql) => sql.unsafe(body))
    yield* withBody(row!.text.replace(/\$function\$[^]*\$function\$/u, "$$function$$ SELECT true $$function$$"))
    const outcome = yield* Effect.ensuring(staleAppend(13, false), Effect.orDie(withBody(row!.text)))
    expect(outcome).toEqual({ told: "acknowledged", texts: ["stale"] })
    expect(yield* staleAppend(14, false)).toEqual({ told: "LogFenced", texts: [] })
  })
})

/** Until so many statements wait for a lock. */
const untilWaiting = (count: number) =>
  inServer((sql) => sql<{ n: bigint }>`SELECT count(*) AS n FROM pg_locks WHERE NOT granted`).pipe(
    Effect.repeat({ until: ([row]) => Number(row!.n) >= count })
  )

describe("an append and a claim that wait for the same row", () => {
  /** Both wait behind a transaction that holds the row; `appendFirst` says in which order they came. */
  const race = (number: number, appendFirst: boolean) =>
    Effect.scoped(
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const [first, second] = [yield* node(), yield* node()]
        yield* begin(first, number)
        const append = Effect.forkIn(Effect.result(first.append(logCommit(number, 2))), scope)
        const claim = Effect.forkIn(second.claim(logTag(number)), scope)
        const held = Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* sql`UPDATE muniment_log.node_lease SET expires_at = clock_timestamp() - interval '1 s'`
          yield* sql`SELECT FROM muniment_log.namespace_owner WHERE tag = ${logTag(number)} FOR UPDATE`
          const early = appendFirst ? { appending: yield* append } : { claiming: yield* claim }
          yield* untilWaiting(1)
          const late = appendFirst ? { claiming: yield* claim } : { appending: yield* append }
          yield* untilWaiting(2)
          return { ...early, ...late }
        })
        const { appending, claiming } = yield* inServer((sql) =>
          sql.withTransaction(Effect.provideService(held, SqlClient, sql))
        )
        const outcome = yield* Fiber.join(appending!)
        const { state } = yield* Fiber.join(claiming!)
        return { isAcknowledged: outcome._tag === "Success", seq: state?.seq, seqs: yield* seqsOf(second, number) }
      })
    )

  it.live("the claim sees the append, or the append is fenced", function* () {
    for (const [number, appendFirst] of [
      [21, true],
      [22, false]
    ] as const) {
      const { isAcknowledged, seq, seqs } = yield* race(number, appendFirst)
      expect(seqs).toEqual(isAcknowledged ? [0, 1, 2] : [0, 1])
      expect(seq).toBe(seqs.length)
    }
  })
})
