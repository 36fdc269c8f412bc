/**
 * `muniment sign`: the headers of a request signed by a wallet, for curl and the like. They are valid for two minutes,
 * for that method, path and body only.
 */
import { Clock, Console, Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CommandFailed } from "../CommandFailed.ts"
import { readInput } from "../InputFile.ts"
import { readSigner } from "../KeyFile.ts"
import { serviceUrl } from "../ServiceUrl.ts"
import { flags } from "./flags.ts"

const versionPrefix = "/v1"
const methodPattern = /^[A-Z]+$/

const request = Command.make(
  "request",
  {
    keyFile: flags.keyFile,
    body: Flag.String("body").pipe(
      Flag.withDescription("File with the exact bytes of the body; - is standard input"),
      Flag.optional
    ),
    curl: Flag.Boolean("curl").pipe(
      Flag.withDescription("Print a curl command instead of the headers"),
      Flag.withDefault(false)
    ),
    grants: Flag.String("grants").pipe(
      Flag.withDescription("Share code of grants to search with; adds the x-grants header"),
      Flag.optional
    ),
    url: flags.url,
    method: Argument.String("method").pipe(Argument.withDescription("GET, POST, PATCH or DELETE")),
    path: Argument.String("path").pipe(
      Argument.withDescription("Path with its query, encoded, with or without /v1: /memories/search?query=tea")
    )
  },
  Effect.fn("sign.request")(function* ({ keyFile, body, curl, grants, url, method: given, path }) {
    const method = given.toUpperCase()
    if (!methodPattern.test(method))
      return yield* new CommandFailed({ reason: `${given} is not an HTTP method: give GET, POST, PATCH or DELETE` })
    const encoded = encodedPath(path)
    if (encoded !== path) {
      return yield* new CommandFailed({
        reason: `The path would be sent in another form than signed; ${encoded === undefined ? "it must begin with one /" : `write ${encoded}`}`
      })
    }
    const { signWalletRequest } = yield* Effect.promise(() => import("@muniment/trust/WalletRequest"))
    const signer = yield* readSigner(keyFile)
    const bytes = Option.isSome(body) ? yield* readInput(body.value) : new Uint8Array()
    const timestampMillis = yield* Clock.currentTimeMillis
    const headers = yield* Effect.promise(() =>
      signWalletRequest(signer, { method, path, body: bytes, timestampMillis })
    )
    const lines = Object.entries({ ...headers, ...(Option.isSome(grants) && (yield* grantsHeader(grants.value))) }).map(
      ([name, value]) => `${name}: ${value}`
    )
    return yield* Console.log(
      curl
        ? curlCommand({ method, url: yield* serviceUrl(url), path, lines, body: Option.getOrUndefined(body) })
        : lines.join("\n")
    )
  })
).pipe(
  Command.withDescription("Sign one request with a wallet's key and print its three headers"),
  Command.withExamples([
    {
      command: 'muniment sign request --key-file alice.key --curl GET "/memories/search?query=tea"',
      description: "A search as a curl command"
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

/** The path as an HTTP client sends it; undefined if it is not a path. */
const encodedPath = (path: string): string | undefined => {
  if (!path.startsWith("/") || path.startsWith("//")) return undefined
  const { pathname, search } = new URL(path, "http://localhost")
  return `${pathname}${search}`
}

const curlCommand = (call: {
  readonly method: string
  readonly url: string
  readonly path: string
  readonly lines: ReadonlyArray<string>
  readonly body: string | undefined
}): string => {
  const path = call.path.startsWith(`${versionPrefix}/`) ? call.path : `${versionPrefix}${call.path}`
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
