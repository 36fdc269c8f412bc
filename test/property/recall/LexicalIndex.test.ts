import { expect, it } from "vitest"
import fc from "fast-check"
import { weighQuery } from "@muniment/engine/ranking/Bm25"
import { LexicalIndex } from "@muniment/engine/ranking/LexicalIndex"
import type { MemoryColumns } from "@muniment/engine/text/MemoryText"
import { bitmapOf, columnsArbitrary, naiveHit, naiveStatistics, openPostings, termsArbitrary } from "./support.ts"
import { repetitions } from "../../support/Repetitions.ts"

const SLOTS = 12

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ put: fc.nat(SLOTS - 1), columns: columnsArbitrary }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat(SLOTS - 1) }) },
  {
    weight: 3,
    arbitrary: fc.record({ search: termsArbitrary, forbidden: fc.array(fc.nat(SLOTS - 1), { maxLength: 3 }) })
  }
)

it("LexicalIndex scores like the naive formula, and bit for bit like a new index, after any writes", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.constantFrom(1, 60, 1_000_000), (steps, postingsCachedMax) => {
      const postings = openPostings()
      const index = new LexicalIndex(postings, { postingsCachedMax })
      const model = new Map<number, MemoryColumns>()
      for (const move of steps) {
        if ("put" in move) {
          postings.put(move.put, move.columns)
          index.put(move.put, move.columns)
          model.set(move.put, move.columns)
        } else if ("remove" in move) {
          postings.remove(move.remove)
          index.remove(move.remove)
          model.delete(move.remove)
        } else {
          const slots = [...model.keys()].filter((slot) => !move.forbidden.includes(slot))
          const allowed = bitmapOf(slots)
          const statistics = index.statistics(move.search, allowed)
          expect(statistics).toEqual(
            naiveStatistics(
              move.search,
              slots.map((slot) => model.get(slot)!)
            )
          )
          const query = weighQuery(move.search, statistics)
          const scores = index.score(query, allowed)
          const fresh = new LexicalIndex(postings).score(query, allowed)
          const byId = (left: number, right: number) => right - left
          for (const slot of slots) {
            expect(scores.of(slot)).toEqual(naiveHit(query, model.get(slot)!))
            expect(scores.of(slot)).toEqual(fresh.of(slot))
            expect(scores.of(slot).score).toBeLessThanOrEqual(query.scoreBound)
          }
          const byScore = (left: number, right: number) =>
            scores.of(right).score - scores.of(left).score || byId(left, right)
          const expected = slots.filter((slot) => scores.of(slot).matchedTerms > 0).toSorted(byScore)
          expect(scores.top(5, { timeOf: () => 0, before: byId }).toSorted(byScore)).toEqual(expected.slice(0, 5))
          expect(index.cachedPostings).toBeLessThanOrEqual(postingsCachedMax)
        }
      }
    }),
    { numRuns: repetitions(300) }
  )
})
