/**
 * `muniment share`: grants as share codes. Both commands work without a service: a grant is a signed
 * statement, and the grantee needs only its code.
 */
import { Clock, Console, Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { durationMillis } from "@muniment/domain/GivenTimes"
import type { Grant, GrantPayload } from "@muniment/domain/Grant"
import { CommandFailed } from "../CommandFailed.ts"
import { readSigner } from "../KeyFile.ts"
import { originOf } from "../ServiceUrl.ts"
import { shownText, timeText } from "../ShownText.ts"
import { flags } from "./flags.ts"

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
  const { verifyWalletSignature } = yield* Effect.promise(() => import("@muniment/trust/WalletSignature"))
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
