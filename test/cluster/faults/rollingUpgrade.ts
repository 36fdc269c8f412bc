/** Each node is stopped as planned and started again from the other build, while the others serve. */
import type { Fault } from "./Fault.ts"

export const rollingUpgrade: Fault = {
  name: "rolling upgrade",
  strike: async ({ builds, nodes, object }) => {
    const sinceMillis = performance.now()
    let longest = 0
    for (const node of nodes) {
      const begunMillis = performance.now()
      const code = await node.stop()
      longest = Math.max(longest, performance.now() - begunMillis)
      if (code !== 0) object(`${node.name} ended with ${code}`)
      node.entry = builds.find((entry) => entry !== node.entry)!
      await node.startAgain()
    }
    return { sinceMillis, heal: () => Promise.resolve(), exitMillis: Promise.resolve(longest) }
  }
}
