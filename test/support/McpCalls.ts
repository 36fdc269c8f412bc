/**
 * The official MCP client as a caller of a `TestServer`: over HTTP with a key or a wallet that signs each
 * body, and over stdio through `muniment mcp`. What an agent reads is in the one text item of an answer.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { expect } from "vitest"
import type { WalletSigner } from "@muniment/trust/WalletSigner"
import { type Answer, entry, repository, type ServerCalls } from "./TestServer.ts"
import { walletHeaders } from "./TrustCalls.ts"

export interface ToolAnswer {
  readonly isError: boolean
  /** What an agent reads. */
  readonly text: string
  /** The JSON of the text. */
  readonly json: Answer["body"]
  readonly meta: Answer["body"]
  readonly structured: Answer["body"]
}

export interface McpCaller {
  readonly client: Client
  readonly tools: () => Promise<ReadonlyArray<Answer["body"]>>
  readonly toolNames: () => Promise<ReadonlyArray<string>>
  readonly call: (name: string, given?: object, meta?: Record<string, unknown>) => Promise<ToolAnswer>
  readonly close: () => Promise<void>
}

type Headers = Readonly<Record<string, string>>

/** A client with an API key. */
export const mcpCaller = async (server: ServerCalls, key: string, headers: Headers = {}): Promise<McpCaller> => {
  const caller = await callerOver(httpTransport(server, { authorization: `Bearer ${key}`, ...headers }))
  // From here on the client holds structured content to the schemas that were listed.
  await caller.tools()
  return caller
}

/** A client whose every request is signed by a wallet. */
export const walletCaller = (server: ServerCalls, signer: WalletSigner, headers: Headers = {}): Promise<McpCaller> =>
  callerOver(
    httpTransport(server, headers, async (url, init) => {
      const { pathname } = new URL(url)
      const body = typeof init?.body === "string" ? init.body : ""
      const signed = await walletHeaders(signer, init?.method ?? "GET", pathname, body)
      return fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...signed } })
    })
  )

/** A client of `muniment mcp`, which is started for it. */
export const stdioCaller = (options: StdioOptions): Promise<McpCaller> =>
  callerOver(
    new StdioClientTransport({
      command: process.execPath,
      args: [entry, "mcp", ...options.args],
      cwd: repository,
      env: { PATH: process.env["PATH"] ?? "", ...options.env },
      stderr: "pipe"
    })
  )

export interface StdioOptions {
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

const httpTransport = (
  server: ServerCalls,
  headers: Headers,
  fetchSigned?: (url: string | URL, init?: RequestInit) => Promise<Response>
): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers },
    ...(fetchSigned !== undefined && { fetch: fetchSigned })
  })

const callerOver = async (transport: Transport): Promise<McpCaller> => {
  const client = new Client({ name: "muniment-test", version: "1.0.0" })
  await client.connect(transport)
  const tools = async () => (await client.listTools()).tools
  return {
    client,
    tools,
    toolNames: async () => (await tools()).map(({ name }) => name),
    call: async (name, given = {}, meta) => {
      const answer: Answer["body"] = await client.callTool({
        name,
        arguments: { ...given },
        ...(meta !== undefined && { _meta: meta })
      })
      const { text } = answer.content[0]
      if (answer.structuredContent !== undefined) {
        expect([answer.content.length, JSON.parse(text)]).toEqual([1, answer.structuredContent])
      }
      return {
        isError: answer.isError === true,
        text,
        get json() {
          return JSON.parse(text)
        },
        meta: answer._meta ?? {},
        structured: answer.structuredContent
      }
    },
    close: () => client.close()
  }
}

/** REST's answer as a tool gives it, of short data: without what stands in a memory twice, and what places a map. */
export const shortened = ({ clusters, points: _points, ...rest }: Answer["body"]): Answer["body"] => {
  const short = ({ metadata, ...memory }: Answer["body"]) => {
    const isHit = memory.quality !== undefined
    const twice = { ...memory.data, ...memory.context?.metadata, ...(memory.context && { tags: true }) }
    const left = {
      ...twice,
      ...(isHit && { confidence: true }),
      ...(isHit && memory.source === "own" && { contentHash: true })
    }
    return { ...memory, metadata: Object.fromEntries(Object.entries(metadata).filter(([name]) => !(name in left))) }
  }
  const listed = ["memories", "hits", "created", "updated", "existing"].filter((name) => Array.isArray(rest[name]))
  return {
    ...rest,
    ...Object.fromEntries(listed.map((name) => [name, rest[name].map(short)])),
    ...(rest.memory !== undefined && { memory: short(rest.memory) }),
    ...(clusters !== undefined && {
      clusters: clusters.map(({ position: _at, ...cluster }: Answer["body"]) => cluster)
    })
  }
}

/** One message by hand, whatever it says. */
export const rpc = (server: ServerCalls, message: unknown, headers: Headers = {}): Promise<Answer> =>
  server.call("POST", "/mcp", { body: message, headers })

export const request = (method: string, params: object = {}, id: string | number = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  params
})
