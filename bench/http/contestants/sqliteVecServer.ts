/**
 * A memory service of equal function on sqlite-vec and FTS5, as one would write it: prepared
 * statements, one transaction a request, WAL with `synchronous=FULL` as the service under test has,
 * subject as the partition key of the vectors, both halves fused by their ranks.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { isMissing } from "../../kit/Peers.ts"
import { loadSqliteVec } from "../../kit/SqliteVec.ts"
import { serveJson, type PeerEngine } from "./JsonServer.ts"
import { anyWord, candidatesMax, dataDirectory, fuseRanks, type FoundMemory, type PeerQuery } from "./Peer.ts"
import { openEmbedder, type PeerEmbedder } from "./PeerEmbedder.ts"

const open = async (): Promise<DatabaseSync> => {
  const peer = await loadSqliteVec()
  if (isMissing(peer)) throw new Error(peer.reason)
  const database = new DatabaseSync(join(dataDirectory(), "memories.db"), { allowExtension: true })
  database.loadExtension(peer.module.getLoadablePath())
  database.exec(`
    PRAGMA journal_mode=WAL;
    PRAGMA synchronous=FULL;
    CREATE TABLE memory (slot INTEGER PRIMARY KEY, id TEXT UNIQUE, subject TEXT, name TEXT, text TEXT) STRICT;
    CREATE INDEX memory_subject ON memory(subject);
    CREATE VIRTUAL TABLE words USING fts5(name, text, content='memory', content_rowid='slot');
    CREATE VIRTUAL TABLE vectors USING vec0(
      slot INTEGER PRIMARY KEY, subject TEXT PARTITION KEY, value FLOAT[384] DISTANCE_METRIC=cosine
    );
  `)
  return database
}

const makeEngine = (database: DatabaseSync, embedder: PeerEmbedder): PeerEngine => {
  const insert = database.prepare("INSERT INTO memory(id, subject, name, text) VALUES (?, ?, ?, ?)")
  const insertWords = database.prepare("INSERT INTO words(rowid, name, text) VALUES (?, ?, ?)")
  const insertVector = database.prepare("INSERT INTO vectors(slot, subject, value) VALUES (?, ?, ?)")
  const near = database.prepare("SELECT slot FROM vectors WHERE value MATCH ? AND k = ?")
  const nearOf = database.prepare("SELECT slot FROM vectors WHERE value MATCH ? AND k = ? AND subject = ?")
  const said = database.prepare("SELECT rowid AS slot FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?")
  const saidOf = database.prepare(
    "SELECT m.slot FROM words JOIN memory m ON m.slot = words.rowid WHERE words MATCH ? AND m.subject = ? ORDER BY rank LIMIT ?"
  )
  const record = database.prepare("SELECT id, subject, name, text FROM memory WHERE slot = ?")
  const slotsOf = (rows: ReadonlyArray<Record<string, unknown>>) => rows.map(({ slot }) => Number(slot))

  const find = ({ text, subject, limit }: PeerQuery, vector: Float32Array): ReadonlyArray<FoundMemory> => {
    const value = bytesOf(vector)
    const words = anyWord(text)
    const [dense, lexical] =
      subject === undefined
        ? [near.all(value, candidatesMax), said.all(words, candidatesMax)]
        : [nearOf.all(value, candidatesMax, subject), saidOf.all(words, subject, candidatesMax)]
    return fuseRanks([slotsOf(dense), slotsOf(lexical)], limit).map((slot) => {
      const row = record.get(slot)
      return {
        id: String(row?.["id"]),
        subject: String(row?.["subject"]),
        name: String(row?.["name"]),
        text: String(row?.["text"])
      }
    })
  }
  return {
    store: async (memories) => {
      const vectors = await embedder.passages(memories)
      database.exec("BEGIN IMMEDIATE")
      try {
        for (const [at, { id, subject, name, text }] of memories.entries()) {
          const slot = BigInt(insert.run(id, subject, name, text).lastInsertRowid)
          insertWords.run(slot, name, text)
          insertVector.run(slot, subject, bytesOf(vectors[at]!))
        }
        database.exec("COMMIT")
      } catch (cause) {
        database.exec("ROLLBACK")
        throw cause
      }
    },
    search: async (query) => find(query, await embedder.query(query.text)),
    close: async () => {
      database.close()
      await embedder.close()
    }
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

serveJson(makeEngine(await open(), await openEmbedder()))
