/**
 * Top-k selection. Of scored slots a floor that at least k of them reach is computed first, in O(n); the few above it are
 * cut at the k-th score.
 */

/** Which of equal scores come first: those with the greater `timeOf`, then those with `before(a, b) < 0`. */
export interface TieOrder<A> {
  readonly timeOf: (item: A) => number
  readonly before: (left: A, right: A) => number
}

/** In no order. Scores are not negative. */
export const topSlots = (
  slots: Uint32Array,
  scores: Float64Array,
  limit: number,
  ties: TieOrder<number>
): ReadonlyArray<number> => {
  if (slots.length <= limit) return Array.from(slots)
  const floor = floorOf(slots.subarray(0, floorSlotsMax), scores, limit)
  const near: Array<number> = []
  for (let at = 0; at < slots.length; at++) if (scores[slots[at]!]! >= floor) near.push(slots[at]!)
  return best(near, limit, (slot) => scores[slot]!, ties)
}

/** In no order: the score at the cut is found, so that only what is equal there is compared. */
export const best = <A>(
  items: ReadonlyArray<A>,
  limit: number,
  scoreOf: (item: A) => number,
  { before, timeOf }: TieOrder<A>
): ReadonlyArray<A> => {
  const byScore = cut(items, limit, scoreOf)
  const byTime = cut(byScore.equals, limit - byScore.kept.length, timeOf)
  const room = limit - byScore.kept.length - byTime.kept.length
  const { equals } = byTime
  return [...byScore.kept, ...byTime.kept, ...(equals.length > room ? equals.toSorted(before).slice(0, room) : equals)]
}

/** Those above the value that the last of `limit` has, and those that have it. */
const cut = <A>(items: ReadonlyArray<A>, limit: number, valueOf: (item: A) => number) => {
  const kept: Array<A> = []
  const equals: Array<A> = []
  const values = new Float64Array(items.length)
  for (let at = 0; at < values.length; at++) values[at] = valueOf(items[at]!)
  const least = items.length > limit ? values.toSorted()[items.length - limit] : -Infinity
  if (least === undefined) return { kept, equals }
  for (let at = 0; at < values.length; at++) {
    if (values[at]! > least) kept.push(items[at]!)
    else if (values[at] === least) equals.push(items[at]!)
  }
  return { kept, equals }
}

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
