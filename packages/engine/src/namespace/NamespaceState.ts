/**
 * The image of a namespace in memory: rows, words, vectors and names, and the free slots.
 *
 * Invariant: equals the committed file. It is loaded from it, changed only after a commit and in one synchronous
 * step, and dropped when in doubt.
 */
import { Effect } from "effect"
import type { MemoryRecord, MemoryVersion } from "@muniment/domain/Memory"
import { knownRecords } from "./KnownRecords.ts"
import { NamespaceVectors, type IndexSettings } from "./NamespaceVectors.ts"
import type { SegmentSource } from "./SegmentKeeper.ts"
import { MemoryTable } from "./table/MemoryTable.ts"
import { Bitmap } from "../bitmap/Bitmap.ts"
import { inOrder, namingsOf, type Naming, type ToldNaming } from "../people/Namings.ts"
import { LexicalIndex } from "../ranking/LexicalIndex.ts"
import type { MemoryChange, StoredRecord } from "../store/Commit.ts"
import { aboutOf, namesNobody, rowOfRecord, type MemoryRow } from "../store/MemoryRow.ts"
import type { OpenNamespace } from "../store/NamespaceStore.ts"
import { toStoreError, type StoreError } from "../store/StoreError.ts"

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
    const passages = store.eachPassage((passage) => {
      taken.set(passage.slot)
      this.table.insertPassage(passage)
    })
    const readOn: Array<number> = []
    const rows = store.eachRow((row) => {
      taken.set(row.slot)
      this.table.insert(row)
      if (!namesNobody(row)) readOn.push(row.slot)
    })
    const readNames = (slot: number, text: string) => {
      const row = this.table.row(slot)
      if (row === undefined) return
      const data = JSON.parse(text)
      if (row.message === undefined) row.about = aboutOf(data)
      this.namings.put(row, namingsOf({ kind: row.kind, data }))
    }
    return passages.pipe(
      Effect.andThen(rows),
      Effect.andThen(Effect.suspend(() => store.eachData(readOn, readNames))),
      Effect.andThen(Effect.sync(() => taken.forEach(take))),
      Effect.andThen(this.vectors.load(store))
    )
  }
}

const isOfRecord = ({ _tag }: MemoryChange): boolean => _tag === "Put" || _tag === "Patch" || _tag === "Remove"

interface Entry {
  readonly row: MemoryRow
  readonly namings: ReadonlyArray<Naming>
  /** One text for each naming, the same for the same. */
  readonly keys: ReadonlyArray<string>
}

/** Which memories tell names, by subject: derived from the records as they are read and committed, and never stored. */
class NamingTable {
  readonly #subjects = new Map<string | undefined, Map<number, Entry>>()
  readonly #subjectAt = new Map<number, string | undefined>()

  put(row: MemoryRow, namings: ReadonlyArray<Naming>): void {
    this.remove(row.slot)
    if (namings.length === 0) return
    const entries = this.#subjects.get(row.subjectId) ?? new Map<number, Entry>()
    const keys = namings.map(({ isAlias, name, of, relation }) => JSON.stringify([name, relation, of, isAlias]))
    this.#subjects.set(row.subjectId, entries.set(row.slot, { row, namings, keys }))
    this.#subjectAt.set(row.slot, row.subjectId)
  }

  remove(slot: number): void {
    if (!this.#subjectAt.has(slot)) return
    const subject = this.#subjectAt.get(slot)
    const entries = this.#subjects.get(subject)
    entries?.delete(slot)
    if (entries?.size === 0) this.#subjects.delete(subject)
    this.#subjectAt.delete(slot)
  }

  /** What the visible memories of a subject tell, in no order; of what is told again and again the first time and the last. */
  of(subjectId: string | undefined, isVisible: (slot: number) => boolean): ReadonlyArray<ToldNaming> {
    const found = new Map<string, { first: ToldNaming; last: ToldNaming }>()
    for (const { keys, namings, row } of this.#subjects.get(subjectId)?.values() ?? []) {
      if (!isVisible(row.slot)) continue
      const times = timesOf(row)
      for (const [index, key] of keys.entries()) {
        const known = found.get(key)
        const told = { ...namings[index]!, ...times }
        if (known === undefined) found.set(key, { first: told, last: told })
        else if (inOrder(told, known.first) < 0) known.first = told
        else if (inOrder(told, known.last) > 0) known.last = told
      }
    }
    return Array.from(found.values(), ({ first, last }) => (first === last ? [first] : [first, last])).flat()
  }
}

/** Facts come first: of a name that has changed or was corrected the latest version alone is visible. */
const timesOf = ({ createdAt, createdSeq, eventAt, message }: MemoryRow) => ({
  at: message === undefined ? 0 : (eventAt ?? createdAt),
  seq: createdSeq
})
