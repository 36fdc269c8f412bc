import { describe, expect, it } from "vitest"
import fc from "fast-check"
import type { Candidate } from "@muniment/engine/ranking/Fusion"
import { cosinesOf, fuse, isMatching, rank, withCosines } from "@muniment/engine/ranking/Fusion"

const candidate = (id: string, given: Partial<Candidate> = {}): Candidate => ({
  id,
  createdAt: 0,
  lexicalScore: 0,
  matchedTerms: 0,
  cosine: undefined,
  ...given
})
const byWords = { scoreBound: 20, termCount: 3, modelId: undefined }
const byBoth = { ...byWords, modelId: "e5-small-v2-q8" }
const ids = (ranking: ReadonlyArray<{ readonly candidate: Candidate }>) => ranking.map(({ candidate: { id } }) => id)

describe("fuse", () => {
  it("puts words before cosines of a model that does not know the language, and orders the rest by them", () => {
    const spoken = candidate("spoken", { lexicalScore: 4, matchedTerms: 1, cosine: 0.7 })
    const near = candidate("near", { cosine: 0.95 })
    const far = candidate("far", { cosine: 0.8, createdAt: 9 })
    const foreign = { ...byBoth, isMeaningful: false }
    expect(ids(fuse([near, far, spoken], byBoth, { limit: 10 }))[0]).toBe("near")
    expect(ids(fuse([near, far, spoken], foreign, { limit: 10 }))).toEqual(["spoken", "near", "far"])
    const [first] = fuse([near, far, { ...spoken, lexicalScore: 18, matchedTerms: 3 }], foreign, { limit: 1 })
    expect(first!.relevance).toBeGreaterThan(0.3)
  })

  it("orders by score, ties newer first, then by id descending", () => {
    const strong = candidate("a", { lexicalScore: 10, matchedTerms: 2 })
    const old = candidate("b", { lexicalScore: 5, matchedTerms: 1 })
    const fresh = candidate("c", { lexicalScore: 5, matchedTerms: 1, createdAt: 9 })
    const twin = candidate("d", { lexicalScore: 5, matchedTerms: 1 })
    expect(ids(fuse([old, twin, strong, fresh], byWords, { limit: 10 }))).toEqual(["a", "c", "d", "b"])
    expect(ids(fuse([old, twin, strong, fresh], byWords, { limit: 2 }))).toEqual(["a", "c"])
  })

  it("gives relevance in 0..1 with four digits, in descending order of scores, equal to the candidate ranked alone", () => {
    const arbitrary = fc.record({
      createdAt: fc.nat(5),
      lexicalScore: fc.double({ min: 0, max: 20, noNaN: true }),
      cosine: fc.option(fc.double({ min: -1, max: 1, noNaN: true }), { nil: undefined })
    })
    fc.assert(
      fc.property(fc.array(arbitrary, { maxLength: 150 }), fc.constantFrom(byWords, byBoth), (made, query) => {
        const candidates = made.map((given, at) =>
          candidate(`m${at}`, { ...given, matchedTerms: given.lexicalScore > 0 ? 1 : 0 })
        )
        const ranking = fuse(candidates, query, { limit: 100 })
        for (const [at, ranked] of ranking.entries()) {
          expect(ranked.relevance).toBeGreaterThanOrEqual(0)
          expect(ranked.relevance).toBeLessThanOrEqual(1)
          expect(ranked.relevance).toBe(Number(ranked.relevance.toFixed(4)))
          expect(ranked).toEqual(rank(ranked.candidate, withCosines(query, [cosinesOf(candidates, query)])))
          if (at > 0) expect(ranked.order).toBeLessThanOrEqual(ranking[at - 1]!.order)
        }
      })
    )
  })

  it("ranks memories without a vector by their words beside those that have one", () => {
    const exact = candidate("exact", { lexicalScore: 14, matchedTerms: 3 })
    const weak = candidate("weak", { cosine: 0.72 })
    expect(ids(fuse([weak, exact], byBoth, { limit: 10 }))).toEqual(["exact", "weak"])
  })

  it("reads each cosine on its own model's scale while vectors of two models are stored", () => {
    const old = candidate("old", { cosine: 0.7, modelId: "all-minilm-l6-v2-q8" })
    const fresh = candidate("fresh", { cosine: 0.76 })
    expect(ids(fuse([fresh, old], byBoth, { limit: 10 }))).toEqual(["old", "fresh"])
    const crowd = Array.from({ length: 150 }, (_, at) => candidate(`m${at}`, { cosine: 0.8, createdAt: at }))
    expect(ids(fuse([...crowd, old], byBoth, { limit: 200 }))).toContain("old")
    expect(fuse([...crowd, old], byBoth, { limit: 200 })).toHaveLength(101)
  })

  it("judges by how far a cosine stands out where no memory has a word of the query", () => {
    const crowd = Array.from({ length: 20 }, (_, at) => candidate(`m${at}`, { cosine: 0.79 + at / 2_000 }))
    const right = candidate("right", { cosine: 0.86 })
    const [first, second] = fuse([...crowd, right], byBoth, { limit: 2 })
    expect(first!.candidate).toBe(right)
    expect(first!.relevance).toBeGreaterThan(0.3)
    expect(second!.relevance).toBeLessThan(0.05)
    const [ofFew] = fuse([...crowd.slice(0, 5), right], byBoth, { limit: 1 })
    expect(ofFew!.relevance).toBeLessThan(first!.relevance)
    const worded = candidate("worded", { cosine: 0.75, lexicalScore: 1, matchedTerms: 1 })
    const [best] = fuse([...crowd, right, worded], byBoth, { limit: 1 })
    expect(best!.relevance).toBe(rank(right, byBoth).relevance)
  })

  it("cuts to the limit what reaches the least relevance", () => {
    const ranking = fuse(
      [0.95, 0.9, 0.7].map((cosine, at) => candidate(`m${at}`, { cosine })),
      byBoth,
      { limit: 10 }
    )
    const minRelevance = ranking[1]!.relevance
    expect(ranking[2]!.relevance).toBeLessThan(minRelevance)
    expect(
      ids(
        fuse(
          ranking.map((ranked) => ranked.candidate),
          byBoth,
          { limit: 10, minRelevance }
        )
      )
    ).toEqual(["m0", "m1"])
  })

  it("ignores cosines in a search without a model", () => {
    expect(fuse([candidate("a", { cosine: 0.9 })], byWords, { limit: 10 })).toEqual([])
  })

  it("finds nothing in a query without terms and without a model", () => {
    expect(fuse([candidate("a")], { scoreBound: 0, termCount: 0, modelId: undefined }, { limit: 10 })).toEqual([])
  })
})

it("isMatching accepts every word found, however long the memory is", () => {
  expect(isMatching(rank(candidate("a", { lexicalScore: 2, matchedTerms: 3 }), byWords))).toBe(true)
  expect(isMatching(rank(candidate("a", { lexicalScore: 2, matchedTerms: 2 }), byWords))).toBe(false)
  expect(isMatching(rank(candidate("a"), { scoreBound: 0, termCount: 0, modelId: undefined }))).toBe(false)
})
