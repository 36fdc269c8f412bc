/**
 * Which memories of a namespace tell names, by subject: derived from the records as they are read and committed, and not
 * stored, so it cannot outlive them.
 */
import { inOrder, type Naming, type ToldNaming } from "../../people/Namings.ts"
import type { MemoryRow } from "../../store/MemoryRow.ts"

interface Entry {
  readonly row: MemoryRow
  readonly namings: ReadonlyArray<Naming>
  /** One text for each naming, the same for the same. */
  readonly keys: ReadonlyArray<string>
}

export class NamingTable {
  readonly #subjects = new Map<string | undefined, Map<number, Entry>>()
  readonly #subjectAt = new Map<number, string | undefined>()

  put(row: MemoryRow, namings: ReadonlyArray<Naming>): void {
    this.remove(row.slot)
    if (namings.length === 0) return
    const entries = this.#subjects.get(row.subjectId) ?? new Map<number, Entry>()
    const keys = namings.map(({ isAlias, name, of, relation }) => JSON.stringify([name, relation, of, isAlias]))
    this.#subjects.set(row.subjectId, entries.set(row.slot, { row, namings, keys }))
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

  /** What the visible memories of a subject tell, in no order; of what is told again and again the first time and the last. */
  of(subjectId: string | undefined, isVisible: (slot: number) => boolean): ReadonlyArray<ToldNaming> {
    const found = new Map<string, { first: ToldNaming; last: ToldNaming }>()
    for (const { keys, namings, row } of this.#subjects.get(subjectId)?.values() ?? []) {
      if (!isVisible(row.slot)) continue
      const times = timesOf(row)
      for (const [index, key] of keys.entries()) {
        const known = found.get(key)
        const told = { ...namings[index]!, ...times }
        if (known === undefined) found.set(key, { first: told, last: told })
        else if (inOrder(told, known.first) < 0) known.first = told
        else if (inOrder(told, known.last) > 0) known.last = told
      }
    }
    return Array.from(found.values(), ({ first, last }) => (first === last ? [first] : [first, last])).flat()
  }
}

/** Facts come first: of a name that has changed or was corrected the latest version alone is visible. */
const timesOf = ({ createdAt, createdSeq, eventAt, message }: MemoryRow) => ({
  at: message === undefined ? 0 : (eventAt ?? createdAt),
  seq: createdSeq
})
