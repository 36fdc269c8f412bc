/** The parts of the service bench that figures rest on: who stores what when, ratios, and the peers' fusion. */
import { describe, expect, it } from "vitest"
import { anyWord, fuseRanks } from "../../../bench/http/contestants/Peer.ts"
import { madeUp, subjectOf, type Passage } from "../../../bench/http/Corpus.ts"
import { figuresOf, peerLeads, ratio } from "../../../bench/http/Figures.ts"
import type { Job, Sample } from "../../../bench/http/Jobs.ts"
import { passagesOf, planOf, type Sizes } from "../../../bench/http/Plan.ts"

const sizes: Sizes = {
  rounds: 3,
  importBatches: 4,
  singles: [
    [1, 5],
    [8, 7]
  ],
  searches: [],
  filtered: [],
  mixedBatches: 2
}

const passages: ReadonlyArray<Passage> = Array.from({ length: passagesOf(sizes) }, (_, at) => ({
  name: `name ${at}`,
  text: `text ${at}`,
  subjectId: subjectOf(at),
  vector: new Float32Array(1)
}))

describe("the plan", () => {
  it("gives every passage to exactly one request", () => {
    const plan = planOf(sizes, passages)
    const stored = plan.flatMap(({ imports, mixed, singles }) => [...imports, ...mixed, ...singles].flat())
    expect(stored).toHaveLength(passages.length)
    expect(new Set(stored.map(({ name }) => name)).size).toBe(passages.length)
  })

  it("never mixes subjects in a batch, since a request stores memories of one", () => {
    for (const { imports, mixed } of planOf(sizes, passages)) {
      for (const batch of [...imports, ...mixed]) expect(new Set(batch.map(({ subjectId }) => subjectId)).size).toBe(1)
    }
  })

  it("refuses fewer passages than its rounds store", () => {
    expect(() => planOf(sizes, passages.slice(1))).toThrow("passages are needed")
  })
})

describe("the figures", () => {
  const sample = (millis: ReadonlyArray<number>, seconds: number): Sample => ({
    millis,
    seconds,
    processorMillis: 10,
    stages: new Map()
  })

  it("counts memories, not requests", () => {
    expect(figuresOf([sample([1, 2, 3], 3)], 100)).toMatchObject({
      p50Millis: 2,
      perSecond: 100,
      processorMillis: 10 / 300
    })
  })

  it("takes a ratio within each round, so that a slow round is slow for both", () => {
    const ours = [sample([1], 1), sample([100], 100), sample([2], 2)]
    const peer = [sample([3], 3), sample([300], 300), sample([6], 6)]
    expect(ratio(ours, peer, "latency")).toBeCloseTo(3)
    expect(ratio(ours, peer, "throughput")).toBeCloseTo(3)
  })

  it("names what a peer does better, and nothing else", () => {
    const job: Job = { id: "a", title: "search", perRequest: 1, run: () => Promise.reject(new Error("not run")) }
    const leads = (peer: Sample) =>
      peerLeads(
        [job],
        new Map([
          [
            "a",
            new Map([
              ["ours", [sample([2], 2)]],
              ["peer", [peer]]
            ])
          ]
        ]),
        "ours"
      )
    expect(leads(sample([1], 4))).toEqual([["search", "peer", "2.00 x", "2.00 x", "", ""]])
    expect(leads(sample([4], 4))).toEqual([])
  })
})

describe("the peers' fusion", () => {
  it("puts first what both lists have", () => {
    expect(
      fuseRanks(
        [
          ["a", "b", "c"],
          ["c", "d"]
        ],
        3
      )
    ).toEqual(["c", "a", "b"])
  })

  it("quotes every word of a query, so that none is an operator", () => {
    expect(anyWord('NEAR("x" OR y*) NOT x')).toBe('"near" OR "x" OR "or" OR "y" OR "not"')
  })
})

it("the made-up texts are all different, also beyond what their words can say", () => {
  const texts = madeUp(80_000)
  expect(new Set(texts.map(({ text }) => text)).size).toBe(texts.length)
  expect(new Set(texts.map(({ name }) => name)).size).toBe(texts.length)
})
