/**
 * The postings of recently asked terms, in typed arrays, bounded by their total number; the least
 * recently used terms go first.
 *
 * Slots carry stamps, a new one with every document. A removal costs nothing here: the next `settle` drops
 * the postings of documents that have gone. Until a list is settled, postings of new documents wait in its
 * tail with their stamps; after it, every posting is of its slot's present document, and none has a stamp.
 */

/** 8 bytes each: at least 8 MB for one namespace, and 128 bytes for each of its documents. */
export const POSTINGS_CACHED_MIN = 1_000_000
export const POSTINGS_CACHED_PER_DOCUMENT = 16
/** A term without postings still occupies the map. */
const TERM_OVERHEAD = 8
const CAPACITY_MIN = 8

interface TailPosting {
  readonly slot: number
  readonly frequency: number
  readonly stamp: number
}

export class PostingList {
  slots: Uint32Array
  frequencies: Float32Array
  length = 0
  #tail: Array<TailPosting> = []
  /** No document of the postings is younger, those of the tail left out. */
  #stampMax: number
  /** How many documents had gone when all of them were present. */
  #departures: number

  constructor(capacity: number, stampMax: number, departures: number) {
    const size = Math.max(CAPACITY_MIN, capacity)
    this.slots = new Uint32Array(size)
    this.frequencies = new Float32Array(size)
    this.#stampMax = stampMax
    this.#departures = departures
  }

  /** In postings, the tail included. */
  get capacity(): number {
    return this.slots.length + this.#tail.length
  }

  push(slot: number, frequency: number): void {
    if (this.length === this.slots.length) this.#grow()
    this.slots[this.length] = slot
    this.frequencies[this.length] = frequency
    this.length++
  }

  /** Adds a posting of the youngest document, at a moment when `departures` documents have gone. */
  append(slot: number, frequency: number, stamp: number, departures: number): void {
    if (departures !== this.#departures) {
      this.#tail.push({ slot, frequency, stamp })
      return
    }
    this.push(slot, frequency)
    this.#stampMax = stamp
  }

  /** Drops what has gone by now, and takes in the tail. */
  settle(currentStamps: Uint32Array, stampMax: number, departures: number): void {
    if (departures === this.#departures) return
    let kept = 0
    for (let at = 0; at < this.length; at++) {
      const slot = this.slots[at]!
      const stamp = currentStamps[slot]!
      if (stamp === 0 || stamp > this.#stampMax) continue
      this.slots[kept] = slot
      this.frequencies[kept] = this.frequencies[at]!
      kept++
    }
    this.length = kept
    for (const { frequency, slot, stamp } of this.#tail) if (currentStamps[slot] === stamp) this.push(slot, frequency)
    this.#tail = []
    this.#stampMax = stampMax
    this.#departures = departures
  }

  #grow(): void {
    const slots = new Uint32Array(this.slots.length * 2)
    const frequencies = new Float32Array(slots.length)
    slots.set(this.slots)
    frequencies.set(this.frequencies)
    this.slots = slots
    this.frequencies = frequencies
  }
}

export class PostingCache {
  // A Map iterates in order of insertion; reinserting on use makes that order the order of use.
  readonly #lists = new Map<string, PostingList>()
  #postings = 0

  /** Space held, in postings; within the bound after every `trim`. */
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

  /** Runs what may change the capacity of a list that is held. */
  change(list: PostingList, step: (list: PostingList) => void): void {
    const before = list.capacity
    step(list)
    this.#postings += list.capacity - before
  }

  /** Evicts down to the bound. A list already handed out stays usable, it is just forgotten. */
  trim(postingsMax: number): void {
    for (const [term, list] of this.#lists) {
      if (this.#postings <= postingsMax) return
      this.#lists.delete(term)
      this.#postings -= list.capacity + TERM_OVERHEAD
    }
  }
}
