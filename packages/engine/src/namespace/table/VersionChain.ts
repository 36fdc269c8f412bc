/**
 * The versions of one unique key in order of insertion, live or expired. The latest version is the last live one.
 * Appends and look-ups of neighbours take a step or two in a history of any length.
 */
export interface VersionPlace {
  readonly createdSeq: number
  readonly slot: number
}

export class VersionChain {
  #places: Array<VersionPlace> = []

  get size(): number {
    return this.#places.length
  }

  add(place: VersionPlace): void {
    let at = this.#places.length
    while (at > 0 && this.#places[at - 1]!.createdSeq > place.createdSeq) at--
    this.#places.splice(at, 0, place)
  }

  remove(place: VersionPlace): void {
    this.#places.splice(this.#indexOf(place.createdSeq), 1)
  }

  /** The last version that `isLive`, or undefined. */
  latest(isLive: (slot: number) => boolean): number | undefined {
    return this.#walk(this.#places.length - 1, -1, isLive)
  }

  /** The nearest live version before `place`, or undefined. */
  before(place: VersionPlace, isLive: (slot: number) => boolean): number | undefined {
    return this.#walk(this.#indexOf(place.createdSeq) - 1, -1, isLive)
  }

  /** The nearest live version after `place`, or undefined. */
  after(place: VersionPlace, isLive: (slot: number) => boolean): number | undefined {
    return this.#walk(this.#indexOf(place.createdSeq) + 1, 1, isLive)
  }

  /** Slots of the live versions, the last inserted first. */
  newestFirst(isLive: (slot: number) => boolean): ReadonlyArray<number> {
    return this.#places
      .map(({ slot }) => slot)
      .filter(isLive)
      .reverse()
  }

  #walk(from: number, step: number, isLive: (slot: number) => boolean): number | undefined {
    for (let at = from; at >= 0 && at < this.#places.length; at += step) {
      if (isLive(this.#places[at]!.slot)) return this.#places[at]!.slot
    }
    return undefined
  }

  #indexOf(createdSeq: number): number {
    let low = 0
    let high = this.#places.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#places[middle]!.createdSeq < createdSeq) low = middle + 1
      else high = middle
    }
    return low
  }
}
