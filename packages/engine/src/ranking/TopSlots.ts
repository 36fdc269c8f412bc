/**
 * Top-k selection. Of scored slots a floor that at least k of them reach is computed first, in O(n); the few above it are
 * cut at the k-th score.
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
  const near: Array<number> = []
  for (let at = 0; at < slots.length; at++) if (scores[slots[at]!]! >= floor) near.push(slots[at]!)
  return best(near, limit, (slot) => scores[slot]!, before)
}

/** The best in no order: they are sorted by something else later, so only the score at the cut is needed. */
export const best = <A>(
  items: ReadonlyArray<A>,
  limit: number,
  scoreOf: (item: A) => number,
  compare: (left: A, right: A) => number
): ReadonlyArray<A> => {
  if (items.length <= limit) return items
  const scores = new Float64Array(items.length)
  for (let at = 0; at < scores.length; at++) scores[at] = scoreOf(items[at]!)
  const cut = scores.toSorted()[items.length - limit] ?? Infinity
  const kept: Array<A> = []
  const equals: Array<A> = []
  for (let at = 0; at < scores.length; at++) {
    if (scores[at]! > cut) kept.push(items[at]!)
    else if (scores[at] === cut) equals.push(items[at]!)
  }
  return kept.concat(first(equals, limit - kept.length, compare))
}

/** The first `limit` in the order of `compare`; does not sort all of 200 candidates for a page of 10. */
export const first = <A>(
  items: ReadonlyArray<A>,
  limit: number,
  compare: (left: A, right: A) => number
): ReadonlyArray<A> => {
  if (limit * insertionShare > items.length) return items.toSorted(compare).slice(0, limit)
  const kept: Array<A> = []
  for (const item of items) {
    if (kept.length === limit && (limit === 0 || compare(kept[limit - 1]!, item) <= 0)) continue
    let at = kept.length
    while (at > 0 && compare(kept[at - 1]!, item) > 0) at--
    kept.splice(at, 0, item)
    if (kept.length > limit) kept.pop()
  }
  return kept
}

/** If `limit` is at most this fraction of the items (1/8), insertion is cheaper than sorting. */
const insertionShare = 8

/** Slots sampled for the floor; more would cost more than they save. */
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
