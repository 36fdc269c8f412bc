/**
 * The in-memory half of full-text search in one namespace: document lengths by slot, and postings of
 * the terms that were asked for, read from `FullText` on first use and kept up to date by `put` and
 * `remove`, which the owner calls AFTER its commit. It never searches inside an open transaction, so
 * what is read from the table is always committed.
 *
 * Invariants: scores equal those of an index opened afresh on the same file, bit for bit; statistics
 * and scores depend on the allowed documents and the query only. Two phases because of that:
 * `statistics` here, their sum over all namespaces, then `score` with the sum.
 */
import { Bitmap, lowestBit } from "../index/Bitmap.ts"
import { lengthPenalty, termScore, weightedFrequency } from "./Bm25.ts"
import type { TermStatistics, WeightedQuery } from "./Bm25.ts"
import type { FullText } from "./FullText.ts"
import { COLUMNS, columnsLength } from "./MemoryText.ts"
import type { MemoryColumns } from "./MemoryText.ts"
import { PostingCache, PostingList } from "./PostingCache.ts"
import { topSlots } from "./TopSlots.ts"

export interface LexicalHit {
  /** BM25F, 0 when no term of the query occurs. */
  readonly score: number
  readonly matchedTerms: number
}

/** The scores of one query. They live in the index's scratch space: valid until its next `score`, `put` or `remove`. */
export interface LexicalScores {
  readonly of: (slot: number) => LexicalHit
  /**
   * The best `limit` slots that match at least one term, best first. Equal scores are ordered by
   * `before(a, b) < 0`, which has to be a total order that does not depend on slots.
   */
  readonly top: (limit: number, before: (left: number, right: number) => number) => ReadonlyArray<number>
}

const SLOTS_MIN = 256
/** A cached list is squeezed when more than this share of it is stale. */
const STALE_SHARE_MAX = 0.25

export class LexicalIndex {
  readonly #fullText: FullText
  readonly #cache: PostingCache
  #lengths = new Uint32Array(SLOTS_MIN)
  /** 0 = no document. A slot gets a new stamp with every put, so postings of earlier tenants are recognised. */
  #stamps = new Uint32Array(SLOTS_MIN)
  #lastStamp = 0
  /** The slots with a document, how many they are and their tokens. */
  readonly #occupied = new Bitmap()
  #documents = 0
  #totalLength = 0
  #scores = new Float64Array(SLOTS_MIN)
  #matches = new Uint8Array(SLOTS_MIN)
  #touched: Array<number> = []
  #epoch = 0

