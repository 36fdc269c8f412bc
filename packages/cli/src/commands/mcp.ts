/**
 * `muniment mcp`: the service's MCP endpoint for agents that start a program and talk to it over its
 * standard input and output. Nothing but the protocol goes to standard output.
 */
import { Console, Effect, Option, Stdio, Stream, Clock } from "effect"
import { Command, Flag } from "effect/cli"
import { Limits } from "@muniment/domain/Limits"
import { isJsonObject } from "@muniment/domain/Json"
import type { JsonObject } from "@muniment/domain/Memory"
import type { WalletSigner } from "@muniment/trust/WalletSigner"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { MessageLines, pathFlag, readSigner } from "../InputFile.ts"
import { setting } from "../ServiceUrl.ts"
import { optionalText } from "./flags.ts"
import { mcpConfig, endpointOf, mcpFlags, scopesOf } from "./mcpConfig.ts"

/** Requests under way at a time; others wait in the pipe. */
const requestsMax = 16

export const mcp = Command.make(
  "mcp",
  {
    ...mcpFlags,
    key: optionalText("key", "API key of the account; better given as MUNIMENT_API_KEY, which no process list shows"),
    keyFile: pathFlag("key-file", "File with a wallet's key, which signs every message instead of an API key").pipe(
      Flag.optional
    )
  },
  Effect.fn("mcp")(function* ({ key, keyFile, url: given, ...scopes }) {
    const { apiKey, url } = yield* endpointOf(given)
    const bridge = new McpBridge({
      url,
      credentials: yield* credentialsOf(key, keyFile, apiKey),
      headers: Object.fromEntries(scopesOf(scopes).map(([name, value]) => [`x-${name}`, value]))
    })
    const lines = new MessageLines(Limits.requestBodyBytesMax)
    const { stdin } = yield* Stdio.Stdio
    yield* stdin.pipe(
      Stream.flatMap((chunk) => Stream.fromIterable(lines.push(chunk))),
      Stream.concat(Stream.suspend(() => Stream.fromIterable(lines.end()))),
      Stream.mapEffect((line) => bridge.forward(line), { concurrency: requestsMax, unordered: true }),
      Stream.runForEach((answer) => (answer === undefined ? Effect.void : Console.log(answer))),
      Effect.mapError(commandFailed)
    )
  })
).pipe(
  Command.withDescription(
    "Speak the Model Context Protocol over standard input and output, for desktop agents that start a program"
  ),
  Command.withSubcommands([mcpConfig]),
  Command.withExamples([
    {
      command: "MUNIMENT_API_KEY=mun_... muniment mcp --agent-id assistant",
      description: "The memories of one agent, at the service of this machine"
    }
  ])
)

const credentialsOf = Effect.fnUntraced(function* (
  key: Option.Option<string>,
  keyFile: Option.Option<string>,
  profileKey: string | undefined
) {
  if (Option.isSome(keyFile)) return { signer: yield* readSigner(keyFile.value) }
  const apiKey = Option.getOrUndefined(key) ?? (yield* setting("MUNIMENT_API_KEY")) ?? profileKey
  if (apiKey !== undefined) return { apiKey }
  return yield* new CommandFailed({ reason: "No credentials: set MUNIMENT_API_KEY, or give --key or --key-file." })
}, Effect.mapError(commandFailed))

interface McpBridgeOptions {
  readonly url: URL
  readonly credentials: { readonly apiKey: string } | { readonly signer: WalletSigner }
  /** Sent with every message: defaults of agent, subject and thread. */
  readonly headers: Readonly<Record<string, string>>
}

/** Longer than any answer takes: extraction has 8 s, a payment 10 s. */
const answerMillisMax = 60_000

/** Codes of JSON-RPC: not JSON, and the first of those reserved for servers. */
const parseError = -32_700
const serverError = -32_000

type Id = string | number | null

interface Outgoing {
  /** Ids of its requests; empty for notifications. */
  readonly ids: ReadonlyArray<Id>
  readonly isHandshake: boolean
  /** Headers of a request that says its own version (MCP 2026-07-28, Streamable HTTP). */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Messages of the Model Context Protocol from a pipe to the service's `/mcp` and back (contract: MCP). They pass
 * unchanged in both directions.
 *
 * Invariant: every request is answered once, with an error when the service did not answer it.
 */
class McpBridge {
  readonly #options: McpBridgeOptions
  /** Agreed in the handshake; sent as a header with every later message. */
  #protocolVersion: string | undefined

  constructor(options: McpBridgeOptions) {
    this.#options = options
  }

  /** One line in, at most one line out, without its newline; undefined if no answer is expected. */
  forward(line: Uint8Array | undefined): Effect.Effect<string | undefined> {
    if (line === undefined) {
      return Effect.succeed(errorsFor([null], serverError, `a message is above ${Limits.requestBodyBytesMax} bytes`))
    }
    const outgoing = readOutgoing(line)
    if (outgoing === undefined) return Effect.succeed(errorsFor([null], parseError, "the line is not JSON"))
    return Effect.gen({ self: this }, function* () {
      const { status, text } = yield* this.#post(line, outgoing.headers)
      if (outgoing.ids.length === 0 && status >= 400) {
        yield* Console.error(`the service refused a message that wants no answer, with status ${status}`)
      }
      return this.#answerOf(outgoing, status, text)
    }).pipe(
      Effect.catch(({ reason }) =>
        Effect.as(
          Console.error(reason),
          outgoing.ids.length === 0 ? undefined : errorsFor(outgoing.ids, serverError, reason)
        )
      )
    )
  }

