/**
 * Bytes of request bodies that have not been answered, for each account and in all: a body in work takes several times
 * its size in memory. Small bodies have room of their own, so that large ones never keep them out.
 *
 * A large body that was served rests: it keeps its room, or some of what else its account may have, as long again as the
 * work on it took. Its garbage (some 25 times its bytes) stays until it is collected, and the busier the machine the
 * more bodies would come to be served while a crowd of them arrives.
 */
import { Limits } from "@muniment/domain/Limits"

export type ByteBound = "account_bytes" | "bytes"

interface Room {
  inFlight: number
  resting: number
}

interface Rest {
  readonly account: string
  readonly bytes: number
  readonly untilMillis: number
}

export class Bytes {
  readonly #large = new Map<string, Room>()
  #resting: ReadonlyArray<Rest> = []
  #largeBytes = 0
  #restingBytes = 0
  #smallBytes = 0

  /** Without those that rest. */
  get inFlight(): number {
    return this.#largeBytes + this.#smallBytes
  }

  /** The bound that it would exceed; undefined: reserved, until `release` or `rest` of the same. */
  reserve(account: string, bytes: number, nowMillis: number): ByteBound | undefined {
    if (isSmall(bytes)) {
      if (this.#smallBytes + bytes > Limits.smallBodiesBytesMax) return "bytes"
      this.#smallBytes += bytes
      return undefined
    }
    this.#endRests(nowMillis)
    const { inFlight, resting } = this.#large.get(account) ?? { inFlight: 0, resting: 0 }
    if (inFlight + bytes > Limits.accountBodiesBytesMax) return "account_bytes"
    if (inFlight + resting + bytes > Limits.accountBodiesWithRestBytesMax) return "account_bytes"
    if (this.#largeBytes + this.#restingBytes + bytes > Limits.bodiesBytesMax) return "bytes"
    this.#largeBytes += bytes
    this.#large.set(account, { inFlight: inFlight + bytes, resting })
    return undefined
  }

  release(account: string, bytes: number): void {
    if (isSmall(bytes)) {
      this.#smallBytes -= bytes
      return
    }
    this.#largeBytes -= bytes
    this.#change(account, -bytes, 0)
  }

  /** Of a body that was served. */
  rest(account: string, bytes: number, untilMillis: number): void {
    this.release(account, bytes)
    if (isSmall(bytes)) return
    this.#resting = [...this.#resting, { account, bytes, untilMillis }]
    this.#restingBytes += bytes
    this.#change(account, 0, bytes)
  }

  #endRests(nowMillis: number): void {
    if (!this.#resting.some(({ untilMillis }) => untilMillis <= nowMillis)) return
    for (const { account, bytes, untilMillis } of this.#resting) {
      if (untilMillis > nowMillis) continue
      this.#restingBytes -= bytes
      this.#change(account, 0, -bytes)
    }
    this.#resting = this.#resting.filter(({ untilMillis }) => untilMillis > nowMillis)
  }

  #change(account: string, inFlight: number, resting: number): void {
    const room = this.#large.get(account) ?? { inFlight: 0, resting: 0 }
    const left = { inFlight: room.inFlight + inFlight, resting: room.resting + resting }
    if (left.inFlight > 0 || left.resting > 0) this.#large.set(account, left)
    else this.#large.delete(account)
  }
}

const isSmall = (bytes: number): boolean => bytes <= Limits.smallBodyBytesMax
