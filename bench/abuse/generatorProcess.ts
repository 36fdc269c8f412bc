/** The load generator's process: one load at a time, each answered with its tally. Ends with its parent. */
import type { GeneratorSettings, Load } from "./Generator.ts"
import { closedLoop, openLoop, type Tally } from "./Load.ts"
import { keepToLastProcessor } from "./Processors.ts"
import { Wire } from "./Wire.ts"
import { workOf } from "./Work.ts"

const { connectionsMax, target } = JSON.parse(process.argv[2] ?? "") as GeneratorSettings
keepToLastProcessor(process.pid)
const wire = new Wire(target, connectionsMax)

const carriedOut = ({ arrivals, key, kind, seconds }: Load): Promise<Tally> => {
  const next = workOf(kind, target, key)
  return "callers" in arrivals
    ? closedLoop(wire, next, arrivals.callers, seconds)
    : openLoop(wire, next, arrivals.perSecond, seconds)
}

process.on("message", (load: Load) => void carriedOut(load).then((tally) => process.send?.(tally)))
process.once("disconnect", () => process.exit(0))
