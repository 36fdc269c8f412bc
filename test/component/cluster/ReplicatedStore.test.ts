/** Namespaces that several nodes own one after the other, over a real PostgreSQL and bases in a folder. */
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import { ConfigProvider, Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { expect } from "vitest"
import { openTarget } from "@muniment/backup/target/openTarget"
import { BaseStore, packedBases } from "@muniment/cluster/bases/BaseStore"
import { openPostgresLog } from "@muniment/cluster/log/PostgresLog"
import { replicatedStore, StoreHandOver } from "@muniment/cluster/store/ReplicatedStore"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { NamespaceStore, type NamespaceKey, type OpenNamespace } from "@muniment/engine/store/NamespaceStore"
import { StoreFull } from "@muniment/engine/store/StoreError"
import { axisVector, creating, exactOnly, memoryRecord, namespaceKey, newMemory } from "../../support/EngineFixtures.ts"
import { endLeases, inDatabase } from "../../support/ClusterDatabase.ts"
import { put, storeConformance, unit } from "../../support/storeConformance.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { effectOf, type Steps, it } from "../../support/it.ts"
import { usePostgres, useProxy } from "../../support/usePostgres.ts"

const server = usePostgres()
const proxy = useProxy(server)

const key = namespaceKey()

/** The database of a cluster, whose bases are in `directory`. */
const databases = new Map<string, Promise<string>>()
const databaseOf = (directory: string): Effect.Effect<string> =>
  Effect.promise(() => {
    const known = databases.get(directory)
    if (known !== undefined) return known
    const name = `cluster_${databases.size}`
    const made = inDatabase(server.url(), (sql) => sql.unsafe(`CREATE DATABASE ${name}`))
    const created = Effect.runPromise(Effect.as(made, name))
    databases.set(directory, created)
    return created
  })

let nodes = 0

/** A node with a folder of its own. */
const nodeLayer = (directory: string, port?: number): Layer.Layer<NamespaceStore | StoreHandOver> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const database = yield* databaseOf(directory)
      const node = `node ${nodes++}`
      const log = yield* Effect.orDie(openPostgresLog({ url: server.url(database, port), node }))
      const bases = join(directory, "bases")
      mkdirSync(bases, { recursive: true })
      const target = yield* Effect.orDie(openTarget(bases)).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({}))
      )
      const store = Context.get(yield* Layer.build(packedBases(target)), BaseStore)
      return replicatedStore({ directory: join(directory, node), log, bases: store })
    })
  )

storeConformance("one node after the other", (directory) => nodeLayer(directory), { sharesFiles: false })

/** A node until `stop`, or until the test ends. */
const start = Effect.fnUntraced(function* (directory: string, port?: number) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const context = yield* Layer.buildWithScope(Layer.fresh(nodeLayer(directory, port)), scope)
  const store = Context.get(context, NamespaceStore)
  const use = <A>(step: (file: OpenNamespace) => Steps<never, A>) =>
    Effect.scoped(Effect.flatMap(store.open(key), (file) => effectOf(step(file))))
  return { store, use, moves: Context.get(context, StoreHandOver), stop: Scope.close(scope, Exit.void) }
})

const inDatabaseOf = <A, E>(directory: string, use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.flatMap(databaseOf(directory), (database) => inDatabase(server.url(database), use))

const insert = (file: OpenNamespace, from: number, to: number) =>
  Effect.forEach(
    Array.from({ length: to - from }, (_, at) => from + at),
    (at) => file.commit(at, [unit([put(at, memoryRecord(at, `narwhal ${at}`), axisVector(at % 8))], `key ${at}`)], at),
    { discard: true }
  )

const slotsIn = Effect.fnUntraced(function* (file: OpenNamespace) {
  const slots: Array<number> = []
  yield* file.whole((all) => all.eachRow(({ slot }) => slots.push(slot)))
  expect(file.postings.occurrences("narwhal").map(({ slot }) => slot)).toEqual(slots)
  return slots
})

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at)
const basesIn = (directory: string) => globSync("bases/namespaces/*/*/list", { cwd: directory })
const counted = { atMillis: Number.MAX_SAFE_INTEGER, createdBefore: 0 }

