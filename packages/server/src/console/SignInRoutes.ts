/**
 * Signing in to the console and out of it (contract: Console), at `/console/session`. The answer sets an HttpOnly cookie,
 * which stands for the operator, or for the key, on all other routes.
 */
import { Clock, Effect, Layer, Redacted, Schema } from "effect"
import { type Headers, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { CurrentOperator } from "@muniment/domain/api/Middleware"
import { type OwnSession, SignIn } from "@muniment/domain/Console"
import { Forbidden, InvalidRequest, NotFound, Unauthenticated } from "@muniment/domain/Errors"
import { openIdPrefix, type Operator } from "@muniment/domain/Operator"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Operators } from "@muniment/control/accounts/Operators"
import { apiGroup } from "../apiGroup.ts"
import { isJson } from "../headers.ts"
import { isBound } from "../identity/KeyScopes.ts"
import { clientAddress, type TrustedProxies } from "../identity/ClientAddress.ts"
import { consolePath } from "../paths.ts"
import {
  allowedTo,
  ConsoleLinks,
  type ConsoleSession,
  ConsoleSessions,
  requireOwnPage,
  type SessionHolder,
  cookieText,
  sessionSecretOf
} from "./ConsoleSessions.ts"
import { openIdRoutes } from "./OpenIdSignIn.ts"
import { accountSuspended, OperatorAccess } from "./OperatorAccess.ts"

interface SignInOptions {
  readonly isOn: boolean
  readonly proxies: TrustedProxies
  /** The service is reached by TLS alone. */
  readonly isSecure: boolean
  readonly publicUrl: string | undefined
  readonly languageModel: boolean
  readonly openId: Omit<Parameters<typeof openIdRoutes>[0], "isSecure" | "open"> | undefined
}

const path = `${consolePath}/session` as const
const consoleOff = "the console is switched off (MUNIMENT_CONSOLE)"

export const signInRoutes = (options: SignInOptions) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const sessions = yield* ConsoleSessions
      const holderOf = yield* makeHolderOf
      const access = yield* OperatorAccess
      const current = currentSession(sessions)
      const openId = options.openId !== undefined && options.isOn
      const cookie = (headers: Headers.Headers, secret: string, seconds: number) => ({
        "set-cookie": cookieText("session", headers, secret, seconds, options.isSecure)
      })

      const open = Effect.fnUntraced(function* (holder: SessionHolder) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { secret, session } = yield* sessions.open(holder, {
          address: clientAddress(request, options.proxies),
          browser: request.headers["user-agent"] ?? ""
        })
        const seconds = Math.floor((session.own.expiresAt - (yield* Clock.currentTimeMillis)) / 1_000)
        return { own: session.own, headers: { ...cookie(request.headers, secret, seconds), ...neverKept } }
      })

      const signIn = Effect.gen(function* () {
        if (!options.isOn) return yield* new Forbidden({ code: "console_off", error: consoleOff })
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* requireOwnOrigin(request.headers, options.publicUrl)
        const { headers, own } = yield* open(yield* holderOf(request))
        return HttpServerResponse.jsonUnsafe({ success: true, session: own }, { headers })
      })

      const signOut = Effect.gen(function* () {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const found = yield* current
        if (found !== undefined) {
          yield* requireOwnPage(found)
          yield* sessions.end(found.record.id)
        }
        return HttpServerResponse.jsonUnsafe({ success: true }, { headers: cookie(headers, "", 0) })
      })

      return Layer.mergeAll(
        HttpRouter.add("POST", path, Effect.catch(signIn, refused)),
        HttpRouter.add(
          "GET",
          path,
          Effect.map(Effect.flatMap(current, ownNow(access)), (session) =>
            HttpServerResponse.jsonUnsafe(
              { success: true, session, openId, languageModel: options.languageModel },
              { headers: neverKept }
            )
          )
        ),
        HttpRouter.add("DELETE", path, Effect.catch(signOut, refused)),
        openId && options.openId !== undefined
          ? openIdRoutes({
              ...options.openId,
              isSecure: options.isSecure,
              open: (operator) => Effect.map(open({ role: "operator", operator }), ({ headers }) => headers)
            })
          : Layer.empty
      )
    })
  )

const neverKept = { "cache-control": "no-store" }

/**
 * No foreign page signs a browser in to an account of its choice. A form cannot send JSON, and a browser names the page
 * that asks: `Sec-Fetch-Site`, or where it has none `Origin`. Programs send neither.
 */
const requireOwnOrigin = (headers: Headers.Headers, publicUrl: string | undefined) => {
  if (!isJson(headers)) return Effect.fail(malformed)
  const { host, origin, "sec-fetch-site": site } = headers
  if (site !== undefined) return site === "same-origin" ? Effect.void : Effect.fail(foreignPage)
  if (origin === undefined) return Effect.void
  const asked = URL.parse(origin)
  const isOwn = asked !== null && (asked.host === host || asked.origin === URL.parse(publicUrl ?? "")?.origin)
  return isOwn ? Effect.void : Effect.fail(foreignPage)
}

