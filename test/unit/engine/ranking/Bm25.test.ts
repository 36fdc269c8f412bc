/** Which terms of a long query count. */
import { expect, it } from "vitest"
import { weighQuery } from "@muniment/engine/ranking/Bm25"
import { QUERY_TERMS_COUNTED_MAX, QUERY_TERMS_MAX, searchTerms } from "@muniment/language/text/Tokenizer"

const words = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`)
const statistics = (documentFrequencies: ReadonlyArray<number>) => ({
  documents: 1_000,
  totalLength: 10_000,
  documentFrequencies
})

it("a query keeps its rarest terms in their order, wherever they stand", () => {
  const terms = words(QUERY_TERMS_COUNTED_MAX)
  // The first are in every second document, some in none, the last in few.
  const frequencyOf = (at: number) => (at < 100 ? 500 : at < 128 ? 0 : at)
  const { idf, terms: kept } = weighQuery(terms, statistics(terms.map((_, at) => frequencyOf(at))))
  expect(kept).toEqual(terms.slice(-QUERY_TERMS_MAX))
  expect(idf).toHaveLength(QUERY_TERMS_MAX)
  expect(idf[0]).toBeGreaterThan(idf.at(-1)!)
})

it("a query within the bound keeps all its terms, and what is asked last is among them", () => {
  const terms = words(QUERY_TERMS_MAX)
  expect(weighQuery(terms, statistics(terms.map(() => 0))).terms).toEqual(terms)
  const long = `${words(100).join(" ")} Sansibar`
  expect(searchTerms(long).some((term) => term.startsWith("sansibar"))).toBe(true)
})
