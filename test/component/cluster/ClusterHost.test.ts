/**
 * Three nodes over a real PostgreSQL and real sockets, in one process. Each has copies of its own; commits are in the
 * shared log, and bases in one folder.
 */
import { ConfigProvider, Context, Effect, Exit, Fiber, Layer, Redacted, Schedule, Scope } from "effect"
import { expect } from "vitest"
import { openTarget } from "@muniment/backup/target/openTarget"
import { BaseStore, packedBases } from "@muniment/cluster/bases/BaseStore"
import { openPostgresLog, type PostgresLog } from "@muniment/cluster/log/PostgresLog"
import { clusterHostLayer } from "@muniment/cluster/nodes/ClusterHost"
import { clusterNodeLayer } from "@muniment/cluster/nodes/ClusterNode"
import { LocalHost } from "@muniment/cluster/nodes/LocalHost"
import { namespaceEntityLayer, Residents } from "@muniment/cluster/nodes/NamespaceEntity"
import { shardCount } from "@muniment/cluster/nodes/clusterStatus"
import { agentDigest, replicatedStore } from "@muniment/cluster/store/ReplicatedStore"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { StorageMeter, type StorageMeterService } from "@muniment/engine/namespace/StorageMeter"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { inDatabase } from "../../support/ClusterDatabase.ts"
import { creating, exactOnly, memoryRecord, namespaceKey, newMemory } from "../../support/EngineFixtures.ts"
import { freePort } from "../../support/TestServer.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it } from "../../support/it.ts"
import { usePostgres } from "../../support/usePostgres.ts"

const server = usePostgres()

type Host = NamespaceHost["Service"]

interface Node {
  readonly host: Host
  readonly local: Host
  readonly log: PostgresLog
  /** A planned stop. */
  readonly stop: Effect.Effect<void>
}

let nodes = 0
const secret = Redacted.make("a secret of these tests, known to all of their nodes")

/** A node with files of its own, whose bases are in `directory`; `meter` hears what its callers' commands leave. */
const start = (directory: string, meter?: StorageMeterService): Effect.Effect<Node, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* Effect.promise(freePort)
    const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
    const log = yield* Scope.provide(openPostgresLog({ url: server.url(), node: `node ${nodes++}` }), scope)
    const target = yield* openTarget(directory).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({}))
    )
    const bases = Context.get(yield* Layer.buildWithScope(packedBases(target), scope), BaseStore)
    const files = temporaryDirectory()
    const engine = LocalHost.layer({
      dataDirectory: files,
      index: exactOnly,
      isCurrent: (tag) => log.isCurrent(tag),
      eraseAgent: (key) => log.eraseAgent(key.tag, agentDigest(key))
    }).pipe(Layer.provideMerge(replicatedStore({ directory: files, log, bases })))
    const context = yield* Layer.buildWithScope(
      Layer.mergeAll(clusterHostLayer, namespaceEntityLayer).pipe(
        Layer.provideMerge(Layer.mergeAll(engine, Residents.layer)),
        Layer.provide(meter === undefined ? Layer.empty : Layer.succeed(StorageMeter, meter)),
        Layer.provide(
          clusterNodeLayer({ databaseUrl: server.url(), secret, host: "127.0.0.1", port, signals: log.signals })
        ),
        Layer.fresh
      ),
      scope
    )
    return {
      host: Context.get(context, NamespaceHost),
      local: Context.get(context, LocalHost),
      log,
      stop: Scope.close(scope, Exit.void)
    }
  })

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at)
const keys = upTo(30).map((number) => namespaceKey(`agent ${number}`))

const store = (host: Host, key: NamespaceKey, number: number) =>
  host
    .ask(key, creating([newMemory(memoryRecord(number, `fact ${number}`, { agentId: key.agentId }))], `once ${number}`))
    .pipe(Effect.retry({ times: 100, schedule: Schedule.spaced("100 millis") }))

const rowsOf = (host: Host, key: NamespaceKey) =>
  host.answer(key, { _tag: "Counts" }).pipe(
    Effect.map(({ rows }) => rows),
    Effect.retry({ times: 100, schedule: Schedule.spaced("100 millis") })
  )

const openOn = (nodes: ReadonlyArray<Node>) =>
  Effect.forEach(nodes, ({ local }) => Effect.map(local.status, ({ open }) => open))

/** Each node has at least half of its part, and all shards are held. */
const shardsDividedAmong = (count: number) =>
  inDatabase(
    server.url(),
    (sql) => sql<{ held: number }>`
      SELECT count(*)::int4 AS held FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 GROUP BY pid`
  ).pipe(
    Effect.map((rows) => rows.map(({ held }) => held)),
    Effect.repeat({
      until: (held) =>
        held.length === count && total(held) === shardCount && Math.min(...held) > shardCount / count / 2,
      schedule: Schedule.spaced("100 millis")
    })
  )

const total = (counts: ReadonlyArray<number>) => counts.reduce((sum, count) => sum + count, 0)

