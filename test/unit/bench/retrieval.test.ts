import { describe, expect, it } from "vitest"
import type { Corpus } from "../../../bench/retrieval/Locomo.ts"
import { neighboursOf } from "../../../bench/retrieval/Locomo.ts"
import { MetricsSum } from "../../../bench/retrieval/Metrics.ts"
import { openCorpus } from "../../../bench/retrieval/OpenCorpus.ts"
import { readOwnTurns } from "../../../bench/retrieval/OwnTurns.ts"
import { bestSlots, fused } from "../../../bench/retrieval/Rankings.ts"
import { readOwnSupersession } from "../../../bench/retrieval/SupersessionSet.ts"
import { qualityOf, shippedWeights, tunableCorpus } from "../../../bench/retrieval/TunableScorer.ts"

const modelId = "e5-small-v2-q8"

describe("the metrics of the retrieval bench", () => {
  it("count the evidence among the first 5, 10 and 20, and where the first of it stands", () => {
    const sum = new MetricsSum()
    const ranking = Array.from({ length: 30 }, (_, slot) => slot)
    sum.add(ranking, new Set([1, 7, 15, 25]))
    const { recall5, recall10, recall20, reciprocalRank, ndcg10 } = sum.mean()
    expect([recall5, recall10, recall20, reciprocalRank]).toEqual([0.25, 0.5, 0.75, 0.5])
    const discount = (place: number) => 1 / Math.log2(place + 2)
    expect(ndcg10).toBeCloseTo((discount(1) + discount(7)) / (discount(0) + discount(1) + discount(2) + discount(3)))
  })

  it("are means over all questions", () => {
    const sum = new MetricsSum()
    sum.add([3], new Set([3]))
    sum.add([3], new Set([4]))
    expect(sum.mean()).toMatchObject({ questions: 2, recall10: 0.5, ndcg10: 0.5, reciprocalRank: 0.5 })
  })

  it("take the best slots, of equals the newer one", () => {
    const scores = new Float64Array(40)
    scores[7] = 2
    scores[9] = 1
    expect(bestSlots(scores).slice(0, 4)).toEqual([7, 9, 39, 38])
    expect(bestSlots(scores)).toHaveLength(20)
  })
})

describe("our own turns", () => {
  const corpus = readOwnTurns()

  it("answer at least 180 questions, each by a turn of the user", () => {
    expect(corpus.questions.length).toBeGreaterThanOrEqual(180)
    for (const { evidence } of corpus.questions) {
      expect(evidence.size).toBeGreaterThan(0)
      for (const slot of evidence) expect(corpus.memories[slot]?.data).not.toMatchObject({ subject: "assistant" })
    }
  })

  it("are ranked by the tunable scorer with the shipped weights as by the service", () => {
    const { name, speakers, memories } = corpus
    const some: Corpus = { name, speakers, memories: memories.slice(0, 200), questions: [] }
    const passages = some.memories.map((_, slot) => unit(slot))
    const questions = corpus.questions.filter(({ evidence }) => [...evidence].every((slot) => slot < 200)).slice(0, 40)
    const vectors = questions.map((_, at) => ({ modelId, vector: unit(at * 3), passages }))
    const asked = { ...some, questions }
    const { ask } = openCorpus(asked)
    const service = new MetricsSum()
    for (const [at, { text, evidence }] of questions.entries()) service.add(fused(ask(text, vectors[at])), evidence)
    const { all } = qualityOf([tunableCorpus(asked, vectors)], shippedWeights(modelId))
    expect(all.recall10).toBeCloseTo(service.mean().recall10, 2)
    expect(all.reciprocalRank).toBeCloseTo(service.mean().reciprocalRank, 2)
  })
})

describe("the turns around a turn", () => {
  it("are two before and two after within its session, the nearest first", () => {
    const turns = [..."abcdef"].map((text, at) => ({ text, session: at < 4 ? 1 : 2 }))
    expect(neighboursOf(turns, 1)).toEqual(["a", "c", "d"])
    expect(neighboursOf(turns, 3)).toEqual(["c", "b"])
    expect(neighboursOf(turns, 4)).toEqual(["f"])
  })
})

describe("our own facts that change", () => {
  it("keep their key and change something else", () => {
    const { kinds, cases } = readOwnSupersession()
    const keys = new Set<string>()
    for (const { kind, older, newer } of cases) {
      const uniqueOn = kinds.find(({ name }) => name === kind)?.uniqueOn ?? []
      const keyOf = (data: object) =>
        JSON.stringify([kind, Object.entries(data).filter(([field]) => uniqueOn.includes(field))])
      expect(keyOf(older.data)).toBe(keyOf(newer.data))
      expect(older.data).not.toEqual(newer.data)
      keys.add(keyOf(newer.data))
    }
    expect(keys.size).toBe(cases.length)
  })
})

/** Some direction of eight dimensions, a function of its number. */
const unit = (number: number): Float32Array => {
  const values = Float32Array.from({ length: 8 }, (_, at) => Math.sin(number * 7 + at * at + 1))
  const length = Math.hypot(...values)
  return values.map((value) => value / length)
}
