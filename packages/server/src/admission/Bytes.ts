/**
 * Bytes of request bodies that have not been answered, for each account and in all: a body in work takes several times
 * its size in memory. Small bodies have room of their own, so that large ones never keep them out.
 */
import { Limits } from "@muniment/domain/Limits"

export type ByteBound = "account_bytes" | "bytes"

export class Bytes {
  readonly #large = new Map<string, number>()
  #largeBytes = 0
  #smallBytes = 0

  get inFlight(): number {
    return this.#largeBytes + this.#smallBytes
  }

  /** The bound that it would exceed; undefined: reserved, until `release` of the same. */
  reserve(account: string, bytes: number): ByteBound | undefined {
    if (isSmall(bytes)) {
      if (this.#smallBytes + bytes > Limits.smallBodiesBytesMax) return "bytes"
      this.#smallBytes += bytes
      return undefined
    }
    const own = this.#large.get(account) ?? 0
    if (own + bytes > Limits.accountBodiesBytesMax) return "account_bytes"
    if (this.#largeBytes + bytes > Limits.bodiesBytesMax) return "bytes"
    this.#large.set(account, own + bytes)
    this.#largeBytes += bytes
    return undefined
  }

  release(account: string, bytes: number): void {
    if (isSmall(bytes)) {
      this.#smallBytes -= bytes
      return
    }
    this.#largeBytes -= bytes
    const left = (this.#large.get(account) ?? 0) - bytes
    if (left > 0) this.#large.set(account, left)
    else this.#large.delete(account)
  }
}

const isSmall = (bytes: number): boolean => bytes <= Limits.smallBodyBytesMax
