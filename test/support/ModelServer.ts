/**
 * A language model's server on a loopback port, scripted by the test: OpenAI's `/chat/completions` below
 * any base path and Anthropic's `/v1/messages`, and what the test puts on other paths. It refuses what the real servers refuse, keeps what it
 * was asked, and answers from a queue of replies, then from `otherwise`.
 */
import { Effect, type Scope } from "effect"
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse
} from "node:http"
import type { AddressInfo } from "node:net"
import { beforeTests } from "./beforeTests.ts"
import { answer, type ModelFormat, type ModelReply, sendReply, status } from "./ModelServerReplies.ts"

export interface ModelRequest {
  readonly format: ModelFormat
  readonly headers: IncomingHttpHeaders
  readonly body: Readonly<Record<string, unknown>>
  readonly system: string
  /** The turns after the system's, as text. */
  readonly turns: ReadonlyArray<{ readonly role: string; readonly content: string }>
  /** The text of the last turn. */
  readonly prompt: string
  /** JSON Schema of the answer as it was sent for the server; `undefined` if it was not. */
  readonly schema: unknown
}

/** Words that this server does not understand; it answers them with 400, as some servers do. */
export type Refused =
  | "json_schema"
  | "json_object"
  | "max_tokens"
  | "temperature"
  | "tool_choice"
  | "reasoning_effort"
  | "no_effort"
  | "chat_template_kwargs"

const idlePollMillis = 10

export class ModelServer {
  /** In order of arrival, refused ones too. */
  readonly requests: Array<ModelRequest> = []
  readonly refused = new Set<Refused>()
  /** What it answers to GET, by path; 404 elsewhere. */
  readonly pages = new Map<string, object>()
  /** Asked when the queue is empty. */
  otherwise: (request: ModelRequest) => ModelReply = () => answer({})
  /** Requests that wait for their reply now, and the most that ever did. */
  underWay = 0
  underWayMax = 0
  readonly #queue: Array<ModelReply> = []
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => void this.#handle(request, response))
  }

  static async start(): Promise<ModelServer> {
    const made = new ModelServer()
    await new Promise<void>((resolve) => made.#server.listen(0, "127.0.0.1", resolve))
    return made
  }

  /** Settings of a service that it reads for. */
  environment(format: ModelFormat = "openai-compatible") {
    return {
      MUNIMENT_LLM_PROVIDER: format,
      MUNIMENT_LLM_BASE_URL: this.baseUrl(format),
      MUNIMENT_LLM_MODEL: "scripted"
    }
  }

  /** What `MUNIMENT_LLM_BASE_URL` is for the provider. */
  baseUrl(format: ModelFormat): string {
    return format === "anthropic" ? `http://127.0.0.1:${this.port}` : `http://127.0.0.1:${this.port}/v1`
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Replies to the next requests, in order. */
  script(...replies: ReadonlyArray<ModelReply>): void {
    this.#queue.push(...replies)
  }

  /** Forgets the replies that nobody took. */
  clear(): void {
    this.#queue.length = 0
  }

  /** Ends when no caller waits for a reply or for the rest of one. */
  readonly untilIdle: Effect.Effect<void> = Effect.suspend(() =>
    this.underWay === 0 ? Effect.void : Effect.andThen(Effect.sleep(idlePollMillis), this.untilIdle)
  )

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.underWay += 1
    this.underWayMax = Math.max(this.underWayMax, this.underWay)
    response.once("close", () => {
      this.underWay -= 1
    })
    try {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      if (request.method === "GET") {
        const page = this.pages.get(request.url ?? "")
        response.writeHead(page === undefined ? 404 : 200, { "content-type": "application/json" })
        return void response.end(JSON.stringify(page ?? { error: "not found" }))
      }
      const format = formatOf(request.url ?? "")
      if (format === undefined) return await sendReply(response, "openai-compatible", undefined, status(404))
      const asked = readRequest(format, request.headers, Buffer.concat(chunks).toString("utf8"))
      this.requests.push(asked)
      const reply = this.#refusal(asked) ?? this.#queue.shift() ?? this.otherwise(asked)
      await sendReply(response, format, toolName(asked.body), reply)
    } catch {
      // A caller that went away; what the test asserts does not depend on it.
      response.destroy()
    }
  }

  #refusal({ body, format, headers }: ModelRequest): ModelReply | undefined {
    const missing = format === "anthropic" ? missingInMessages(headers, body) : missingInChat(body)
    if (missing !== undefined) return status(400, {}, errorBody(`${missing} is required`))
    const schemaBy = (body["response_format"] as { readonly type: string } | undefined)?.type
    const words: ReadonlyArray<readonly [Refused, boolean, string]> = [
      ["max_tokens", "max_tokens" in body, "Unsupported parameter: use 'max_completion_tokens' instead."],
      ["temperature", "temperature" in body, "Unsupported value: 'temperature' is not supported with this model."],
      ["chat_template_kwargs", "chat_template_kwargs" in body, "Unknown parameter: 'chat_template_kwargs'."],
      ["reasoning_effort", "reasoning_effort" in body, "Unrecognized request argument supplied: reasoning_effort"],
      [
        "no_effort",
        body["reasoning_effort"] === "none",
        "Unsupported value: 'reasoning_effort' does not support 'none'. Supported values are: 'low' and 'high'."
      ],
      ["json_schema", schemaBy === "json_schema", "response_format.type must be text or json_object"],
      ["tool_choice", "tool_choice" in body, "tool_choice: forced tool use is not supported with this model."],
      ["json_object", schemaBy === "json_object", "response_format is not supported"]
    ]
    const word = words.find(([name, isUsed]) => isUsed && this.refused.has(name))
    return word === undefined ? undefined : status(400, {}, errorBody(word[2]))
  }
}

