/**
 * `StoredSegments` in SQLite: one row of `index_segment` per segment, with the CRC-32 of its bytes. SQLite has no
 * page checksums, and a flipped bit in a code would silently change results.
 */
import { crc32 } from "node:zlib"
import { Effect, type Semaphore } from "effect"
import type { Database } from "@muniment/sqlite/Database"
import { slotsPerSegment } from "../../bitmap/Bitmap.ts"
import type { CommandChanges } from "../Commit.ts"
import type { StoreError } from "../StoreError.ts"
import { guarded } from "./storeErrorOf.ts"
import { segmentsTouchedBy, type SoleModel, type StoredSegments } from "../NamespaceStore.ts"

export class SqliteSegments implements StoredSegments {
  readonly #database: Database
  readonly #isCurrent: (seq: number) => boolean
  readonly #writing: Semaphore.Semaphore

  /** `isCurrent`: whether this owner made the change `seq` and it is the last one; called in the transaction. */
  constructor(database: Database, isCurrent: (seq: number) => boolean, writing: Semaphore.Semaphore) {
    this.#database = database
    this.#isCurrent = isCurrent
    this.#writing = writing
  }

  get soleModel(): Effect.Effect<SoleModel | undefined, StoreError> {
    return guarded(() => {
      const models = new Set(Object.values(this.#database.prepare(modelsSql).get() ?? {}))
      models.delete(null)
      const [model, ...others] = models
      if (model === undefined || others.length > 0) return undefined
      const bytes = Number(this.#database.value("SELECT length(value) FROM vector LIMIT 1"))
      const dims = bytes / Float32Array.BYTES_PER_ELEMENT
      // A vector of another length is reported by the code that reads it.
      return Number.isInteger(dims) && dims > 0 ? { model: String(model), dims } : undefined
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
      verified(
        this.#database.prepare("SELECT model, crc, data FROM index_segment WHERE segment = ?").get(segment),
        model
      )
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
    return this.#writing.withPermit(
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
      (segment) =>
        Effect.andThen(this.#writing.withPermit(guarded(() => remove(this.#database, segment))), Effect.yieldNow),
      { discard: true }
    )
  }
}

/** Inside a commit's transaction: deletes the segments of the slots whose vectors it touches. */
export const deleteTouchedSegments = (database: Database, group: ReadonlyArray<CommandChanges>): void => {
  for (const segment of segmentsTouchedBy(group)) remove(database, segment)
}

const remove = (database: Database, segment: number): void => {
  database.prepare("DELETE FROM index_segment WHERE segment = ?").run(segment)
}

/** The bytes of a row; undefined if the checksum or the model differs. */
const verified = (row: Readonly<Record<string, unknown>> | undefined, model: string): Uint8Array | undefined => {
  const data = row?.["data"]
  if (!(data instanceof Uint8Array) || row?.["model"] !== model) return undefined
  return crc32(data) === row["crc"] ? data : undefined
}

const saveSql = "INSERT OR REPLACE INTO index_segment (segment, model, crc, data) VALUES (?, ?, ?, ?)"

// A seek each: min and max in one query would read the whole index.
const modelsSql = `SELECT (SELECT min(model) FROM vector) AS first, (SELECT max(model) FROM vector) AS last,
  (SELECT min(model) FROM passage) AS first_passage, (SELECT max(model) FROM passage) AS last_passage`

// Answered by the index on models: the vectors are not read.
const slotsSql = `SELECT json_group_array(slot) AS slots FROM
  (SELECT slot FROM vector WHERE model = ?1 AND slot >= ?2 AND slot < ?3
   UNION ALL SELECT slot FROM passage WHERE model = ?1 AND slot >= ?2 AND slot < ?3 ORDER BY slot)`
