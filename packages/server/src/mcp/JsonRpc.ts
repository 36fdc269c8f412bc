/**
 * Messages of JSON-RPC 2.0 as the Model Context Protocol uses them: an id is a string or a number and never null,
 * parameters are an object. Reading never fails: anything else is `Malformed`, with the error that answers it.
 */
import { Schema } from "effect"
import { isJsonObject } from "@muniment/domain/Json"
import { type JsonObject, JsonObject as AnyObject } from "@muniment/domain/Memory"
import { serviceVersion } from "../version.ts"

type RpcId = string | number

export type RpcMessage =
  | { readonly _tag: "Request"; readonly id: RpcId; readonly method: string; readonly params: JsonObject }
  | { readonly _tag: "Notification" }
  /** To a request of the server, which sends none. */
  | { readonly _tag: "Response" }
  | { readonly _tag: "Malformed"; readonly answer: RpcAnswer }

interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonObject
}

export type RpcAnswer =
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly result: JsonObject }
  | { readonly jsonrpc: "2.0"; readonly id: RpcId | null; readonly error: RpcError }

export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  /** Until 2025-11-25; later revisions call it invalid parameters. */
  resourceNotFound: -32_002,
  /** First of the codes reserved for servers; SDKs use it for refusals of HTTP. */
  refused: -32_000,
  /** Codes of the protocol from 2026-07-28 on. */
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
  /** Ours, as the status of HTTP. */
  paymentRequired: 402
} as const

/** A request that ends in an error of the protocol, not of a tool. */
export class RpcFailure extends Schema.TaggedError<RpcFailure>()("RpcFailure", {
  code: Schema.Int,
  reason: Schema.String,
  data: Schema.optionalKey(AnyObject)
}) {
  override get message(): string {
    return this.reason
  }
}

export const resultAnswer = (id: RpcId, result: JsonObject): RpcAnswer => ({ jsonrpc: "2.0", id, result })

export const errorAnswer = (id: RpcId | null, code: number, message: string, data?: JsonObject): RpcAnswer => ({
  jsonrpc: "2.0",
  id,
  error: { code, message, ...(data !== undefined && { data }) }
})

/** One parsed message; the caller splits batches. */
export const readMessage = (json: unknown): RpcMessage => {
  if (!isJsonObject(json)) return malformed(null, "a message is a JSON object")
  const { id, jsonrpc, method, params } = json
  const known = isRpcId(id) ? id : null
  if (jsonrpc !== "2.0") return malformed(known, '`jsonrpc` must be "2.0"')
  if (method === undefined && (json["result"] !== undefined || json["error"] !== undefined)) {
    return known === null ? malformed(null, "a response has the `id` of its request") : { _tag: "Response" }
  }
  if (typeof method !== "string") return malformed(known, "`method` must be a string")
  if (id === undefined) return { _tag: "Notification" }
  if (!isRpcId(id)) return malformed(null, "`id` must be a string or a number")
  if (params !== undefined && !isJsonObject(params)) {
    return { _tag: "Malformed", answer: errorAnswer(id, rpcCodes.invalidParams, "`params` must be an object") }
  }
  return { _tag: "Request", id, method, params: params ?? {} }
}

const isRpcId = (id: unknown): id is RpcId => typeof id === "string" || typeof id === "number"

const malformed = (id: RpcId | null, reason: string): RpcMessage => ({
  _tag: "Malformed",
  answer: errorAnswer(id, rpcCodes.invalidRequest, reason)
})

/**
 * Revisions of the Model Context Protocol that are spoken here, by their days. Those with a handshake agree on one in
 * `initialize`; from 2026-07-28 on each request says its own.
 *
 * Oldest first.
 */
export const handshakeVersions: ReadonlyArray<string> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
export const latestHandshakeVersion = handshakeVersions.at(-1)!

const statelessVersion = "2026-07-28"

/** Newest first, as a client would choose. */
export const supportedVersions: ReadonlyArray<string> = [statelessVersion, ...handshakeVersions.toReversed()]

/** From this one on a body is one message. */
const firstWithoutBatches = "2025-06-18"
/** Version of clients that name none (MCP 2025-06-18, transports). */
const assumedVersion = "2025-03-26"

export const hasBatches = (protocolVersion: string = assumedVersion): boolean => protocolVersion < firstWithoutBatches

