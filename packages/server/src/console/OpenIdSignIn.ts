/**
 * Signing in to the console by OpenID Connect (contract: Console), at `/console/openid`: authorization code with PKCE
 * (RFC 7636), by `openid-client`. Claims of the provider give a person their role; who gets none is refused.
 *
 * Invariants: a sign-in is ended once, in time, by the browser that began it, which a cookie names; state, nonce and code
 * verifier are of that one; what the provider issues is kept nowhere; an address counts once the provider has verified it.
 */
import type { Configuration } from "openid-client"
import { Clock, Data, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Limits } from "@muniment/domain/Limits"
import { mayDo } from "@muniment/domain/api/OperatorRoles"
import { openIdPrefix, type Operator, OperatorName, type OperatorRole } from "@muniment/domain/Operator"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { nonceBytes, seal, unseal } from "@muniment/trust/KeyRing"
import { consolePath } from "../paths.ts"
import { cookieSecretOf, cookieText } from "./ConsoleSessions.ts"
import type { OpenIdRule, OpenIdSettings } from "./OpenIdSettings.ts"
import { OperatorAccess } from "./OperatorAccess.ts"

interface OpenIdOptions {
  readonly settings: OpenIdSettings
  /** Where browsers reach the service; undefined: by the `Host` of the request. */
  readonly publicUrl: string | undefined
  readonly isSecure: boolean
  /** Opens a session; the headers that give it to the browser. */
  readonly open: (
    operator: Operator
  ) => Effect.Effect<Readonly<Record<string, string>>, never, HttpServerRequest.HttpServerRequest>
}

const path = `${consolePath}/openid` as const

export const openIdRoutes = ({ isSecure, open, publicUrl, settings }: OpenIdOptions) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const access = yield* OperatorAccess
      const random = yield* SecureRandom.SecureRandom
      const connected = makeConnected(settings)
      const begun = new BegunSignIns(Buffer.from(yield* random.randomBytes(secretBytes)).toString("base64url"))

      const inReach = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        access.isInReach(request)
          ? Effect.succeed(request)
          : Effect.fail(new SignInRefused({ code: "operator_only", reason: "the operator is elsewhere" }))
      )

      const begin = Effect.gen(function* () {
        const { headers } = yield* inReach
        const { client, provider } = yield* connected
        const redirectUri = `${publicUrl ?? `http://${headers["host"] ?? ""}`}${path}/callback`
        const one = {
          redirectUri,
          state: client.randomState(),
          nonce: client.randomNonce(),
          verifier: client.randomPKCECodeVerifier()
        }
        const secret = begun.sealed(one, yield* Clock.currentTimeMillis, yield* random.randomBytes(nonceBytes))
        const url = client.buildAuthorizationUrl(provider, {
          redirect_uri: redirectUri,
          scope: settings.scope,
          state: one.state,
          nonce: one.nonce,
          code_challenge: yield* Effect.promise(() => client.calculatePKCECodeChallenge(one.verifier)),
          code_challenge_method: "S256"
        })
        const seconds = Limits.consoleLinkMillis / 1_000
        return led(url.href, { "set-cookie": cookieText("sign_in", headers, secret, seconds, isSecure) })
      })

      const end = Effect.gen(function* () {
        const { headers, url } = yield* inReach
        const one = begun.take(cookieSecretOf("sign_in", headers) ?? "", yield* Clock.currentTimeMillis)
        if (one === undefined) {
          return yield* new SignInRefused({
            code: "sign_in_failed",
            reason: "this browser began no sign-in, or too long ago"
          })
        }
        const claims = yield* claimsOf(yield* connected, one, url)
        const operator = openIdOperator(claims, settings.rules)
        if (operator === undefined) {
          return yield* new SignInRefused({
            code: "operator_role",
            reason: "no rule of MUNIMENT_OPENID_ROLES gives a role"
          })
        }
        return led(consolePath, yield* open(operator))
      })

      return Layer.mergeAll(
        HttpRouter.add("GET", path, shown(begin)),
        HttpRouter.add("GET", `${path}/callback`, shown(end))
      )
    })
  )

const secretBytes = 32

/** The page says what a code means; the log has the reason, which has no secrets. */
const shown = <R>(step: Effect.Effect<HttpServerResponse.HttpServerResponse, SignInRefused, R>) =>
  Effect.catch(step, ({ code, reason }) =>
    Effect.as(
      Effect.logWarning("a sign-in by OpenID Connect was refused", { code, reason }),
      led(`${consolePath}#refused=${code}`, {})
    )
  )

class SignInRefused extends Data.TaggedError("SignInRefused")<{
  readonly code: "operator_only" | "operator_role" | "sign_in_failed"
  readonly reason: string
}> {}

const led = (url: string, headers: Readonly<Record<string, string>>) =>
  HttpServerResponse.redirect(url, { status: 302, headers: { "cache-control": "no-store", ...headers } })

