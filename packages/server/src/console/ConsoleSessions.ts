/**
 * Sessions of the console and the one-time links that open an operator's (contract: Console). In memory: a restart
 * signs everybody out, and no file holds what opens the service.
 *
 * Invariants: a link is used once, within `Limits.consoleLinkMillis`; a session ends after `Limits.consoleSessionMillis`
 * or when it is ended; what the browser holds is random and only its digest is kept here; both are bounded in number,
 * the oldest giving way, a holder's own first, then one of the account with the most, the operator's never for an account.
 */
import { Clock, Context, Effect, Layer, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import type { OwnSession, SessionRecord } from "@muniment/domain/Console"
import { Limits } from "@muniment/domain/Limits"
import { sha256Hex } from "@muniment/trust/CanonicalJson"

/** Operator or account that a session stands for. */
export type SessionHolder =
  | { readonly role: "operator" }
  /** The key is looked up with each request, so that its revocation ends what the session may do. */
  | { readonly role: "account"; readonly account: string; readonly key: Redacted.Redacted }

export interface ConsoleSession {
  readonly holder: SessionHolder
  readonly record: SessionRecord
  readonly own: OwnSession
}

export interface SignInPlace {
  readonly address: string
  readonly browser: string
}

export class ConsoleSessions extends Context.Service<
  ConsoleSessions,
  {
    /** A token that signs an operator in, once. */
    readonly link: Effect.Effect<{ readonly token: string; readonly expiresAt: number }>
    /** Uses a link up; false: it is unknown, used or too old. */
    readonly redeem: (token: string) => Effect.Effect<boolean>
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
  }
>()("muniment/server/ConsoleSessions") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const secretBytes = 32
const idBytes = 9

const make = Effect.gen(function* () {
  const random = yield* SecureRandom.SecureRandom
  /** Digest of a token -> end of its time. */
  const links = new Map<string, number>()
  const sessions = new HeldSessions()

  const randomText = (bytes: number) =>
    Effect.map(random.randomBytes(bytes), (drawn) => Buffer.from(drawn).toString("base64url"))

  const dropOldLinks = (now: number) => {
    for (const [digest, expiresAt] of links) if (expiresAt <= now) links.delete(digest)
    const [oldest] = links.keys()
    if (oldest !== undefined && links.size > Limits.consoleLinksMax) links.delete(oldest)
  }

  const link = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const token = yield* randomText(secretBytes)
    const expiresAt = now + Limits.consoleLinkMillis
    links.set(sha256Hex(token), expiresAt)
    dropOldLinks(now)
    return { token, expiresAt }
  })

  const redeem = Effect.fnUntraced(function* (token: string) {
    dropOldLinks(yield* Clock.currentTimeMillis)
    return links.delete(sha256Hex(token))
  })

  const open = Effect.fnUntraced(function* (holder: SessionHolder, { address, browser }: SignInPlace) {
    const now = yield* Clock.currentTimeMillis
    const secret = yield* randomText(secretBytes)
    const account = holder.role === "operator" ? null : holder.account
    const shared = { role: holder.role, account, expiresAt: now + Limits.consoleSessionMillis }
    const id = `ses_${yield* randomText(idBytes)}`
    const shownBrowser = browser.slice(0, Limits.consoleBrowserLengthMax)
    const session = {
      holder,
      own: { ...shared, id, csrf: yield* randomText(secretBytes) },
      record: { ...shared, id, address, browser: shownBrowser, createdAt: now, lastUsedAt: now }
    }
    sessions.add(sha256Hex(secret), session, now)
    return { secret, session }
  })

  return {
    link,
    redeem,
    open,
    find: (secret) => Effect.map(Clock.currentTimeMillis, (now) => sessions.use(sha256Hex(secret), now)),
    isOpen: (id) => Effect.map(Clock.currentTimeMillis, (now) => sessions.has(id, now)),
    list: Effect.map(Clock.currentTimeMillis, (now) => sessions.records(now)),
    end: (id) => Effect.sync(() => sessions.end(id))
  } satisfies ConsoleSessions["Service"]
})

class HeldSessions {
  /** Sessions by the digest of the browser's secret; oldest first. */
  readonly #byDigest = new Map<string, ConsoleSession>()

  add(digest: string, session: ConsoleSession, now: number): void {
    this.#dropEnded(now)
    const held = [...this.#byDigest].filter(([, { record }]) => record.account === session.record.account)
    const excess = held.length + 1 - Limits.consoleSessionsPerHolderMax
    for (const [oldest] of held.slice(0, Math.max(0, excess))) this.#byDigest.delete(oldest)
    this.#byDigest.set(digest, session)
    if (this.#byDigest.size > Limits.consoleSessionsMax) this.#dropOfLargest()
  }

  /** Drops one of the holder with most sessions, so that it cannot sign out others. */
  #dropOfLargest(): void {
    const ofAccounts = [...this.#byDigest].filter(([, { holder }]) => holder.role === "account")
    const byAccount = Map.groupBy(ofAccounts, ([, { record }]) => record.account)
    const largest = [...byAccount.values()].reduce((most, held) => (held.length > most.length ? held : most), [])
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

  #digestOf(id: string): string | undefined {
    for (const [digest, { record }] of this.#byDigest) if (record.id === id) return digest
    return undefined
  }

  #dropEnded(now: number): void {
    for (const [digest, { record }] of this.#byDigest) if (record.expiresAt <= now) this.#byDigest.delete(digest)
  }
}
