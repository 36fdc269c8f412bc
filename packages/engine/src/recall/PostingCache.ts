/**
 * The postings of recently asked terms, in typed arrays, bounded by their total number; the least
 * recently used terms go first. A posting is valid while its stamp is its slot's current stamp, so a
 * removal or replacement costs nothing here: stale postings are skipped and squeezed out in passing.
 */

/** 12 bytes each: at most 12 MB for one namespace. */
export const POSTINGS_CACHED_MAX = 1_000_000
/** A term without postings still occupies the map. */
const TERM_OVERHEAD = 8
const CAPACITY_MIN = 8

export class PostingList {
  slots: Uint32Array
  frequencies: Float32Array
  stamps: Uint32Array
  length = 0

  constructor(capacity: number) {
    const size = Math.max(CAPACITY_MIN, capacity)
    this.slots = new Uint32Array(size)
    this.frequencies = new Float32Array(size)
    this.stamps = new Uint32Array(size)
  }

  get capacity(): number {
    return this.slots.length
  }

  push(slot: number, frequency: number, stamp: number): void {
    if (this.length === this.capacity) this.#grow()
    this.slots[this.length] = slot
    this.frequencies[this.length] = frequency
    this.stamps[this.length] = stamp
    this.length++
  }

  /** Drops postings whose document has gone or been replaced; order is kept. */
  squeeze(currentStamps: Uint32Array): void {
    let kept = 0
    for (let at = 0; at < this.length; at++) {
      const slot = this.slots[at]!
      if (currentStamps[slot] !== this.stamps[at]) continue
      this.slots[kept] = slot
      this.frequencies[kept] = this.frequencies[at]!
      this.stamps[kept] = this.stamps[at]!
      kept++
    }
    this.length = kept
  }

  #grow(): void {
    const grown = new PostingList(this.capacity * 2)
    grown.slots.set(this.slots)
    grown.frequencies.set(this.frequencies)
    grown.stamps.set(this.stamps)
    this.slots = grown.slots
    this.frequencies = grown.frequencies
    this.stamps = grown.stamps
  }
}

export class PostingCache {
  // A Map iterates in order of insertion; reinserting on use makes that order the order of use.
  readonly #lists = new Map<string, PostingList>()
  readonly #postingsMax: number
  #postings = 0

  constructor(postingsMax: number = POSTINGS_CACHED_MAX) {
    this.#postingsMax = postingsMax
  }

  /** Space held, in postings; at most `postingsMax` after every `trim`. */
  get postings(): number {
    return this.#postings
  }

  /** The list of a term, without marking it as used. */
  peek(term: string): PostingList | undefined {
    return this.#lists.get(term)
  }

  use(term: string, load: () => PostingList): PostingList {
    const cached = this.#lists.get(term)
    const list = cached ?? load()
    if (cached === undefined) this.#postings += list.capacity + TERM_OVERHEAD
    else this.#lists.delete(term)
    this.#lists.set(term, list)
    return list
  }

  append(list: PostingList, slot: number, frequency: number, stamp: number): void {
    const before = list.capacity
    list.push(slot, frequency, stamp)
    this.#postings += list.capacity - before
  }

  /** Evicts down to the bound. A list already handed out stays usable, it is just forgotten. */
  trim(): void {
    for (const [term, list] of this.#lists) {
      if (this.#postings <= this.#postingsMax) return
      this.#lists.delete(term)
      this.#postings -= list.capacity + TERM_OVERHEAD
    }
  }
}
