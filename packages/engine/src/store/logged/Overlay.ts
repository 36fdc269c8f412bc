/**
 * Insertions that the log has acknowledged and the copy does not have yet: answers for them.
 *
 * Invariant: holds what was acknowledged and not followed, and only insertions of direct memories; what a slot, an id or
 * a key has here is not in the copy, or is the same there.
 */
import type { MemoryRecord } from "@muniment/domain/Memory"
import { memoryBytes } from "../MemoryRow.ts"
import { COLUMNS, columnsLength, type MemoryColumns } from "../../text/MemoryText.ts"
import type { CommandChanges, StoredRecord, StoredResult } from "../Commit.ts"
import type { SlotRange, TermOccurrences } from "../NamespaceStore.ts"

interface HeldRecord {
  readonly ordinal: number
  readonly record: MemoryRecord
  readonly columns: MemoryColumns
  readonly bytes: number
}

export class Overlay {
  /** The last inserted last. */
  readonly #slots = new Map<number, HeldRecord>()
  readonly #slotOfId = new Map<string, number>()
  readonly #results = new Map<string, { readonly ordinal: number; readonly result: StoredResult }>()
  #bytes = 0

  get isEmpty(): boolean {
    return this.#slots.size === 0 && this.#results.size === 0
  }

  /** What the memories take (contract: Quotas). */
  get bytes(): number {
    return this.#bytes
  }

  hold(ordinal: number, group: ReadonlyArray<CommandChanges>): void {
    for (const { changes, idempotency } of group) {
      for (const change of changes) {
        if (change._tag !== "Put") throw new Error(`a ${change._tag} is not held`)
        const { columns, record, slot } = change
        this.#drop(slot)
        const bytes = memoryBytes(record)
        this.#slots.set(slot, { ordinal, record, columns, bytes })
        this.#slotOfId.set(record.id, slot)
        this.#bytes += bytes
      }
      if (idempotency !== undefined) this.#results.set(idempotency.key, { ordinal, result: idempotency })
    }
  }

  /** The copy has everything up to `ordinal`. */
  forget(ordinal: number): void {
    for (const [slot, held] of this.#slots) {
      if (held.ordinal > ordinal) break
      this.#drop(slot)
    }
    for (const [key, held] of this.#results) {
      if (held.ordinal > ordinal) break
      this.#results.delete(key)
    }
  }

  record(slot: number): MemoryRecord | undefined {
    return this.#slots.get(slot)?.record
  }

  slotsIn({ from, to }: SlotRange): ReadonlyArray<number> {
    return [...this.#slots.keys()].filter((slot) => slot >= from && slot < to)
  }

  slotOf(id: string): number | undefined {
    return this.#slotOfId.get(id)
  }

  result(key: string): StoredResult | undefined {
    return this.#results.get(key)?.result
  }

  /** `stored`: what the copy has of these slots. */
  records(slots: ReadonlyArray<number>, stored: ReadonlyArray<StoredRecord>): ReadonlyArray<StoredRecord> {
    const found = new Map(stored.map((one) => [one.slot, one]))
    return slots.flatMap((slot) => {
      const record = this.record(slot)
      return record === undefined ? (found.get(slot) ?? []) : { slot, record }
    })
  }

  /** `stored`: the slots in the copy, the last inserted first. */
  slotsOfContent(
    contentHash: string,
    subjectId: string | undefined,
    stored: ReadonlyArray<number>
  ): ReadonlyArray<number> {
    const held: Array<number> = []
    for (const [slot, { record }] of this.#slots)
      if (record.contentHash === contentHash && record.subjectId === subjectId) held.unshift(slot)
    return [...held, ...stored.filter((slot) => !this.#slots.has(slot))]
  }

  /** `stored`: those in the copy, ascending by slot. */
  occurrences(term: string, stored: ReadonlyArray<TermOccurrences>): ReadonlyArray<TermOccurrences> {
    if (this.#slots.size === 0) return stored
    const held: Array<TermOccurrences> = []
    for (const [slot, { columns }] of this.#slots) {
      for (const [column, name] of COLUMNS.entries()) {
        let count = 0
        for (const token of columns[name]) if (token === term) count++
        if (count > 0) held.push({ slot, column, count })
      }
    }
    if (held.length === 0) return stored
    return [...stored.filter(({ slot }) => !this.#slots.has(slot)), ...held].toSorted(
      (left, right) => left.slot - right.slot || left.column - right.column
    )
  }

  hasPrefix(prefix: string): boolean {
    for (const { columns } of this.#slots.values()) {
      if (COLUMNS.some((name) => columns[name].some((token) => token.startsWith(prefix)))) return true
    }
    return false
  }

  /** Slots and lengths of the documents. */
  *lengths(): Iterable<readonly [slot: number, tokens: number]> {
    for (const [slot, { columns }] of this.#slots) yield [slot, columnsLength(columns)]
  }

  #drop(slot: number): void {
    const held = this.#slots.get(slot)
    if (held === undefined) return
    this.#slots.delete(slot)
    this.#slotOfId.delete(held.record.id)
    this.#bytes -= held.bytes
  }
}

/** Whether the commit is made of insertions that an overlay can hold, with or without a key. */
export const insertsOnly = (group: ReadonlyArray<CommandChanges>): boolean => {
  const ids = new Set<string>()
  const keys = new Set<string>()
  return group.every(({ changes, conversation, idempotency }) => {
    if (conversation !== undefined || (idempotency !== undefined && keys.has(idempotency.key))) return false
    if (idempotency !== undefined) keys.add(idempotency.key)
    return changes.every((change) => {
      if (change._tag !== "Put" || ids.has(change.record.id)) return false
      ids.add(change.record.id)
      const { origin, sources } = change.record
      return origin === "direct" && sources === undefined
    })
  })
}
