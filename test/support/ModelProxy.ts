/**
 * Stands before a language model's server: passes each request on and keeps it with its reply. It can shorten the length
 * that a reply may have, wait before it passes on, and answer in the server's place.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"
import { codeOf } from "./FencedPrompt.ts"

export interface ProxiedRequest {
  readonly body: Readonly<Record<string, unknown>>
  /** The text of all its turns, without the code of its fence, which each request draws anew. */
  readonly turns: string
  /** What the user's first turn says: data in sections, as `FencedPrompt.ts` reads them. */
  readonly prompt: string
}

export interface ProxiedReply {
  readonly status: number
  readonly text: string
  /** As the server says it: `stop`, `length`. */
  readonly finish: string | undefined
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface Misbehaviour {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
}

/** A reply in prose, where JSON was asked for. */
export const prose = (text: string): Misbehaviour => ({
  status: 200,
  body: { choices: [{ message: { role: "assistant", content: text }, finish_reason: "stop" }] }
})

export interface ModelProxy extends AsyncDisposable {
  /** What `MUNIMENT_LLM_BASE_URL` is. */
  readonly baseUrl: string
  /** In order of arrival. */
  readonly exchanges: Array<{ readonly request: ProxiedRequest; reply?: ProxiedReply }>
  /** Tokens that the reply to a request may have; default: as many as it asks for. */
  tokensMaxOf: (request: ProxiedRequest) => number
  /** Before a request is passed on. */
  delayMillis: number
  /** What is answered without the server; default: nothing. */
  insteadOf: (request: ProxiedRequest) => Misbehaviour | undefined
  /** Requests that the server has and did not answer yet. */
  underWay: number
}

/** `target`: the server's base URL. A server that cannot be reached ends the connection. */
export const startModelProxy = async (target: string): Promise<ModelProxy> => {
  const server = createServer((incoming, outgoing) => {
    void passOn(proxy, target, incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const proxy: ModelProxy = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    exchanges: [],
    tokensMaxOf: () => Number.POSITIVE_INFINITY,
    delayMillis: 0,
    insteadOf: () => undefined,
    underWay: 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
  return proxy
}

const passOn = async (
  proxy: ModelProxy,
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse
): Promise<void> => {
  const body = (await json(incoming)) as ProxiedRequest["body"]
  const turns = body["messages"] as ReadonlyArray<{ readonly role: string; readonly content: string }>
  const prompt = turns.find(({ role }) => role === "user")?.content ?? ""
  const said = turns.map(({ content }) => content).join("\n")
  const request = { body, prompt, turns: said.replaceAll(codeOf(prompt), "CODE") }
  const exchange: ModelProxy["exchanges"][number] = { request }
  proxy.exchanges.push(exchange)
  const send = (status: number, text: string, headers: Misbehaviour["headers"] = {}) => {
    exchange.reply = replyOf(status, text)
    outgoing.writeHead(status, { "content-type": "application/json", ...headers }).end(text)
  }
  await new Promise((wake) => setTimeout(wake, proxy.delayMillis))
  const instead = proxy.insteadOf(request)
  if (instead !== undefined) return send(instead.status, JSON.stringify(instead.body), instead.headers)
  // The caller may be gone by then, as the model should know.
  const gone = new AbortController()
  outgoing.once("close", () => gone.abort())
  const tokens = Math.min(Number(body["max_tokens"]), proxy.tokensMaxOf(request))
  proxy.underWay += 1
  try {
    const response = await fetch(`${target}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, max_tokens: tokens }),
      signal: gone.signal
    })
    send(response.status, await response.text())
  } finally {
    proxy.underWay -= 1
  }
}

interface Completion {
  readonly choices?: ReadonlyArray<{ readonly message: { readonly content: string }; readonly finish_reason: string }>
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number }
}

const replyOf = (status: number, sent: string): ProxiedReply => {
  const { choices, usage } = JSON.parse(sent) as Completion
  return {
    status,
    text: choices?.[0]?.message.content ?? "",
    finish: choices?.[0]?.finish_reason,
    inputTokens: usage?.prompt_tokens ?? 0,
    outputTokens: usage?.completion_tokens ?? 0
  }
}
