/**
 * Namespaces of the records behind the last mark. The next mark lists them, so that a record whose header is lost costs
 * only the namespace that it was of.
 *
 * Invariant: the list has no gap and ends with the newest record.
 */
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { RecordFields } from "./logFormat.ts"

/** Records after which a mark is due although the log is never quiet. */
const ownersMax = 1_024
const tagDigits = 12

export class OwnerList {
  #tags: Array<NamespaceTag> = []
  #next = 0
  #last: NamespaceTag | undefined

  get isLong(): boolean {
    return this.#tags.length >= ownersMax
  }

  /** Whose the newest record is; undefined: there is none, or a torn tail has taken what says it. */
  get last(): NamespaceTag | undefined {
    return this.#last
  }

  note(ordinal: number, tag: NamespaceTag): void {
    if (ordinal !== this.#next) this.#tags = []
    this.#tags.push(tag)
    this.#next = ordinal + 1
    this.#last = tag
  }

  /** Forgets records from this ordinal on. */
  cut(fromOrdinal: number): void {
    if (this.#next <= fromOrdinal) return
    this.#tags.splice(Math.max(0, this.#tags.length - (this.#next - fromOrdinal)))
    this.#next = fromOrdinal
    this.#last = this.#tags.at(-1)
  }

  /** What a mark behind the list says: how many records, and the text of their tags. */
  get listed(): { readonly changes: number; readonly text: string } {
    return { changes: this.#tags.length, text: this.#tags.join("") }
  }

  /** A mark lists them. */
  clear(): void {
    this.#tags = []
  }
}

/** Ordinals and tags that a mark lists. */
export const ownersIn = function* (
  { changes, ordinal }: RecordFields,
  text: string
): Generator<readonly [ordinal: number, tag: NamespaceTag], void, void> {
  for (let at = 0; (at + 1) * tagDigits <= text.length; at++)
    yield [ordinal - changes + at, text.slice(at * tagDigits, (at + 1) * tagDigits)]
}
