/**
 * Our index with `recall=strict`: hits by certified bounds (`PlannedIndex.searchStrict`), the float32 vectors of these
 * from SQLite in one statement with their sums checked, ranked by inner products in double precision, of equals the
 * higher slot. In the service a search reads at least `Limits.searchCandidatesMax` vectors, and those found by words.
 */
import { join } from "node:path"
import { DatabaseSync, type SQLOutputValue, type StatementSync } from "node:sqlite"
import type { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { Limits } from "@muniment/domain/Limits"
import { innerProduct } from "@muniment/engine/namespace/exactCosines"
import type { StoredVector } from "@muniment/engine/store/NamespaceStore"
import { vectorBytes, vectorOf } from "@muniment/engine/store/sqlite/memoryColumns"
import { rowSum } from "@muniment/engine/store/sqlite/rowSums"
import { openFrom } from "@muniment/engine/vectors/arena/ScoreBounds"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { costs, kernels } from "./ours.ts"

export interface StrictAnswer {
  /** Best first. */
  readonly slots: ReadonlyArray<number>
  /** Vectors read from the file. */
  readonly read: number
  readonly isCertified: boolean
}

/** The index beside a file with the vectors that it encodes. */
export class StrictIndex {
  readonly index: PlannedIndex
  readonly #vectors: VectorTable
  #seq = 0

  constructor(dims: number, directory: string) {
    const slabs = new SlabPool(kernels())
    this.index = new PlannedIndex({ dims, slabs, hnswlib: undefined, pin: "auto", costs: costs() })
    this.#vectors = new VectorTable(join(directory, "vectors.db"))
  }

  put(slots: ReadonlyArray<number>, vectors: ReadonlyArray<Float32Array>): void {
    this.#vectors.put(slots, vectors)
    for (const [at, slot] of slots.entries()) this.index.upsert(slot, vectors[at]!, ++this.#seq)
  }

  search(query: Float32Array, k: number, allowed: Bitmap | undefined): StrictAnswer {
    const { plan, slots } = this.index.searchStrict(query, { certain: k, kept: k }, allowed)
    const ranked = this.#ranked(query, slots)
    return { slots: ranked.slice(0, k), read: ranked.length, isCertified: plan.isCertified }
  }

  /** As the service searches by default: what 8-bit scores leave open is ranked by the vectors of the file. */
  searchByDefault(query: Float32Array, k: number, allowed: Bitmap | undefined): ArrayLike<number> {
    const { scores, slots } = this.index.search(query, k, allowed)
    const from = openFrom(scores, k, query.length)
    if (from === undefined) return slots
    const more = this.index.search(query, Math.max(k, Limits.searchCandidatesMax), allowed)
    return this.#ranked(
      query,
      more.slots.filter((_, at) => more.scores[at]! >= from)
    ).slice(0, k)
  }

  /** Best first by the vectors of the file. */
  #ranked(query: Float32Array, slots: Int32Array): ReadonlyArray<number> {
    return this.#vectors
      .read(slots)
      .map(({ slot, values }) => ({ slot, score: innerProduct(query, values) }))
      .sort((left, right) => right.score - left.score || right.slot - left.slot)
      .map(({ slot }) => slot)
  }

  /** Reads come from a connection with an empty cache, as after an open; the system still has the file's pages. */
  reconnect(): void {
    this.#vectors.reconnect()
  }

  close(): void {
    this.index.close()
    this.#vectors.close()
  }
}

/** Columns, statement and sums of a namespace's file, but for the sums' place: there they stand with the text. */
class VectorTable {
  readonly #path: string
  #database: DatabaseSync
  #select: StatementSync

  constructor(path: string) {
    this.#path = path
    this.#database = new DatabaseSync(path)
    this.#database.exec(`PRAGMA journal_mode=WAL; CREATE TABLE vector (slot INTEGER PRIMARY KEY, seq INTEGER NOT NULL,
      model TEXT NOT NULL, value BLOB NOT NULL, sum INTEGER NOT NULL) STRICT`)
    this.#select = selectOf(this.#database)
  }

  put(slots: ReadonlyArray<number>, vectors: ReadonlyArray<Float32Array>): void {
    const insert = this.#database.prepare("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?)")
    this.#database.exec("BEGIN")
    for (const [at, slot] of slots.entries()) {
      const columns = [slot, at, model, vectorBytes(vectors[at]!)]
      insert.run(...columns, rowSum(columns))
    }
    this.#database.exec("COMMIT")
  }

  read(slots: Int32Array): ReadonlyArray<StoredVector> {
    const rows: ReadonlyArray<object> = this.#select.all(JSON.stringify([...slots]))
    return rows.map((row) => vectorOf(row as ReadonlyArray<SQLOutputValue>))
  }

  reconnect(): void {
    this.#database.close()
    this.#database = new DatabaseSync(this.#path)
    this.#select = selectOf(this.#database)
  }

  close(): void {
    this.#database.close()
  }
}

const selectOf = (database: DatabaseSync): StatementSync => {
  const select = database.prepare(`SELECT vector.slot, seq, model, vector.value, sum
    FROM json_each(?1) AS wanted CROSS JOIN vector ON vector.slot = wanted.value`)
  select.setReturnArrays(true)
  return select
}

const model = "bench"
