/**
 * Additions of MCP 2026-07-28 to a request and its result: `_meta` says version and capabilities, headers repeat parts
 * of the body for those who read no bodies, results say their type and how long they may be kept.
 *
 * Invariant: a header never differs from the body that is served (MCP 2026-07-28, Streamable HTTP, Server Validation).
 */
import { isJsonObject } from "@muniment/domain/isJsonObject"
import type { JsonObject } from "@muniment/domain/Memory"
import { serviceVersion } from "../version.ts"
import {
  errorAnswer,
  type RpcAnswer,
  type RpcId,
  rpcCodes,
  type RpcMessage,
  handshakeVersions,
  statelessVersion,
  supportedVersions
} from "./JsonRpc.ts"

type Request = Extract<RpcMessage, { readonly _tag: "Request" }>
type Headers = Readonly<Record<string, string | undefined>>

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
