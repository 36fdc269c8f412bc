/**
 * The in-memory half of full-text search in one namespace: document lengths by slot, and the postings of queried
 * terms. They are read from `Postings` on first use, and kept up to date by `put` and `remove`, which the owner
 * calls AFTER its commit.
 *
 * Invariants: scores equal, bit for bit, those of a new index over the same file; statistics and scores depend on
 * the allowed documents and the query only. Hence two phases: `statistics`, their sum over all namespaces, then
 * `score`.
 */
import { Bitmap, lowestBit } from "../bitmap/Bitmap.ts"
import { lengthPenalty, MESSAGE_NEIGHBOURS_WEIGHT, termScore, weightedFrequency } from "./Bm25.ts"
import type { TermStatistics, WeightedQuery } from "./Bm25.ts"
import type { Postings } from "../store/NamespaceStore.ts"
import { latinMarks } from "@muniment/language/text/LanguageStems"
import { VARIANT_SEPARATOR } from "@muniment/language/text/Tokenizer"
import { COLUMNS, columnsLength, type MemoryColumns } from "../text/MemoryText.ts"
import { PostingCache, POSTINGS_CACHED_MIN, POSTINGS_CACHED_PER_DOCUMENT, PostingList } from "./PostingCache.ts"
import { type TieOrder, topSlots } from "./Fusion.ts"

export interface LexicalHit {
  /** BM25F; 0 if no term of the query occurs. */
  readonly score: number
  readonly matchedTerms: number
}

/** Scores of one query, in scratch arrays of the index: valid until its next `score`, `put` or `remove`. */
export interface LexicalScores {
  readonly of: (slot: number) => LexicalHit
  /** The best `limit` slots that match at least one term, in no order. The order of ties must not depend on slots. */
  readonly top: (limit: number, ties: TieOrder<number>) => ReadonlyArray<number>
}

/**
 * The messages of conversations among the documents. Their neighbours weigh less, and postings do not hold the words
 * that they have from messages around them: those follow from the order, and are added when a term is loaded.
 */
export interface MessageOfSlot {
  readonly isMessage: (slot: number) => boolean
  /** Slots of the messages that have the words of the one at `slot` in their column `neighbours`. */
  readonly around: (slot: number) => ReadonlyArray<number>
}

const noMessages: MessageOfSlot = { isMessage: () => false, around: () => [] }

const ASCII_MAX = 0x7f
const LATIN_MARKS: ReadonlySet<string> = new Set(latinMarks)
const MAIN = COLUMNS.indexOf("main")
const SLOTS_MIN = 256

export class LexicalIndex {
  readonly #postings: Postings
  readonly #cache = new PostingCache()
  readonly #postingsCachedMax: number | undefined
  readonly #messages: MessageOfSlot
  #lengths = new Uint32Array(SLOTS_MIN)
  /** 0: no document. Every `put` gives the slot a new stamp, which tells postings of its earlier documents. */
  #stamps = new Uint32Array(SLOTS_MIN)
  #lastStamp = 0
  /** Documents removed or replaced so far; a settled list stays settled until this number grows. */
  #removals = 0
  /** The slots with a document. */
  readonly #occupied = new Bitmap()
  #documents = 0
  #totalLength = 0
  /** Whether a document is in a language, by its mark, as far as it was asked; it stays true after the last one is gone. */
  readonly #holdsMark = new Map<string, boolean>()
  #scores = new Float64Array(SLOTS_MIN)
  #matches = new Uint8Array(SLOTS_MIN)
  /** The slots with a score; the first `#touchedCount` elements. */
  #touched = new Uint32Array(SLOTS_MIN)
  #touchedCount = 0
  #epoch = 0
  /** Lists of the first phase: mostly, the second phase of the same search follows it. */
  #counted = { stamp: 0, removals: 0, lists: new Map<string, PostingList>() }

