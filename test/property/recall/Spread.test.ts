import { expect, it } from "vitest"
import fc from "fast-check"
import { sumStatistics, weighQuery } from "@muniment/engine/ranking/Bm25"
import type { Candidate } from "@muniment/engine/ranking/Fusion"
import { fuse, newerFirst } from "@muniment/engine/ranking/Fusion"
import { LexicalIndex } from "@muniment/engine/ranking/LexicalIndex"
import type { MemoryColumns } from "@muniment/engine/text/MemoryText"
import { bitmapOf, columnsArbitrary, openPostings, termsArbitrary } from "./support.ts"
import { repetitions } from "../../support/Repetitions.ts"

interface Stored {
  readonly id: string
  readonly columns: MemoryColumns
  readonly createdAt: number
  readonly cosine: number | undefined
  readonly isVisible: boolean
}

const storedArbitrary = fc.record({
  columns: columnsArbitrary,
  createdAt: fc.nat(3),
  cosine: fc.option(fc.constantFrom(0.7, 0.8, 0.85, 0.9), { nil: undefined }),
  isVisible: fc.boolean()
})

/** Search over all namespaces: statistics of each, candidates of each, one fusion. */
const search = (
  namespaces: ReadonlyArray<ReadonlyArray<Stored>>,
  terms: ReadonlyArray<string>,
  modelId: string | undefined,
  listLength: number
) => {
  const open = namespaces.map((memories) => {
    const postings = openPostings()
    const index = new LexicalIndex(postings)
    for (const [slot, { columns }] of memories.entries()) {
      postings.put(slot, columns)
      index.put(slot, columns)
    }
    const allowed = bitmapOf([...memories.keys()].filter((slot) => memories[slot]!.isVisible))
    return { memories, index, allowed }
  })
  const query = weighQuery(terms, sumStatistics(open.map(({ index, allowed }) => index.statistics(terms, allowed))))
  const candidates = open.flatMap(({ memories, index, allowed }) => {
    const scores = index.score(query, allowed)
    const lexical = scores.top(listLength, {
      timeOf: (slot) => memories[slot]!.createdAt,
      before: (left, right) => newerFirst(memories[left]!, memories[right]!)
    })
    const dense = memories
      .flatMap((memory, slot) =>
        memory.isVisible && memory.cosine !== undefined ? [{ slot, memory, cosine: memory.cosine }] : []
      )
      .sort((left, right) => right.cosine - left.cosine || newerFirst(left.memory, right.memory))
      .slice(0, listLength)
    return [...new Set([...lexical, ...dense.map(({ slot }) => slot)])].map((slot): Candidate => {
      const { id, createdAt, cosine } = memories[slot]!
      const { score, matchedTerms } = scores.of(slot)
      return { id, createdAt, cosine, lexicalScore: score, matchedTerms }
    })
  })
  const fusion = { scoreBound: query.scoreBound, termCount: terms.length, modelId, documents: query.documents }
  return fuse(candidates, fusion, { limit: 20 }).map(({ candidate, ...ranked }) => ({ ...ranked, id: candidate.id }))
}

it("recall ranks and scores by visible memories only, for any spread over namespaces", () => {
  fc.assert(
    fc.property(
      fc.array(storedArbitrary, { maxLength: 25 }),
      fc.array(fc.nat(4), { minLength: 25, maxLength: 25 }),
      termsArbitrary,
      fc.constantFrom(undefined, "e5-small-v2-q8", "no-such-model"),
      (made, homes, terms, modelId) => {
        const stored = made.map((memory, at): Stored => ({ ...memory, id: `mem_${String(at).padStart(4, "0")}` }))
        const whole = search([stored], terms, modelId, 100)
        const spread = Array.from({ length: 5 }, (_, home) => stored.filter((_, at) => homes[at] === home))
        expect(search(spread, terms, modelId, 100)).toEqual(whole)
        expect(search([stored.toReversed()], terms, modelId, 100)).toEqual(whole)
        const visible = stored.filter(({ isVisible }) => isVisible)
        expect(search([visible], terms, modelId, 100)).toEqual(whole)
      }
    ),
    { numRuns: repetitions(200) }
  )
})
