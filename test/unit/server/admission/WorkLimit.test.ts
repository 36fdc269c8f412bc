/** How many may be in work. Time is an argument. */
import { expect, it } from "vitest"
import { WorkLimit } from "@muniment/server/admission/WorkLimit"

/** Work that takes the same time however much of it there is, always offered; what the limit becomes. */
const limitAfter = (limit: WorkLimit, { from, seconds, takes }: { from: number; seconds: number; takes: number }) => {
  const ends: Array<number> = []
  for (let now = from; now < from + seconds * 1_000; now += 1) {
    while (ends.length > 0 && ends[0]! <= now) {
      ends.shift()
      limit.end(1, takes, now)
    }
    while (limit.hasRoom) {
      limit.begin()
      ends.push(now + takes)
    }
  }
  for (const now of ends) limit.end(1, takes, now)
  return limit.limit
}

it("finds its places again when all work takes longer than it did, for another reason than their number", () => {
  const limit = new WorkLimit()
  limitAfter(limit, { from: 0, seconds: 6, takes: 2 })
  expect(limitAfter(limit, { from: 6_000, seconds: 6, takes: 60 })).toBeGreaterThan(16)
})

it("keeps its places while the time in work is waiting for a processor", () => {
  let waiting = 0
  const limit = new WorkLimit({ waitingShare: () => waiting })
  const quiet = limitAfter(limit, { from: 0, seconds: 4, takes: 20 })
  waiting = 0.8
  expect(limitAfter(limit, { from: 4_000, seconds: 4, takes: 100 })).toBeGreaterThanOrEqual(quiet)
})

it("gives up places when the work itself takes longer the more there is", () => {
  const limit = new WorkLimit({ waitingShare: () => 0.5 })
  limitAfter(limit, { from: 0, seconds: 4, takes: 20 })
  const before = limit.limit
  expect(limitAfter(limit, { from: 4_000, seconds: 4, takes: 400 })).toBeLessThan(before)
})
