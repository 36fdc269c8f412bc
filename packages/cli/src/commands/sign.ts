/**
 * `muniment sign`: the headers of a request signed by a wallet, for curl and the like. They are valid for two minutes,
 * for that service, method, path, body and those headers only.
 */
import { Clock, Console, Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CommandFailed } from "../CommandFailed.ts"
import { readInput, pathFlag } from "../InputFile.ts"
import { readSigner } from "../KeyFile.ts"
import { originOf, serviceUrl } from "../ServiceUrl.ts"
import { flags } from "./flags.ts"

const versionPrefix = "/v1"
const methodPattern = /^[A-Z]+$/
const headerPattern = /^([A-Za-z0-9-]+):[ \t]*([\x20-\x7e]*?)[ \t]*$/

const request = Command.make(
  "request",
  {
    keyFile: flags.keyFile,
    body: pathFlag("body", "File with the exact bytes of the body; - is standard input").pipe(Flag.optional),
    curl: Flag.Boolean("curl").pipe(
      Flag.withDescription("Print a curl command instead of the headers"),
      Flag.withDefault(false)
    ),
    headers: Flag.String("header").pipe(
      Flag.withDescription(
        'Header of the request, "name: value"; may be given again. Signed: idempotency-key, x-agent-id, x-subject-id, x-thread-id'
      ),
      Flag.atLeast(0)
    ),
    plain: Flag.Boolean("plain").pipe(
      Flag.withDescription("Sign neither the service nor headers, for a service that does not know them"),
      Flag.withDefault(false)
    ),
    audience: Flag.String("audience").pipe(
      Flag.withDescription("Public URL of the service, where it differs from --url"),
      Flag.optional
    ),
    grants: Flag.String("grants").pipe(
      Flag.withDescription("Share code of grants to search with; adds the x-grants header"),
      Flag.optional
    ),
    url: flags.url,
    json: flags.json,
    method: Argument.String("method").pipe(Argument.withDescription("GET, POST, PATCH or DELETE")),
    path: Argument.String("path").pipe(
      Argument.withDescription("Path with its query, encoded, with or without /v1: /memories/search?query=tea")
    )
  },
  Effect.fn("sign.request")(function* ({ keyFile, body, curl, headers: given, json, plain, url, path, ...flag }) {
    const method = yield* methodOf(flag.method)
    yield* requireEncoded(path)
    const { signWalletRequest } = yield* Effect.promise(() => import("@muniment/trust/WalletRequest"))
    const signer = yield* readSigner(keyFile)
    const bytes = Option.isSome(body) ? yield* readInput(body.value) : new Uint8Array()
    const sent = {
      ...(yield* headersOf(given)),
      ...(Option.isSome(flag.grants) && (yield* grantsHeader(flag.grants.value)))
    }
    if (curl && json) return yield* new CommandFailed({ reason: "Give either --curl or --json." })
    const service = yield* serviceUrl(url)
    const bound = plain
      ? undefined
      : { audience: yield* originOf(Option.getOrElse(flag.audience, () => service)), headers: sent }
    const timestampMillis = yield* Clock.currentTimeMillis
    const headers = yield* Effect.promise(() =>
      signWalletRequest(signer, { method, path: plain ? path : fullPath(path), body: bytes, timestampMillis, bound })
    )
    if (json) {
      const request = { method, url: `${service}${fullPath(path)}`, headers: { ...headers, ...sent } }
      return yield* Console.log(JSON.stringify(request))
    }
    const lines = Object.entries({ ...headers, ...sent }).map(([name, value]) => `${name}: ${value}`)
    return yield* Console.log(
      curl ? curlCommand({ method, url: service, path, lines, body: Option.getOrUndefined(body) }) : lines.join("\n")
    )
  })
).pipe(
  Command.withDescription("Sign one request with a wallet's key and print its headers"),
  Command.withExamples([
    {
      command: 'muniment sign request --key-file alice.key --curl GET "/memories/search?query=tea"',
      description: "A search as a curl command"
    },
    {
      command:
        "muniment sign request --key-file alice.key --url https://memory.example --body b.json --header 'idempotency-key: 1' POST /memories",
      description: "Headers for one service, and for one write that may be repeated"
    }
  ])
)

export const sign = Command.make("sign").pipe(
  Command.withDescription("Sign with a wallet's key"),
  Command.withSubcommands([request])
)

const grantsHeader = Effect.fnUntraced(function* (shareCode: string) {
  const { decodeShareCode, encodeGrantsHeader } = yield* Effect.promise(() => import("@muniment/trust/GrantEnvelope"))
  const grants = decodeShareCode(shareCode)
  return Result.isSuccess(grants)
    ? { "x-grants": encodeGrantsHeader(grants.success) }
    : yield* new CommandFailed({ reason: grants.failure.message })
})

const methodOf = Effect.fnUntraced(function* (given: string) {
  const method = given.toUpperCase()
  return methodPattern.test(method)
    ? method
    : yield* new CommandFailed({ reason: `${given} is not an HTTP method: give GET, POST, PATCH or DELETE` })
})

/** The path has to be one, written as an HTTP client sends it. */
const requireEncoded = Effect.fnUntraced(function* (path: string) {
  const isPath = path.startsWith("/") && !path.startsWith("//")
  const { pathname, search } = new URL(isPath ? path : "/", "http://localhost")
  if (path === `${pathname}${search}`) return
  return yield* new CommandFailed({
    reason: `The path would be sent in another form than signed; ${isPath ? `write ${pathname}${search}` : "it must begin with one /"}`
  })
})

/** Headers by lower-case name. */
const headersOf = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value] = headerPattern.exec(line) ?? []
    if (name === undefined || value === undefined)
      return yield* new CommandFailed({ reason: `--header ${line} is no header; it is like "idempotency-key: 1"` })
    headers[name.toLowerCase()] = value
  }
  return headers
})

/** Operations of the version stand below its prefix, MCP does not. */
const fullPath = (path: string): string =>
  path.startsWith(`${versionPrefix}/`) || /^\/mcp(?:\?|$)/.test(path) ? path : `${versionPrefix}${path}`

const curlCommand = (call: {
  readonly method: string
  readonly url: string
  readonly path: string
  readonly lines: ReadonlyArray<string>
  readonly body: string | undefined
}): string => {
  const path = fullPath(call.path)
  const headers = [...call.lines, ...(call.body === undefined ? [] : ["content-type: application/json"])]
  return [
    "curl -sS",
    `-X ${call.method}`,
    quoted(`${call.url}${path}`),
    ...headers.map((line) => `-H ${quoted(line)}`),
    ...(call.body === undefined ? [] : [`--data-binary ${quoted(`@${call.body}`)}`])
  ].join(" ")
}

/** One word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
