/** A power cut loses nothing that was acknowledged over the commit log: a few real ones, and a few of images. */
import { describe, expect, it } from "vitest"
import { imageDisk, realDisk } from "../support/PowerCuts.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { runLogCuts } from "./LogCuts.ts"

const cuts = 3

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
