import { indexConformance } from "../../../support/indexConformance.ts"
import { hnswEngine } from "../../../support/indexConformanceEngines.ts"

indexConformance(await hnswEngine())
