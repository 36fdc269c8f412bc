/** The clock of the day of one node jumps, stays wrong for a while, and jumps back. */
import { ofEachNode } from "./Fault.ts"

const moveMillis = 10 * 60_000

export const clockFaults = ([1, -1] as const).flatMap((sign) =>
  ofEachNode(
    (which) => `clock of ${which} ${sign > 0 ? "ahead" : "behind"}`,
    async (node, { away, means }) => {
      const isOver = away()
      means.moveClock(node, sign * moveMillis)
      return { heal: () => isOver.then(() => means.moveClock(node, 0)) }
    }
  )
)
