import { indexConformance } from "../../../support/indexConformance.ts"
import { quantizedEngine } from "../../../support/indexConformanceEngines.ts"

indexConformance(quantizedEngine)
