/**
 * sqlite-vec: an exact scan inside SQLite, over a file whose pages all fit its cache. Filters are
 * metadata columns in the same statement.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { isMissing, peerNote } from "../../kit/Peers.ts"
import { loadSqliteVec } from "../../kit/SqliteVec.ts"
import type { Contender, ContenderKind, Place } from "../Contender.ts"

const cacheKibibytes = 2_097_152

export const sqliteVec: ContenderKind = {
  name: "sqlite-vec",
  countMax: 100_000,
  open: async (place) => {
    const peer = await loadSqliteVec()
    if (isMissing(peer)) throw new Error(peerNote(peer))
    const path = join(place.directory, "vectors.db")
    const open = (): DatabaseSync => {
      const database = new DatabaseSync(path, { allowExtension: true })
      database.loadExtension(peer.module.getLoadablePath())
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -${cacheKibibytes}`)
      return database
    }
    const database = open()
    database.exec(
      `CREATE VIRTUAL TABLE vectors USING vec0(
        vector float[${place.dims}] distance_metric=cosine, chance integer, near integer)`
    )
    return contender(database, open, path, place)
  }
}

const contender = (
  database: DatabaseSync,
  open: () => DatabaseSync,
  path: string,
  { attributes }: Place
): Contender => {
  const insert = database.prepare("INSERT INTO vectors (rowid, vector, chance, near) VALUES (?, ?, ?, ?)")
  const update = database.prepare("UPDATE vectors SET vector = ? WHERE rowid = ?")
  const select = (where: string) =>
    database.prepare(`SELECT rowid FROM vectors WHERE vector MATCH ? AND k = ?${where} ORDER BY distance`)
  const all = select("")
  const filtered = { chance: select(" AND chance < ?"), near: select(" AND near < ?") }
  return {
    knob: { name: "", values: [0] },
    add: (from, vectors) => {
      database.exec("BEGIN")
      vectors.forEach((vector, at) => {
        const slot = from + at
        const [chance, near] = [attributes.chance[slot]!, attributes.near[slot]!]
        insert.run(BigInt(slot), bytesOf(vector), BigInt(chance), BigInt(near))
      })
      database.exec("COMMIT")
    },
    settle: () => {},
    search: (query, k) => slotsOf(all.all(bytesOf(query), k)),
    filterKind: "where clause",
    searchWhere: (query, k, _width, { attribute, below }) =>
      slotsOf(filtered[attribute].all(bytesOf(query), k, BigInt(below))),
    replace: (slots, vectors) => {
      database.exec("BEGIN")
      slots.forEach((slot, at) => update.run(bytesOf(vectors[at]!), BigInt(slot)))
      database.exec("COMMIT")
    },
    persist: async () => {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      return {
        bytes: (await stat(path)).size,
        firstAnswer: async (query, k) => {
          const opened = open()
          const statement = opened.prepare("SELECT rowid FROM vectors WHERE vector MATCH ? AND k = ? ORDER BY distance")
          const slots = slotsOf(statement.all(bytesOf(query), k))
          opened.close()
          return slots
        }
      }
    },
    close: () => database.close()
  }
}

const bytesOf = (vector: Float32Array): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

const slotsOf = (rows: ReadonlyArray<Record<string, unknown>>): Array<number> => rows.map(({ rowid }) => Number(rowid))
