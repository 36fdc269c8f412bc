/**
 * Last block height at which a payment may be included. A blockhash is valid for 150 blocks (the runtime's
 * MAX_PROCESSING_AGE), but no RPC call returns a blockhash's height, and `isBlockhashValid` is false both before the node
 * has seen it and after it has expired. So the bound is kept from the first observation: a node called it valid at some
 * height: 150 blocks after that, plus a margin for forks; or, after a restart, first asked about at some height of a
 * healthy node (at most 128 slots behind its cluster): 150 blocks more, because the payer may have read a blockhash that
 * this node had not seen. In memory only: losing a bound costs time until a payment counts as failed, never money.
 */
import { LRUCache } from "lru-cache"

const blockhashBlocksMax = 150n
const forkBlocksMax = 32n
const lagBlocksMax = 150n
const lifetimesMax = 4_096

export class SvmLifetimes {
  readonly #lastHeights = new LRUCache<string, bigint>({ max: lifetimesMax })

  /** Last block height at which the payment may be included; undefined if unknown. */
  lastHeightOf(paymentId: string): bigint | undefined {
    return this.#lastHeights.get(paymentId)
  }

  /** A node reported the payment's blockhash as valid at height `height` or less. */
  seenValid(paymentId: string, height: bigint): void {
    this.#keep(paymentId, height + blockhashBlocksMax + forkBlocksMax)
  }

  /** The payment exists while a healthy node is at `height`. */
  seenAt(paymentId: string, height: bigint): void {
    this.#keep(paymentId, height + lagBlocksMax + blockhashBlocksMax)
  }

  forget(paymentId: string): void {
    this.#lastHeights.delete(paymentId)
  }

  /** The lower bound wins: both hold. */
  #keep(paymentId: string, lastHeight: bigint): void {
    const known = this.#lastHeights.get(paymentId)
    this.#lastHeights.set(paymentId, known !== undefined && known < lastHeight ? known : lastHeight)
  }
}