it.live(
  "who asks hears how many memories an agent has, whichever node serves it, and by a look at its own node",
  function* () {
    const directory = temporaryDirectory()
    const heard = upTo(12).map((number) => namespaceKey(`heard ${number}`))
    const memories = new Map<string, number>()
    const hearing: StorageMeterService = {
      hold: () => Effect.succeed(0),
      reserve: () => Effect.undefined,
      changing: () => Effect.void,
      settle: ({ tag }, _, __, held) => void (held === undefined ? undefined : memories.set(tag, held.count)),
      forget: ({ tag }) => void memories.delete(tag)
    }
    const [first, second] = yield* Effect.all([start(directory, hearing), start(directory)], { concurrency: 2 })
    yield* shardsDividedAmong(2)
    for (const number of [1, 2])
      yield* Effect.forEach(heard, (key) => store(first.host, key, number), { concurrency: 8 })
    expect(Math.min(...(yield* openOn([first, second])))).toBeGreaterThan(0)
    expect(heard.map(({ tag }) => memories.get(tag))).toEqual(heard.map(() => 2))

    memories.clear()
    yield* Effect.forEach(heard, (key) => rowsOf(first.host, key), { concurrency: 8 })
    expect(memories.size).toBe((yield* openOn([first]))[0])
  }
)

it.live("events of closed agents come from their files, which are claimed for the look alone", function* () {
  const directory = temporaryDirectory()
  const nodes = yield* Effect.all([start(directory), start(directory)], { concurrency: 2 })
  const followed = upTo(12).map((number) => namespaceKey(`followed ${number}`))
  yield* Effect.forEach(followed, (key, at) => store(nodes[at % 2]!.host, key, 1), { concurrency: 8 })
  const events = (host: Host, key: NamespaceKey) =>
    host.answer(key, { _tag: "Events", after: -1, limit: 5 }).pipe(
      Effect.map((page) => page.events.length),
      Effect.retry({ times: 100, schedule: Schedule.spaced("100 millis") })
    )
  const closed = Effect.forEach(nodes, ({ local }) => Effect.forEach(followed, (key) => local.close(key)))
  for (const { host } of nodes) {
    yield* closed
    expect(yield* Effect.forEach(followed, (key) => events(host, key), { concurrency: 8 })).toEqual(
      followed.map(() => 1)
    )
    expect(yield* openOn(nodes)).toEqual([0, 0])
  }
})

it.live("any node serves any agent, and agents move when nodes come and go", function* () {
  const directory = temporaryDirectory()
  const nodes = yield* Effect.forEach(upTo(3), () => start(directory), { concurrency: 3 })
  const [first, second, third] = nodes as [Node, Node, Node]
  yield* shardsDividedAmong(3)

  yield* Effect.forEach(keys, (key, at) => store(nodes[at % 3]!.host, key, 1), { concurrency: 8 })
  for (const { host } of nodes)
    expect(yield* Effect.forEach(keys, (key) => rowsOf(host, key), { concurrency: 8 })).toEqual(keys.map(() => 1))
  const open = yield* openOn(nodes)
  expect(total(open)).toBe(keys.length)
  expect(Math.min(...open)).toBeGreaterThan(0)

  const other = creating([newMemory(memoryRecord(9, "another"))], "once 1", "of another body")
  for (const { host } of nodes)
    expect(yield* Effect.flip(host.ask(keys[0]!, other))).toMatchObject({
      _tag: "Conflict",
      code: "idempotency_conflict"
    })
  for (const { host } of nodes)
    expect(yield* host.census(keys[0]!, { atMillis: Date.now(), createdBefore: 0 })).toMatchObject({ live: 1 })

  // Every agent is written while its node leaves.
  const leaving = yield* Effect.forkChild(Effect.delay(second.stop, "300 millis"))
  yield* Effect.forEach(
    keys,
    (key, at) =>
      Effect.forEach(upTo(20), (number) =>
        Effect.delay(store([first, third][at % 2]!.host, key, number + 2), "50 millis")
      ),
    { concurrency: "unbounded" }
  )
  yield* Fiber.join(leaving)
  for (const { host } of [first, third])
    expect(yield* Effect.forEach(keys, (key) => rowsOf(host, key), { concurrency: 8 })).toEqual(keys.map(() => 21))
  expect(total(yield* openOn([first, third]))).toBe(keys.length)

  // A node that joins takes its part.
  const fourth = yield* start(directory)
  yield* shardsDividedAmong(3)
  expect(yield* Effect.forEach(keys, (key) => rowsOf(fourth.host, key), { concurrency: 8 })).toEqual(keys.map(() => 21))
  const afterwards = yield* openOn([first, third, fourth])
  expect(total(afterwards)).toBe(keys.length)
  expect(afterwards[2]).toBeGreaterThan(0)

  // An agent that was erased is so on every node, also on those to which it moves.
  const erased = keys.slice(0, 6)
  const refusal = (host: Host, key: NamespaceKey) =>
    Effect.flip(host.answer(key, { _tag: "Counts" })).pipe(
      Effect.filterOrFail(({ error }) => /was erased with its account/.test(error)),
      Effect.retry({ times: 100, schedule: Schedule.spaced("100 millis") })
    )
  for (const key of erased) expect((yield* first.host.erase(key)).length).toBeGreaterThan(0)
  for (const { host } of [first, third, fourth]) for (const key of erased) yield* refusal(host, key)

  // One that comes again is another one, wherever it was erased from.
  const accounts = namespaceKey("the accounts").tag
  yield* first.log.claim(accounts)
  for (const [at, key] of keys.slice(6, 15).entries()) {
    yield* [first, third, fourth][at % 3]!.host.erase(key)
    yield* refusal(third.host, key)
    yield* first.log.readmitAgent(accounts, key.tag, agentDigest(key))
    const again = { ...key }
    yield* store(first.host, again, 1)
    expect(yield* rowsOf(fourth.host, again)).toBe(1)
  }
  yield* Effect.all([first.stop, fourth.stop], { concurrency: 2 })
  for (const key of erased) yield* refusal(third.host, key)
  expect(yield* rowsOf(third.host, keys[15]!)).toBe(21)
})
