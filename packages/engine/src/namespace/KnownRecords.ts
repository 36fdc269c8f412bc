/**
 * Records that were read lately, of all namespaces of the process: an agent's searches find the same few memories again and
 * again, and to read one takes a row of SQLite, two checks of its bytes and a parse.
 *
 * Invariants: a record is known by the row of the image that it belongs to. A commit that changes or removes a memory
 * replaces its row, so what is known of the old one is not found again, and is dropped at once: what is erased does not
 * stay. Bounded by number and by length; the one that was not used for longest goes first. Records are never changed.
 */
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { LRUCache } from "lru-cache"
import type { MemoryRow } from "../store/MemoryRow.ts"

export class KnownRecords {
  readonly #records: LRUCache<MemoryRow, MemoryRecord>

  constructor(max: number = Limits.recordsKnownMax) {
    this.#records = new LRUCache({ max })
  }

  get size(): number {
    return this.#records.size
  }

  of(row: MemoryRow): MemoryRecord | undefined {
    return this.#records.get(row)
  }

  /** Long ones, and those of unknown length, are read again each time. */
  add(row: MemoryRow, record: MemoryRecord): void {
    if (isShort(record)) this.#records.set(row, record)
  }

  forget(row: MemoryRow | undefined): void {
    if (row !== undefined) this.#records.delete(row)
  }
}

/** Of the process: what one namespace has no use for, another one has. */
export const knownRecords = new KnownRecords()

const isShort = ({ data }: MemoryRecord): boolean => {
  let left: number = Limits.knownRecordLengthMax
  for (const value of Object.values(data)) {
    if (typeof value === "object" && value !== null) return false
    if (typeof value === "string") left -= value.length
  }
  return left >= 0
}
