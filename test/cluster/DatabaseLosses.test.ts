/** Three losses of the database under paying callers, one of each kind; `DatabaseLosses.long.test.ts` has twenty. */
import { expect, it } from "vitest"
import { chosenSeed } from "../support/SeededRandom.ts"
import { runDatabaseLosses } from "./DatabaseLosses.ts"

it("whatever way the database is lost, callers are told again and every account pays once", async () => {
  const report = await runDatabaseLosses(3, chosenSeed())
  console.log(report)
  expect(report).toMatchObject({ refused: [], wrong: [], problems: [], defects: [] })
  expect(report.charged).toEqual(report.acknowledged)
})