  readonly #post = Effect.fnUntraced(
    { self: this },
    function* (this: McpBridge, line: Uint8Array, own: Readonly<Record<string, string>>) {
      const { credentials, headers, url } = this.#options
      const signed =
        "apiKey" in credentials
          ? { authorization: `Bearer ${credentials.apiKey}` }
          : yield* signatureOf(credentials.signer, url, line, headers)
      return yield* Effect.tryPromise({
        try: async (signal) => {
          const response = await fetch(url, {
            method: "POST",
            // Credentials and memories are for the configured address.
            redirect: "manual",
            body: Buffer.from(line),
            headers: {
              "content-type": "application/json",
              accept: "application/json, text/event-stream",
              ...(this.#protocolVersion !== undefined && { "mcp-protocol-version": this.#protocolVersion }),
              ...own,
              ...headers,
              ...signed
            },
            signal: AbortSignal.any([signal, AbortSignal.timeout(answerMillisMax)])
          })
          return { status: response.status, text: await response.text() }
        },
        catch: (cause) =>
          commandFailed(`the service at ${url.origin} cannot be reached: ${commandFailed(causeOf(cause)).reason}`)
      })
    }
  )

  #answerOf({ ids, isHandshake }: Outgoing, status: number, text: string): string | undefined {
    const json = parsed(text)
    if (isRpc(json)) {
      if (isHandshake) this.#protocolVersion = agreedVersion(json)
      // An error about the whole body names no request; the client waits for an answer to each of its own.
      const isAnonymous = isJsonObject(json) && json["id"] === null && ids.length > 0
      return isAnonymous ? oneLine(ids.map((id) => ({ ...json, id }))) : JSON.stringify(json)
    }
    if (ids.length === 0) return undefined
    const said = isJsonObject(json) && typeof json["error"] === "string" ? json["error"] : "no answer of this protocol"
    return errorsFor(ids, serverError, `the service answered with status ${status}: ${said}`)
  }
}

const signatureOf = Effect.fnUntraced(function* (
  signer: WalletSigner,
  { origin: audience, pathname: path, search }: URL,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>
) {
  const { signWalletRequest } = yield* Effect.promise(() => import("@muniment/trust/WalletRequest"))
  const timestampMillis = yield* Clock.currentTimeMillis
  return yield* Effect.promise(() =>
    signWalletRequest(signer, {
      method: "POST",
      path: `${path}${search}`,
      body,
      timestampMillis,
      bound: { audience, headers }
    })
  )
})

const readOutgoing = (line: Uint8Array): Outgoing | undefined => {
  const json = parsed(new TextDecoder().decode(line))
  if (json === undefined) return undefined
  const messages = (Array.isArray(json) ? json : [json]).filter(isJsonObject)
  const requests = messages.filter((message) => message["method"] !== undefined && message["id"] !== undefined)
  return {
    ids: requests.map(({ id }) => (typeof id === "string" || typeof id === "number" ? id : null)),
    isHandshake: requests.some(({ method }) => method === "initialize"),
    headers: isJsonObject(json) ? repeatedHeaders(json) : {}
  }
}

/** Version, method and subject of a request that carries its version, for those who read no bodies. */
const repeatedHeaders = ({ method, params }: JsonObject): Readonly<Record<string, string>> => {
  const { _meta: meta, name, uri }: JsonObject = isJsonObject(params) ? params : {}
  const version = isJsonObject(meta) ? meta["io.modelcontextprotocol/protocolVersion"] : undefined
  if (typeof version !== "string" || typeof method !== "string") return {}
  const subject = method === "resources/read" ? uri : name
  return {
    "mcp-protocol-version": headerText(version),
    "mcp-method": headerText(method),
    ...(typeof subject === "string" && { "mcp-name": headerText(subject) })
  }
}

/** Base64 of what a header cannot carry, or would be read as Base64. */
const headerText = (value: string): string =>
  /^[!-~]([ -~]*[!-~])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value)
    ? value
    : `=?base64?${Buffer.from(value).toString("base64")}?=`

const errorsFor = (ids: ReadonlyArray<Id>, code: number, message: string): string =>
  oneLine(ids.map((id) => ({ jsonrpc: "2.0", id, error: { code, message } })))

/** Several are a batch. */
const oneLine = (answers: ReadonlyArray<object>): string => JSON.stringify(answers.length === 1 ? answers[0] : answers)

const agreedVersion = (json: Json): string | undefined => {
  const result = isJsonObject(json) ? json["result"] : undefined
  return isJsonObject(result) && typeof result["protocolVersion"] === "string" ? result["protocolVersion"] : undefined
}

type Json = JsonObject | ReadonlyArray<unknown>

const isRpc = (json: unknown): json is Json => Array.isArray(json) || (isJsonObject(json) && json["jsonrpc"] === "2.0")

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** `fetch` wraps the reason in a `TypeError`. */
const causeOf = (error: unknown): unknown => (error instanceof Error && error.cause !== undefined ? error.cause : error)