/** Holder who signs in, by the body of the current request. */
const makeHolderOf = Effect.gen(function* () {
  const sessions = yield* ConsoleSessions
  const access = yield* OperatorAccess
  const keys = yield* ApiKeyStore
  const operators = yield* Operators
  return Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const given = yield* Effect.mapError(bodyOf(request), () => malformed)
    if ("link" in given) {
      // Before the link is used up: one that was opened on the wrong machine stays good.
      if (!access.isInReach(request)) return yield* outOfReach
      const operator = yield* sessions.redeem(given.link)
      return operator === undefined ? yield* linkRefused : ({ role: "operator", operator } satisfies SessionHolder)
    }
    const identity = yield* keys.authenticate(given.key)
    if (identity === undefined) {
      const operator = yield* operators.authenticate(given.key)
      if (operator === undefined) return yield* keyRefused
      return access.isInReach(request) ? ({ role: "operator", operator } satisfies SessionHolder) : yield* outOfReach
    }
    if (identity.account.suspendedAt !== undefined) return yield* accountSuspended()
    return {
      role: "account",
      account: identity.account.name,
      key: Redacted.make(given.key),
      readOnly: identity.scope?.readOnly === true,
      isBound: isBound(identity)
    } satisfies SessionHolder
  })
})

const bodyOf = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.flatMap(request.json, Schema.decodeUnknownEffect(SignIn))

const malformed = new InvalidRequest({
  code: "invalid_request",
  error: 'the body is {"link": "..."} or {"key": "..."}, as JSON'
})
const foreignPage = new Forbidden({ code: "csrf", error: "only the console's own page signs a browser in" })
const outOfReach = new Forbidden({
  code: "operator_only",
  error: "the operator signs in on this machine only; see MUNIMENT_CONSOLE, or use a tunnel"
})
const linkRefused = new Unauthenticated({
  code: "invalid_link",
  error: "this link is unknown, used or older than ten minutes: make a new one with `npm run muniment -- console`"
})
const keyRefused = new Unauthenticated({
  code: "invalid_api_key",
  error: "the API key or operator's secret is unknown, expired or revoked"
})

type Refusal = InvalidRequest | Forbidden | Unauthenticated
const statuses = { InvalidRequest: 400, Unauthenticated: 401, Forbidden: 403 } as const

const refused = ({ _tag, code, error }: Refusal) =>
  Effect.succeed(HttpServerResponse.jsonUnsafe({ success: false, error, code }, { status: statuses[_tag] }))

const currentSession = (sessions: ConsoleSessions["Service"]) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const secret = sessionSecretOf(headers)
    return secret === undefined ? Effect.succeed(undefined) : sessions.find(secret)
  })

/** The session as its page shows it: an operator with their present role. */
const ownNow =
  (access: OperatorAccess["Service"]) =>
  (found: ConsoleSession | undefined): Effect.Effect<OwnSession | null> =>
    found === undefined || found.holder.role === "account"
      ? Effect.succeed(found?.own ?? null)
      : Effect.map(access.working(found.holder.operator), (operator) =>
          operator === undefined ? null : { ...found.own, ...allowedTo(operator) }
        )

const success = true as const

/** A link would outlast what the provider gave them. */
const noLinks = new Forbidden({
  code: "operator_role",
  error: "who is signed in by OpenID Connect makes no links: sign in again there"
})

/** Operators' view of the console's sessions, and links that open one (contract: Console). */
export const consoleAdminHandlers = apiGroup(
  "sessions",
  Effect.fnUntraced(function* (handlers) {
    const sessions = yield* ConsoleSessions
    const operators = yield* Operators
    const links = yield* ConsoleLinks

    return handlers.handleAll({
      createConsoleLink: Effect.fnUntraced(function* () {
        const operator = yield* CurrentOperator
        if (operator.name.startsWith(openIdPrefix)) return yield* noLinks
        const link = yield* links.make(operator)
        if (link === undefined) return yield* new Forbidden({ code: "console_off", error: consoleOff })
        return { success, link }
      }),
      listSessions: Effect.fnUntraced(function* () {
        const roles = new Map((yield* operators.list).map(({ name, role }) => [name, role]))
        const asNow = (held: Operator): Operator => ({ ...held, role: roles.get(held.name) ?? held.role })
        const found = (yield* sessions.list).map((record) => ({
          ...record,
          operator: record.operator && asNow(record.operator)
        }))
        return { success, sessions: found }
      }),
      endSession: Effect.fnUntraced(function* ({ params }) {
        const session = yield* sessions.end(params.id)
        if (session === undefined) {
          return yield* new NotFound({ code: "session_not_found", error: "no such session" })
        }
        if (session.operator !== null) yield* sessions.endLinksOf(session.operator.name)
        return { success, session }
      })
    })
  })
)
