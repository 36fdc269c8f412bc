import { indexConformance } from "../../../support/indexConformance.ts"
import { exactEngine } from "../../../support/indexConformanceEngines.ts"

indexConformance(exactEngine)
