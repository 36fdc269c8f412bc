/**
 * In whose turn a request waits, from its headers alone. What headers claim is believed once a request with the same
 * claim has passed the checks: a key of an account; a wallet from one address. Until then the address counts, so that
 * invented keys and wallets share one turn. This decides who waits, never who may do what.
 */
import { createHash } from "node:crypto"
import type { Account } from "@muniment/domain/Account"
import { Limits } from "@muniment/domain/Limits"
import { turnWeights } from "@muniment/domain/Plans"

export interface Asker {
  /** Whose turn it takes: an account, or an address. */
  readonly account: string
  readonly weight: number
  /** Whether its claim has passed the checks. */
  readonly isKnown: boolean
}

/** By lower-case name. */
type Headers = Readonly<Record<string, string | undefined>>

const strangerWeight = turnWeights.free

export class Askers {
  /** Claim -> who it belongs to; least recently used first. */
  readonly #known = new Map<string, Asker>()

  of(headers: Headers, address: string): Asker {
    const claim = claimOf(headers, address)
    const known = claim === undefined ? undefined : this.#known.get(claim)
    if (claim === undefined || known === undefined) {
      return { account: `address:${address}`, weight: strangerWeight, isKnown: false }
    }
    this.#known.delete(claim)
    this.#known.set(claim, known)
    return known
  }

  /** The claim has passed the checks. */
  learn(headers: Headers, address: string, { id, plan }: Account): void {
    const claim = claimOf(headers, address)
    if (claim === undefined) return
    this.#known.delete(claim)
    this.#known.set(claim, { account: id, weight: turnWeights[plan], isKnown: true })
    if (this.#known.size <= Limits.rateLimitedCallersMax) return
    const [oldest] = this.#known.keys()
    if (oldest !== undefined) this.#known.delete(oldest)
  }

  /** The claim has failed the checks, for instance because its key was revoked. */
  forget(headers: Headers, address: string): void {
    const claim = claimOf(headers, address)
    if (claim !== undefined) this.#known.delete(claim)
  }
}

/** A bearer key takes precedence over wallet headers, as it does when credentials are checked. */
const claimOf = (headers: Headers, address: string): string | undefined => {
  const { authorization } = headers
  if (authorization !== undefined && /^bearer +\S/i.test(authorization)) {
    return createHash("sha256").update(authorization).digest("base64")
  }
  const wallet = headers["x-wallet-address"]
  return wallet !== undefined ? `${address} ${wallet.slice(0, Limits.identifierLengthMax)}` : undefined
}
