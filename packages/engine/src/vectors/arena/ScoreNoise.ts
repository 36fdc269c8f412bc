/**
 * How far 8-bit scores usually lie from float32 inner products, and where that matters: the bounds of `ScoreBounds.ts`
 * always hold, and are wider than nearly every error.
 *
 * The residual of a row has no direction of its own. Of a unit query q with t = q.x, the error is the part of q across x
 * times a residual in one of `dims` directions: normally distributed, with a standard deviation of
 * sqrt(1 - t^2) |r| / sqrt(dims).
 */

/** Scores within this many deviations above a place are counted as near it. */
const nearDeviations = 2
/** With this share of the best near the last of them it is crowded, and 8-bit scores miss about a twelfth of the best. */
const crowdShare = 0.4
/** No two errors together reach this many deviations. */
const openDeviations = 10
/** Steps of a row's codes from 0 to its largest component. */
const codesMax = 127

/** Standard deviation of the error of a score. */
export const scoreDeviation = (score: number, dims: number): number => {
  // The largest of `dims` normal components, in units of 1 / sqrt(dims); a step's error is spread evenly.
  const residual = Math.sqrt(2 * Math.log(Math.max(2, dims))) / codesMax / Math.sqrt(12)
  return (Math.sqrt(Math.max(0, 1 - score * score)) * residual) / Math.sqrt(dims)
}

/**
 * From which score on 8 bits leave open which are the `place` best; undefined where they tell nearly all of them.
 * `scores` are descending. What lies above the place is enough to see a crowd, so no more need to be known.
 */
export const openFrom = (scores: ArrayLike<number>, place: number, dims: number): number | undefined => {
  const last = scores[place - 1]
  if (last === undefined) return undefined
  const deviation = scoreDeviation(last, dims)
  const nearest = scores[place - 1 - Math.ceil(place * crowdShare)]
  if (nearest === undefined || nearest > last + nearDeviations * deviation) return undefined
  return last - openDeviations * deviation
}
