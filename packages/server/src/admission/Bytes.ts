/**
 * Bytes of request bodies that have not been answered, for each account and in all: a body in work takes several times
 * its size in memory. Small bodies have room of their own, so that large ones never keep them out. Of each room an
 * account has its share, and strangers half together, or two addresses that send bodies which never end would hold it
 * all.
 *
 * A large body that was served rests: it keeps its room, or some of what else its account may have, as long again as the
 * work on it took. Its garbage (some 25 times its bytes) stays until it is collected, and the busier the machine the
 * more bodies would come to be served while a crowd of them arrives. What an account was served that has lately been
 * refused for its bodies rests longer, in its own room only: who sends one after the other never is.
 */
import { hash } from "node:crypto"
import { LRUCache } from "lru-cache"
import { Limits } from "@muniment/domain/Limits"
import type { Account } from "@muniment/domain/Account"
import { turnWeights } from "@muniment/domain/Plans"
import { sessionSecretOf } from "../console/ConsoleSessions.ts"

export type ByteBound = "account_bytes" | "bytes"

interface Room {
  inFlight: number
  resting: number
  /** When the account was last refused for its own bodies. */
  refusedMillis: number
}

interface Rest {
  readonly account: string
  readonly bytes: number
  readonly sinceMillis: number
  readonly untilMillis: number
  /** Whether it still takes room of all. */
  isOfAll: boolean
}

export class Bytes {
  readonly #large = new Map<string, Room>()
  #resting: Array<Rest> = []
  #largeBytes = 0
  #restingBytes = 0
  readonly #small = new Map<string, number>()
  #smallBytes = 0
  #strangersLargeBytes = 0
  #strangersSmallBytes = 0

  /** Bytes under way, without those at rest. */
  get inFlight(): number {
    return this.#largeBytes + this.#smallBytes
  }

  /** The bound that it would exceed; undefined: reserved, until `release` or `rest` of the same. */
  reserve(account: string, bytes: number, nowMillis: number): ByteBound | undefined {
    if (isSmall(bytes)) return this.#reserveSmall(account, bytes)
    this.#endRests(nowMillis)
    const { inFlight, resting } = this.#large.get(account) ?? noRoom
    const isAboveOwn =
      inFlight + bytes > Limits.accountBodiesBytesMax ||
      inFlight + resting + bytes > Limits.accountBodiesWithRestBytesMax
    if (isAboveOwn) {
      this.#large.set(account, { inFlight, resting, refusedMillis: nowMillis })
      return "account_bytes"
    }
    if (isStranger(account) && this.#strangersLargeBytes + bytes > Limits.bodiesBytesMax / 2) return "bytes"
    if (this.#largeBytes + this.#restingBytes + bytes > Limits.bodiesBytesMax) return "bytes"
    this.#changeLarge(account, bytes)
    return undefined
  }

  release(account: string, bytes: number): void {
    if (isSmall(bytes)) this.#changeSmall(account, -bytes)
    else this.#changeLarge(account, -bytes)
  }

  /** Keeps the room of a body that was served for `millis` from now. */
  rest(account: string, bytes: number, nowMillis: number, millis: number): void {
    // Before it is released: a room that becomes empty forgets that its account was refused.
    if (!isSmall(bytes)) {
      this.#restingBytes += bytes
      this.#resting.push({ account, bytes, sinceMillis: nowMillis, untilMillis: nowMillis + millis, isOfAll: true })
      this.#change(account, 0, bytes)
    }
    this.release(account, bytes)
  }

  #reserveSmall(account: string, bytes: number): ByteBound | undefined {
    if ((this.#small.get(account) ?? 0) + bytes > Limits.accountBodiesBytesMax) return "account_bytes"
    if (isStranger(account) && this.#strangersSmallBytes + bytes > Limits.smallBodiesBytesMax / 2) return "bytes"
    if (this.#smallBytes + bytes > Limits.smallBodiesBytesMax) return "bytes"
    this.#changeSmall(account, bytes)
    return undefined
  }

  #changeLarge(account: string, bytes: number): void {
    this.#largeBytes += bytes
    if (isStranger(account)) this.#strangersLargeBytes += bytes
    this.#change(account, bytes, 0)
  }

  #changeSmall(account: string, bytes: number): void {
    this.#smallBytes += bytes
    if (isStranger(account)) this.#strangersSmallBytes += bytes
    const left = (this.#small.get(account) ?? 0) + bytes
    if (left > 0) this.#small.set(account, left)
    else this.#small.delete(account)
  }

  #endRests(nowMillis: number): void {
    this.#resting = this.#resting.filter((rest) => {
      const { account, bytes, untilMillis } = rest
      if (untilMillis > nowMillis) return true
      if (rest.isOfAll) this.#restingBytes -= bytes
      rest.isOfAll = false
      if (this.#isCrowd(account, nowMillis) && rest.sinceMillis + Limits.crowdedBodyRestMillis > nowMillis) return true
      this.#change(account, 0, -bytes)
      return false
    })
  }

  #isCrowd(account: string, nowMillis: number): boolean {
    const { refusedMillis } = this.#large.get(account) ?? noRoom
    return nowMillis < refusedMillis + Limits.crowdedBodyRestMillis
  }

  #change(account: string, inFlight: number, resting: number): void {
    const room = this.#large.get(account) ?? noRoom
    const left = { ...room, inFlight: room.inFlight + inFlight, resting: room.resting + resting }
    if (left.inFlight > 0 || left.resting > 0) this.#large.set(account, left)
    else this.#large.delete(account)
  }
}

