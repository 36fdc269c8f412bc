/**
 * LRU cache of the postings of recently queried terms, in typed arrays, bounded by the total number of postings.
 *
 * Every document gives its slot a new stamp. A removal costs nothing here: the next `settle` drops the postings of
 * removed documents. Until a list is settled, postings of new documents wait in its tail with their stamps;
 * afterwards every posting belongs to the present document of its slot.
 */

/** Bound for one namespace, whichever is larger. 8 bytes per posting: 8 MB, or 128 bytes per document. */
export const POSTINGS_CACHED_MIN = 1_000_000
export const POSTINGS_CACHED_PER_DOCUMENT = 16
/** Cost of a cached term without postings, in postings. */
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
  /** Upper bound of the stamps of all postings outside the tail. */
  #stampMax: number
  /** Number of removals up to which all postings outside the tail are valid. */
  #removals: number

  constructor(capacity: number, stampMax: number, removals: number) {
    const size = Math.max(CAPACITY_MIN, capacity)
    this.slots = new Uint32Array(size)
    this.frequencies = new Float32Array(size)
    this.#stampMax = stampMax
    this.#removals = removals
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

  /** Adds a posting of the newest document, after `removals` removals. */
  append(slot: number, frequency: number, stamp: number, removals: number): void {
    if (removals === this.#removals) {
      this.push(slot, frequency)
      this.#stampMax = stamp
    } else this.#tail.push({ slot, frequency, stamp })
  }

  /** Drops the postings of removed documents and merges the tail. */
  settle(currentStamps: Uint32Array, stampMax: number, removals: number): void {
    if (removals === this.#removals) return
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
    this.#removals = removals
  }

  #grow(): void {
    const { frequencies, slots } = this
    this.slots = new Uint32Array(slots.length * 2)
    this.frequencies = new Float32Array(slots.length * 2)
    this.slots.set(slots)
    this.frequencies.set(frequencies)
  }
}

export class PostingCache {
  // A Map iterates in order of insertion; reinserting on each use makes it the order of use.
  readonly #lists = new Map<string, PostingList>()
  #postings = 0

  /** Size in postings; within the bound after every `trim`. */
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

  /** Runs a step that may change the capacity of a cached list. */
  change(list: PostingList, step: (list: PostingList) => void): void {
    const before = list.capacity
    step(list)
    this.#postings += list.capacity - before
  }

  /** Evicts down to the bound. A list that a caller still holds stays usable. */
  trim(postingsMax: number): void {
    for (const [term, list] of this.#lists) {
      if (this.#postings <= postingsMax) return
      this.#lists.delete(term)
      this.#postings -= list.capacity + TERM_OVERHEAD
    }
  }
}
