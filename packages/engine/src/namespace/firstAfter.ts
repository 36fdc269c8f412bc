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
  const places: Array<P> = []
  if (limit === 0) return places
  bitmap.forEach((slot) => {
    const place = placeOf(slot)
    if (after !== undefined && compare(after, place) >= 0) return
    if (places.length === limit && compare(places[limit - 1]!, place) <= 0) return
    places.splice(insertionPoint(places, place, compare), 0, place)
    if (places.length > limit) places.pop()
  })
  return places
}

const insertionPoint = <A>(places: ReadonlyArray<A>, place: A, compare: (left: A, right: A) => number): number => {
  let low = 0
  let high = places.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compare(places[middle]!, place) < 0) low = middle + 1
    else high = middle
  }
  return low
}
