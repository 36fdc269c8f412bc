/**
 * LanceDB, embedded, in a directory: flat (no index) and HNSW over scalar quantisation with exact
 * rescoring (`refineFactor`). It answers asynchronously from its own threads and uses all cores,
 * which the others do not. Filters are where clauses over columns with an index of their own.
 */
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { isMissing, loadPeer, peerNote } from "../../kit/Peers.ts"
import type { Contender, ContenderKind, Place, Slots } from "../Contender.ts"

interface Lance {
  readonly connect: (path: string) => Promise<Connection>
  readonly Index: {
    readonly hnswSq: (options: object) => unknown
    readonly btree: () => unknown
  }
}

interface Connection {
  readonly createTable: (name: string, rows: ReadonlyArray<object>) => Promise<Table>
  readonly openTable: (name: string) => Promise<Table>
  readonly close: () => void
}

interface Table {
  readonly add: (rows: ReadonlyArray<object>) => Promise<unknown>
  readonly createIndex: (column: string, options: { readonly config: unknown }) => Promise<void>
  readonly optimize: () => Promise<unknown>
  readonly query: () => { readonly nearestTo: (vector: Float32Array) => VectorQuery }
  readonly mergeInsert: (on: string) => MergeInsert
  readonly close: () => void
}

interface VectorQuery {
  readonly distanceType: (type: "dot") => VectorQuery
  readonly ef: (ef: number) => VectorQuery
  readonly nprobes: (count: number) => VectorQuery
  readonly refineFactor: (factor: number) => VectorQuery
  readonly where: (predicate: string) => VectorQuery
  readonly select: (columns: ReadonlyArray<string>) => VectorQuery
  readonly limit: (count: number) => VectorQuery
  readonly toArray: () => Promise<ReadonlyArray<{ readonly slot: number | bigint }>>
}

interface MergeInsert {
  readonly whenMatchedUpdateAll: () => MergeInsert
  readonly execute: (rows: ReadonlyArray<object>) => Promise<unknown>
}

const rowsPerAdd = 10_000
/** Each write makes a version of the table: few large ones are recommended. */
const writeBatch = 50
const efConstruction = 200
const m = 16
const refine = 4
/** An index over fewer vectors than a training wants is refused. */
const indexedMin = 5_000

export const lance = (kind: "flat" | "HNSW_SQ"): ContenderKind => ({
  name: `LanceDB ${kind}`,
  countMax: kind === "flat" ? 100_000 : 1_000_000,
  open: async (place) => {
    // Only what it prints depends on it.
    process.env["LANCE_INCLUDE_VECTOR_CENTROIDS"] ??= "false"
    const peer = await loadPeer("@lancedb/lancedb", isLance)
    if (isMissing(peer)) throw new Error(peerNote(peer))
    if (kind === "HNSW_SQ" && place.capacity < indexedMin)
      throw new Error(`LanceDB HNSW_SQ was left out: below ${indexedMin} vectors its flat search is meant`)
    return contender(peer.module, place, kind === "HNSW_SQ")
  }
})

const contender = (lance: Lance, { directory, attributes }: Place, isIndexed: boolean): Contender => {
  let opened: { readonly connection: Connection; readonly table: Table } | undefined
  let hasIndexes = false
  const tableNow = (): Table => {
    if (opened === undefined) throw new Error("nothing was added yet")
    return opened.table
  }
  const rowOf = (slot: number, vector: Float32Array) => ({
    slot,
    chance: attributes.chance[slot]!,
    near: attributes.near[slot]!,
    vector: Array.from(vector)
  })
  const ask = async (table: Table, query: Float32Array, k: number, ef: number, where?: string): Promise<Slots> => {
    let search = table.query().nearestTo(query).distanceType("dot").select(["slot", "_distance"]).limit(k)
    if (isIndexed) search = search.nprobes(1).ef(ef).refineFactor(refine)
    if (where !== undefined) search = search.where(where)
    return (await search.toArray()).map(({ slot }) => Number(slot))
  }
  return {
    knob: isIndexed ? { name: "ef", values: [40, 64, 100, 160, 320, 640] } : { name: "", values: [0] },
    add: async (from, vectors) => {
      for (let at = 0; at < vectors.length; at += rowsPerAdd) {
        const rows = vectors.slice(at, at + rowsPerAdd).map((vector, i) => rowOf(from + at + i, vector))
        if (opened !== undefined) await opened.table.add(rows)
        else {
          const connection = await lance.connect(directory)
          opened = { connection, table: await connection.createTable("vectors", rows) }
        }
      }
    },
    settle: async () => {
      const table = tableNow()
      if (hasIndexes) return void (await table.optimize())
      hasIndexes = true
      await table.createIndex("slot", { config: lance.Index.btree() })
      await table.createIndex("chance", { config: lance.Index.btree() })
      await table.createIndex("near", { config: lance.Index.btree() })
      if (isIndexed) {
        const config = lance.Index.hnswSq({ distanceType: "dot", numPartitions: 1, m, efConstruction })
        await table.createIndex("vector", { config })
      }
    },
    search: (query, k, ef) => ask(tableNow(), query, k, ef),
    filterKind: "where clause",
    searchWhere: (query, k, ef, { attribute, below }) => ask(tableNow(), query, k, ef, `${attribute} < ${below}`),
    writeBatch,
    replace: async (slots, vectors) => {
      await tableNow()
        .mergeInsert("slot")
        .whenMatchedUpdateAll()
        .execute(slots.map((slot, at) => rowOf(slot, vectors[at]!)))
    },
    persist: async () => ({
      bytes: await bytesWithin(directory),
      firstAnswer: async (query, k) => {
        const connection = await lance.connect(directory)
        const table = await connection.openTable("vectors")
        const slots = await ask(table, query, k, 80)
        table.close()
        connection.close()
        return slots
      }
    }),
    close: () => {
      opened?.table.close()
      opened?.connection.close()
    }
  }
}

const bytesWithin = async (directory: string): Promise<number> => {
  const files = await readdir(directory, { recursive: true, withFileTypes: true })
  const sizes = files
    .filter((file) => file.isFile())
    .map(async (file) => (await stat(join(file.parentPath, file.name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

const isLance = (loaded: unknown): loaded is Lance =>
  typeof loaded === "object" && loaded !== null && "connect" in loaded && "Index" in loaded
