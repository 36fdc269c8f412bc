/** A backup that follows a service in use is restored at any moment that it says it has (operations: Back up and restore). */
import { beforeAll, expect, it } from "vitest"
import { expectMoment, listed, type MomentsRun, writeAndFollow } from "../support/BackupMoments.ts"
import { done, refused, restored, scratch } from "../support/BackupRun.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { useServer } from "../support/useServer.ts"

const seed = chosenSeed()
const random = new SeededRandom(seed)

const server = useServer({ environment: withoutModel })
let run: MomentsRun
beforeAll(async () => {
  run = await writeAndFollow(server, 48)
})

it(`every answer at a random moment under load is that of the moment (seed ${seed})`, async () => {
  await expectMoment(run, random)
}, 300_000)

it("rounds without erasures continue one backup, and it verifies", async () => {
  const backups = await listed(run.to)
  expect(backups.length).toBeLessThanOrEqual(2)
  await done(["backup", "verify", "--from", run.to])
})

it("an ordinal is a moment too, and moments that no backup has are refused", async () => {
  const [first, last] = (await listed(run.to)).at(-1)!.until!.ordinals
  const again = await restored(run.to, ["--until", String(first)])
  expect((await again.call("GET", "/v1/memories?agentId=before")).body.memories).toHaveLength(1)
  await again.stop()
  for (const until of [String(last + 1), "2001-01-01T00:00:00Z", "2101-01-01"])
    await refused(
      ["restore", "--from", run.to, "--to", scratch("moment"), "--until", until],
      "No backup has the moment"
    )
  await refused(["restore", "--from", run.to, "--to", scratch("moment"), "--until", "soon"], "neither a time")
})
