/**
 * The changes that a group of commands is about to commit, and what the namespace will look like
 * with them: later commands of the group see what earlier ones did. Of the state only slots are taken:
 * a draft that cannot be committed ends the state too.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { NamespaceState } from "./NamespaceState.ts"
import { memoryColumns } from "./recall/MemoryText.ts"
import { speaksFor } from "./speaksFor.ts"
import {
  isSameScope,
  isWithin,
  type ConversationChange,
  type ConversationErasure,
  type ConversationScope
} from "./store/Conversations.ts"
import type { ErasureMark } from "./store/ErasureLog.ts"
import type {
  Change,
  CommitUnit,
  MemoryVector,
  OpenNamespace,
  StoredResult,
  StoreError
} from "./store/NamespaceStore.ts"

export interface Found {
  readonly slot: number
  readonly record: MemoryRecord
}

export class Draft {
  /** When the group is served: who has expired by then cannot be found. */
  readonly nowMillis: number
  readonly #state: NamespaceState
  readonly #store: OpenNamespace
  readonly #overlay = new Map<string, Found | undefined>()
  readonly #units: Array<CommitUnit> = []
  #changes: Array<Change> = []
  #conversation: ConversationChange | undefined
  #changeCount = 0
  #erases = false
  #replacesTags = false
  #changesConversations = false

  constructor(state: NamespaceState, store: OpenNamespace, nowMillis: number) {
    this.#state = state
    this.#store = store
    this.nowMillis = nowMillis
  }

  get changeCount(): number {
    return this.#changeCount
  }

  /** Whether a text or a vector goes that was committed before. */
  get erases(): boolean {
    return this.#erases
  }

  /** Whether a copy of the file, as it was before, would hold what it must not hold any more. */
  get outdatesCopies(): boolean {
    return this.#erases || this.#replacesTags
  }

  /** Whether what was committed before leaves a trace in the log; turns and summaries make room for newer ones. */
  get tracesInLog(): boolean {
    return this.outdatesCopies || this.#changesConversations
  }

  get units(): ReadonlyArray<CommitUnit> {
    return this.#units
  }

  get isEmpty(): boolean {
    return this.#units.length === 0 && this.#changes.length === 0 && this.#conversation === undefined
  }

  /** A live memory by id, as the draft would leave it. */
  find(id: string): Effect.Effect<Found | undefined, StoreError> {
    if (!this.#overlay.has(id)) return this.#stored(id)
    const drafted = this.#overlay.get(id)
    return Effect.succeed(drafted === undefined || this.#isOver(drafted.record) ? undefined : drafted)
  }

  /** Whether any row has the id, live or expired. */
  has(id: string): Effect.Effect<boolean, StoreError> {
    if (this.#overlay.has(id)) return Effect.succeed(this.#overlay.get(id) !== undefined)
    return Effect.map(this.#store.slotOf(id), (slot) => slot !== undefined)
  }

  /** Result that a command with this key left in the group or in the file. */
  storedResult(key: string): Effect.Effect<StoredResult | undefined, StoreError> {
    const drafted = this.#units.find((unit) => unit.idempotency?.key === key)?.idempotency
    return drafted === undefined ? this.#store.storedResult(key) : Effect.succeed(drafted)
  }

  /** Live latest memories of the record's kind and subject that say the same for long enough; the id of one. */
  sameAs(record: MemoryRecord): Effect.Effect<string | undefined, StoreError> {
    const lasts = (known: number | undefined) => speaksFor(known, record.expiresAt, this.nowMillis)
    const isSame = (found: Found | undefined): found is Found =>
      found !== undefined &&
      !this.#isOver(found.record) &&
      lasts(found.record.expiresAt) &&
      found.record.contentHash === record.contentHash &&
      found.record.kind === record.kind &&
      found.record.subjectId === record.subjectId &&
      this.#isLatest(found.slot, found.record.uniqueKey)
    return Effect.map(this.#store.slotsOfContent(record.contentHash, record.subjectId), (slots) => {
      const { table } = this.#state
      for (const slot of slots) {
        const row = table.row(slot)
        // What the draft has touched is looked at below, as it will be.
        if (row === undefined || !table.isLive(slot) || this.#overlay.has(row.id) || row.kind !== record.kind) continue
        if (lasts(row.expiresAt) && this.#isLatest(slot, row.uniqueKey)) return row.id
      }
      return Array.from(this.#overlay.values()).find(isSame)?.record.id
    })
  }

  /** Whether any of these messages is marked as processed in the scope, in the file or by the group. */
  isProcessed(scope: ConversationScope, keys: ReadonlyArray<string>): Effect.Effect<boolean, StoreError> {
    return Effect.map(this.#store.conversations.processed(scope, keys), (stored) => {
      let marked = stored
      for (const { conversation } of this.#units) {
        if (conversation?._tag === "Forget" && isWithin(scope, conversation.within)) marked = new Set()
        if (conversation?._tag === "Advance" && isSameScope(scope, conversation.scope))
          marked = new Set([...marked, ...conversation.processed])
      }
      return keys.some((key) => marked.has(key))
    })
  }

  /** Whether turns or the summary of the scope went since the mark, or go with the group; true when in doubt. */
  isErasedSince(scope: ConversationScope, mark: ErasureMark): boolean {
    const isForgotten = this.#units.some(
      ({ conversation }) => conversation !== undefined && conversation._tag !== "Advance"
    )
    return this.#erases || isForgotten || this.#store.conversations.isErasedSince(scope, mark)
  }

  insert(given: MemoryRecord, vector: MemoryVector | undefined): Found {
    const record = withinBounds(given)
    const slot = this.#state.takeSlot()
    this.#add({ _tag: "Put", slot, record, columns: memoryColumns(record), vector })
    // Last among the drafted, whatever stood under this id before: the order tells which version is latest.
    this.#overlay.delete(record.id)
    this.#overlay.set(record.id, { slot, record })
    return { slot, record }
  }

  replace(slot: number, given: MemoryRecord, vector: MemoryVector | undefined): Found {
    const record = withinBounds(given)
    this.#erases = true
    this.#add({ _tag: "Put", slot, record, columns: memoryColumns(record), vector })
    this.#overlay.set(record.id, { slot, record })
    return { slot, record }
  }

  patch(slot: number, record: MemoryRecord): void {
    this.#replacesTags = true
    this.#add({ _tag: "Patch", slot, record, columns: memoryColumns(record) })
    this.#overlay.set(record.id, { slot, record })
  }

  remove(slot: number, id: string): void {
    this.#erases = true
    this.#add({ _tag: "Remove", slot })
    this.#overlay.set(id, undefined)
  }

  embed(slot: number, vector: MemoryVector): void {
    this.#erases ||= this.#state.modelOf(slot) !== undefined
    this.#add({ _tag: "Embed", slot, vector })
  }

  /** At most one for each command. */
  converse(change: ConversationChange): void {
    this.#conversation = change
    this.#changesConversations = true
    if (change._tag === "Advance") this.#changeCount += change.processed.length + change.turns.length
  }

  /** Drafts the erasure if it finds anything, so that one that does not is no commit. */
  forget(erasure: ConversationErasure): Effect.Effect<void, StoreError> {
    return Effect.map(this.#store.conversations.finds(erasure), (isFound) => {
      if (isFound) this.converse(erasure)
    })
  }

  /** Ends one command's part; its changes, its idempotency key and its conversation commit together. */
  endUnit(idempotency: StoredResult | undefined): void {
    const conversation = this.#conversation
    if (this.#changes.length > 0 || idempotency !== undefined || conversation !== undefined)
      this.#units.push({ changes: this.#changes, idempotency, conversation })
    this.#changes = []
    this.#conversation = undefined
  }

  #isOver({ expiresAt }: MemoryRecord): boolean {
    return expiresAt !== undefined && expiresAt <= this.nowMillis
  }

  /** Whether the memory at `slot` will be the latest version of its key. */
  #isLatest(slot: number, uniqueKey: string | undefined): boolean {
    if (uniqueKey === undefined) return true
    const { table } = this.#state
    const holdsKey = (found: Found | undefined): found is Found =>
      found !== undefined && found.record.uniqueKey === uniqueKey && !this.#isOver(found.record)
    const isNew = (found: Found) => table.row(found.slot)?.id !== found.record.id
    const drafted = Array.from(this.#overlay.values()).findLast((found) => holdsKey(found) && isNew(found))
    if (drafted !== undefined) return drafted.slot === slot
    let latest = table.latestOf(uniqueKey)
    for (; latest !== undefined; latest = table.versionBefore(latest)) {
      const { id } = table.row(latest)!
      if (!this.#overlay.has(id) || holdsKey(this.#overlay.get(id))) break
    }
    return latest === slot
  }

  #add(change: Change): void {
    this.#changes.push(change)
    this.#changeCount++
  }

  #stored(id: string): Effect.Effect<Found | undefined, StoreError> {
    return Effect.flatMap(this.#store.slotOf(id), (slot) =>
      slot === undefined || !this.#state.table.isLive(slot)
        ? Effect.succeed(undefined)
        : Effect.map(this.#store.record(slot), (record) => (record === undefined ? undefined : { slot, record }))
    )
  }
}

/** What lies around an extracted memory is there to be searched, so a bounded part of it is enough. */
const withinBounds = (record: MemoryRecord): MemoryRecord =>
  record.neighbours === undefined
    ? record
    : {
        ...record,
        neighbours: record.neighbours
          .slice(0, Limits.neighboursPerMemoryMax)
          .map((text) => text.slice(0, Limits.neighbourTextLengthMax))
      }
