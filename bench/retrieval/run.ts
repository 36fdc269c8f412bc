/**
 * The retrieval suite with options of its own, its report printed instead of stored.
 * `node bench/retrieval/run.ts [--data DIR] [--models DIR] [--model ID]...`
 */
import { reportText } from "../kit/Report.ts"
import { readOptions } from "./Options.ts"
import { defaultModels, measure } from "./suite.ts"

const { dataDir, modelsDir, modelIds } = readOptions("run.ts")
const report = await measure({
  data: dataDir,
  modelsDir,
  modelIds: modelIds.length === 0 ? defaultModels : modelIds,
  command: "node bench/retrieval/run.ts"
})
process.stdout.write(reportText(report, new Date(), []))
