/**
 * `StoredSegments` in the file of a namespace: a row of `index_segment` for each. It carries the CRC-32 of
 * its bytes: SQLite has no sum over a page, and a flipped bit in a code would change answers without a word.
 */
import { crc32 } from "node:zlib"
import { Effect } from "effect"
import type { Database } from "@muniment/sqlite/Database"
import { slotsPerSegment } from "../index/Segments.ts"
import type { CommitUnit, StoreError } from "./NamespaceStore.ts"
import type { WriteTurn } from "./SqliteConversations.ts"
import { guarded } from "./storeError.ts"
import { segmentsTouchedBy, type SoleModel, type StoredSegments } from "./StoredSegments.ts"

export class SqliteSegments implements StoredSegments {
  readonly #database: Database
  readonly #isCurrent: (seq: number) => boolean
  readonly #alone: WriteTurn

  /** `isCurrent`: whether the file is as its owner left it at this sequence number; asked in the transaction. */
  constructor(database: Database, isCurrent: (seq: number) => boolean, alone: WriteTurn = (write) => write) {
    this.#database = database
    this.#isCurrent = isCurrent
    this.#alone = alone
  }

  get soleModel(): Effect.Effect<SoleModel | undefined, StoreError> {
    return guarded(() => {
      const { first, last } = this.#database.prepare(modelsSql).get() ?? {}
      if (first === null || first !== last) return undefined
      const bytes = Number(this.#database.value("SELECT length(value) FROM vector LIMIT 1"))
      const dims = bytes / Float32Array.BYTES_PER_ELEMENT
      // A vector of a broken length is told by whoever reads it.
      return Number.isInteger(dims) && dims > 0 ? { model: String(first), dims } : undefined
    })
  }

  get stored(): Effect.Effect<ReadonlyArray<number>, StoreError> {
    return guarded(() =>
      this.#database
        .prepare("SELECT segment FROM index_segment ORDER BY segment")
        .all()
        .map((row) => Number(row["segment"]))
    )
  }

  read(segment: number, model: string): Effect.Effect<Uint8Array | undefined, StoreError> {
    return guarded(() =>
      whole(this.#database.prepare("SELECT model, crc, data FROM index_segment WHERE segment = ?").get(segment), model)
    )
  }

  slots(segment: number, model: string): Effect.Effect<ReadonlyArray<number>, StoreError> {
    return guarded(() => {
      const from = segment * slotsPerSegment
      const row = this.#database.prepare(slotsSql).get(model, from, from + slotsPerSegment)
      return JSON.parse(String(row?.["slots"])) as ReadonlyArray<number>
    })
  }

  save(seq: number, segment: number, model: string, data: Uint8Array): Effect.Effect<boolean, StoreError> {
    return this.#alone(
      guarded(() =>
        this.#database.transaction(() => {
          const isCurrent = this.#isCurrent(seq)
          if (isCurrent) this.#database.prepare(saveSql).run(segment, model, crc32(data), data)
          return isCurrent
        })
      )
    )
  }

  discard(segments: Iterable<number>): Effect.Effect<void, StoreError> {
    return Effect.forEach(
      segments,
      (segment) => Effect.andThen(this.#alone(guarded(() => remove(this.#database, segment))), Effect.yieldNow),
      { discard: true }
    )
  }
}

/** Inside the transaction of a commit: segments of slots whose vectors it touches go with it. */
export const outdateSegments = (database: Database, units: ReadonlyArray<CommitUnit>): void => {
  for (const segment of segmentsTouchedBy(units)) remove(database, segment)
}

const remove = (database: Database, segment: number): void => {
  database.prepare("DELETE FROM index_segment WHERE segment = ?").run(segment)
}

/** The bytes of a row that are as they were saved. */
const whole = (row: Readonly<Record<string, unknown>> | undefined, model: string): Uint8Array | undefined => {
  const data = row?.["data"]
  if (!(data instanceof Uint8Array) || row?.["model"] !== model) return undefined
  return crc32(data) === row["crc"] ? data : undefined
}

const saveSql = "INSERT OR REPLACE INTO index_segment (segment, model, crc, data) VALUES (?, ?, ?, ?)"

// Two seeks: an aggregate of both in one query would read the whole index.
const modelsSql = "SELECT (SELECT min(model) FROM vector) AS first, (SELECT max(model) FROM vector) AS last"

// From the index on models alone: the vectors themselves are not read.
const slotsSql = `SELECT json_group_array(slot) AS slots FROM
  (SELECT slot FROM vector WHERE model = ? AND slot >= ? AND slot < ? ORDER BY slot)`
