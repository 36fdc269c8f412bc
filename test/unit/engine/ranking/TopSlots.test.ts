import { topSlots } from "@muniment/engine/ranking/Fusion"
import fc from "fast-check"
import { describe, expect, it } from "vitest"

const oldestFirst = (left: number, right: number): number => left - right

describe("the best of scored slots", () => {
  it.each([1, 3, 40, 1e6])("are those of a sort, with %i different scores", (levels) => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: levels }), { minLength: 1, maxLength: 6_000, size: "max" }),
        fc.integer({ min: 0, max: 150 }),
        (steps, limit) => {
          const scores = Float64Array.from(steps, (step) => step / 7)
          const slots = Uint32Array.from(steps, (_, at) => at)
          const timeOf = (slot: number) => (slot * 7) % 11
          const best = [...slots].sort(
            (left, right) => scores[right]! - scores[left]! || timeOf(right) - timeOf(left) || oldestFirst(left, right)
          )
          const found = [...topSlots(slots, scores, limit, { timeOf, before: oldestFirst })].sort(oldestFirst)
          expect(found).toEqual(best.slice(0, limit).sort(oldestFirst))
        }
      ),
      { numRuns: 40 }
    )
  })
})