it.live(
  "an opening on a full disk does not wait for the place of its first attempt",
  () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      let openings = 0
      const onFullDisk = Layer.effect(
        NamespaceStore,
        Effect.map(NamespaceStore, (store) => ({
          ...store,
          open: (opened: NamespaceKey) =>
            Effect.tap(store.open(opened), () =>
              ++openings === 1 ? Effect.fail(new StoreFull({ cause: "the ballast was not released yet" })) : Effect.void
            )
        }))
      ).pipe(Layer.provide(nodeLayer(directory)))
      const host = NamespaceHost.layer({ dataDirectory: directory, index: exactOnly }).pipe(Layer.provide(onFullDisk))
      const write = NamespaceHost.use((opened) => opened.ask(key, creating([newMemory(memoryRecord(1, "narwhal"))])))
      // An opening that waits for itself cannot be interrupted.
      const written = yield* Effect.forkDetach(Effect.provide(write, host))
      expect(yield* Effect.timeoutOption(Fiber.join(written), 20_000)).toMatchObject({ _tag: "Some" })
      expect(openings).toBe(2)
    }),
  30_000
)

it.live("the next owner has everything, by the log alone, or by a base and what came after", function* () {
  const directory = temporaryDirectory()
  const [first, second] = [yield* start(directory), yield* start(directory)]
  yield* first.use((file) => insert(file, 0, 20))
  expect(basesIn(directory)).toEqual([])
  expect(yield* second.use(slotsIn)).toEqual(upTo(20))
  yield* second.use((file) => insert(file, 20, 100))
  // The log had become long.
  expect(basesIn(directory)).toHaveLength(1)
  yield* second.use((file) => insert(file, 100, 103))
  expect((yield* first.store.census(key, counted)).live).toBe(103)
  yield* first.use(function* (file) {
    expect(yield* slotsIn(file)).toEqual(upTo(103))
    expect(yield* file.storedResult("key 102")).toMatchObject({ result: "result of key 102" })
    expect(file.lastSeq).toBe(103)
    // Counted while it is open here, with what was acknowledged a moment ago.
    yield* insert(file, 103, 105)
    expect((yield* first.store.census(key, counted)).live).toBe(105)
  })
})

it.live("a base counts that was pointed to when the answer was lost", function* () {
  const directory = temporaryDirectory()
  const [first, second] = [yield* start(directory, proxy.port), yield* start(directory)]
  const met = proxy.arm(`namespaces/${key.tag}/`, "afterStatement")
  yield* first.use((file) => insert(file, 0, 100))
  yield* Effect.promise(() => met)
  expect(yield* second.use(slotsIn)).toEqual(upTo(100))
})

it.live("an owner that was frozen acknowledges nothing more, and the next has all that it did", function* () {
  const directory = temporaryDirectory()
  const [first, second] = [yield* start(directory), yield* start(directory)]
  yield* first.use(function* (frozen) {
    yield* insert(frozen, 0, 30)
    yield* inDatabaseOf(directory, endLeases)
    yield* second.use(function* (file) {
      expect(yield* slotsIn(file)).toEqual(upTo(30))
      const late = yield* Effect.flip(insert(frozen, 30, 31))
      expect(late._tag).toBe("StoreFault")
      yield* insert(file, 30, 35)
      expect((yield* Effect.flip(insert(frozen, 30, 31)))._tag).toBe("StoreFault")
    })
  })
  expect(yield* first.use(slotsIn)).toEqual(upTo(35))
})

