/**
 * Conformance suite of all vector engines. Every answer is checked for the properties that no engine may violate
 * (`expectSound`), and its recall is measured against an oracle that shares no code with the engines.
 */
import { describe } from "vitest"
import { changesConformance } from "./indexConformanceChanges.ts"
import { distributionConformance } from "./indexConformanceDistributions.ts"
import type { EngineUnderTest } from "./indexConformanceCheck.ts"
import { erasureConformance } from "./indexConformanceErasure.ts"
import { filterConformance } from "./indexConformanceFilters.ts"
import { recallConformance } from "./indexConformanceRecall.ts"
import { segmentConformance } from "./indexConformanceSegments.ts"

export const indexConformance = (engine: EngineUnderTest): void => {
  describe(engine.name, () => {
    recallConformance(engine)
    distributionConformance(engine)
    filterConformance(engine)
    changesConformance(engine)
    erasureConformance(engine)
    segmentConformance(engine)
  })
}

/** For an engine that passes all of it by itself: what whoever leads to it may still get wrong. */
export const pinnedConformance = (engine: EngineUnderTest): void => {
  describe(engine.name, () => {
    distributionConformance(engine)
    changesConformance(engine)
    erasureConformance(engine)
  })
}
