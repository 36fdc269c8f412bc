/**
 * Commits that wait for their statement: a line for each namespace, of which only the first is under way.
 *
 * Invariant: a namespace's commits are taken in the order in which they came, one at a time.
 */
import type { NamespaceTag } from "@muniment/domain/Ids"

export interface Waiting {
  readonly tag: NamespaceTag
  readonly bytes: number
}

export class AppendLines<W extends Waiting> {
  /** The namespace that has waited longest first. */
  readonly #lines = new Map<NamespaceTag, Array<W>>()
  readonly #busy = new Set<NamespaceTag>()

  put(waiting: W): void {
    const line = this.#lines.get(waiting.tag)
    if (line === undefined) this.#lines.set(waiting.tag, [waiting])
    else line.push(waiting)
  }

  /** The first of each line that is not under way, up to these numbers; at least one if there is any. */
  take(countMax: number, bytesMax: number): ReadonlyArray<W> {
    const taken: Array<W> = []
    let bytes = 0
    for (const [tag, line] of this.#lines) {
      const [first] = line
      if (first === undefined || this.#busy.has(tag)) continue
      if (taken.length === countMax || (taken.length > 0 && bytes + first.bytes > bytesMax)) break
      taken.push(first)
      bytes += first.bytes
      this.#busy.add(tag)
    }
    for (const { tag } of taken) this.#shorten(tag)
    return taken
  }

  /** The statement has ended. */
  finish(batch: ReadonlyArray<W>): void {
    for (const { tag } of batch) this.#busy.delete(tag)
  }

  /** Takes a whole line away. */
  drop(tag: NamespaceTag): ReadonlyArray<W> {
    const line = this.#lines.get(tag) ?? []
    this.#lines.delete(tag)
    return line
  }

  /** Its next commit waits behind all that are waiting now. */
  #shorten(tag: NamespaceTag): void {
    const rest = this.#lines.get(tag)?.slice(1) ?? []
    this.#lines.delete(tag)
    if (rest.length > 0) this.#lines.set(tag, rest)
  }
}