it.live("a copy with more than a database that has lost commits is made again", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const node = yield* start(directory)
      const inLog = (use: (sql: SqlClient) => Effect.Effect<unknown, unknown>) => inDatabaseOf(directory, use)
      yield* node.use(function* (file) {
        yield* insert(file, 0, 15)
        yield* inLog((sql) => sql`CREATE TABLE before AS SELECT * FROM muniment_log.namespace_owner`)
        yield* insert(file, 15, 20)
      })
      yield* inLog((sql) =>
        Effect.andThen(
          sql`UPDATE muniment_log.namespace_owner o SET epoch = b.epoch, seq = b.seq, ordinal = b.ordinal
            FROM before b WHERE o.tag = b.tag`,
          sql`DELETE FROM muniment_log.namespace_log l USING before b WHERE l.tag = b.tag AND l.ordinal > b.ordinal`
        )
      )
      expect(yield* Effect.flip(node.use(slotsIn))).toMatchObject({ _tag: "StoreFault" })
      expect(yield* node.use(slotsIn)).toEqual(upTo(15))
      yield* node.use((file) => insert(file, 15, 17))
      expect(yield* node.use(slotsIn)).toEqual(upTo(17))
    })
  )
)

it.live(
  "a namespace that moves is released before its file is closed, and nothing of it comes afterwards",
  function* () {
    const directory = temporaryDirectory()
    const [first, second] = [yield* start(directory), yield* start(directory)]
    yield* first.use(function* (left) {
      yield* insert(left, 0, 70)
      yield* first.moves.handOver
      expect(basesIn(directory)).toHaveLength(1)
      yield* insert(left, 70, 72)
      yield* first.moves.release(key.tag)
      yield* second.use(function* (file) {
        expect(yield* slotsIn(file)).toEqual(upTo(72))
        expect((yield* Effect.flip(insert(left, 72, 73)))._tag).toBe("StoreFault")
        yield* insert(file, 72, 140)
      })
    })
    expect(yield* first.use(slotsIn)).toEqual(upTo(140))
  }
)

it.live("a namespace that moves is not released before the log has forgotten what was removed", function* () {
  const directory = temporaryDirectory()
  const node = yield* start(directory)
  yield* node.use(function* (file) {
    yield* insert(file, 0, 10)
    yield* file.discardCopies
    yield* file.commit(10, [unit([{ _tag: "Remove", slot: 4 }])], 10)
    yield* node.moves.release(key.tag)
    yield* file.checkpoint("TRUNCATE")
  })
  expect(yield* contentOf(directory)).not.toContain("narwhal 4")
})

it.live("a copy serves again if nobody else has owned the namespace, and only then", function* () {
  const directory = temporaryDirectory()
  const [first, second] = [yield* start(directory), yield* start(directory)]
  yield* first.use((file) => insert(file, 0, 100))
  rmSync(join(directory, "bases"), { recursive: true })
  expect(yield* first.use(slotsIn)).toEqual(upTo(100))
  const lacking = yield* Effect.flip(second.use(slotsIn))
  expect(lacking).toMatchObject({ _tag: "StoreDamaged", reason: expect.stringContaining("is missing") })
  // The other node has claimed it, and might have written.
  expect(yield* Effect.flip(first.use(slotsIn))).toMatchObject({ _tag: "StoreDamaged" })
})

it.live("a damaged copy is made again from the base and the log", function* () {
  const directory = temporaryDirectory()
  const node = yield* start(directory)
  yield* node.use((file) => insert(file, 0, 100))
  const [copy] = globSync("node */namespaces/*.db", { cwd: directory })
  truncateSync(join(directory, copy!), 8_192)
  expect((yield* node.store.check(key, () => Effect.void)).faults.length).toBeGreaterThan(0)
  expect(yield* node.store.remake(key)).toBe(true)
  expect(yield* node.use(slotsIn)).toEqual(upTo(100))
  expect((yield* node.store.check(key, () => Effect.void)).faults).toEqual([])
})

