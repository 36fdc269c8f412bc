/** Calls of the pages about what agents know: facets, threads, subjects, schemas, readings on trial, maps. */
import type { ExtractedMemories } from "@muniment/domain/Memory"
import type { MemorySchema, TriedData } from "@muniment/domain/MemorySchema"
import type { FacetName, FacetOrder, FacetValues } from "@muniment/domain/Search"
import { call, type CallOptions, type QueryValue } from "./api.ts"
import type { MapOfMemories, Memory, MemoryPage, Searched } from "./memories.ts"
import { account } from "./route.ts"

export type Facets = typeof FacetValues.Type
export type Schema = MemorySchema
export type Tried = TriedData
export type Extracted = ExtractedMemories
export type Point = MapOfMemories["points"][number]

type Query = Readonly<Record<string, QueryValue>>

export const facetsOf = (
  facet: FacetName,
  query: Query & { readonly order?: FacetOrder },
  signal: AbortSignal
): Promise<Facets> => call("GET", "/v1/memories/facets", { query: { facet, ...query }, signal })

/** Of the chosen account, unless another is named. */
export const pageOf = (query: Query, signal?: AbortSignal, of = account.value): Promise<MemoryPage> =>
  call("GET", "/v1/memories", {
    query: { limit: pageSize, ...query },
    account: of,
    ...(signal !== undefined && { signal })
  })

const pageSize = 100

/** All pages of one account until `max` memories are there; tells after each how far it is. */
export const allOf = async (
  query: Query,
  max: number,
  signal?: AbortSignal,
  tell: (read: number, total: number) => void = () => undefined
): Promise<{ readonly memories: ReadonlyArray<Memory>; readonly total: number }> => {
  const of = account.value
  const memories: Array<Memory> = []
  let cursor: string | undefined
  let total = 0
  do {
    const page: MemoryPage = await pageOf({ ...query, cursor }, signal, of)
    memories.push(...page.memories)
    total = page.total
    cursor = page.nextCursor
    tell(memories.length, total)
  } while (cursor !== undefined && memories.length < max)
  return { memories, total }
}

export interface ReadMessage {
  readonly id: string
  readonly role: string
  readonly name?: string
  readonly content: string
  readonly sentAt?: string
}

/** Result that a reading of the messages would have; stores nothing. */
export const tryReading = (conversation: ReadonlyArray<ReadMessage>): Promise<Extracted> =>
  call("POST", "/v1/memories/extract", { body: { conversation } })

/** By the schemas of the chosen account, unless `options` name another. */
export const tryData = (body: object, options: Pick<CallOptions, "account" | "signal"> = {}): Promise<Tried> =>
  call("POST", "/v1/schemas/try", { ...options, body })

const builtinNames = [
  "factual_memory",
  "preference_memory",
  "temporal_event",
  "instruction_memory",
  "conversation_message"
]

/** Offered first where a kind is chosen. */
export const usualKind = "factual_memory"

/** Schemas that the account registered, by name, then the built-in kinds. */
export const schemasOf = async (signal: AbortSignal): Promise<ReadonlyArray<Schema>> => {
  const { schemas } = await call("GET", "/v1/schemas", { signal })
  const builtin = await Promise.all(builtinNames.map((name) => call("GET", `/v1/schemas/${name}`, { signal })))
  return [...schemas, ...builtin.map(({ schema }) => schema)]
}

export const saveSchema = (name: string, body: object): Promise<unknown> =>
  call("PATCH", `/v1/schemas/${encodeURIComponent(name)}`, { body })

export const registerSchema = (body: object): Promise<unknown> => call("POST", "/v1/schemas", { body })

export const removeSchema = (name: string): Promise<unknown> =>
  call("DELETE", `/v1/schemas/${encodeURIComponent(name)}`)

/** How many memories the filters match, all versions; deletes them unless it is a dry run. */
export const removeAll = (filters: object, dryRun: boolean): Promise<{ readonly deleted: number }> =>
  call("POST", "/v1/memories/batch/delete", { body: { filters, dryRun, versions: "all" } })

/** In a body, so that a question may be long, and stays out of the logs of proxies. Of the chosen account, unless another is named. */
export const searched = async <A extends Searched>(
  query: Query,
  signal: AbortSignal,
  of = account.value
): Promise<A> => {
  const body = Object.fromEntries(Object.entries(query).flatMap(inJson))
  return (await call("POST", "/v1/memories/search", { body, signal, account: of })) as A
}

export const numberNames: ReadonlySet<string> = new Set(["limit", "minRelevance"])

const inJson = ([name, value]: readonly [string, QueryValue]) =>
  value === undefined || value === "" ? [] : [[name, numberNames.has(name) ? Number(value) : value]]

export const mapOf = (query: Query, signal: AbortSignal): Promise<MapOfMemories> =>
  searched({ mode: "map", scope: "own", ...query }, signal)

/** Without an embedding model there is nothing to search or to draw by but words. */
export const isByWordsAlone = async (signal: AbortSignal): Promise<boolean> => {
  const { checks } = await call("GET", "/health/ready", { signal })
  return checks.embedding.state === "unavailable"
}