  constructor(fullText: FullText, options: { readonly postingsCachedMax?: number } = {}) {
    this.#fullText = fullText
    this.#cache = new PostingCache(options.postingsCachedMax)
    fullText.forEachLength((slot, tokens) => this.#occupy(slot, tokens))
  }

  /** Space that cached postings hold, in postings. */
  get cachedPostings(): number {
    return this.#cache.postings
  }

  put(slot: number, columns: MemoryColumns): void {
    this.#epoch++
    const stamp = this.#occupy(slot, columnsLength(columns))
    const counts = new Map<string, { readonly list: PostingList; readonly byColumn: Uint32Array }>()
    for (const [column, name] of COLUMNS.entries()) {
      for (const term of columns[name]) {
        const list = this.#cache.peek(term)
        if (list === undefined) continue
        let count = counts.get(term)
        if (count === undefined) counts.set(term, (count = { list, byColumn: new Uint32Array(COLUMNS.length) }))
        count.byColumn[column]!++
      }
    }
    for (const { list, byColumn } of counts.values()) {
      this.#cache.append(list, slot, weightedFrequency(byColumn), stamp)
    }
    this.#cache.trim()
  }

  remove(slot: number): void {
    if (slot >= this.#stamps.length) return
    this.#epoch++
    this.#vacate(slot)
  }

  /** First phase: counts over the documents of `allowed`, which holds slots of this namespace only. */
  statistics(terms: ReadonlyArray<string>, allowed: Bitmap): TermStatistics {
    const documents = this.#occupied.countAnd(allowed)
    // Integers, so the smaller of the two parts may be added up and gives the same sum.
    const isMostVisible = documents * 2 > this.#documents
    const totalLength = isMostVisible
      ? this.#totalLength - this.#lengthOf(allowed, false)
      : this.#lengthOf(allowed, true)
    const documentFrequencies = terms.map((term) => this.#frequency(this.#list(term), allowed))
    this.#cache.trim()
    return { documents, totalLength, documentFrequencies }
  }

  /** Second phase: the documents of `allowed` against a query weighted with everyone's statistics. */
  score(query: WeightedQuery, allowed: Bitmap): LexicalScores {
    this.#clearScores()
    for (const [term, text] of query.terms.entries()) {
      this.#accumulate(this.#list(text), query.idf[term]!, query.averageLength, allowed)
    }
    this.#cache.trim()
    const epoch = this.#epoch
    const guard = (): void => {
      if (epoch !== this.#epoch) throw new Error("lexical scores were read after the index had moved on")
    }
    return {
      of: (slot) => {
        guard()
        return { score: this.#scores[slot] ?? 0, matchedTerms: this.#matches[slot] ?? 0 }
      },
      top: (limit, before) => {
        guard()
        return topSlots(this.#touched, this.#scores, limit, before)
      }
    }
  }

  /** Tokens of the documents that are allowed, or of those that are not. */
  #lengthOf(allowed: Bitmap, wanted: boolean): number {
    const words = this.#occupied.words
    const lengths = this.#lengths
    let sum = 0
    for (let word = 0; word < words.length; word++) {
      const mask = allowed.words[word] ?? 0
      for (let bits = words[word]! & (wanted ? mask : ~mask); bits !== 0; bits &= bits - 1) {
        sum += lengths[(word << 5) + lowestBit(bits)]!
      }
    }
    return sum
  }

  #list(term: string): PostingList {
    return this.#cache.use(term, () => this.#load(term))
  }

  #load(term: string): PostingList {
    const occurrences = this.#fullText.postings(term)
    const list = new PostingList(occurrences.length)
    const byColumn = new Uint32Array(COLUMNS.length)
    for (const [at, { slot, column, count }] of occurrences.entries()) {
      byColumn[column] = count
      if (occurrences[at + 1]?.slot === slot) continue
      const stamp = this.#stamps[slot] ?? 0
      if (stamp !== 0) list.push(slot, weightedFrequency(byColumn), stamp)
      byColumn.fill(0)
    }
    return list
  }

  #frequency(list: PostingList, allowed: Bitmap): number {
    const { slots, stamps, length } = list
    const current = this.#stamps
    let frequency = 0
    let stale = 0
    for (let at = 0; at < length; at++) {
      const slot = slots[at]!
      if (current[slot] !== stamps[at]) stale++
      else if (allowed.has(slot)) frequency++
    }
    if (stale > length * STALE_SHARE_MAX) list.squeeze(current)
    return frequency
  }

  #accumulate(list: PostingList, idf: number, averageLength: number, allowed: Bitmap): void {
    const { slots, stamps, frequencies, length } = list
    const current = this.#stamps
    const lengths = this.#lengths
    const scores = this.#scores
    const matches = this.#matches
    for (let at = 0; at < length; at++) {
      const slot = slots[at]!
      if (current[slot] !== stamps[at] || !allowed.has(slot)) continue
      if (matches[slot] === 0) this.#touched.push(slot)
      matches[slot]!++
      scores[slot]! += termScore(idf, frequencies[at]!, lengthPenalty(lengths[slot]!, averageLength))
    }
  }

  #clearScores(): void {
    this.#epoch++
    for (const slot of this.#touched) {
      this.#scores[slot] = 0
      this.#matches[slot] = 0
    }
    this.#touched = []
  }

  #occupy(slot: number, tokens: number): number {
    if (slot >= this.#stamps.length) this.#grow(slot + 1)
    this.#vacate(slot)
    // 2^32 writes within one opening of a namespace are out of reach, so a stamp is never used twice.
    this.#lastStamp++
    this.#occupied.set(slot)
    this.#documents++
    this.#totalLength += tokens
    this.#stamps[slot] = this.#lastStamp
    this.#lengths[slot] = tokens
    return this.#lastStamp
  }

  #vacate(slot: number): void {
    if (!this.#occupied.has(slot)) return
    this.#occupied.clear(slot)
    this.#documents--
    this.#totalLength -= this.#lengths[slot]!
    this.#stamps[slot] = 0
    this.#lengths[slot] = 0
  }

  #grow(slotsMin: number): void {
    const size = Math.max(slotsMin, this.#stamps.length * 2)
    const grow = <A extends Uint32Array | Float64Array | Uint8Array>(old: A, fresh: A): A => {
      fresh.set(old)
      return fresh
    }
    this.#lengths = grow(this.#lengths, new Uint32Array(size))
    this.#stamps = grow(this.#stamps, new Uint32Array(size))
    this.#scores = grow(this.#scores, new Float64Array(size))
    this.#matches = grow(this.#matches, new Uint8Array(size))
  }
}
