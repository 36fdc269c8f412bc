/** Large bodies at once: what the service's memory grows by while they are under way. */
import { type Attack, atMost, type Field, type Finding } from "../Field.ts"
import { bodiesAtOnce, largeBodies } from "../Bodies.ts"

const accounts = 4
const megabytesMax = 150

const found = async ({ target, view }: Field, keys: ReadonlyArray<string>): Promise<Finding> => {
  const { grownBytes, refused, served } = await largeBodies(target, keys, view.residentBytes)
  const name = `${bodiesAtOnce} bodies of 1 MiB of ${keys.length}: growth of resident memory`
  return { said: `${served} served, ${refused} refused`, goals: [atMost(name, megabytesMax, grownBytes / 1e6, "MB")] }
}

export const bodiesOfOne: Attack = {
  name: "bodies",
  title: `${bodiesAtOnce} bodies of 1 MiB at once, of one account`,
  run: (field) => found(field, [field.attackerKey])
}

export const bodiesOfSeveral: Attack = {
  name: "bodies-of-several",
  title: `${bodiesAtOnce} bodies of 1 MiB at once, of ${accounts} accounts`,
  run: async (field) => {
    const { own } = field
    if (own === undefined) return undefined
    const keys: Array<string> = []
    for (let at = 0; at < accounts; at++) keys.push(await own.newKey(`large-${at}`))
    return found(field, keys)
  }
}
