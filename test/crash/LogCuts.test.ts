/** A power cut loses nothing that was acknowledged over the commit log: a few real ones, and a few of images. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { describe, expect, it } from "vitest"
import { imageDisk, realDisk } from "../support/PowerCuts.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { patienceMillis, repository } from "../support/TestServer.ts"
import { runLogCuts } from "./LogCuts.ts"

const cuts = 2

describe(`${cuts} power cuts while agents write`, () => {
  const holds = async (disk: Parameters<typeof runLogCuts>[0]) => {
    const seed = chosenSeed()
    const report = await runLogCuts(disk, cuts, new SeededRandom(seed))
    console.log(`seed ${seed}: ${JSON.stringify(report)}`)
    expect(report).toMatchObject({ cuts, faults: [] })
    expect(report.stored).toBeGreaterThan(cuts)
  }

  it("of a real disk: nothing is lost, doubled, out of order or refused", async () => {
    const disk = realDisk(256)
    // The machine cannot, as the message says; the images below hold for it.
    if (disk !== undefined) await holds(disk)
  })

  it("as images of what was synced: nothing is lost, doubled, out of order or refused", () => holds(imageDisk()))
})

it("a test's process that is killed leaves no disk mounted", async () => {
  const script = `
    const { realDisk } = await import(${JSON.stringify(join(repository, "test/support/PowerCuts.ts"))})
    console.log(realDisk(64)?.directory)
    setInterval(() => undefined, 1_000)`
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const ended = once(child, "exit")
  const [directory] = (await once(createInterface({ input: child.stdout }), "line")) as [string]
  const isMounted = () => readFileSync("/proc/self/mounts", "utf8").includes(directory)
  // The machine cannot, as the message says.
  const canMount = directory !== "undefined"
  if (canMount) expect(isMounted()).toBe(true)
  child.kill("SIGKILL")
  await ended
  if (!canMount) return
  await expect.poll(() => existsSync(join(directory, "..")), { timeout: patienceMillis }).toBe(false)
  expect(isMounted()).toBe(false)
})
