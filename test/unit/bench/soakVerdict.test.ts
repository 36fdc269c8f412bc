/** The soak's arithmetic: when a series counts as flat, and what the soak believes to be stored. */
import { describe, expect, it } from "vitest"
import { Population, type Member } from "../../../bench/soak/Population.ts"
import { findingsOf, runVerdict, type SoakSample } from "../../../bench/soak/SoakReport.ts"
import { slopeOf, verdictOf } from "../../../bench/soak/Slope.ts"

const points = (values: ReadonlyArray<number>) => values.map((y, x) => ({ x, y }))

describe("a slope", () => {
  it("is that of the line the samples lie on, without doubt", () => {
    const slope = slopeOf(points([1, 3, 5, 7]))
    expect(slope).toMatchObject({ mean: 4, change: 6 })
    expect(slope.margin).toBeCloseTo(0)
  })

  it("has the interval of Student's t", () => {
    // Residuals of the least-squares line through 0, 1, 0, 1, 0 are its values: slope 0, error sqrt(1.2 / 3 / 10).
    const { change, margin } = slopeOf(points([0, 1, 0, 1, 0]))
    expect(change).toBeCloseTo(0)
    expect(margin).toBeCloseTo(3.182 * Math.sqrt(1.2 / 3 / 10) * 4, 1)
  })

  it("is flat only if the bad end of its interval is within the tolerance", () => {
    expect(verdictOf({ mean: 10, change: 0.2, margin: 0.2 }, 1, "up")).toBe("flat")
    expect(verdictOf({ mean: 10, change: -1, margin: 0.5 }, 1, "up")).toBe("flat")
    expect(verdictOf({ mean: 10, change: -1, margin: 0.5 }, 1, "down")).toBe("undecided")
    expect(verdictOf({ mean: 10, change: 0.2, margin: 3 }, 1, "up")).toBe("undecided")
  })

  it("drifts in the bad direction and improves in the other", () => {
    expect(verdictOf({ mean: 10, change: 4, margin: 1 }, 1, "up")).toBe("drifts")
    expect(verdictOf({ mean: 10, change: 4, margin: 1 }, 1, "down")).toBe("improves")
  })
})

describe("the verdict of a run", () => {
  const steady = (at: number): SoakSample => ({
    minutes: at,
    recall: 0.99,
    bruteMillis: 5,
    searchP50Millis: 2,
    searchP99Millis: 9,
    filteredP50Millis: 1,
    writeP50Millis: 20,
    searches: 100,
    writes: 50,
    residentMegabytes: 500,
    heapMegabytes: 100,
    externalMegabytes: 50,
    fileMegabytes: 80,
    walMegabytes: 4,
    errors: 0
  })
  const verdict = (samples: ReadonlyArray<SoakSample>) => runVerdict(samples, findingsOf(samples))
  const minutes = Array.from({ length: 20 }, (_, at) => at)

  it("is flat when nothing changes", () => {
    expect(verdict(minutes.map(steady))).toBe("FLAT")
  })

  it("judges logs, which grow and are emptied, by their maximum", () => {
    const sawtooth = (rise: number) => minutes.map((at) => ({ ...steady(at), walMegabytes: (at % 5) + 1 + rise * at }))
    expect(verdict(sawtooth(0))).toBe("FLAT")
    expect(verdict(sawtooth(1))).toContain("NOT FLAT: write-ahead logs")
  })

  it("names a memory that grows, and recall that falls", () => {
    const leaking = minutes.map((at) => ({
      ...steady(at),
      residentMegabytes: 500 + 10 * at,
      recall: 0.99 - 0.002 * at
    }))
    expect(verdict(leaking)).toBe("NOT FLAT: recall@10, resident (MB)")
  })

  it("does not blame the service for a machine that slows down, but for becoming slower than it", () => {
    const slowing = (share: number) =>
      minutes.map((at) => ({
        ...steady(at),
        bruteMillis: 5 * (1 + at / 20),
        searchP50Millis: 2 * (1 + (share * at) / 20)
      }))
    expect(verdict(slowing(1))).not.toContain("search p50")
    expect(verdict(slowing(8))).toContain("NOT FLAT: search p50, by the machine's pace")
  })

  it("fails on a single error, however flat the rest is", () => {
    expect(verdict([...minutes.map(steady), { ...steady(20), errors: 1 }])).toBe("FAILED: 1 errors")
  })
})

describe("the population", () => {
  const member = (id: string, text: number): Member => ({
    id,
    agentId: "a",
    subjectId: "s",
    kind: "note",
    key: id,
    text
  })

  it("draws a member once and gives its text out again after it is retired", () => {
    const population = new Population(2, 1)
    population.add(member("one", population.takeText()))
    population.add(member("two", population.takeText()))
    const drawn = [population.draw("note"), population.draw("note")]
    expect(drawn.map(({ id }) => id).toSorted()).toEqual(["one", "two"])
    expect(() => population.takeText()).toThrow("to spare")
    population.retire(drawn[0]!, 10)
    expect(population.takeText()).toBe(drawn[0]!.text)
  })

  it("calls a hit stale only if the memory was gone before the search began", () => {
    const population = new Population(1, 1)
    population.retire(member("gone", 0), 10)
    expect(population.isStale("gone", 11)).toBe(true)
    expect(population.isStale("gone", 9)).toBe(false)
    expect(population.isStale("other", 11)).toBe(false)
  })

  it("draws the same from the same seed", () => {
    const draws = (seed: number) => {
      const population = new Population(0, seed)
      return Array.from({ length: 5 }, () => population.below(1_000))
    }
    expect(draws(7)).toEqual(draws(7))
    expect(draws(7)).not.toEqual(draws(8))
  })
})
