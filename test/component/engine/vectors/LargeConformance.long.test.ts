/** The conformance suite at sizes that take minutes: more lists, longer churn, a larger oracle. */
import { indexConformance } from "../../../support/indexConformance.ts"
import { plannedEngine, quantizedEngine } from "../../../support/indexConformanceEngines.ts"

const sizes = [100, 30_000]
const distributionSize = 20_000

indexConformance({ ...quantizedEngine, sizes, distributionSize })
indexConformance({ ...(await plannedEngine("auto")), sizes, distributionSize })
