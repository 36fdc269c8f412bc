/**
 * What was erased lately of the conversations of an open namespace, by scope. A reader of turns and summary
 * takes a mark; when it comes back with what it made of them, the log says whether some of them are gone.
 *
 * Invariants: never says no when there was an erasure; a bounded list, so that it may say yes when it no
 * longer knows, as it does of marks from before the namespace was opened.
 */

/** Erasures that are told apart by their scope; a model reads for seconds. */
export const erasuresKept = 256

export interface ErasureMark {
  readonly log: ErasureLog
  /** Erasures before it. */
  readonly count: number
}

export class ErasureLog {
  /** The newest last; undefined: of any scope. */
  readonly #scopes: Array<string | undefined> = []
  #count = 0

  add(scope: string | undefined): void {
    this.#count++
    this.#scopes.push(scope)
    if (this.#scopes.length > erasuresKept) this.#scopes.shift()
  }

  mark(): ErasureMark {
    return { log: this, count: this.#count }
  }

  /** Scopes of the erasures after a mark of this log; more than are kept count as one of any scope. */
  since({ count }: ErasureMark): ReadonlyArray<string | undefined> {
    const later = this.#count - count
    if (later > this.#scopes.length) return [undefined]
    return later === 0 ? [] : this.#scopes.slice(-later)
  }

  hasSince({ count, log }: ErasureMark, scope: string): boolean {
    const later = this.#count - count
    if (log !== this || later > this.#scopes.length) return true
    return later > 0 && this.#scopes.slice(-later).some((erased) => erased === undefined || erased === scope)
  }
}