const noRoom: Room = { inFlight: 0, resting: 0, refusedMillis: Number.NEGATIVE_INFINITY }

const isSmall = (bytes: number): boolean => bytes <= Limits.smallBodyBytesMax

/**
 * In whose turn a request waits, from its headers alone. What headers claim is believed once a request with the same
 * claim has passed the checks: a key of an account; a wallet from one address. Until then the address counts, so that
 * invented keys and wallets share one turn. This decides who waits, never who may do what.
 */
export interface Asker {
  /** Account or address in whose turn the request waits. */
  readonly account: string
  readonly weight: number
  /** Whether its claim has passed the checks. */
  readonly isKnown: boolean
}

/** Headers by lower-case name. */
type Headers = Readonly<Record<string, string | undefined>>

const strangerWeight = turnWeights.free
const strangerPrefix = "address:"

/** Whether an asker's `account` is an address. */
const isStranger = (account: string): boolean => account.startsWith(strangerPrefix)

export class Askers {
  /** Claim -> who it belongs to. */
  readonly #known = new LRUCache<string, Asker>({ max: Limits.rateLimitedCallersMax })
  #latest = { authorization: "", claim: "" }

  /** `addressOf` is asked only where the address decides. */
  of(headers: Headers, addressOf: () => string): Asker {
    const claim = this.#claimOf(headers, addressOf)
    const known = claim === undefined ? undefined : this.#known.get(claim)
    if (claim === undefined || known === undefined) {
      return { account: `${strangerPrefix}${addressOf()}`, weight: strangerWeight, isKnown: false }
    }
    return known
  }

  /** The claim has passed the checks. */
  learn(headers: Headers, addressOf: () => string, { id, plan }: Pick<Account, "id" | "plan">): void {
    const claim = this.#claimOf(headers, addressOf)
    if (claim === undefined) return
    this.#known.set(claim, { account: id, weight: turnWeights[plan], isKnown: true })
  }

  /** The claim has failed the checks, for instance because its key was revoked. */
  forget(headers: Headers, addressOf: () => string): void {
    const claim = this.#claimOf(headers, addressOf)
    if (claim !== undefined) this.#known.delete(claim)
  }

  /** A bearer key takes precedence over wallet headers, as it does when credentials are checked. */
  #claimOf(headers: Headers, addressOf: () => string): string | undefined {
    const { authorization, "x-wallet-address": wallet } = headers
    if (authorization !== undefined && /^bearer +\S/i.test(authorization)) return this.#hashOf(authorization)
    if (wallet !== undefined) return `${addressOf()} ${wallet.slice(0, Limits.identifierLengthMax)}`
    const session = sessionSecretOf(headers)
    return session === undefined ? undefined : this.#hashOf(session)
  }

  /** A flood comes with one key. */
  #hashOf(authorization: string): string {
    if (this.#latest.authorization !== authorization) {
      this.#latest = { authorization, claim: hash("sha256", authorization, "base64") }
    }
    return this.#latest.claim
  }
}
