/**
 * Random moments of a run under load, each restored and compared. Each is printed, so that a run that was cut off says how
 * far it came; `MUNIMENT_TEST_COUNT` is their number.
 */
import { expect, it } from "vitest"
import { expectMoment, writeAndFollow } from "../support/BackupMoments.ts"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { startServer } from "../support/TestServer.ts"

const moments = longCount(100)

const seed = chosenSeed()

it(`${moments} moments (seed ${seed})`, async () => {
  const random = new SeededRandom(seed)
  const server = await startServer({ environment: withoutModel })
  const run = await writeAndFollow(server, 400, 8)
  await server.stop()
  expect(run.written).toHaveLength(400)
  for (let count = 1; count <= moments; count++) {
    await expectMoment(run, random)
    console.log(`moment ${count} of ${moments} (seed ${seed}): every answer was right`)
  }
}, 3_600_000)