/** Everything that the log and the bases of a cluster hold, unpacked. */
const contentOf = (directory: string) =>
  Effect.map(
    inDatabaseOf(directory, (sql) => sql<{ record: Uint8Array | null }>`SELECT record FROM muniment_log.namespace_log`),
    (rows) => {
      const parts = readdirSync(join(directory, "bases"), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /^\d+$/.test(entry.name))
        .map(({ name, parentPath }) => zstdDecompressSync(readFileSync(join(parentPath, name))))
      const records = rows.flatMap(({ record }) => (record === null ? [] : [Buffer.from(record)]))
      return [...parts, ...records].map((bytes) => bytes.toString("latin1")).join("\n")
    }
  )

it.live("removed text is in no record and no base after the erasure", function* () {
  const directory = temporaryDirectory()
  const node = yield* start(directory)
  yield* node.use((file) => insert(file, 0, 100))
  expect(yield* contentOf(directory)).toContain("narwhal 40")
  yield* node.use(function* (file) {
    yield* file.commit(100, [unit([put(100, memoryRecord(100, "narwhal 100"))])], 100)
    yield* file.discardCopies
    yield* file.commit(101, [unit([40, 100].map((slot) => ({ _tag: "Remove", slot })))], 101)
    yield* file.checkpoint("TRUNCATE")
    yield* insert(file, 103, 104)
  })
  const content = yield* contentOf(directory)
  expect(content).toContain("narwhal 41")
  expect(content).toContain("narwhal 103")
  expect(content).not.toContain("narwhal 40")
  expect(content).not.toContain("narwhal 100")
  expect(basesIn(directory)).toHaveLength(1)
})

it.live("nothing of a removed namespace comes back, not even from another node's copy", function* () {
  const directory = temporaryDirectory()
  const [first, second] = [yield* start(directory), yield* start(directory)]
  yield* first.use((file) => insert(file, 0, 100))
  expect(yield* second.use(slotsIn)).toEqual(upTo(100))
  yield* second.store.remove(key.tag)
  expect(yield* contentOf(directory)).toBe("")
  expect(basesIn(directory)).toEqual([])
  expect(yield* first.use(slotsIn)).toEqual([])
  yield* first.use((file) => insert(file, 0, 2))
  expect(yield* second.use(slotsIn)).toEqual([0, 1])
})

it.live("a removal that ends half-way leaves no row whose base is gone, and its repetition no base", function* () {
  const directory = temporaryDirectory()
  const [first, second] = [yield* start(directory, proxy.port), yield* start(directory)]
  yield* first.use((file) => insert(file, 0, 100))
  const unheard = proxy.arm("muniment_log.remove(", "beforeStatement")
  expect((yield* Effect.flip(first.store.remove(key.tag)))._tag).toBe("StoreFault")
  yield* Effect.promise(() => unheard)
  // Nothing was removed yet: the namespace is whole.
  expect(yield* second.use(slotsIn)).toEqual(upTo(100))

  const unanswered = proxy.arm("muniment_log.remove(", "afterStatement")
  expect((yield* Effect.flip(first.store.remove(key.tag)))._tag).toBe("StoreFault")
  yield* Effect.promise(() => unanswered)
  expect(yield* second.use(slotsIn)).toEqual([])
  expect(basesIn(directory)).toHaveLength(1)
  yield* second.store.remove(key.tag)
  expect(basesIn(directory)).toEqual([])
})

it.live("an empty namespace that was written elsewhere meanwhile is not removed", function* () {
  const directory = temporaryDirectory()
  const [first, second] = [yield* start(directory), yield* start(directory)]
  expect((yield* first.store.census(key, counted)).isEmpty).toBe(true)
  yield* second.use((file) => insert(file, 0, 1))
  expect((yield* Effect.flip(first.store.remove(key.tag)))._tag).toBe("StoreFault")
  expect(yield* second.use(slotsIn)).toEqual([0])
})
