import { QuantizedIndex } from "@muniment/engine/vectors/lists/QuantizedIndex"
import { expect, it } from "vitest"
import { indexConformance } from "../../../support/indexConformance.ts"
import { filled } from "../../../support/indexConformanceCheck.ts"
import { quantizedEngine } from "../../../support/indexConformanceEngines.ts"
import { vectorsOf } from "../../../support/indexConformanceVectors.ts"

indexConformance(quantizedEngine)

it("the sizes of the suite bring the quantised engine into each of its forms: one list, and many", () => {
  const [small, , large] = quantizedEngine.sizes.map((size) => {
    const index = filled(quantizedEngine, vectorsOf("clustered", 1, 16, size, 0).rows, 16)
    return index instanceof QuantizedIndex ? index.lists : 0
  })
  expect(small).toBe(1)
  expect(large).toBeGreaterThan(30)
})
