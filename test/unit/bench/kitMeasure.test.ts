/** Contestants that take turns, and the figures that come of it. */
import { describe, expect, it } from "vitest"
import { interleaved, lastConsumed, median, quantile, ratioOf } from "../../../bench/kit/Measure.ts"

const timing = (name: string, roundMicros: ReadonlyArray<number>) => ({
  name,
  p50Micros: median(roundMicros),
  p99Micros: 0,
  roundMicros
})

describe("interleaved", () => {
  it("lets each round begin with another contestant, after every one was warmed up", async () => {
    const turns: Array<string> = []
    const contestant = (name: string) => ({ name, run: (turn: number) => turns.push(`${name}${turn}`) })
    await interleaved([contestant("a"), contestant("b")], { rounds: 2, operations: 2, warmup: 1 })
    expect(turns.join(" ")).toBe("a0 b0 a0 a1 b0 b1 b0 b1 a0 a1")
  })

  it("changes who follows whom from round to round", async () => {
    const turns: Array<string> = []
    const contestants = ["a", "b", "c"].map((name) => ({ name, run: () => turns.push(name) }))
    await interleaved(contestants, { rounds: 2, operations: 1, warmup: 0 })
    expect(turns.join("")).toBe("abcbac")
  })

  it("waits for a promise within its time and keeps every result", async () => {
    let isDone = false
    const slow = {
      name: "slow",
      run: () =>
        new Promise((settle) =>
          setImmediate(() => {
            isDone = true
            settle("result")
          })
        )
    }
    const [found] = await interleaved([slow], { rounds: 1, operations: 1, warmup: 0 })
    expect(isDone).toBe(true)
    expect(lastConsumed()).toBe("result")
    expect(found?.p50Micros).toBeGreaterThan(0)
    expect(found?.roundMicros).toHaveLength(1)
  })
})

describe("figures", () => {
  it("take a ratio within each round, so that a slow round spoils none", () => {
    const slower = timing("slower", [10, 100, 12])
    const faster = timing("faster", [5, 50, 4])
    expect(ratioOf(slower, faster)).toEqual({ median: 2, low: 2, high: 3 })
  })

  it("interpolate quantiles and sort by number", () => {
    expect(quantile([100, 9, 20], 0.5)).toBe(20)
    expect(quantile([0, 10], 0.99)).toBeCloseTo(9.9)
    expect(quantile([], 0.5)).toBeNaN()
  })
})
