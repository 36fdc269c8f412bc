/** Pages of a listing: the first places after a position, without sorting all of them. */
import type { Bitmap } from "../bitmap/Bitmap.ts"

/** The first `limit` places of the slots of `bitmap` that come after `after`, in the order of `compare`. */
export const firstAfter = <P extends A, A>(
  bitmap: Bitmap,
  after: A | undefined,
  limit: number,
  compare: (left: A, right: A) => number,
  placeOf: (slot: number) => P
): ReadonlyArray<P> => {
  let places: Array<P> = []
  if (limit === 0) return places
  // The last of those that are kept, once there are as many as are wanted.
  let bound: P | undefined
  const cut = (): void => {
    places = places.sort(compare).slice(0, limit)
    if (places.length === limit) bound = places[limit - 1]
  }
  bitmap.forEach((slot) => {
    const place = placeOf(slot)
    if (after !== undefined && compare(after, place) >= 0) return
    if (bound !== undefined && compare(bound, place) <= 0) return
    places.push(place)
    if (places.length >= 2 * limit) cut()
  })
  cut()
  return places
}
