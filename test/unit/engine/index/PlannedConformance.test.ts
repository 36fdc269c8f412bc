import { indexPins } from "@muniment/engine/index/Planner"
import { indexConformance } from "../../../support/indexConformance.ts"
import { plannedEngine } from "../../../support/indexConformanceEngines.ts"

for (const pin of indexPins) indexConformance(await plannedEngine(pin))
