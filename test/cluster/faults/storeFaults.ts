/**
 * The store of bases is away, or answers every call with an error, while a node is killed whose agents others take over:
 * those that have a base are served again when the store is.
 */
import type { ObjectStore } from "../../support/ObjectStore.ts"
import type { Fault } from "./Fault.ts"

const without = (name: string, strike: (store: ObjectStore) => void): Fault => ({
  name,
  strike: async ({ away, other, store }) => {
    strike(store)
    const isBack = away().then(() => store.mend())
    await other.kill()
    return { heal: () => isBack.then(() => other.startAgain()) }
  }
})

export const storeFaults = [
  without("kill other, store cut", (store) => store.link.cut()),
  without("kill other, store held", (store) => store.link.hold()),
  without("kill other, store fails", (store) => store.fail())
]