type Request = Extract<RpcMessage, { readonly _tag: "Request" }>
type Headers = Readonly<Record<string, string | undefined>>

/**
 * Additions of MCP 2026-07-28 to a request and its result: `_meta` says version and capabilities, headers repeat parts
 * of the body for those who read no bodies, results say their type and how long they may be kept.
 *
 * Invariant: a header never differs from the body that is served (MCP 2026-07-28, Streamable HTTP, Server Validation).
 */
export const discoverMethod = "server/discover"
export const serverInfo = { name: "muniment", title: "Muniment", version: serviceVersion } as const

const metaNames = {
  version: "io.modelcontextprotocol/protocolVersion",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  serverInfo: "io.modelcontextprotocol/serverInfo"
} as const

/** Methods whose subject is repeated in `Mcp-Name`, with the parameter that names it. */
const subjectOf: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri"
}

/** Whether the request is stateless, by what it says or its header alone: others name a version of their handshake. */
export const isStateless = (message: RpcMessage, headers: Headers): message is Request => {
  if (message._tag !== "Request") return false
  const versions = [declared(message), headers["mcp-protocol-version"]]
  return (
    message.method === discoverMethod ||
    versions.some((version) => version !== undefined && !handshakeVersions.includes(String(version)))
  )
}

/** The answer, with status 400, to a request that cannot be served; undefined for one that can. */
export const statelessRefusal = (request: Request, headers: Headers): RpcAnswer | undefined => {
  const { id, method, params } = request
  const version = declared(request)
  const header = headers["mcp-protocol-version"]
  if (version === undefined && header !== undefined && header !== statelessVersion) return unsupported(id, header)
  if (typeof version !== "string") return missing(id, metaNames.version, "a string")
  if (header !== version) return mismatch(id, "MCP-Protocol-Version", `_meta["${metaNames.version}"]`)
  if (version !== statelessVersion) return unsupported(id, version)
  if (!isJsonObject(metaOf(params)[metaNames.capabilities])) return missing(id, metaNames.capabilities, "an object")
  if (headers["mcp-method"] !== method) return mismatch(id, "Mcp-Method", "`method`")
  const subject = Object.hasOwn(subjectOf, method) ? subjectOf[method]! : undefined
  return subject === undefined || plainHeader(headers["mcp-name"]) === params[subject]
    ? undefined
    : mismatch(id, "Mcp-Name", `\`params.${subject}\``)
}

/** How long a client may keep the result of a method, and whether others may have it. */
const caching: Readonly<Record<string, JsonObject>> = {
  [discoverMethod]: { ttlMs: 3_600_000, cacheScope: "public" },
  // A schema that was just registered is a tool.
  "tools/list": { ttlMs: 5_000, cacheScope: "private" },
  "prompts/list": { ttlMs: 3_600_000, cacheScope: "public" },
  "resources/templates/list": { ttlMs: 3_600_000, cacheScope: "public" },
  // Memories change at any time.
  "resources/list": { ttlMs: 0, cacheScope: "private" },
  "resources/read": { ttlMs: 0, cacheScope: "private" }
}

export const statelessResult = (method: string, { _meta, ...result }: JsonObject): JsonObject => ({
  resultType: "complete",
  ...result,
  ...caching[method],
  _meta: { ...(isJsonObject(_meta) && _meta), [metaNames.serverInfo]: serverInfo }
})

const metaOf = ({ _meta }: JsonObject): JsonObject => (isJsonObject(_meta) ? _meta : {})

const declared = ({ params }: Request) => metaOf(params)[metaNames.version]

/** Names that no header can carry are Base64, marked as such. */
const plainHeader = (value: string | undefined): string | undefined => {
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value ?? "")?.[1]
  return encoded === undefined ? value : Buffer.from(encoded, "base64").toString("utf8")
}

const missing = (id: RpcId, name: string, type: string): RpcAnswer =>
  errorAnswer(id, rpcCodes.invalidParams, `_meta["${name}"] must be ${type}`)

const mismatch = (id: RpcId, header: string, place: string): RpcAnswer =>
  errorAnswer(id, rpcCodes.headerMismatch, `the header ${header} must be given and equal ${place}`)

const unsupported = (id: RpcId, requested: string): RpcAnswer =>
  errorAnswer(id, rpcCodes.unsupportedVersion, "Unsupported protocol version", {
    supported: supportedVersions,
    requested
  })
