import { indexPins } from "@muniment/engine/vectors/planner/Planner"
import { indexConformance, pinnedConformance } from "../../../support/indexConformance.ts"
import { plannedEngine } from "../../../support/indexConformanceEngines.ts"

for (const pin of indexPins) {
  const engine = await plannedEngine(pin)
  if (pin === "auto") indexConformance(engine)
  else pinnedConformance(engine)
}
