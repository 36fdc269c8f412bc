/**
 * The disk of one node gets full, also for agents that it opens for the first time: others go on, what needs room on it is
 * refused, and it serves again once there is room, without a restart. Measured from then on.
 */
import { ofEachNode } from "./Fault.ts"

export const diskFaults = ofEachNode(
  (which) => `disk of ${which} full`,
  async (node, { away, means, newAgents }) => {
    const isOver = away()
    means.fillDisk(node)
    newAgents()
    await isOver
    means.freeDisk(node)
    return { sinceMillis: performance.now(), heal: () => Promise.resolve() }
  },
  { again: 507 }
)
