/**
 * Top-k selection over scored slots. A floor that at least k of the slots reach is computed first, in O(n); the few above
 * it are cut at the k-th score. Where many reach it (equal scores, or a sample that says little), a bounded heap whose
 * root is the worst kept slot takes the best in O(n log k).
 */

/** In no order; of equal scores those with `before(a, b) < 0` come before others. Scores are not negative. */
export const topSlots = (
  slots: Uint32Array,
  scores: Float64Array,
  limit: number,
  before: (left: number, right: number) => number
): ReadonlyArray<number> => {
  if (slots.length <= limit) return Array.from(slots)
  const floor = floorOf(slots.subarray(0, floorSlotsMax), scores, limit)
  const near = new Uint32Array(nearShare * limit)
  let count = 0
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at]!
    if (scores[slot]! < floor) continue
    if (count === near.length) return heaped(slots, scores, floor, limit, before)
    near[count++] = slot
  }
  return cut(near.subarray(0, count), scores, limit, before)
}

/** How many times `limit` may reach the floor for sorting their scores to be cheaper than a heap. */
const nearShare = 2

/** The best of slots that are few. */
const cut = (
  slots: Uint32Array,
  scores: Float64Array,
  limit: number,
  before: (left: number, right: number) => number
): ReadonlyArray<number> => {
  const sorted = new Float64Array(slots.length)
  for (let at = 0; at < slots.length; at++) sorted[at] = scores[slots[at]!]!
  const least = sorted.sort()[slots.length - limit]!
  const kept: Array<number> = []
  const equals: Array<number> = []
  for (let at = 0; at < slots.length; at++) {
    const score = scores[slots[at]!]!
    if (score > least) kept.push(slots[at]!)
    else if (score === least) equals.push(slots[at]!)
  }
  const room = limit - kept.length
  return kept.concat(equals.length > room ? equals.sort(before).slice(0, room) : equals)
}

const heaped = (
  slots: Uint32Array,
  scores: Float64Array,
  floor: number,
  limit: number,
  before: (left: number, right: number) => number
): ReadonlyArray<number> => {
  const heap = new SlotHeap(limit, before)
  for (let at = 0; at < slots.length; at++) {
    const score = scores[slots[at]!]!
    if (score >= floor) heap.offer(slots[at]!, score)
  }
  return heap.slots
}

/** Slots sampled for the floor; more would cost more than the heap saves. */
const floorSlotsMax = 4_096
const floorSteps = 256

/** A score that at least `limit` of the slots reach, from a histogram of `floorSteps` steps; 0 if there are fewer slots. */
const floorOf = (slots: Uint32Array, scores: Float64Array, limit: number): number => {
  if (slots.length <= limit) return 0
  let most = 0
  for (let at = 0; at < slots.length; at++) {
    const score = scores[slots[at]!]!
    if (score > most) most = score
  }
  if (most === 0) return 0
  const reached = new Uint32Array(floorSteps + 1)
  const least = new Float64Array(floorSteps + 1).fill(most)
  for (let at = 0; at < slots.length; at++) {
    const score = scores[slots[at]!]!
    const step = Math.trunc((score / most) * floorSteps)
    reached[step]!++
    if (score < least[step]!) least[step] = score
  }
  let step = floorSteps
  for (let count = reached[step]!; count < limit; count += reached[step]!) step--
  return least[step]!
}

/** Keeps slots and scores in parallel arrays: looking scores up by slot again was most of the heap's cost. */
class SlotHeap {
  readonly #slots: Int32Array
  readonly #scores: Float64Array
  readonly #before: (left: number, right: number) => number
  #size = 0

  constructor(capacity: number, before: (left: number, right: number) => number) {
    this.#slots = new Int32Array(capacity)
    this.#scores = new Float64Array(capacity)
    this.#before = before
  }

  offer(slot: number, score: number): void {
    if (this.#size < this.#slots.length) this.#siftUp(slot, score)
    // Nearly every slot ends here, so scores are compared before any call.
    else if (this.#size === 0 || score < this.#scores[0]!) return
    else if (this.#isWorse(0, slot, score)) this.#siftDown(slot, score)
  }

  /** In no order. */
  get slots(): ReadonlyArray<number> {
    return Array.from(this.#slots.subarray(0, this.#size))
  }

  /** Whether the element at `at` ranks below the given slot. */
  #isWorse(at: number, slot: number, score: number): boolean {
    const held = this.#scores[at]!
    return held === score ? this.#before(slot, this.#slots[at]!) < 0 : held < score
  }

  #siftUp(slot: number, score: number): void {
    let at = this.#size++
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (this.#isWorse(parent, slot, score)) break
      this.#move(parent, at)
      at = parent
    }
    this.#place(at, slot, score)
  }

  /** Replaces the root by a slot and restores the heap order. */
  #siftDown(slot: number, score: number): void {
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#size) break
      const right = child + 1
      if (right < this.#size && this.#isWorse(right, this.#slots[child]!, this.#scores[child]!)) child = right
      if (!this.#isWorse(child, slot, score)) break
      this.#move(child, at)
      at = child
    }
    this.#place(at, slot, score)
  }

  #move(from: number, to: number): void {
    this.#place(to, this.#slots[from]!, this.#scores[from]!)
  }

  #place(at: number, slot: number, score: number): void {
    this.#slots[at] = slot
    this.#scores[at] = score
  }
}
