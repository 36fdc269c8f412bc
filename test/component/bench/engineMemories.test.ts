/** What the engine's bench is made of: memories by number, filters of a known share, samples by part. */
import { describe, expect, it } from "vitest"
import { filterCases, Memories } from "../../../bench/engine/Memories.ts"
import { profileLoop } from "../../../bench/engine/profile.ts"

const count = 1_000

describe("memories of the engine's bench", () => {
  it("are a function of their number and the seed", () => {
    const memory = new Memories(3).memory(17, "a")
    expect(new Memories(3).memory(17, "a")).toEqual(memory)
    expect(new Memories(3).memory(18, "a").record.data).not.toEqual(memory.record.data)
    expect(new Memories(4).memory(17, "a").record.data).not.toEqual(memory.record.data)
  })

  it("have vectors of unit length, and questions nearer to their memory than to others", () => {
    const memories = new Memories()
    const dot = (left: Float32Array, right: Float32Array) =>
      left.reduce((sum, value, at) => sum + value * right[at]!, 0)
    const vectors = Array.from({ length: 50 }, (_, number) => memories.vector(number))
    for (const vector of vectors) expect(dot(vector, vector)).toBeCloseTo(1, 5)
    const { text, vector } = memories.question(0, vectors.length)
    const nearest = vectors
      .map((each) => dot(each, vector))
      .reduce((best, score, at, all) => (score > all[best]! ? at : best), 0)
    expect(memories.text(nearest).split(" ")).toEqual(expect.arrayContaining(text.split(" ").slice(3)))
  })

  it("pass filters in the shares that the filters' names say", () => {
    const memories = new Memories()
    const records = Array.from({ length: count }, (_, number) => memories.memory(number, "a").record)
    const shares = filterCases.map(({ filter }) => {
      const { eventFrom = -Infinity, eventTo = Infinity, subjectId, tags } = filter(count)
      const passing = records.filter(
        (record) =>
          (subjectId === undefined || record.subjectId === subjectId) &&
          (tags === undefined || tags.some((tag) => record.tags.includes(tag))) &&
          Date.parse(record.when!) >= eventFrom &&
          Date.parse(record.when!) <= eventTo
      )
      return passing.length / count
    })
    expect(shares).toEqual([1, 0.1, 0.01, 0.1])
  })
})

it("a profile shares out all of its time", async () => {
  const { result, shares } = await profileLoop(async () => {
    const until = performance.now() + 30
    while (performance.now() < until) continue
    return "done"
  })
  expect(result).toBe("done")
  expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 6)
})
