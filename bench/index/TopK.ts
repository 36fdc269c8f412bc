/**
 * The k best (score, slot) pairs of a stream: a binary heap with the worst kept pair at its root.
 *
 * Order is total (higher score, then higher slot), so the result does not depend on the order in
 * which pairs are offered, and two engines that see the same scores answer identically.
 */

/** Best first. Scores in double precision: those of near-duplicates differ by less than float32 tells apart. */
export interface TopHits {
  readonly slots: Int32Array
  readonly scores: Float64Array
}

export class TopK {
  readonly #slots: Int32Array
  readonly #scores: Float64Array
  #size = 0

  constructor(k: number) {
    if (!Number.isInteger(k) || k < 0) throw new RangeError(`k must be a whole number of at least 0, got ${k}`)
    this.#slots = new Int32Array(k)
    this.#scores = new Float64Array(k)
  }

  offer(slot: number, score: number): void {
    if (this.#size < this.#slots.length) {
      this.#siftUp(this.#size++, slot, score)
    } else if (this.#size > 0 && isWorse(this.#scores[0]!, this.#slots[0]!, score, slot)) {
      this.#siftDown(slot, score)
    }
  }

  /** The pairs kept, best first. Empties the heap. */
  drain(): TopHits {
    const count = this.#size
    const slots = new Int32Array(count)
    const scores = new Float64Array(count)
    for (let i = count - 1; i >= 0; i--) {
      slots[i] = this.#slots[0]!
      scores[i] = this.#scores[0]!
      this.#size--
      if (this.#size > 0) this.#siftDown(this.#slots[this.#size]!, this.#scores[this.#size]!)
    }
    return { slots, scores }
  }

  #siftUp(from: number, slot: number, score: number): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!isWorse(score, slot, this.#scores[parent]!, this.#slots[parent]!)) break
      this.#place(at, this.#slots[parent]!, this.#scores[parent]!)
      at = parent
    }
    this.#place(at, slot, score)
  }

  // Puts a pair in the root's stead and lets it sink to where nothing below it is worse.
  #siftDown(slot: number, score: number): void {
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#size) break
      const right = child + 1
      if (
        right < this.#size &&
        isWorse(this.#scores[right]!, this.#slots[right]!, this.#scores[child]!, this.#slots[child]!)
      )
        child = right
      if (!isWorse(this.#scores[child]!, this.#slots[child]!, score, slot)) break
      this.#place(at, this.#slots[child]!, this.#scores[child]!)
      at = child
    }
    this.#place(at, slot, score)
  }

  #place(at: number, slot: number, score: number): void {
    this.#slots[at] = slot
    this.#scores[at] = score
  }
}

const isWorse = (score: number, slot: number, thanScore: number, thanSlot: number): boolean =>
  score < thanScore || (score === thanScore && slot < thanSlot)
