/**
 * Sessions of the console and the one-time links that open an operator's (contract: Console). In memory: a restart
 * signs everybody out, and no file holds what opens the service.
 *
 * Invariants: a link is used once, within `Limits.consoleLinkMillis`; a session ends after `Limits.consoleSessionMillis`
 * or when it is ended; what the browser holds is random and only its digest is kept here; both are bounded in number,
 * the oldest giving way, a holder's own first, then one of the account with the most, an operator's never for an account.
 */
import { Clock, Context, Effect, Layer, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServer, HttpServerRequest } from "effect/http"
import { refusedTo } from "@muniment/domain/api/OperatorRoles"
import type { OwnSession, SessionRecord } from "@muniment/domain/Console"
import { Forbidden } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { Operator } from "@muniment/domain/Operator"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { localOrigin } from "../identity/ClientAddress.ts"
import { consolePath } from "../paths.ts"

/** Operator or account that a session stands for. */
export type SessionHolder =
  /** Looked up with each request too. */
  | { readonly role: "operator"; readonly operator: Operator }
  /** The key is looked up with each request, so that its revocation ends what the session may do. */
  | ({ readonly role: "account"; readonly account: string; readonly key: Redacted.Redacted } & KeyFacts)

/** Facts about the key of a session. */
type KeyFacts = Pick<OwnSession, "readOnly" | "isBound">

export interface ConsoleSession {
  readonly holder: SessionHolder
  readonly record: SessionRecord
  readonly own: OwnSession
}

interface SignInPlace {
  readonly address: string
  readonly browser: string
}

export class ConsoleSessions extends Context.Service<
  ConsoleSessions,
  {
    /** A token that signs this operator in, once. */
    readonly link: (operator: Operator) => Effect.Effect<{ readonly token: string; readonly expiresAt: number }>
    /** Uses a link up: whom it signs in; undefined: it is unknown, used or too old. */
    readonly redeem: (token: string) => Effect.Effect<Operator | undefined>
    /** Opens a session; `secret` is what the browser keeps. */
    readonly open: (
      holder: SessionHolder,
      place: SignInPlace
    ) => Effect.Effect<{ readonly secret: string; readonly session: ConsoleSession }>
    readonly find: (secret: string) => Effect.Effect<ConsoleSession | undefined>
    /** Whether the session of a record is open. */
    readonly isOpen: (id: string) => Effect.Effect<boolean>
    /** Newest first. */
    readonly list: Effect.Effect<ReadonlyArray<SessionRecord>>
    /** Ends the session of a record; undefined: there is none. */
    readonly end: (id: string) => Effect.Effect<SessionRecord | undefined>
    /** Takes back the links of an operator. */
    readonly endLinksOf: (operator: string) => Effect.Effect<void>
    /** Ends all of an operator, and takes their links back. */
    readonly endOf: (operator: string) => Effect.Effect<void>
  }
>()("muniment/server/ConsoleSessions") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const secretBytes = 32
const idBytes = 9

/** Links that nobody has used yet. */
const makeLinks = (newToken: Effect.Effect<string>) => {
  /** By digest of a token. */
  const links = new Map<string, { readonly operator: Operator; readonly expiresAt: number }>()

  const dropOld = (now: number) => {
    for (const [digest, { expiresAt }] of links) if (expiresAt <= now) links.delete(digest)
    const [oldest] = links.keys()
    if (oldest !== undefined && links.size > Limits.consoleLinksMax) links.delete(oldest)
  }

  return {
    link: Effect.fnUntraced(function* (operator: Operator) {
      const now = yield* Clock.currentTimeMillis
      const token = yield* newToken
      const expiresAt = now + Limits.consoleLinkMillis
      links.set(sha256Hex(token), { operator, expiresAt })
      dropOld(now)
      return { token, expiresAt }
    }),
    redeem: Effect.fnUntraced(function* (token: string) {
      dropOld(yield* Clock.currentTimeMillis)
      const digest = sha256Hex(token)
      const operator = links.get(digest)?.operator
      links.delete(digest)
      return operator
    }),
    endOf: (operator: string) =>
      Effect.sync(() => {
        for (const [digest, link] of links) if (link.operator.name === operator) links.delete(digest)
      })
  }
}

