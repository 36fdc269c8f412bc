/** Memories as the service gives them, and the calls of the pages that show them. */
import type { HistoryEntry, MemoryView, SearchHit } from "@muniment/domain/Memory"
import { type Answer, call } from "./api.ts"
import { account } from "./route.ts"

export type Memory = typeof MemoryView.Type
export type Hit = typeof SearchHit.Type
/** By mode. */
export type Searched = Answer<"POST /v1/memories/search">
export type Found = Exclude<Searched, Answered | MapOfMemories>
export type Answered = Extract<Searched, { readonly answer: unknown }>
export type MapOfMemories = Extract<Searched, { readonly memoryMap: unknown }>

export interface MemoryFilters {
  readonly agentId?: string | undefined
  readonly subjectId?: string | undefined
  readonly threadId?: string | undefined
  readonly kind?: string | undefined
  readonly tags?: string | undefined
  /** JSON. */
  readonly data?: string | undefined
  readonly include?: string | undefined
  readonly includeSuperseded?: boolean | undefined
  readonly eventDateFrom?: string | undefined
  readonly eventDateTo?: string | undefined
}

/**
 * Filter from fields as `city=Oslo, age=30`: numbers, true, false, null and quoted texts as in JSON, others as texts.
 */
export const dataFilterOf = (text: string): string | undefined => {
  const pairs = text.split(",").flatMap((pair) => {
    const at = pair.indexOf("=")
    return at < 1 ? [] : [[pair.slice(0, at).trim(), valueOf(pair.slice(at + 1).trim())] as const]
  })
  return pairs.length === 0 ? undefined : JSON.stringify(Object.fromEntries(pairs))
}

const valueOf = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? text : value
  } catch {
    return text
  }
}

export type MemoryPage = Answer<"GET /v1/memories">

export const listMemories = (
  filters: MemoryFilters,
  page: {
    readonly limit: number
    readonly skip?: number
    readonly cursor?: string | undefined
    readonly order?: "asc" | "desc"
  },
  signal: AbortSignal
): Promise<MemoryPage> => call("GET", "/v1/memories", { query: { ...filters, ...page }, signal })

export const getMemory = async (id: string, signal: AbortSignal): Promise<Memory> =>
  (await call("GET", `/v1/memories/${encodeURIComponent(id)}`, { signal })).memory

/** A field that the service adds to the data of a memory. */
export const systemText = ({ metadata }: Pick<Memory, "metadata">, name: string): string | undefined => {
  const value = metadata[name]
  return typeof value === "string" ? value : undefined
}

export const systemNumber = ({ metadata }: Pick<Memory, "metadata">, name: string): number | undefined => {
  const value = metadata[name]
  return typeof value === "number" ? value : undefined
}

export const systemList = ({ metadata }: Pick<Memory, "metadata">, name: string): ReadonlyArray<string> => {
  const value = metadata[name]
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : []
}

/** Where the ids of messages are unique: a conversation of one agent, about one subject. */
export const conversationOf = (memory: Pick<Memory, "metadata">) => ({
  agentId: systemText(memory, "agentId"),
  subjectId: systemText(memory, "subjectId"),
  threadId: systemText(memory, "threadId")
})

/** Its source messages, told from those of the same ids in other conversations. */
export const sourcesOf = (memory: Pick<Memory, "metadata">): ReadonlyArray<string> => {
  const { agentId, subjectId, threadId } = conversationOf(memory)
  return systemList(memory, "sourceMessageIds").map((id) => JSON.stringify([agentId, subjectId, threadId, id]))
}

/** All versions of a memory that still exist, newest first, and how each came about. */
export const historyOf = async (
  id: string,
  signal: AbortSignal,
  of = account.value
): Promise<ReadonlyArray<HistoryEntry>> =>
  (
    await call("GET", `/v1/memories/${encodeURIComponent(id)}/history`, {
      query: { limit: versionsMax },
      account: of,
      signal
    })
  ).versions

const versionsMax = 100

/** Makes an older version the latest one, unless it has changed since it was read. */
export const restoreVersion = async ({ id, version }: Memory): Promise<Memory> =>
  (
    await call("POST", `/v1/memories/${encodeURIComponent(id)}/restore`, {
      headers: { "if-match": `"${version}"` }
    })
  ).memory

/** Keeps with a memory whether it was of use for a question. */
export const giveFeedback = (id: string, query: string, useful: boolean): Promise<unknown> =>
  call("POST", `/v1/memories/${encodeURIComponent(id)}/feedback`, { body: { useful, query } })

export const changeTags = async (id: string, tags: ReadonlyArray<string>): Promise<Memory> =>
  (await call("PATCH", `/v1/memories/${encodeURIComponent(id)}`, { body: { tags } })).memory
