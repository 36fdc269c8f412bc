/** Twenty losses of the database under paying callers: `npm run test:long -- test/cluster/DatabaseLosses`. */
import { expect, it } from "vitest"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed } from "../support/SeededRandom.ts"
import { runDatabaseLosses } from "./DatabaseLosses.ts"

const losses = longCount(20)

it(`over ${losses} losses of the database callers are told again and every account pays once`, async () => {
  const report = await runDatabaseLosses(losses, chosenSeed())
  console.log(report)
  expect(report).toMatchObject({ refused: [], wrong: [], problems: [], defects: [] })
  expect(report.charged).toEqual(report.acknowledged)
})