const make = Effect.gen(function* () {
  const random = yield* SecureRandom.SecureRandom
  const sessions = new HeldSessions()
  const randomText = (bytes: number) =>
    Effect.map(random.randomBytes(bytes), (drawn) => Buffer.from(drawn).toString("base64url"))
  const links = makeLinks(randomText(secretBytes))

  const open = Effect.fnUntraced(function* (holder: SessionHolder, { address, browser }: SignInPlace) {
    const now = yield* Clock.currentTimeMillis
    const secret = yield* randomText(secretBytes)
    const account = holder.role === "operator" ? null : holder.account
    const operator = holder.role === "operator" ? holder.operator : null
    const shared = { role: holder.role, account, operator, expiresAt: now + Limits.consoleSessionMillis }
    const id = `ses_${yield* randomText(idBytes)}`
    const shownBrowser = browser.slice(0, Limits.consoleBrowserLengthMax)
    const session = {
      holder,
      own: {
        ...shared,
        id,
        ...(holder.role === "operator" ? allowedTo(holder.operator) : allowedBy(holder)),
        csrf: yield* randomText(secretBytes)
      },
      record: { ...shared, id, address, browser: shownBrowser, createdAt: now, lastUsedAt: now }
    }
    sessions.add(sha256Hex(secret), session, now)
    return { secret, session }
  })

  return {
    link: links.link,
    redeem: links.redeem,
    open,
    find: (secret) => Effect.map(Clock.currentTimeMillis, (now) => sessions.use(sha256Hex(secret), now)),
    isOpen: (id) => Effect.map(Clock.currentTimeMillis, (now) => sessions.has(id, now)),
    list: Effect.map(Clock.currentTimeMillis, (now) => sessions.records(now)),
    end: (id) => Effect.sync(() => sessions.end(id)),
    endLinksOf: links.endOf,
    endOf: (operator) =>
      Effect.andThen(
        links.endOf(operator),
        Effect.sync(() => sessions.endOf(operator))
      )
  } satisfies ConsoleSessions["Service"]
})

/** Facts about a session that follow the operator's present role. */
export const allowedTo = (operator: Operator) => ({
  operator,
  refused: refusedTo(operator.role),
  readOnly: operator.role === "viewer",
  isBound: false
})

const allowedBy = ({ isBound, readOnly }: KeyFacts) => ({ refused: [], readOnly, isBound })

class HeldSessions {
  /** Sessions by the digest of the browser's secret; oldest first. */
  readonly #byDigest = new Map<string, ConsoleSession>()

