/** Nodes whose processes are killed, stopped as planned, or stand still. */
import { ofEachNode } from "./Fault.ts"

const kills = ofEachNode(
  (which) => `kill ${which}`,
  async (node) => {
    await node.kill()
    return { heal: () => node.startAgain() }
  }
)

const stops = ofEachNode(
  (which) => `stop ${which}`,
  async (node, { object }) => {
    const begunMillis = performance.now()
    const stopped = node.stop().then((code) => {
      if (code !== 0) object(`${node.name} ended with ${code}: ${node.output().slice(-500)}`)
      return performance.now() - begunMillis
    })
    return { heal: () => stopped.then(() => node.startAgain()), exitMillis: stopped }
  }
)

const freezes = ofEachNode(
  (which) => `freeze ${which}`,
  async (node, { away }) => {
    const isOver = away()
    node.signal("SIGSTOP")
    return { heal: () => isOver.then(() => node.signal("SIGCONT")) }
  }
)

export const processFaults = [...kills, ...stops, ...freezes]
