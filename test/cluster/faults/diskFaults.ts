/**
 * The disk of one node gets full: others go on, what needs room on it is refused, and it serves again once there is
 * room, without a restart. Measured from then on.
 */
import { ofEachNode } from "./Fault.ts"

export const diskFaults = ofEachNode(
  (which) => `disk of ${which} full`,
  async (node, { away, means }) => {
    const isOver = away()
    means.fillDisk(node)
    await isOver
    means.freeDisk(node)
    return { sinceMillis: performance.now(), heal: () => Promise.resolve() }
  },
  { again: 507 }
)
