/** A backup that follows a service in use is restored at any moment that it says it has (operations: Back up and restore). */
import { afterAll, beforeAll, expect, it } from "vitest"
import { expectMoment, listed, type MomentsRun, writeAndFollow } from "../support/BackupMoments.ts"
import { done, environmentOf, fill, refused, restored, scratch } from "../support/BackupRun.ts"
import { filesWith } from "../support/filesWith.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

const seed = chosenSeed()
const random = new SeededRandom(seed)

let server: TestServer
let run: MomentsRun
beforeAll(async () => {
  server = await startServer({ environment: withoutModel })
  run = await writeAndFollow(server, 48)
})
afterAll(() => server.stop())

it(`every answer at two random moments under load is that of the moment (seed ${seed})`, async () => {
  for (let count = 0; count < 2; count++) await expectMoment(run, random)
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

it("what was erased is in no file of a backup that was made after it", async () => {
  const to = scratch("erased")
  const environment = environmentOf(server)
  const [id] = await fill(server, "erased", ["Wolpertinger"])
  await fill(server, "erased", ["Basilisk"])
  await done(["backup", "create", "--to", to], environment)
  expect(filesWith(to, "Wolpertinger")).not.toEqual([])
  expect((await server.call("DELETE", `/v1/memories/${id}`)).status).toBe(200)
  const later = scratch("erased-later")
  await done(["backup", "create", "--to", later], environment)
  expect(filesWith(later, "Wolpertinger")).toEqual([])
  const again = await restored(later)
  expect((await again.call("GET", "/v1/memories?agentId=erased")).body.memories).toHaveLength(1)
  await again.stop()
})
