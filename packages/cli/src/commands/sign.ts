/**
 * What a wallet signs at a terminal: the headers of a request (`muniment sign`), and a grant of its memories to another
 * wallet (`muniment share`).
 */
import { Clock, Console, Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { durationMillis } from "@muniment/domain/GivenTimes"
import type { Grant, GrantPayload } from "@muniment/domain/Grant"
import { CommandFailed } from "../CommandFailed.ts"
import { pathFlag, readInput, readSigner } from "../InputFile.ts"
import { originOf, serviceUrl } from "../ServiceUrl.ts"
import { shownText, timeText } from "../Terminal.ts"
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

/**
 * `muniment sign`: the headers of a request signed by a wallet, for curl and the like. They are valid for two minutes,
 * for that service, method, path, body and those headers only.
 */
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

const create = Command.make(
  "create",
  {
    keyFile: flags.keyFile,
    to: Flag.String("to").pipe(Flag.withDescription("Who may search: a wallet's address, an account's or a key's id")),
    agent: Flag.String("agent").pipe(Flag.withDescription("Only memories of this agent"), Flag.optional),
    subject: Flag.String("subject").pipe(Flag.withDescription("Only memories about this subject"), Flag.optional),
    expiresIn: Flag.String("expires-in").pipe(
      Flag.withDescription("Validity: a number and a unit, s m h d w"),
      Flag.withDefault("7d")
    ),
    audience: Flag.String("audience").pipe(
      Flag.withDescription("Only at the service with this public URL, as in https://memory.example"),
      Flag.optional
    ),
    history: Flag.Boolean("history").pipe(
      Flag.withDescription("Superseded versions too, where a search asks for them"),
      Flag.withDefault(false)
    ),
    service: flags.service,
    json: flags.json
  },
  Effect.fn("share.create")(function* ({ keyFile, to, expiresIn, service, json, ...narrow }) {
    const validMillis = durationMillis(expiresIn)
    if (validMillis === undefined)
      return yield* failed(`--expires-in ${expiresIn} is no duration; it is like 12h or 7d`)
    const { isSameAddress, parseWalletAddress } = yield* Effect.promise(() => import("@muniment/trust/WalletAddress"))
    if (to.trim() === "") return yield* failed("--to is empty")
    if (to.startsWith("0x") && parseWalletAddress(to) === undefined)
      return yield* failed(`--to ${to} is no EVM address`)
    const signer = yield* readSigner(keyFile)
    const from = signer.wallet.address
    if (isSameAddress(from, to)) return yield* failed("--to is the wallet itself, whose memories it searches anyway")
    const payload: GrantPayload = {
      f: from,
      g: to,
      e: Math.floor(((yield* Clock.currentTimeMillis) + validMillis) / 1_000),
      ...(Option.isSome(narrow.agent) && { a: narrow.agent.value }),
      ...(Option.isSome(narrow.subject) && { u: narrow.subject.value }),
      ...(Option.isSome(narrow.audience) && { o: yield* originOf(narrow.audience.value) }),
      ...(narrow.history && { h: true })
    }
    const { grantId, grantPrefix, signGrant } = yield* Effect.promise(() => import("@muniment/trust/Grant"))
    const { encodeShareCode } = yield* Effect.promise(() => import("@muniment/trust/GrantEnvelope"))
    const grant = yield* Effect.promise(() => signGrant(signer, grantPrefix(service), payload))
    const shareCode = encodeShareCode([grant])
    if (json) return yield* Console.log(JSON.stringify({ shareCode, grantId: grantId(payload), grant }))
    yield* Console.error(`${from} lets ${to} search ${scopeText(payload)} until ${expiryText(payload.e)}:`)
    return yield* Console.log(shareCode)
  })
).pipe(
  Command.withDescription("Sign a grant: another may search memories of this wallet"),
  Command.withExamples([
    {
      command: "muniment share create --key-file alice.key --to 0x... --agent assistant --expires-in 7d",
      description: "One agent's memories, for a week"
    }
  ])
)

const decode = Command.make(
  "decode",
  {
    code: Argument.String("code").pipe(Argument.withDescription("The share code, mshare_...")),
    service: flags.service,
    json: flags.json
  },
  Effect.fn("share.decode")(function* ({ code, service, json }) {
    const { decodeShareCode } = yield* Effect.promise(() => import("@muniment/trust/GrantEnvelope"))
    const decoded = decodeShareCode(code)
    if (Result.isFailure(decoded)) return yield* failed(decoded.failure.message)
    const nowSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    const views = yield* Effect.forEach(decoded.success, (grant) => viewOf(grant, service, nowSeconds))
    if (json) return yield* Console.log(JSON.stringify({ grants: views }))
    return yield* Console.log(views.length === 0 ? "No grants." : views.map(reportOf).join("\n\n"))
  })
).pipe(Command.withDescription("Show the grants of a share code, and whether their signatures are valid"))

/**
 * `muniment share`: grants as share codes. Both commands work without a service: a grant is a signed
 * statement, and the grantee needs only its code.
 */
export const share = Command.make("share").pipe(
  Command.withDescription("Share memories by signed grants"),
  Command.withSubcommands([create, decode])
)

interface GrantView {
  readonly grant: Grant
  readonly grantId: string
  readonly isSignatureValid: boolean
  readonly isExpired: boolean
}

const viewOf = Effect.fnUntraced(function* (grant: Grant, service: string, nowSeconds: number) {
  const { c, p, s } = grant
  const { grantId, grantMessage, grantPrefix } = yield* Effect.promise(() => import("@muniment/trust/Grant"))
  const { parseWalletAddress } = yield* Effect.promise(() => import("@muniment/trust/WalletAddress"))
  const { verifyWalletSignature } = yield* Effect.promise(() => import("@muniment/trust/SignatureVerifier"))
  const wallet = parseWalletAddress(p.f)
  const isSignatureValid =
    wallet?.family === c &&
    (yield* verifyWalletSignature({ wallet, message: grantMessage(grantPrefix(service), p), signature: s }))
  return { grant, grantId: grantId(p), isSignatureValid, isExpired: p.e <= nowSeconds } satisfies GrantView
})

const reportOf = ({ grant: { c, p }, grantId, isExpired, isSignatureValid }: GrantView): string =>
  [
    `grant      ${grantId}`,
    `from       ${shownText(p.f)} (${shownText(c)})`,
    `to         ${shownText(p.g)}`,
    `opens      ${scopeText(p)}`,
    `expires    ${expiryText(p.e)}${isExpired ? " (expired)" : ""}`,
    `signature  ${isSignatureValid ? "valid" : "INVALID: not by that wallet for this service"}`
  ].join("\n")

const scopeText = ({ a, h, o, u }: GrantPayload): string => {
  const scopes = [...named("agent", a), ...named("subject", u)]
  const memories = scopes.length === 0 ? "all memories" : `memories of ${scopes.join(" and ")}`
  return `${memories}${h === true ? " with superseded versions" : ""}${o === undefined ? "" : ` at ${shownText(o)}`}`
}

const named = (what: string, name: string | undefined): ReadonlyArray<string> =>
  name === undefined ? [] : [`${what} "${shownText(name)}"`]

/** Dates end in the year 275760; a grant may name any second. */
const dateSecondsMax = 8.64e12

const expiryText = (seconds: number): string =>
  Math.abs(seconds) > dateSecondsMax ? `second ${seconds}` : `${timeText(seconds * 1_000)} UTC`

const failed = (reason: string) => new CommandFailed({ reason })
