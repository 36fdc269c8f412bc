/**
 * The image of a namespace in memory: rows, words, vectors and names, and the free slots.
 *
 * Invariant: equals the committed file. It is loaded from it, changed only after a commit and in one synchronous
 * step, and dropped when in doubt.
 */
import { Effect } from "effect"
import { LRUCache } from "lru-cache"
import type { MemoryRecord, MemoryVersion } from "@muniment/domain/Memory"
import { Limits } from "@muniment/domain/Limits"
import { type IndexSettings, NamespaceVectors, type SegmentSource } from "./NamespaceVectors.ts"
import { MemoryTable } from "./table/MemoryTable.ts"
import { Bitmap } from "../bitmap/Bitmap.ts"
import { inOrder, type Naming, type ToldNaming } from "@muniment/language/people/People"
import { namingsOf } from "../text/MemoryText.ts"
import { LexicalIndex } from "../ranking/LexicalIndex.ts"
import type { MemoryChange, StoredRecord } from "../store/Commit.ts"
import { aboutOf, type MemoryRow, namesNobody, rowOfRecord } from "../store/MemoryRow.ts"
import type { OpenNamespace } from "../store/NamespaceStore.ts"
import { type StoreError, toStoreError } from "../store/StoreError.ts"

export class NamespaceState {
  readonly table = new MemoryTable()
  readonly namings = new NamingTable()
  readonly lexical: LexicalIndex
  readonly vectors: NamespaceVectors
  readonly #freeSlots: Array<number> = []
  #nextSlot = 0
  #lastSeq: number

  /** `load` makes a state and fills it. */
  constructor(store: OpenNamespace, settings: IndexSettings) {
    this.lexical = new LexicalIndex(store.postings, {
      messages: {
        isMessage: (slot) => this.table.row(slot)?.message !== undefined,
        around: (slot) => this.table.messagesAround(slot)
      }
    })
    this.vectors = new NamespaceVectors(settings)
    this.#lastSeq = store.lastSeq
  }

  /** Reads the file; yields to other fibers between chunks. */
  static readonly load = Effect.fn("NamespaceState.load")(function* (store: OpenNamespace, settings: IndexSettings) {
    const state = yield* Effect.try({ try: () => new NamespaceState(store, settings), catch: toStoreError })
    yield* Effect.onError(state.#read(store), () => Effect.sync(() => state.close()))
    return state
  }) satisfies (store: OpenNamespace, settings: IndexSettings) => Effect.Effect<NamespaceState, StoreError>

  /** Sequence number of the last change. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  get segmentSource(): SegmentSource | undefined {
    return this.vectors.segmentSource(this.#lastSeq, this.#nextSlot)
  }

  /** A record with its place in the version chain now, or at a time. */
  version({ slot, record }: StoredRecord, asOf?: number): MemoryVersion {
    return { ...record, ...this.table.links(slot, asOf) }
  }

  /** Reserves a free slot until a `Remove` change returns it. */
  takeSlot(): number {
    return this.#freeSlots.pop() ?? this.#nextSlot++
  }

  /** Follows a commit: `changes` in order, the first of them numbered `firstSeq`. */
  apply(changes: ReadonlyArray<MemoryChange>, firstSeq: number): void {
    for (const [at, change] of changes.entries()) this.#applyOne(change, firstSeq + at)
    this.#lastSeq = firstSeq + changes.length - 1
  }

  close(): void {
    this.vectors.close()
    // Its files may be about to be erased.
    for (const slot of this.table.slotsWhere(() => true, Infinity)) knownRecords.forget(this.table.row(slot))
  }

  #applyOne(change: MemoryChange, seq: number): void {
    if (isOfRecord(change)) knownRecords.forget(this.table.row(change.slot))
    switch (change._tag) {
      case "Put":
        this.#replace(change.slot, seq, change.record)
        this.lexical.put(change.slot, change.columns)
        if (change.vector === undefined) this.vectors.remove(change.slot, seq)
        else this.vectors.embed(change.slot, seq, change.vector)
        return
      case "Patch":
        this.#replace(change.slot, seq, change.record)
        this.lexical.put(change.slot, change.columns)
        return
      case "Remove":
        this.table.remove(change.slot)
        this.namings.remove(change.slot)
        this.lexical.remove(change.slot)
        this.vectors.remove(change.slot, seq)
        this.#freeSlots.push(change.slot)
        return
      case "PutPassage":
        this.table.insertPassage(change)
        this.lexical.put(change.slot, change.columns)
        if (change.vector !== undefined) this.vectors.embed(change.slot, seq, change.vector)
        return
      case "RemovePassage":
        this.table.removePassage(change.slot)
        this.lexical.remove(change.slot)
        this.vectors.remove(change.slot, seq)
        this.#freeSlots.push(change.slot)
        return
      case "Surround":
      case "Reindex":
        this.lexical.put(change.slot, change.columns)
        return
      case "Embed":
        this.vectors.embed(change.slot, seq, change.vector)
    }
  }

