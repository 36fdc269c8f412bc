/**
 * Until which block height a payment may land. A blockhash serves 150 blocks after its own (the runtime's
 * MAX_PROCESSING_AGE), but no RPC call tells a blockhash's height, and `isBlockhashValid` is as false for
 * one that the node has not seen yet as for one that has run out. So a bound is kept from when it was seen:
 *
 * - a node that called it valid at some height: 150 blocks after that height, and some for another fork;
 * - after a restart, first asked about at some height of a node in good health (at most 128 slots behind
 *   its cluster): 150 blocks more, as the payer may have read a blockhash that this node had yet to see.
 *
 * Bounds are kept in memory: to forget one costs time until a payment counts as failed, never money.
 */
const blockhashBlocksMax = 150n
const forkBlocksMax = 32n
const lagBlocksMax = 150n
const lifetimesMax = 4_096

export class SvmLifetimes {
  private readonly lastHeights = new Map<string, bigint>()

  /** The last block height at which the payment may land; undefined: nothing known. */
  lastHeightOf(paymentId: string): bigint | undefined {
    return this.lastHeights.get(paymentId)
  }

  /** A node knew the payment's blockhash as valid when its own height was `height` or less. */
  seenValid(paymentId: string, height: bigint): void {
    this.keep(paymentId, height + blockhashBlocksMax + forkBlocksMax)
  }

  /** The payment exists while a node in good health is at `height`. */
  seenAt(paymentId: string, height: bigint): void {
    this.keep(paymentId, height + lagBlocksMax + blockhashBlocksMax)
  }

  forget(paymentId: string): void {
    this.lastHeights.delete(paymentId)
  }

  /** The earlier bound stands: both hold. */
  private keep(paymentId: string, lastHeight: bigint): void {
    const known = this.lastHeights.get(paymentId)
    this.lastHeights.set(paymentId, known !== undefined && known < lastHeight ? known : lastHeight)
    const [oldest] = this.lastHeights.keys()
    if (this.lastHeights.size > lifetimesMax && oldest !== undefined) this.lastHeights.delete(oldest)
  }
}
