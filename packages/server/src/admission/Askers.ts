/**
 * In whose turn a request waits, from its headers alone. What headers claim is believed once a request with the same
 * claim has passed the checks: a key of an account; a wallet from one address. Until then the address counts, so that
 * invented keys and wallets share one turn. This decides who waits, never who may do what.
 */
import { hash } from "node:crypto"
import type { Account } from "@muniment/domain/Account"
import { Limits } from "@muniment/domain/Limits"
import { turnWeights } from "@muniment/domain/Plans"
import { LRUCache } from "lru-cache"
import { sessionSecretOf } from "../console/ConsoleSessions.ts"

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
export const isStranger = (account: string): boolean => account.startsWith(strangerPrefix)

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
  learn(headers: Headers, addressOf: () => string, { id, plan }: Account): void {
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
