/**
 * BM25F with the saturation of FTS5: column-weighted term frequency; document length = all tokens of the row
 * (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; SQLite's fts5 `bm25`).
 *
 * Statistics count the documents that the caller may see. They are integers, so their sum over namespaces does not
 * depend on how memories are spread. A score is summed in the order of the query's terms, so every namespace
 * computes the same float.
 */
import { type Column, COLUMNS } from "../text/MemoryText.ts"
import { QUERY_TERMS_MAX, VARIANT_SEPARATOR } from "@muniment/language/text/Tokenizer"

export interface TermStatistics {
  /** Visible documents. */
  readonly documents: number
  /** Tokens in them, all columns. */
  readonly totalLength: number
  /** Visible documents that contain each term, in the order of the terms. */
  readonly documentFrequencies: ReadonlyArray<number>
}

/** Query terms weighted by the statistics of all visible documents. */
export interface WeightedQuery {
  readonly terms: ReadonlyArray<string>
  readonly idf: ReadonlyArray<number>
  readonly averageLength: number
  /** Visible documents. */
  readonly documents: number
  /** Upper bound of a document's score: every term saturated. 0 only for a query without terms. */
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

/** Weight of the column `neighbours` of a message: it holds four messages, not the turn around an extracted fact. */
export const MESSAGE_NEIGHBOURS_WEIGHT = 0.25

/**
 * Background documents that contain no query term, added to every count. Without them, a word found in two of three
 * memories would have no weight.
 */
export const BACKGROUND_DOCUMENTS = 500

export const sumStatistics = (parts: ReadonlyArray<TermStatistics>): TermStatistics => ({
  documents: parts.reduce((sum, part) => sum + part.documents, 0),
  totalLength: parts.reduce((sum, part) => sum + part.totalLength, 0),
  documentFrequencies: (parts[0]?.documentFrequencies ?? []).map((_, term) =>
    parts.reduce((sum, part) => sum + (part.documentFrequencies[term] ?? 0), 0)
  )
})

/** `leftOut`: the first variant of a term that is left out, unless it is the only one. */
export const weighQuery = (
  counted: ReadonlyArray<string>,
  statistics: TermStatistics,
  leftOut?: string | undefined
): WeightedQuery => {
  const { documents, totalLength } = statistics
  const all = rarest(statistics.documentFrequencies, counted.length)
  const isWanted = (term: number) => counted[term]!.split(VARIANT_SEPARATOR)[0] !== leftOut
  const kept = leftOut === undefined || !all.some(isWanted) ? all : all.filter(isWanted)
  const idf = kept.map((term) => inverseFrequency(documents, statistics.documentFrequencies[term] ?? 0))
  return {
    terms: kept.map((term) => counted[term]!),
    idf,
    documents,
    averageLength: totalLength > 0 ? totalLength / documents : 1,
    scoreBound: idf.reduce((sum, weight) => sum + weight * (K1 + 1), 0)
  }
}

/**
 * Indexes, in their order, of the terms in the fewest documents, on a tie the first; those in none go last, as they find
 * nothing.
 */
const rarest = (frequencies: ReadonlyArray<number>, count: number): ReadonlyArray<number> => {
  const all = Array.from({ length: count }, (_, term) => term)
  if (count <= QUERY_TERMS_MAX) return all
  const rarity = (term: number) => frequencies[term] || Infinity
  const first = all.toSorted((left, right) =>
    rarity(left) === rarity(right) ? left - right : rarity(left) - rarity(right)
  )
  return first.slice(0, QUERY_TERMS_MAX).sort((left, right) => left - right)
}

/** FTS5 uses log((N - n + .5) / (n + .5)), which is negative for n > N/2; `1 +` keeps it positive and monotonic. */
const inverseFrequency = (documents: number, frequency: number): number =>
  Math.log(1 + (documents + BACKGROUND_DOCUMENTS - frequency + 0.5) / (frequency + 0.5))

/** The document-dependent part of the denominator. */
export const lengthPenalty = (length: number, averageLength: number): number =>
  K1 * (1 - B + (B * length) / averageLength)

export const termScore = (idf: number, frequency: number, penalty: number): number =>
  (idf * frequency * (K1 + 1)) / (frequency + penalty)

/** Weighted frequency of occurrences by column (in the order of `COLUMNS`), rounded to float32 as the index stores it. */
export const weightedFrequency = (counts: ArrayLike<number>, isMessage = false): number => {
  const weights = isMessage ? messageWeights : otherWeights
  let sum = 0
  for (let column = 0; column < COLUMNS.length; column++) sum += weights[column]! * (counts[column] ?? 0)
  return Math.fround(sum)
}

const otherWeights = COLUMNS.map((column) => COLUMN_WEIGHTS[column])
const messageWeights = COLUMNS.map((column) =>
  column === "neighbours" ? MESSAGE_NEIGHBOURS_WEIGHT : COLUMN_WEIGHTS[column]
)