  constructor(
    postings: Postings,
    options: { readonly postingsCachedMax?: number; readonly messages?: MessageOfSlot } = {}
  ) {
    this.#postings = postings
    this.#messages = options.messages ?? noMessages
    this.#postingsCachedMax = options.postingsCachedMax
    postings.forEachLength((slot, tokens) => this.#occupy(slot, tokens))
  }

  /** Size of the cache, in postings. */
  get cachedPostings(): number {
    return this.#cache.postings
  }

  put(slot: number, columns: MemoryColumns): void {
    this.#epoch++
    const stamp = this.#occupy(slot, columnsLength(columns))
    const counts = new Map<string, { readonly list: PostingList; readonly byColumn: Uint32Array }>()
    for (const [column, name] of COLUMNS.entries()) {
      for (const term of columns[name]) {
        if (term.charCodeAt(0) > ASCII_MAX) this.#noteMark(term.slice(0, 1))
        const list = this.#cache.peek(term)
        if (list === undefined) continue
        let count = counts.get(term)
        if (count === undefined) counts.set(term, (count = { list, byColumn: new Uint32Array(COLUMNS.length) }))
        count.byColumn[column]!++
      }
    }
    const isMessage = this.#messages.isMessage(slot)
    for (const { list, byColumn } of counts.values()) {
      const frequency = weightedFrequency(byColumn, isMessage)
      this.#cache.change(list, () => list.append(slot, frequency, stamp, this.#removals))
    }
    this.#trim()
  }

  remove(slot: number): void {
    if (slot >= this.#stamps.length) return
    this.#epoch++
    this.#vacate(slot)
  }

  /** First phase: counts over the documents of `allowed`. `isGiving`: which messages give words to others; default: all. */
  statistics(terms: ReadonlyArray<string>, allowed: Bitmap, isGiving?: (slot: number) => boolean): TermStatistics {
    const lists = terms.map((term) => this.#list(term, isGiving))
    if (isGiving === undefined) {
      this.#counted = {
        stamp: this.#lastStamp,
        removals: this.#removals,
        lists: new Map(terms.map((term, at) => [term, lists[at]!]))
      }
    }
    this.#trim()
    if (isGiving === undefined && this.#isAllOf(allowed)) {
      const documentFrequencies = lists.map(({ length }) => length)
      return { documents: this.#documents, totalLength: this.#totalLength, documentFrequencies }
    }
    const documents = this.#occupied.countAnd(allowed)
    // Integers, so summing the smaller part, and subtracting if need be, gives the same total.
    const isMostVisible = documents * 2 > this.#documents
    const totalLength = isMostVisible
      ? this.#totalLength - this.#lengthOf(allowed, false)
      : this.#lengthOf(allowed, true)
    return { documents, totalLength, documentFrequencies: lists.map((list) => frequency(list, allowed)) }
  }

  /** Second phase: scores of the documents of `allowed` for a query weighted with the summed statistics. */
  score(query: WeightedQuery, allowed: Bitmap, isGiving?: (slot: number) => boolean): LexicalScores {
    this.#clearScores()
    const visible = this.#isAllOf(allowed) ? undefined : allowed
    const { lists, removals, stamp } = this.#counted
    const isUnchanged = isGiving === undefined && stamp === this.#lastStamp && removals === this.#removals
    for (const [term, text] of query.terms.entries()) {
      const list = (isUnchanged ? lists.get(text) : undefined) ?? this.#list(text, isGiving)
      this.#accumulate(list, query.idf[term]!, query.averageLength, visible)
    }
    this.#trim()
    const epoch = this.#epoch
    const guard = (): void => {
      if (epoch !== this.#epoch) throw new Error("lexical scores were read after the index changed")
    }
    return {
      of: (slot) => {
        guard()
        return { score: this.#scores[slot] ?? 0, matchedTerms: this.#matches[slot] ?? 0 }
      },
      top: (limit, ties) => {
        guard()
        return topSlots(this.#touched.subarray(0, this.#touchedCount), this.#scores, limit, ties)
      }
    }
  }

  /** Tokens of the allowed documents, or of the others. */
  #lengthOf(allowed: Bitmap, isAllowed: boolean): number {
    const words = this.#occupied.words
    const lengths = this.#lengths
    let sum = 0
    for (let word = 0; word < words.length; word++) {
      const mask = allowed.words[word] ?? 0
      for (let bits = words[word]! & (isAllowed ? mask : ~mask); bits !== 0; bits &= bits - 1) {
        sum += lengths[(word << 5) + lowestBit(bits)]!
      }
    }
    return sum
  }

  /** The list of a term of `searchTerms`: one posting per document that contains one of its variants. */
  #list(term: string, isGiving?: (slot: number) => boolean): PostingList {
    const variant = (text: string) => (isGiving === undefined ? this.#variant(text) : this.#load(text, isGiving))
    const [own = "", ...others] = term.split(VARIANT_SEPARATOR)
    const first = variant(own)
    const found = others.filter((text) => this.#mayHold(text)).map(variant)
    const lists = [first, ...found].filter(({ length }) => length > 0)
    return lists.length > 1 ? this.#merged(lists) : (lists[0] ?? first)
  }

  /** Whether a document may hold this stem: in Latin script, where one is in its language; in others always. */
  #mayHold(variant: string): boolean {
    const mark = variant.slice(0, 1)
    if (!LATIN_MARKS.has(mark)) return true
    const known = this.#holdsMark.get(mark)
    if (known !== undefined) return known
    const found = this.#postings.hasPrefix(mark)
    this.#holdsMark.set(mark, found)
    return found
  }

  #noteMark(mark: string): void {
    if (LATIN_MARKS.has(mark)) this.#holdsMark.set(mark, true)
  }

  /** A document holds several variants of a word if it lies among messages of another language. */
  #merged(lists: ReadonlyArray<PostingList>): PostingList {
    const frequencies = new Map<number, number>()
    for (const list of lists) {
      for (let at = 0; at < list.length; at++) {
        const slot = list.slots[at]!
        frequencies.set(slot, (frequencies.get(slot) ?? 0) + list.frequencies[at]!)
      }
    }
    return this.#listOf(frequencies)
  }

  #listOf(frequencies: ReadonlyMap<number, number>): PostingList {
    const list = new PostingList(frequencies.size, this.#lastStamp, this.#removals)
    for (const [slot, frequency] of frequencies) list.push(slot, frequency)
    return list
  }

  /** The settled list of a stored token: one posting per document that contains it. */
  #variant(term: string): PostingList {
    const list = this.#cache.use(term, () => this.#load(term))
    this.#cache.change(list, () => list.settle(this.#stamps, this.#lastStamp, this.#removals))
    return list
  }

  #load(term: string, isGiving: (slot: number) => boolean = () => true): PostingList {
    const occurrences = this.#postings.occurrences(term)
    // By slot. Weights are multiples of a quarter, so the sums are exact in any order.
    const frequencies = new Map<number, number>()
    const add = (slot: number, frequency: number) => frequencies.set(slot, (frequencies.get(slot) ?? 0) + frequency)
    const byColumn = new Uint32Array(COLUMNS.length)
    for (const [at, { slot, column, count }] of occurrences.entries()) {
      byColumn[column] = count
      if (occurrences[at + 1]?.slot === slot) continue
      if (this.#occupied.has(slot)) {
        add(slot, weightedFrequency(byColumn, this.#messages.isMessage(slot)))
        const words = byColumn[MAIN]! * MESSAGE_NEIGHBOURS_WEIGHT
        // To the messages around it.
        if (words > 0 && isGiving(slot)) for (const one of this.#messages.around(slot)) add(one, words)
      }
      byColumn.fill(0)
    }
    return this.#listOf(frequencies)
  }

  #trim(): void {
    const grown = Math.max(POSTINGS_CACHED_MIN, this.#documents * POSTINGS_CACHED_PER_DOCUMENT)
    this.#cache.trim(this.#postingsCachedMax ?? grown)
  }

  /** Whether every document is allowed. */
  #isAllOf(allowed: Bitmap): boolean {
    const words = this.#occupied.words
    for (let word = 0; word < words.length; word++) {
      if ((words[word]! & ~(allowed.words[word] ?? 0)) !== 0) return false
    }
    return true
  }

  /** `visible`: undefined if all documents are. */
  #accumulate(list: PostingList, idf: number, averageLength: number, visible: Bitmap | undefined): void {
    const { slots, frequencies, length } = list
    const lengths = this.#lengths
    const scores = this.#scores
    const matches = this.#matches
    const touched = this.#touched
    let count = this.#touchedCount
    const words = visible?.words
    for (let at = 0; at < length; at++) {
      const slot = slots[at]!
      if (words !== undefined && (((words[slot >>> 5] ?? 0) >>> (slot & 31)) & 1) === 0) continue
      if (matches[slot] === 0) touched[count++] = slot
      matches[slot]!++
      scores[slot]! += termScore(idf, frequencies[at]!, lengthPenalty(lengths[slot]!, averageLength))
    }
    this.#touchedCount = count
  }

  #clearScores(): void {
    this.#epoch++
    for (let at = 0; at < this.#touchedCount; at++) {
      const slot = this.#touched[at]!
      this.#scores[slot] = 0
      this.#matches[slot] = 0
    }
    this.#touchedCount = 0
  }

  #occupy(slot: number, tokens: number): number {
    if (slot >= this.#stamps.length) this.#grow(slot + 1)
    this.#vacate(slot)
    // A namespace does not see 2^32 writes while it is open, so a stamp is used once.
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
    this.#removals++
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
    this.#touched = grow(this.#touched, new Uint32Array(size))
  }
}

/** Number of allowed documents in a settled list. */
const frequency = ({ length, slots }: PostingList, allowed: Bitmap): number => {
  const words = allowed.words
  let found = 0
  for (let at = 0; at < length; at++) {
    const slot = slots[at]!
    found += ((words[slot >>> 5] ?? 0) >>> (slot & 31)) & 1
  }
  return found
}