const BegunSignIn = Schema.Struct({
  redirectUri: Schema.String,
  state: Schema.String,
  nonce: Schema.String,
  verifier: Schema.String
})
type BegunSignIn = typeof BegunSignIn.Type

const decodeBegun = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ ...BegunSignIn.fields, expiresAt: Schema.Int }))
)

/**
 * Sign-ins under way are in the cookies of their browsers, sealed: whoever begins many takes nobody's place. Those that
 * were ended are remembered for as long as they could be ended again; bounded, the oldest gives way.
 */
class BegunSignIns {
  readonly #secret: string
  /** By state. */
  readonly #ended = new Set<string>()

  constructor(secret: string) {
    this.#secret = secret
  }

  sealed(begun: BegunSignIn, now: number, nonce: Uint8Array): string {
    return seal(JSON.stringify({ ...begun, expiresAt: now + Limits.consoleLinkMillis }), this.#secret, nonce)
  }

  take(cookie: string, now: number): BegunSignIn | undefined {
    const found = Option.getOrUndefined(decodeBegun(unseal(cookie, this.#secret)))
    if (found === undefined || found.expiresAt <= now || this.#ended.has(found.state)) return undefined
    this.#ended.add(found.state)
    const [oldest] = this.#ended
    if (oldest !== undefined && this.#ended.size > Limits.openIdSignInsMax) this.#ended.delete(oldest)
    return found
  }
}

/** When the first person signs in. */
const loadClient = () => import("openid-client")

interface Connected {
  readonly client: Awaited<ReturnType<typeof loadClient>>
  readonly provider: Configuration
}

/** Asks the provider about itself at the first sign-in, and again until it has answered. */
const makeConnected = ({ clientId, clientSecret, issuer }: OpenIdSettings): Effect.Effect<Connected, SignInRefused> => {
  const discovered = async (): Promise<Connected> => {
    const client = await loadClient()
    const secret = clientSecret && Redacted.value(clientSecret)
    const provider = await client.discovery(
      new URL(issuer),
      clientId,
      secret,
      secret === undefined ? client.None() : undefined,
      {
        timeout: Limits.openIdTimeoutMillis / 1_000,
        ...(issuer.startsWith("http:") && { execute: [client.allowInsecureRequests] })
      }
    )
    return { client, provider }
  }
  let known: Promise<Connected> | undefined
  // All who come meanwhile wait for one answer.
  return asked(() => {
    known ??= discovered().catch((cause: unknown) => {
      known = undefined
      throw cause
    })
    return known
  })
}

/** Errors of the library name what failed, never what was sent. */
const asked = <A>(ask: () => Promise<A>): Effect.Effect<A, SignInRefused> =>
  Effect.tryPromise({
    try: ask,
    catch: (cause) =>
      new SignInRefused({ code: "sign_in_failed", reason: cause instanceof Error ? cause.message : "no answer" })
  })

type Claims = Readonly<Record<string, unknown>>

/** The ID token's claims, and what the provider says of the same person besides. */
const claimsOf = Effect.fnUntraced(function* ({ client, provider }: Connected, begun: BegunSignIn, requestUrl: string) {
  const answered = new URL(begun.redirectUri)
  answered.search = requestUrl.split("?")[1] ?? ""
  const tokens = yield* asked(() =>
    client.authorizationCodeGrant(provider, answered, {
      expectedState: begun.state,
      expectedNonce: begun.nonce,
      pkceCodeVerifier: begun.verifier,
      idTokenExpected: true
    })
  )
  const { sub, ...identity } = tokens.claims() ?? { sub: "" }
  const more: Claims =
    provider.serverMetadata().userinfo_endpoint === undefined
      ? {}
      : yield* asked(() => client.fetchUserInfo(provider, tokens.access_token, sub))
  return { ...more, ...identity, sub } satisfies Claims
})

/** Name and highest role of a person; undefined: they have none. */
export const openIdOperator = (
  claims: Claims & { readonly sub: string },
  rules: ReadonlyArray<OpenIdRule>
): Operator | undefined => {
  const isVerified = claims["email_verified"] === true
  const given = rules.filter(({ claim, value }) => {
    const said = claims[claim]
    return (claim !== "email" || isVerified) && (Array.isArray(said) ? said.includes(value) : said === value)
  })
  const highest = given.reduce<OperatorRole | undefined>(
    (best, { role }) => (best !== undefined && mayDo(best, role) ? best : role),
    undefined
  )
  return highest === undefined ? undefined : { name: nameOf(claims, isVerified), role: highest }
}

const isName = Schema.is(OperatorName)

/** As the audit log has it; no name of an operator who was added has a colon. */
const nameOf = (claims: Claims & { readonly sub: string }, isVerified: boolean): string => {
  const { email, sub } = claims
  if (isVerified && isName(email)) return `${openIdPrefix}${email}`
  return `${openIdPrefix}sub:${isName(sub) ? sub : sha256Hex(sub).slice(0, shownDigits)}`
}

const shownDigits = 16
