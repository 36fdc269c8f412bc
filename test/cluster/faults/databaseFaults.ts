/** The database ends at once and comes back, or a node does not reach it. */
import { type Fault, ofEachNode } from "./Fault.ts"

const killed: Fault = {
  name: "database killed",
  strike: async ({ postgres }) => {
    await postgres.kill()
    await postgres.startAgain()
    return { heal: () => Promise.resolve() }
  }
}

const cuts = ofEachNode(
  (which) => `${which} cut from database`,
  async (node, { away, databaseLink }) => {
    const isOver = away()
    databaseLink(node).cut()
    return { heal: () => isOver.then(() => databaseLink(node).mend()) }
  }
)

const held: Fault = {
  name: "serving held from database",
  strike: async ({ away, databaseLink, serving }) => {
    const isOver = away()
    databaseLink(serving).hold()
    return { heal: () => isOver.then(() => databaseLink(serving).mend()) }
  }
}

export const databaseFaults = [killed, ...cuts, held]
