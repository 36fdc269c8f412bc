/**
 * Stores that write memories durably: ours, and peers that do the same job as far as they can. The job: row, full-text
 * entry and 384-d vector kept, on the disk before the answer.
 *
 * A store is verified before it is timed: what was written is found again by its words and by its vector. LanceDB is
 * shown although it does less (its `note` says what), never as "the same job".
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import type { PreparedMemory } from "@muniment/engine/namespace/Commands"
import { isMissing, loadPeer, peerNote } from "../kit/Peers.ts"
import { loadSqliteVec, type SqliteVec } from "../kit/SqliteVec.ts"
import { namespaceKey, openEngine } from "./EngineUnderTest.ts"
import { dims } from "../index/syntheticVectors.ts"

export interface WriteStore {
  readonly name: string
  /** Whether it does the whole job; only such a store counts as the best peer. */
  readonly doesSameJob: boolean
  readonly write: (agent: number, memories: ReadonlyArray<PreparedMemory>) => unknown
  /** Ids of the best hits for the words of a memory, and for its vector. */
  readonly find: (agent: number, memory: PreparedMemory) => Promise<ReadonlyArray<ReadonlyArray<string>>>
  /** Until all that was acknowledged is where searches after a restart read it; undefined: it is there at once. */
  readonly followed?: () => Promise<void>
  /** How often it has waited for the disk; undefined: not known. */
  readonly syncs?: () => Promise<number>
  readonly close: () => Promise<void>
}

export interface WriteStores {
  readonly stores: ReadonlyArray<WriteStore>
  readonly notes: ReadonlyArray<string>
}

const found = 3

export const openWriteStores = async (agents: number): Promise<WriteStores> => {
  const notes: Array<string> = []
  const stores: Array<WriteStore> = [await ourStore()]
  const vec = await loadSqliteVec()
  notes.push(peerNote(vec))
  if (!isMissing(vec)) stores.push(sqliteStore(vec.module))
  const lance = await loadPeer("@lancedb/lancedb", isLance)
  notes.push(
    isMissing(lance)
      ? peerNote(lance)
      : `${peerNote(lance)}: rows and vectors only. Its full-text index is not kept by a write (it waits for optimize()), and its files are not known to be synced before the answer; writers of one table take turns, since it refused 8 at once.`
  )
  if (!isMissing(lance)) stores.push(await lanceStore(lance.module, agents))
  return { stores, notes }
}

/** Throws unless the store finds what was written. */
export const verifyStore = async (store: WriteStore, agent: number, memories: ReadonlyArray<PreparedMemory>) => {
  await store.write(agent, memories)
  for (const memory of memories) {
    for (const ids of await store.find(agent, memory)) {
      if (!ids.includes(memory.record.id)) throw new Error(`${store.name} does not find ${memory.record.id} again`)
    }
  }
}

const ourStore = async (): Promise<WriteStore> => {
  const engine = await openEngine()
  const keys = new Map<number, ReturnType<typeof namespaceKey>>()
  const keyOf = (agent: number) => {
    let key = keys.get(agent)
    if (key === undefined) keys.set(agent, (key = namespaceKey(`agent${agent}`)))
    return key
  }
  return {
    name: "Muniment",
    doesSameJob: true,
    write: (agent, memories) => engine.ask(keyOf(agent), { _tag: "StoreMemories", memories, idempotency: undefined }),
    find: async (agent, memory) => {
      const text = textOf(memory)
      const byBoth = await engine.search(keyOf(agent), { text, vector: memory.vector!.values })
      const byVector = await engine.search(keyOf(agent), { text: "nothing", vector: memory.vector!.values })
      return [byBoth, byVector].map((hits) => hits.slice(0, found).map((hit) => hit.memory.id))
    },
    followed: engine.followed,
    syncs: engine.syncs,
    close: engine.close
  }
}

