/** The load generator's process: one load at a time, each answered with its tally. Ends with its parent. */
import { setPriority } from "node:os"
import type { GeneratorSettings, Load } from "./Generator.ts"
import { closedLoop, openLoop, type Tally } from "./Load.ts"
import { Wire } from "./Wire.ts"
import { workOf } from "./Work.ts"

const niceness = 15

const { connectionsMax, target } = JSON.parse(process.argv[2] ?? "") as GeneratorSettings
// The second account is measured from the same processor: its answers must not wait for the flood's.
setPriority(niceness)
const wire = new Wire(target, connectionsMax)

const carriedOut = ({ arrivals, key, kind, seconds }: Load): Promise<Tally> => {
  const next = workOf(kind, target, key)
  return "callers" in arrivals
    ? closedLoop(wire, next, arrivals.callers, seconds)
    : openLoop(wire, next, arrivals.perSecond, seconds)
}

process.on("message", (load: Load) => void carriedOut(load).then((tally) => process.send?.(tally)))
process.once("disconnect", () => process.exit(0))
