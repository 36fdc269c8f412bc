import { describe, expect, it } from "vitest"
import fc from "fast-check"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { DatabaseSync } from "node:sqlite"
import { weighQuery } from "@muniment/engine/ranking/Bm25"
import { SqlitePostings } from "@muniment/engine/store/sqlite/SqlitePostings"
import { LexicalIndex } from "@muniment/engine/ranking/LexicalIndex"
import { memoryColumns } from "@muniment/engine/text/MemoryText"
import { queryTerms } from "@muniment/language/text/Tokenizer"
import { repetitions } from "../../../support/Repetitions.ts"

const QUERIES = 20_000
const pieces = [
  '"',
  "'",
  "*",
  "(",
  ")",
  ":",
  "^",
  "-",
  "+",
  ",",
  "{",
  "}",
  "NEAR",
  "NEAR(",
  "AND",
  "OR",
  "NOT",
  "main:",
  "rowid",
  "\u0000",
  "%",
  "_",
  ";--",
  "\ud800",
  "tea",
  " "
]

describe("a search", () => {
  it("takes any string as words, with none of FTS5's syntax", () => {
    const database = new DatabaseSync(":memory:")
    SqlitePostings.create(database)
    const postings = new SqlitePostings(database)
    postings.put(0, memoryColumns({ kind: "note", data: { text: "tea near the sea and not coffee" }, tags: [] }))
    const index = new LexicalIndex(postings)
    const allowed = Bitmap.of([0])
    const hostile = fc.oneof(
      fc.string({ unit: "binary", maxLength: 30 }),
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(""))
    )
    fc.assert(
      fc.property(hostile, (text) => {
        const terms = queryTerms(text)
        const scores = index.score(weighQuery(terms, index.statistics(terms, allowed)), allowed)
        const { score, matchedTerms } = scores.of(0)
        return Number.isFinite(score) && score > 0 === matchedTerms > 0 && matchedTerms <= terms.length
      }),
      { numRuns: repetitions(QUERIES) }
    )
  })

  it("refuses to read scores after the index has changed", () => {
    const database = new DatabaseSync(":memory:")
    SqlitePostings.create(database)
    const index = new LexicalIndex(new SqlitePostings(database))
    const query = weighQuery(["tea"], { documents: 0, totalLength: 0, documentFrequencies: [0] })
    const stale = index.score(query, new Bitmap())
    index.score(query, new Bitmap())
    expect(() => stale.of(0)).toThrow("index changed")
  })
})
