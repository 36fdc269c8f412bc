/** Filters with a misspelled name, on every way in: none may be ignored, since the answer would hold too much. */
import { type Attack, atMost, countsOf, type Field } from "../Field.ts"

const names = ["agentId", "subjectId", "threadId", "kind", "tags", "speaker"] as const
/** Names the attacker's own agent too, so that nothing else is deleted where a misspelled filter counts for nothing. */
const agentId = "abuse-typos"

const spellings = (name: string): ReadonlyArray<string> => {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return [...new Set([snake, name.toUpperCase(), `${name}s`, `${name}_`, name.slice(0, -1), `x${name}`])].filter(
    (spelling) => spelling !== name
  )
}

interface Try {
  readonly method: string
  readonly path: string
  readonly body?: object
}

const triesOf = (name: string): ReadonlyArray<Try> => [
  { method: "GET", path: `/v1/memories?agentId=${agentId}&${name}=x` },
  { method: "GET", path: `/v1/memories/search?query=x&agentId=${agentId}&${name}=x` },
  {
    method: "POST",
    path: "/v1/memories/batch/search",
    body: { queries: [{ query: "x", filters: { agentId, [name]: "x" } }] }
  },
  { method: "POST", path: "/v1/memories/batch/delete", body: { filters: { agentId, [name]: "x" } } }
]

const send = async ({ attackerKey, target: { host, port } }: Field, { body, method, path }: Try): Promise<number> => {
  const { status } = await fetch(`http://${host}:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${attackerKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  return status
}

export const typoMatrix: Attack = {
  name: "typos",
  title: "misspelled filters, on every way in",
  run: async (field) => {
    const tries = names.flatMap(spellings).flatMap(triesOf)
    const statuses: Array<number> = []
    for (const one of tries) statuses.push(await send(field, one))
    const ignored = statuses.filter((status) => status < 400).length
    return {
      said: countsOf(statuses),
      goals: [atMost("misspelled filters: ignored", 0, ignored, `of ${tries.length}`)]
    }
  }
}