  #replace(slot: number, seq: number, record: MemoryRecord): void {
    const row = rowOfRecord(slot, this.table.row(slot)?.createdSeq ?? seq, record)
    this.table.replace(row)
    this.namings.put(row, namesNobody(row) ? [] : namingsOf(record))
  }

  #read(store: OpenNamespace): Effect.Effect<void, StoreError> {
    const taken = new Bitmap()
    const take = (slot: number) => {
      for (; this.#nextSlot < slot; this.#nextSlot++) this.#freeSlots.push(this.#nextSlot)
      this.#nextSlot = slot + 1
    }
    const passages = store.whole((file) =>
      file.eachPassage((passage) => {
        taken.set(passage.slot)
        this.table.insertPassage(passage)
      })
    )
    const readOn: Array<number> = []
    const rows = store.whole((file) =>
      file.eachRow((row) => {
        taken.set(row.slot)
        this.table.insert(row)
        if (!namesNobody(row)) readOn.push(row.slot)
      })
    )
    const readNames = (slot: number, text: string) => {
      const row = this.table.row(slot)
      if (row === undefined) return
      const data = JSON.parse(text)
      if (row.message === undefined) row.about = aboutOf(data)
      this.namings.put(row, namingsOf({ kind: row.kind, data }))
    }
    return passages.pipe(
      Effect.andThen(rows),
      Effect.andThen(Effect.suspend(() => store.whole((file) => file.eachData(readOn, readNames)))),
      Effect.andThen(Effect.sync(() => taken.forEach(take))),
      Effect.andThen(this.vectors.load(store))
    )
  }
}

const isOfRecord = ({ _tag }: MemoryChange): boolean => _tag === "Put" || _tag === "Patch" || _tag === "Remove"

/** One naming, and the memories that tell it, in the order of `inOrder`. */
interface Told {
  readonly naming: Naming
  readonly rows: Array<MemoryRow>
}

/** Which memories tell names, by subject: derived from the records as they are read and committed, and never stored. */
class NamingTable {
  readonly #subjects = new Map<string | undefined, Map<string, Told>>()
  readonly #told = new Map<number, { readonly row: MemoryRow; readonly keys: ReadonlyArray<string> }>()

  put(row: MemoryRow, namings: ReadonlyArray<Naming>): void {
    this.remove(row.slot)
    if (namings.length === 0) return
    const subject = this.#subjects.get(row.subjectId) ?? new Map<string, Told>()
    this.#subjects.set(row.subjectId, subject)
    const byKey = new Map(namings.map((naming) => [keyOf(naming), naming]))
    this.#told.set(row.slot, { row, keys: [...byKey.keys()] })
    for (const [key, naming] of byKey) {
      const { rows } = subject.get(key) ?? { rows: [] }
      if (rows.length === 0) subject.set(key, { naming, rows })
      const before = rows.findLastIndex((other) => inOrder(timesOf(other), timesOf(row)) <= 0)
      rows.splice(before + 1, 0, row)
    }
  }

  remove(slot: number): void {
    const told = this.#told.get(slot)
    if (told === undefined) return
    this.#told.delete(slot)
    const subject = this.#subjects.get(told.row.subjectId)!
    for (const key of told.keys) {
      const { rows } = subject.get(key)!
      rows.splice(rows.indexOf(told.row), 1)
      if (rows.length === 0) subject.delete(key)
    }
    if (subject.size === 0) this.#subjects.delete(told.row.subjectId)
  }

  /** Names and relations in the visible memories of a subject, in no order; of equal ones the first and the last. */
  of(subjectId: string | undefined, isVisible: (slot: number) => boolean): ReadonlyArray<ToldNaming> {
    const found: Array<ToldNaming> = []
    for (const { naming, rows } of this.#subjects.get(subjectId)?.values() ?? []) {
      const first = rows.find(({ slot }) => isVisible(slot))
      if (first === undefined) continue
      found.push({ ...naming, ...timesOf(first) })
      const last = rows.findLast(({ slot }) => isVisible(slot))!
      if (last !== first) found.push({ ...naming, ...timesOf(last) })
    }
    return found
  }
}

/** The same for the same naming. */
const keyOf = ({ isAlias, name, of, relation }: Naming): string => JSON.stringify([name, relation, of, isAlias])

/** Facts come first: of a name that has changed or was corrected the latest version alone is visible. */
const timesOf = ({ createdAt, createdSeq, eventAt, message }: MemoryRow) => ({
  at: message === undefined ? 0 : (eventAt ?? createdAt),
  seq: createdSeq
})

/**
 * Records that were read lately, of all namespaces of the process: an agent's searches find the same few memories again and
 * again, and to read one takes a row of SQLite, two checks of its bytes and a parse.
 *
 * Invariants: a record is known by the row of the image that it belongs to. A commit that changes or removes a memory
 * replaces its row, so what is known of the old one is not found again, and is dropped at once: what is erased does not
 * stay. Bounded by number and by length; the one that was not used for longest goes first. Records are never changed.
 */
export class KnownRecords {
  readonly #records: LRUCache<MemoryRow, MemoryRecord>

  constructor(max: number = Limits.recordsKnownMax) {
    this.#records = new LRUCache({ max })
  }

  get size(): number {
    return this.#records.size
  }

  of(row: MemoryRow): MemoryRecord | undefined {
    return this.#records.get(row)
  }

  /** Long ones, and those of unknown length, are read again each time. */
  add(row: MemoryRow, record: MemoryRecord): void {
    if (isShort(record)) this.#records.set(row, record)
  }

  forget(row: MemoryRow | undefined): void {
    if (row !== undefined) this.#records.delete(row)
  }
}

/** One for the process: room that one namespace does not use serves another. */
export const knownRecords = new KnownRecords()

const isShort = ({ data }: MemoryRecord): boolean => {
  let left: number = Limits.knownRecordLengthMax
  for (const value of Object.values(data)) {
    if (typeof value === "object" && value !== null) return false
    if (typeof value === "string") left -= value.length
  }
  return left >= 0
}
