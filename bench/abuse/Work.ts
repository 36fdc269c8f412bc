/** The four kinds of work that are offered: each call gives the bytes of the next request of one account. */
import { requestBytes, type Target } from "./Wire.ts"
import type { NextRequest } from "./Load.ts"

/** Those that leave vectors to be made for minutes come last, or the others would be measured beside that. */
export const kindsOfWork = ["searches", "mcp", "conversations", "writes"] as const
export type KindOfWork = (typeof kindsOfWork)[number]

/** Memories that searches look through, stored before. */
const seededMemories = 400
const agents = 8

const topics = ["sailing", "bread", "tax returns", "violin lessons", "a broken boiler", "the marathon", "bees", "chess"]
const places = ["Porto", "Oslo", "Graz", "Kyoto", "Leeds", "Quito", "Turin", "Bergen", "Cork"]

const textOf = (number: number): string =>
  `Note ${number}: Ann talked about ${topics[number % topics.length]!} in ${places[number % places.length]!}.`

const memoryOf = (number: number) => ({ kind: "factual_memory", data: { subject: "Ann", fact: textOf(number) } })

/** Requests that store what the searches look through. */
export const seeds = (target: Target, key: string): ReadonlyArray<Buffer> =>
  Array.from({ length: seededMemories / 50 }, (_, part) =>
    requestBytes(target, "POST", "/v1/memories", {
      key,
      body: JSON.stringify({
        agentId: "reader",
        memories: Array.from({ length: 50 }, (__, at) => memoryOf(part * 50 + at))
      })
    })
  )

export const workOf = (kind: KindOfWork, target: Target, key: string): NextRequest => {
  let number = 0
  const run = Math.trunc(performance.now())
  const post = (path: string, body: object) => requestBytes(target, "POST", path, { key, body: JSON.stringify(body) })
  const query = () => `${topics[number % topics.length]!} in ${places[number % places.length]!}`
  const makers: Readonly<Record<KindOfWork, () => Buffer>> = {
    writes: () => post("/v1/memories", { agentId: `writer-${number % agents}`, memories: [memoryOf(number)] }),
    searches: () =>
      requestBytes(target, "GET", `/v1/memories/search?agentId=reader&query=${encodeURIComponent(query())}`, { key }),
    conversations: () =>
      post("/v1/memories", {
        agentId: `listener-${number % agents}`,
        threadId: `${run}-${number}`,
        conversation: [
          { role: "user", content: `I moved to ${places[number % places.length]!} last week. ${textOf(number)}` },
          { role: "assistant", content: "How do you like it?" }
        ]
      }),
    mcp: () =>
      post("/mcp", {
        jsonrpc: "2.0",
        id: number,
        method: "tools/call",
        params: { name: "memory_search", arguments: { agentId: "reader", query: query() } }
      })
  }
  return () => {
    number += 1
    return makers[kind]()
  }
}
