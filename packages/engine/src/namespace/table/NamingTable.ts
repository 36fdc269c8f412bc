/**
 * Which memories of a namespace tell names, by subject: derived from the records as they are read and committed, and not
 * stored, so it cannot outlive them.
 */
import type { Naming, ToldNaming } from "../../people/Namings.ts"
import type { MemoryRow } from "../../store/MemoryRow.ts"

interface Entry {
  readonly row: MemoryRow
  readonly namings: ReadonlyArray<Naming>
}

export class NamingTable {
  readonly #subjects = new Map<string | undefined, Map<number, Entry>>()
  readonly #subjectAt = new Map<number, string | undefined>()

  put(row: MemoryRow, namings: ReadonlyArray<Naming>): void {
    this.remove(row.slot)
    if (namings.length === 0) return
    const entries = this.#subjects.get(row.subjectId) ?? new Map<number, Entry>()
    this.#subjects.set(row.subjectId, entries.set(row.slot, { row, namings }))
    this.#subjectAt.set(row.slot, row.subjectId)
  }

  remove(slot: number): void {
    if (!this.#subjectAt.has(slot)) return
    const subject = this.#subjectAt.get(slot)
    const entries = this.#subjects.get(subject)
    entries?.delete(slot)
    if (entries?.size === 0) this.#subjects.delete(subject)
    this.#subjectAt.delete(slot)
  }

  /** What the visible memories of a subject tell, in no order. */
  of(subjectId: string | undefined, isVisible: (slot: number) => boolean): ReadonlyArray<ToldNaming> {
    return Array.from(this.#subjects.get(subjectId)?.values() ?? []).flatMap(({ namings, row }) =>
      isVisible(row.slot) ? namings.map((naming) => ({ ...naming, ...timesOf(row) })) : []
    )
  }
}

/** Facts come first: of a name that has changed or was corrected the latest version alone is visible. */
const timesOf = ({ createdAt, createdSeq, eventAt, message }: MemoryRow) => ({
  at: message === undefined ? 0 : (eventAt ?? createdAt),
  seq: createdSeq
})
