/**
 * Reports of a chain that a payment can never arrive. One may be wrong (a node on a fork, a wrong receipt), so that the
 * second one counts, if it names another block; a look that says anything else in between starts over.
 *
 * In memory only: after a restart two more reports are needed.
 */
export class Doubts {
  readonly #blocks = new Map<string, bigint>()

  /** Notes a report of `block`; true if an earlier one of another block stands. */
  isConfirmed(paymentId: string, block: bigint): boolean {
    const first = this.#blocks.get(paymentId)
    if (first === undefined) {
      this.#blocks.set(paymentId, block)
      return false
    }
    if (first === block) return false
    this.#blocks.delete(paymentId)
    return true
  }

  clear(paymentId: string): void {
    this.#blocks.delete(paymentId)
  }
}
