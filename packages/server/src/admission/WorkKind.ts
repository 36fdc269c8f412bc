/**
 * Kinds of work that take about the same time and wait for the same thing, so that one kind's crowd does not keep the
 * others waiting; from method, path, and words of the body that only the kind's requests contain. A wrong guess costs
 * a place in another line, nothing else.
 */
import { mcpPath, pathOf } from "../paths.ts"

export const workKinds = ["read", "write", "search", "conversation", "answer", "map", "payment"] as const
export type WorkKind = (typeof workKinds)[number]

const conversation = Buffer.from('"conversation"')
const searchTool = Buffer.from('"memory_search"')
const contextTool = Buffer.from('"memory_context"')
const answerMode = Buffer.from('"answer"')
const mapMode = Buffer.from('"map"')
/** Waits for the language model, as an answer does. */
const rerank = Buffer.from('"rerank"')

const createPath = "/v1/memories"
const extractPath = "/v1/memories/extract"
const depositPath = "/v1/credits/deposit"
const searchPath = "/v1/memories/search"
const batchSearchPath = "/v1/memories/batch/search"
const contextPath = "/v1/context"
const chatPath = "/v1/chat"

export const workKindOf = (method: string, url: string, body: Buffer): WorkKind => {
  const path = pathOf(url)
  if (path === depositPath) return "payment"
  if (path === searchPath && method !== "POST") return searchBy(url)
  if (path === searchPath || path === batchSearchPath) return searchIn(body)
  if (path === contextPath || (path === mcpPath && body.includes(contextTool))) return "search"
  if (path === chatPath) return "answer"
  if (path === mcpPath && body.includes(searchTool)) return searchIn(body)
  if ((path === createPath && body.includes(conversation)) || path === extractPath) return "conversation"
  if (path === mcpPath && body.includes(conversation)) return "conversation"
  return method === "GET" || method === "HEAD" || method === "OPTIONS" ? "read" : "write"
}

const searchIn = (body: Buffer): WorkKind =>
  body.includes(answerMode) || body.includes(rerank) ? "answer" : body.includes(mapMode) ? "map" : "search"

const searchBy = (url: string): WorkKind => {
  const [, mode] = /[?&]mode=(answer|map)\b/.exec(url) ?? []
  return mode === "answer" || /[?&]rerank=/.test(url) ? "answer" : mode === "map" ? mode : "search"
}

const messageMethod = '"method"'
const bracket = "[".charCodeAt(0)

/** Messages of an MCP batch; 1 for everything else. At most `max`, which a longer batch is refused for. */
export const unitsIn = (url: string, body: Buffer, max: number): number => {
  if (pathOf(url) !== mcpPath || body.find((byte) => byte > 32) !== bracket) return 1
  let count = 0
  for (let at = body.indexOf(messageMethod); at >= 0 && count < max; at = body.indexOf(messageMethod, at + 1))
    count += 1
  return Math.max(1, count)
}
