/** 200 power cuts over the commit log: real ones where the machine can, else of images. */
import { expect, it } from "vitest"
import { imageDisk, realDisk } from "../support/PowerCuts.ts"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { runLogCuts } from "./LogCuts.ts"

const cuts = longCount(200)

it(`loses, doubles, reorders and refuses nothing in ${cuts} power cuts`, async () => {
  const seed = chosenSeed()
  const disk = realDisk(1_024)
  const onCut = (cut: number) => console.log(`cut ${cut} of ${cuts} (seed ${seed}): all was right`)
  const report = await runLogCuts(disk ?? imageDisk(), cuts, new SeededRandom(seed), { onCut })
  console.log(`${disk === undefined ? "images" : "real disk"}, seed ${seed}: ${JSON.stringify(report)}`)
  expect(report).toMatchObject({ cuts, faults: [] })
}, 3_600_000)