  add(digest: string, session: ConsoleSession, now: number): void {
    this.#dropEnded(now)
    const holder = holderName(session)
    const held = [...this.#byDigest].filter(([, other]) => holderName(other) === holder)
    const excess = held.length + 1 - Limits.consoleSessionsPerHolderMax
    for (const [oldest] of held.slice(0, Math.max(0, excess))) this.#byDigest.delete(oldest)
    this.#byDigest.set(digest, session)
    if (this.#byDigest.size > Limits.consoleSessionsMax) this.#dropOfLargest()
  }

  /** Drops the oldest session of the account that has most, so that it cannot sign out others. */
  #dropOfLargest(): void {
    const all = [...this.#byDigest]
    const ofAccounts = all.filter(([, { holder }]) => holder.role === "account")
    const byHolder = Map.groupBy(ofAccounts.length === 0 ? all : ofAccounts, ([, held]) => holderName(held))
    const largest = [...byHolder.values()].reduce((most, held) => (held.length > most.length ? held : most), [])
    for (const [oldest] of largest.slice(0, 1)) this.#byDigest.delete(oldest)
  }

  use(digest: string, now: number): ConsoleSession | undefined {
    this.#dropEnded(now)
    const found = this.#byDigest.get(digest)
    if (found === undefined) return undefined
    const used = { ...found, record: { ...found.record, lastUsedAt: now } }
    this.#byDigest.set(digest, used)
    return used
  }

  has(id: string, now: number): boolean {
    this.#dropEnded(now)
    return this.#digestOf(id) !== undefined
  }

  records(now: number): ReadonlyArray<SessionRecord> {
    this.#dropEnded(now)
    return [...this.#byDigest.values()].map(({ record }) => record).reverse()
  }

  end(id: string): SessionRecord | undefined {
    const digest = this.#digestOf(id)
    if (digest === undefined) return undefined
    const ended = this.#byDigest.get(digest)
    this.#byDigest.delete(digest)
    return ended?.record
  }

  endOf(operator: string): void {
    for (const [digest, { record }] of this.#byDigest) {
      if (record.operator?.name === operator) this.#byDigest.delete(digest)
    }
  }

  #digestOf(id: string): string | undefined {
    for (const [digest, { record }] of this.#byDigest) if (record.id === id) return digest
    return undefined
  }

  #dropEnded(now: number): void {
    for (const [digest, { record }] of this.#byDigest) if (record.expiresAt <= now) this.#byDigest.delete(digest)
  }
}

/** The same for all sessions of an account, or of an operator. */
const holderName = ({ record: { account, operator } }: ConsoleSession): string =>
  operator === null ? `account ${account}` : `operator ${operator.name}`

/**
 * One-time links to the console, with the address at which the service is reached. The token is in the fragment, which
 * browsers send to no server and proxies do not log.
 */
export class ConsoleLinks extends Context.Service<
  ConsoleLinks,
  {
    /** Undefined: the console is switched off. */
    readonly make: (
      operator: Operator
    ) => Effect.Effect<{ readonly url: string; readonly expiresAt: number } | undefined>
  }
>()("muniment/server/ConsoleLinks") {
  /** `origin`: instead of the address that the service listens on. */
  static readonly layer = (options: {
    readonly isOn: boolean
    readonly host: string
    readonly origin: string | undefined
  }) =>
    Layer.effect(
      ConsoleLinks,
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions
        const { address } = yield* HttpServer.HttpServer
        const own = address._tag === "UnixPathAddress" ? "" : localOrigin(options.host, address.port)
        return {
          make: Effect.fnUntraced(function* (operator: Operator) {
            if (!options.isOn) return undefined
            const { expiresAt, token } = yield* sessions.link(operator)
            return { url: `${options.origin ?? own}${consolePath}#link=${token}`, expiresAt }
          })
        }
      })
    )
}

type Headers = Readonly<Record<string, string | undefined>>

/** Of a session, or of a sign-in at an OpenID Connect provider, which leads a browser back from another site. */
type CookieKind = "session" | "sign_in"

const cookieName = (kind: CookieKind, { host = "" }: Headers): string => {
  const port = /:(\d{1,5})$/.exec(host)?.[1]
  return port === undefined ? `muniment_${kind}` : `muniment_${kind}_${port}`
}

/**
 * The cookie of a console's session (contract: Console): HttpOnly, so that no script reads it; SameSite=Strict, so that
 * no other site's page sends it. A change needs the session's token in a header besides, which only the console's own
 * page can read.
 *
 * Browsers keep the cookies of all ports of a host together, so its name ends with the port by which the browser came:
 * two services on one machine do not sign each other out.
 *
 * Secret of the session that the browser sends; undefined: none.
 */
export const sessionSecretOf = (headers: Headers): string | undefined => cookieSecretOf("session", headers)

export const cookieSecretOf = (kind: CookieKind, headers: Headers): string | undefined => {
  const start = `${cookieName(kind, headers)}=`
  const held = headers["cookie"]?.split(";").find((one) => one.trimStart().startsWith(start))
  const secret = held?.trim().slice(start.length)
  return secret !== undefined && /^[\w-]{1,2048}$/.test(secret) ? secret : undefined
}

/** `secondsMax` 0 removes it. A cookie for TLS only where the service is reached so. */
export const cookieText = (
  kind: CookieKind,
  headers: Headers,
  secret: string,
  secondsMax: number,
  isSecure: boolean
): string =>
  [
    `${cookieName(kind, headers)}=${secret}`,
    "Path=/",
    "HttpOnly",
    `SameSite=${kind === "session" ? "Strict" : "Lax"}`,
    `Max-Age=${secondsMax}`,
    ...(isSecure ? ["Secure"] : [])
  ].join("; ")

/** A request that changes something has to show that it comes from the console's own page. */
export const requireOwnPage = Effect.fnUntraced(function* ({ own }: ConsoleSession) {
  const { headers, method } = yield* HttpServerRequest.HttpServerRequest
  if (method === "GET" || method === "HEAD") return
  if (headers["x-csrf-token"] === own.csrf) return
  return yield* new Forbidden({ code: "csrf", error: "a change by a signed-in browser needs the header x-csrf-token" })
})
