/** Schemas whose checks cost the square of their data, and writes that make the service run them all at once. */
import { type Attack, besideVictim, countsOf, type Field, victimGoals } from "../Field.ts"
import { requestBytes, Wire } from "../Wire.ts"

const schemas = 40
const listsPerSchema = 25
const items = 300
const sendersAtOnce = 40

const costly = JSON.stringify({
  type: "object",
  properties: Object.fromEntries(
    Array.from({ length: listsPerSchema }, (_, at) => [
      `list${at}`,
      { type: "array", uniqueItems: true, items: { type: "object" } }
    ])
  )
})

const dataOf = (schema: number) =>
  Object.fromEntries(
    Array.from({ length: listsPerSchema }, (_, at) => [
      `list${at}`,
      Array.from({ length: Math.floor(items / listsPerSchema) * 6 }, (__, item) => ({ schema, item }))
    ])
  )

const stall = async ({ attackerKey: key, seconds, target }: Field): Promise<ReadonlyArray<number>> => {
  const wire = new Wire(target, sendersAtOnce)
  for (let at = 0; at < schemas; at++) {
    // Each text is another schema.
    const body = JSON.stringify({
      name: `costly_${at}`,
      description: `costly ${at}`,
      schema: costly.replace("{", `{"title":"${at}",`)
    })
    await wire.send(requestBytes(target, "POST", "/v1/schemas", { key, body }))
  }
  const writes = Array.from({ length: schemas }, (_, at) => {
    const memories = [{ kind: `costly_${at}`, data: dataOf(at) }]
    return requestBytes(target, "POST", "/v1/memories", { key, body: JSON.stringify({ agentId: "costly", memories }) })
  })
  const statuses: Array<number> = []
  const endMillis = performance.now() + seconds * 1_000
  const sender = async (at: number): Promise<void> => {
    while (performance.now() < endMillis) statuses.push((await wire.send(writes[at % schemas]!)).status)
  }
  await Promise.all(Array.from({ length: sendersAtOnce }, (_, at) => sender(at)))
  wire.close()
  return statuses
}

export const schemaStall: Attack = {
  name: "schemas",
  title: `${schemas} schemas with ${listsPerSchema} lists of unique items each, ${sendersAtOnce} senders`,
  run: async (field) => {
    const { result, ...victim } = await besideVictim(field, () => stall(field))
    return { said: countsOf(result), goals: victimGoals("schema stall", victim, 1_000) }
  }
}
