/**
 * BM25F with FTS5's saturation: column-weighted term frequency, length = all tokens of the row
 * (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; SQLite's fts5 `bm25`).
 *
 * Statistics are taken over the documents the caller may see and are plain integers, so summing them
 * over namespaces gives the same numbers however the memories are spread. A document's score is a sum
 * in the order of the query's terms, hence the same float on whichever namespace computes it.
 */
import { COLUMNS } from "./MemoryText.ts"
import type { Column } from "./MemoryText.ts"

export interface TermStatistics {
  /** Visible documents. */
  readonly documents: number
  /** Tokens in them, all columns. */
  readonly totalLength: number
  /** Visible documents that contain each query term, in the order of the terms. */
  readonly documentFrequencies: ReadonlyArray<number>
}

/** A query ready to score: its terms with the statistics of everything visible folded in. */
export interface WeightedQuery {
  readonly terms: ReadonlyArray<string>
  readonly idf: ReadonlyArray<number>
  readonly averageLength: number
  /** No document can score more: every term saturated. 0 only for a query without terms. */
  readonly scoreBound: number
}

export const K1 = 1
export const B = 0.6
export const COLUMN_WEIGHTS: Readonly<Record<Column, number>> = {
  main: 1,
  subject: 2,
  neighbours: 0.5,
  when: 1,
  tags: 1
}

/**
 * Imagined documents without any query term. They keep a term telling in a namespace of three
 * memories, where the plain formula would call a word found in two of them worthless.
 */
export const BACKGROUND_DOCUMENTS = 500

export const sumStatistics = (parts: ReadonlyArray<TermStatistics>): TermStatistics => ({
  documents: parts.reduce((sum, part) => sum + part.documents, 0),
  totalLength: parts.reduce((sum, part) => sum + part.totalLength, 0),
  documentFrequencies: (parts[0]?.documentFrequencies ?? []).map((_, term) =>
    parts.reduce((sum, part) => sum + (part.documentFrequencies[term] ?? 0), 0)
  )
})

export const weighQuery = (terms: ReadonlyArray<string>, statistics: TermStatistics): WeightedQuery => {
  const idf = terms.map((_, term) => inverseFrequency(statistics.documents, statistics.documentFrequencies[term] ?? 0))
  const { documents, totalLength } = statistics
  return {
    terms,
    idf,
    averageLength: totalLength > 0 ? totalLength / documents : 1,
    scoreBound: idf.reduce((sum, weight) => sum + weight * (K1 + 1), 0)
  }
}

/** FTS5 takes log((N - n + .5) / (n + .5)), which is negative above one half; the 1 + keeps it positive and in order. */
const inverseFrequency = (documents: number, frequency: number): number =>
  Math.log(1 + (documents + BACKGROUND_DOCUMENTS - frequency + 0.5) / (frequency + 0.5))

/** The part of the denominator that depends on the document alone. */
export const lengthPenalty = (length: number, averageLength: number): number =>
  K1 * (1 - B + (B * length) / averageLength)

export const termScore = (idf: number, frequency: number, penalty: number): number =>
  (idf * frequency * (K1 + 1)) / (frequency + penalty)

/** Occurrences by column (in the order of `COLUMNS`) to one weighted frequency, rounded as the index stores it. */
export const weightedFrequency = (counts: ArrayLike<number>): number => {
  let sum = 0
  for (let column = 0; column < COLUMNS.length; column++) sum += COLUMN_WEIGHT_LIST[column]! * (counts[column] ?? 0)
  return Math.fround(sum)
}

const COLUMN_WEIGHT_LIST = COLUMNS.map((column) => COLUMN_WEIGHTS[column])
