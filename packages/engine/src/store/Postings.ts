/**
 * Port of the durable half of full-text search: which slots hold a term, and how long each document is.
 * Synchronous, because the lexical index reads a term inside a search; methods throw `StoreError`.
 *
 * The words that a message has from those around it are part of its length and of no posting (`LexicalIndex`).
 *
 * Invariant: only committed documents are visible, unless the caller is inside the committing transaction.
 */

/** Occurrences of one term in one column of one slot. */
export interface TermOccurrences {
  readonly slot: number
  /** Index into `COLUMNS`. */
  readonly column: number
  readonly count: number
}

export interface Postings {
  /** Ascending by slot. */
  readonly occurrences: (term: string) => ReadonlyArray<TermOccurrences>
  /** Whether a document has a token that begins so. */
  readonly hasPrefix: (prefix: string) => boolean
  /** Visits every document with its number of tokens, ascending by slot. */
  readonly forEachLength: (visit: (slot: number, tokens: number) => void) => void
}
