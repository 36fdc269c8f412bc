/**
 * A namespace in memory with its lexical index, random memories over a small vocabulary (many equal terms and scores),
 * and the naive formula as oracle.
 */
import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { lengthPenalty, termScore, weightedFrequency } from "@muniment/engine/ranking/Bm25"
import type { TermStatistics, WeightedQuery } from "@muniment/engine/ranking/Bm25"
import { SqlitePostings } from "@muniment/engine/store/sqlite/SqlitePostings"
import type { LexicalHit } from "@muniment/engine/ranking/LexicalIndex"
import { COLUMNS, columnsLength } from "@muniment/engine/text/MemoryText"
import type { MemoryColumns } from "@muniment/engine/text/MemoryText"

export const vocabulary = ["tea", "milk", "lisbon", "ann", "bob", "run", "08", "may", "東京", "sea"]

const tokens = (maxLength: number) => fc.array(fc.constantFrom(...vocabulary), { maxLength })

export const columnsArbitrary: fc.Arbitrary<MemoryColumns> = fc.record({
  main: tokens(8),
  subject: tokens(2),
  neighbours: tokens(6),
  when: tokens(2),
  tags: tokens(2)
})

export const termsArbitrary = fc.uniqueArray(fc.constantFrom(...vocabulary, "absent"), { maxLength: 6 })

export const openPostings = (): SqlitePostings => {
  const database = new DatabaseSync(":memory:")
  SqlitePostings.create(database)
  return new SqlitePostings(database)
}

export const bitmapOf = (slots: Iterable<number>): Bitmap => Bitmap.of(slots)

export const naiveStatistics = (
  terms: ReadonlyArray<string>,
  documents: ReadonlyArray<MemoryColumns>
): TermStatistics => ({
  documents: documents.length,
  totalLength: documents.reduce((sum, columns) => sum + columnsLength(columns), 0),
  documentFrequencies: terms.map((term) => documents.filter((columns) => occurs(term, columns)).length)
})

export const naiveHit = (query: WeightedQuery, columns: MemoryColumns): LexicalHit => {
  let score = 0
  let matchedTerms = 0
  for (const [at, term] of query.terms.entries()) {
    if (!occurs(term, columns)) continue
    matchedTerms++
    const frequency = weightedFrequency(
      COLUMNS.map((column) => columns[column].filter((token) => token === term).length)
    )
    score += termScore(query.idf[at]!, frequency, lengthPenalty(columnsLength(columns), query.averageLength))
  }
  return { score, matchedTerms }
}

const occurs = (term: string, columns: MemoryColumns): boolean =>
  COLUMNS.some((column) => columns[column].includes(term))
