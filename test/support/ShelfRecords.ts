/** Many memories of one agent by the fastest way in: the operator's import. */
import type { ServerCalls } from "./TestServer.ts"

/** Records of a request, as many as it may have. */
const batch = 100

interface Shelved {
  readonly subjectId: string
  readonly threadId: string
  readonly data: { readonly subject: string; readonly fact: string }
}

/** Each of a subject and a thread of its own. */
const shelvedAt = (at: number): Shelved => ({
  subjectId: `person-${at}`,
  threadId: `thread-${at}`,
  data: { subject: `item ${at}`, fact: `Item ${at} is on shelf ${at % 97}.` }
})

/** The end of an id names the namespace: each account has its own. */
const recordAt = (at: number, namespace: number, shelved: Shelved) => {
  const createdAt = Date.UTC(2026, 0, 1) + at * 60_000
  return {
    id: `mem_${String(at).padStart(14, "0")}${String(namespace).padStart(12, "0")}`,
    agentId: "shelves",
    kind: "factual_memory",
    ...shelved,
    tags: [],
    mentions: [],
    confidence: 1,
    createdAt,
    updatedAt: createdAt,
    origin: "direct"
  }
}

/** Puts `count` memories into an account: item 0 the oldest, a minute between them. Throws if one is refused. */
export const importShelves = async (
  { asOperator }: Pick<ServerCalls, "asOperator">,
  { account, count, namespace }: { readonly account: string; readonly count: number; readonly namespace: number },
  shelved = shelvedAt
): Promise<void> => {
  for (let from = 0; from < count; from += batch) {
    const records = Array.from({ length: Math.min(batch, count - from) }, (_, at) =>
      recordAt(from + at, namespace, shelved(from + at))
    )
    const { body, status } = await asOperator("POST", "/admin/import", { account, records })
    if (status !== 200 || body.imported !== records.length) throw new Error(`import: ${status} ${JSON.stringify(body)}`)
  }
}
