import { describe, expect, it } from "vitest"
import * as fc from "fast-check"
import { Bitmap } from "@muniment/engine/index/Bitmap"
import { DatabaseSync } from "node:sqlite"
import { weighQuery } from "@muniment/engine/recall/Bm25"
import { FullText } from "@muniment/engine/recall/FullText"
import { LexicalIndex } from "@muniment/engine/recall/LexicalIndex"
import { memoryColumns } from "@muniment/engine/recall/MemoryText"
import { queryTerms } from "@muniment/engine/recall/Tokenizer"

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
    FullText.create(database)
    const fullText = new FullText(database)
    fullText.put(0, memoryColumns({ kind: "note", data: { text: "tea near the sea and not coffee" }, tags: [] }))
    const index = new LexicalIndex(fullText)
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
      { numRuns: QUERIES }
    )
  })

  it("refuses to read scores after the index has moved on", () => {
    const database = new DatabaseSync(":memory:")
    FullText.create(database)
    const index = new LexicalIndex(new FullText(database))
    const query = weighQuery(["tea"], { documents: 0, totalLength: 0, documentFrequencies: [0] })
    const stale = index.score(query, new Bitmap())
    index.score(query, new Bitmap())
    expect(() => stale.of(0)).toThrow("moved on")
  })
})