/** A server of its own for a test. */
export const modelServer: Effect.Effect<ModelServer, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => ModelServer.start()),
  (server) => Effect.promise(() => server.close())
)

const formatOf = (url: string): ModelFormat | undefined => {
  const [path = ""] = url.split("?")
  if (path === "/v1/messages") return "anthropic"
  return path.endsWith("/chat/completions") ? "openai-compatible" : undefined
}

const errorBody = (message: string): string => JSON.stringify({ error: { type: "invalid_request_error", message } })

const missingInChat = (body: ModelRequest["body"]): string | undefined =>
  ["model", "messages"].find((field) => body[field] === undefined)

const missingInMessages = (headers: IncomingHttpHeaders, body: ModelRequest["body"]): string | undefined => {
  const isKnown = headers["x-api-key"] !== undefined || headers.authorization !== undefined
  const header = !isKnown ? "x-api-key" : headers["anthropic-version"] === undefined ? "anthropic-version" : undefined
  const roles = (body["messages"] as ReadonlyArray<{ readonly role: string }> | undefined)?.map(({ role }) => role)
  const role = roles?.find((name) => name !== "user" && name !== "assistant")
  return header ?? role ?? ["model", "max_tokens", "messages"].find((field) => body[field] === undefined)
}

interface SentBody {
  readonly system?: string
  readonly messages?: ReadonlyArray<{ readonly role: string; readonly content: string }>
  readonly tools?: ReadonlyArray<{ readonly name: string; readonly input_schema: unknown }>
  readonly response_format?: { readonly json_schema?: { readonly schema: unknown } }
}

const toolName = (body: ModelRequest["body"]): string | undefined => (body as SentBody).tools?.[0]?.name

const readRequest = (format: ModelFormat, headers: IncomingHttpHeaders, sent: string): ModelRequest => {
  const body = JSON.parse(sent) as SentBody & Record<string, unknown>
  const messages = body.messages ?? []
  const turns = messages.filter(({ role }) => role !== "system")
  const system = messages.filter(({ role }) => role === "system")
  return {
    format,
    headers,
    body,
    system: body.system ?? system.map(({ content }) => content).join("\n"),
    turns,
    prompt: turns.at(-1)?.content ?? "",
    schema: body.tools?.[0]?.input_schema ?? body.response_format?.json_schema?.schema
  }
}

/** A model for the tests of a file or of a describe block. */
export const useModel = (): ModelServer =>
  beforeTests(
    () => ModelServer.start(),
    (model) => model.close()
  )