/** The hand-written solution: one file, one connection, a table, FTS5 and sqlite-vec, one transaction a request. */
const sqliteStore = (module: SqliteVec): WriteStore => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-bench-sqlite-"))
  const database = new DatabaseSync(join(directory, "memories.db"), { allowExtension: true })
  database.loadExtension(module.getLoadablePath())
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE memory (slot INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent INTEGER NOT NULL,
      subject TEXT, tags TEXT NOT NULL, data TEXT NOT NULL, event_time TEXT, created_at INTEGER NOT NULL) STRICT;
    CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter', content = '');
    CREATE VIRTUAL TABLE vectors USING vec0(embedding float[${dims}]);
  `)
  const insert = database.prepare(
    "INSERT INTO memory (id, agent, subject, tags, data, event_time, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
  )
  const insertWords = database.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)")
  const insertVector = database.prepare("INSERT INTO vectors (rowid, embedding) VALUES (?, ?)")
  const byWords = database.prepare(
    `SELECT id FROM words JOIN memory ON slot = words.rowid WHERE words MATCH ? ORDER BY rank LIMIT ${found}`
  )
  const byVector = database.prepare(
    `SELECT id FROM vectors JOIN memory ON slot = vectors.rowid WHERE embedding MATCH ? AND k = ${found}`
  )
  const ids = (statement: StatementSync, value: string | Uint8Array) =>
    statement.all(value).map((row) => String(row["id"]))
  return {
    name: "SQLite, FTS5, sqlite-vec",
    doesSameJob: true,
    write: (agent, memories) => {
      database.exec("BEGIN IMMEDIATE")
      for (const memory of memories) {
        const { id, subjectId, tags, data, when, createdAt } = memory.record
        const values = [id, agent, subjectId ?? null, JSON.stringify(tags), JSON.stringify(data), when ?? null]
        const slot = insert.run(...values, createdAt).lastInsertRowid
        insertWords.run(slot, textOf(memory))
        // vec0 takes its rowid as a 64-bit integer only.
        insertVector.run(BigInt(slot), bytesOf(memory))
      }
      database.exec("COMMIT")
    },
    find: (_, memory) => Promise.resolve([ids(byWords, textOf(memory)), ids(byVector, bytesOf(memory))]),
    close: async () => {
      database.close()
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

interface LanceTable {
  readonly add: (rows: ReadonlyArray<object>) => Promise<unknown>
  readonly vectorSearch: (vector: Float32Array) => {
    readonly limit: (count: number) => { readonly toArray: () => Promise<ReadonlyArray<{ readonly id: string }>> }
  }
}

interface Lance {
  readonly connect: (path: string) => Promise<{
    readonly createTable: (name: string, rows: ReadonlyArray<object>) => Promise<LanceTable>
  }>
}

const isLance = (loaded: unknown): loaded is Lance =>
  typeof loaded === "object" && loaded !== null && "connect" in loaded && typeof loaded.connect === "function"

/** One table an agent, so that agents do not wait for each other. */
const lanceStore = async (module: Lance, agents: number): Promise<WriteStore> => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-bench-lance-"))
  const connection = await module.connect(directory)
  const rowOf = ({ record, vector }: PreparedMemory) => ({
    id: record.id,
    subject: record.subjectId ?? "",
    tags: record.tags.join(" "),
    text: String(record.data["fact"]),
    at: record.createdAt,
    vector: Array.from(vector!.values)
  })
  const none = { id: "", subject: "", tags: "", text: "", at: 0.5, vector: Array.from({ length: dims }, () => 0) }
  const tables: Array<LanceTable> = []
  for (let agent = 0; agent < agents; agent++) tables.push(await connection.createTable(`agent${agent}`, [none]))
  // Eight writers of one table ended in "Too many concurrent writers" after 30 s of retries: they take turns here.
  const turns = tables.map((): Promise<unknown> => Promise.resolve())
  return {
    name: "LanceDB (less)",
    doesSameJob: false,
    write: (agent, memories) => (turns[agent] = turns[agent]!.then(() => tables[agent]!.add(memories.map(rowOf)))),
    find: async (agent, memory) => {
      const rows = await tables[agent]!.vectorSearch(memory.vector!.values).limit(found).toArray()
      return [rows.map(({ id }) => id)]
    },
    close: async () => rmSync(directory, { recursive: true, force: true })
  }
}

const textOf = ({ record }: PreparedMemory): string => String(record.data["fact"])

const bytesOf = ({ vector }: PreparedMemory): Uint8Array => {
  const { buffer, byteOffset, byteLength } = vector!.values
  return new Uint8Array(buffer, byteOffset, byteLength)
}
