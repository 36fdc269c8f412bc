/** Two faults at once: a second one before the cluster is over the first. */
import type { Fault } from "./Fault.ts"

const killDuringCut: Fault = {
  name: "serving cut from database, other killed",
  strike: async ({ away, databaseLink, other, serving }) => {
    const isOver = away()
    databaseLink(serving).cut()
    await other.kill()
    return {
      heal: async () => {
        await isOver
        databaseLink(serving).mend()
        await other.startAgain()
      }
    }
  }
}

const cutDuringKill: Fault = {
  name: "serving killed, other cut from database",
  strike: async ({ away, databaseLink, other, serving }) => {
    const isOver = away()
    await serving.kill()
    databaseLink(other).cut()
    return {
      heal: async () => {
        await isOver
        databaseLink(other).mend()
        await serving.startAgain()
      }
    }
  }
}

const killDuringTakeover: Fault = {
  name: "serving killed, its successor killed",
  strike: async ({ nodes, serving, servingNow }) => {
    await serving.kill()
    const successor = await servingNow()
    const sinceMillis = performance.now()
    await successor.kill()
    return {
      sinceMillis,
      heal: () => Promise.all(nodes.filter(({ pid }) => pid === undefined).map((node) => node.startAgain()))
    }
  }
}

export const doubleFaults = [killDuringCut, cutDuringKill, killDuringTakeover]
