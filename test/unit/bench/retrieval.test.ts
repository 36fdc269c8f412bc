import { describe, expect, it } from "vitest"
import { fitListwise } from "../../../bench/retrieval/Listwise.ts"
import { neighboursOf } from "../../../bench/retrieval/Locomo.ts"
import { MetricsSum } from "../../../bench/retrieval/Metrics.ts"
import { readOwnTurns } from "../../../bench/retrieval/OwnTurns.ts"
import { readOwnSupersession } from "../../../bench/retrieval/SupersessionSet.ts"

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
})

it("the turns around a turn are two before and two after within its session, the nearest first", () => {
  const turns = [..."abcdef"].map((text, at) => ({ text, session: at < 4 ? 1 : 2 }))
  expect(neighboursOf(turns, 1)).toEqual(["a", "c", "d"])
  expect(neighboursOf(turns, 3)).toEqual(["c", "b"])
  expect(neighboursOf(turns, 4)).toEqual(["f"])
})

it("our own facts that change keep their key and change something else", () => {
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

it("a listwise fit finds how much a feature weighs beside the first one", () => {
  // The second feature tells evidence apart twice as well as the first, the third says nothing.
  const questions = Array.from({ length: 40 }, (_, at) => {
    const noise = Math.sin(at * 7)
    return {
      features: [
        [1, 1, noise],
        [1.2, 0.8, -noise],
        [0, at % 2, noise]
      ],
      isEvidence: [true, false, false]
    }
  })
  const [first, second = 0, third = 1] = fitListwise(questions)
  expect(first).toBe(1)
  expect(second).toBeGreaterThan(1)
  expect(Math.abs(third)).toBeLessThan(0.2)
})
