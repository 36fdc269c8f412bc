/**
 * Recent erasures in one open namespace, by conversation. A reader takes a mark, works for seconds (a language
 * model), then asks whether its conversation was erased since.
 *
 * Invariant: no false negatives. A mark that is too old, or older than the last open, is answered "erased".
 */
import { randomBytes } from "node:crypto"

/** Erasures kept with their conversation. */
export const erasuresKept = 256

/** Plain data: it may come back from another process. */
export interface ErasureMark {
  /** `ErasureLog.owner` of the log that it is of. */
  readonly owner: string
  /** Number of erasures before the mark. */
  readonly count: number
}

export class ErasureLog {
  /** Differs with each open. */
  readonly owner = randomBytes(8).toString("hex")
  /** The newest last; undefined: any conversation. */
  readonly #scopes: Array<string | undefined> = []
  #count = 0

  add(scope: string | undefined): void {
    this.#count++
    this.#scopes.push(scope)
    if (this.#scopes.length > erasuresKept) this.#scopes.shift()
  }

  mark(): ErasureMark {
    return { owner: this.owner, count: this.#count }
  }

  /** Conversations of the erasures after a mark of this log; more than are kept count as one erasure of any conversation. */
  since({ count }: ErasureMark): ReadonlyArray<string | undefined> {
    const later = this.#count - count
    if (later > this.#scopes.length) return [undefined]
    return later === 0 ? [] : this.#scopes.slice(-later)
  }

  hasSince({ count, owner }: ErasureMark, scope: string): boolean {
    const later = this.#count - count
    if (owner !== this.owner || later > this.#scopes.length) return true
    return later > 0 && this.#scopes.slice(-later).some((erased) => erased === undefined || erased === scope)
  }
}
