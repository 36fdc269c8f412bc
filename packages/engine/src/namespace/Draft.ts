/**
 * Uncommitted changes of one command group, and a read view over them: a command sees the effects of the earlier
 * ones. Of `NamespaceState` a draft only reserves slots. A failed commit ends the actor and its state, so nothing is
 * rolled back.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { MessageDraft } from "./MessageDraft.ts"
import type { NamespaceState } from "./NamespaceState.ts"
import type { CommandChanges, MemoryChange, MemoryVector, StoredRecord, StoredResult } from "../store/Commit.ts"
import {
  type ConversationChange,
  type ConversationErasure,
  type ConversationScope,
  type ErasureMark,
  isSameScope,
  isWithin,
  type KeptTurn
} from "../store/Conversations.ts"
import type { PassageRow } from "../store/MemoryRow.ts"
import type { OpenNamespace } from "../store/NamespaceStore.ts"
import type { StoreError } from "../store/StoreError.ts"
import { memoryUnits } from "../text/MemoryText.ts"
import { cutsOf } from "@muniment/language/text/Passages"

export class Draft {
  /** When the group is planned: the reference time for expiry. */
  readonly nowMillis: number
  readonly #state: NamespaceState
  readonly #store: OpenNamespace
  /** By id, in order of drafting; undefined: removed. */
  readonly #overlay = new Map<string, StoredRecord | undefined>()
  readonly #messages: MessageDraft
  /** Further passages of the messages that the group has put or removed, by the slot of the message. */
  readonly #passages = new Map<number, ReadonlyArray<PassageRow>>()
  /** Bytes of the account's quota that are held for the commands. */
  held = 0
  #group: Array<CommandChanges> = []
  #changes: Array<MemoryChange> = []
  #conversation: ConversationChange | undefined
  #changeCount = 0
  #erases = false
  #replacesTags = false
  #changesConversations = false
  #erasesConversations = false

  constructor(state: NamespaceState, store: OpenNamespace, nowMillis: number) {
    this.#state = state
    this.#store = store
    this.#messages = new MessageDraft(state, store)
    this.nowMillis = nowMillis
  }

  /** The changes of each command that has changed anything. */
  get group(): ReadonlyArray<CommandChanges> {
    return this.#group
  }

  get changeCount(): number {
    return this.#changeCount
  }

  get isEmpty(): boolean {
    return this.#group.length === 0 && this.#changes.length === 0 && this.#conversation === undefined
  }

  /** Whether a committed text or vector is removed or replaced. */
  get erases(): boolean {
    return this.#erases
  }

  /** Whether an older copy of the file would hold content that the commit removes or replaces. */
  get outdatesCopies(): boolean {
    return this.#erases || this.#replacesTags || this.#erasesConversations
  }

  /** Whether the log will hold content that the commit removes; new turns and summaries push out older ones. */
  get tracesInLog(): boolean {
    return this.outdatesCopies || this.#changesConversations
  }

  /** A live memory by id, as the draft would leave it. */
  find(id: string): Effect.Effect<StoredRecord | undefined, StoreError> {
    if (!this.#overlay.has(id)) return this.#committed(id)
    const drafted = this.#overlay.get(id)
    return Effect.succeed(drafted === undefined || this.#isExpired(drafted.record) ? undefined : drafted)
  }

  /** Whether the memory, as the draft would leave it, is the latest version of its key. */
  isLatest({ record, slot }: StoredRecord): boolean {
    return this.#isLatest(slot, record.uniqueKey)
  }

  /** Records as committed. */
  committed(slots: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<MemoryRecord>, StoreError> {
    if (slots.length === 0) return Effect.succeed([])
    return Effect.map(this.#store.records(slots), (found) => found.map(({ record }) => record))
  }

  /** Whether any row has the id, live or expired. */
  has(id: string): Effect.Effect<boolean, StoreError> {
    if (this.#overlay.has(id)) return Effect.succeed(this.#overlay.get(id) !== undefined)
    return Effect.map(this.#store.slotOf(id), (slot) => slot !== undefined)
  }

  /** Result stored under an idempotency key, by this group or in the file, as long as it is kept. */
  storedResult(key: string): Effect.Effect<StoredResult | undefined, StoreError> {
    const drafted = this.#group.find(({ idempotency }) => idempotency?.key === key)?.idempotency
    // Housekeeping deletes older ones of open namespaces, each minute.
    const keptSince = this.nowMillis - Limits.idempotencyRetentionMillis
    return drafted === undefined ? this.#store.storedResult(key, keptSince) : Effect.succeed(drafted)
  }

  /** Id of a live latest memory with the kind, subject and content of `record` that lives long enough. */
  duplicateOf(record: MemoryRecord): Effect.Effect<string | undefined, StoreError> {
    const isLasting = (expiresAt: number | undefined) => coversLife(expiresAt, record.expiresAt, this.nowMillis)
    const isDuplicate = (drafted: StoredRecord | undefined): drafted is StoredRecord =>
      drafted !== undefined &&
      !this.#isExpired(drafted.record) &&
      isLasting(drafted.record.expiresAt) &&
      drafted.record.contentHash === record.contentHash &&
      drafted.record.kind === record.kind &&
      drafted.record.subjectId === record.subjectId &&
      this.#isLatest(drafted.slot, drafted.record.uniqueKey)
    return Effect.map(this.#store.slotsOfContent(record.contentHash, record.subjectId), (slots) => {
      const { table } = this.#state
      for (const slot of slots) {
        const row = table.row(slot)
        // Rows that the draft has changed are checked below, in their drafted form.
        if (row === undefined || !table.isLive(slot) || this.#overlay.has(row.id) || row.kind !== record.kind) continue
        if (isLasting(row.expiresAt) && this.#isLatest(slot, row.uniqueKey)) return row.id
      }
      return Array.from(this.#overlay.values()).find(isDuplicate)?.record.id
    })
  }

  /** Whether any of these messages is marked as processed in the conversation, in the file or by the group. */
  isProcessed(scope: ConversationScope, keys: ReadonlyArray<string>): Effect.Effect<boolean, StoreError> {
    return Effect.map(this.#store.conversations.processed(scope, keys), (stored) => {
      let marked = stored
      for (const { conversation } of this.#group) {
        if (conversation?._tag === "Forget" && isWithin(scope, conversation.within)) marked = new Set()
        if (conversation?._tag === "Advance" && isSameScope(scope, conversation.scope))
          marked = new Set([...marked, ...conversation.processed])
      }
      return keys.some((key) => marked.has(key))
    })
  }

  /**
   * The record, of a message with its position; undefined for a message that is stored in its conversation. With
   * `onlyIfThere`, one whose memory is gone is placed again.
   */
  place(record: MemoryRecord, onlyIfThere: boolean): Effect.Effect<MemoryRecord | undefined, StoreError> {
    if (record.origin !== "conversation") return Effect.succeed(record)
    const isForgotten = this.#group.some(
      ({ conversation }) => conversation?._tag === "Forget" && isWithin(record, conversation.within)
    )
    return this.#messages.place(record, { onlyIfThere, isForgotten })
  }

  /** Live extracted memories of a conversation that were taken from any of these messages, as the draft leaves them. */
  takenFrom(
    scope: ConversationScope,
    keys: ReadonlySet<string>
  ): Effect.Effect<ReadonlyArray<StoredRecord>, StoreError> {
    const isTaken = ({ record }: StoredRecord) =>
      record.origin === "extraction" && isSameScope(record, scope) && record.sources?.some(({ key }) => keys.has(key))
    return Effect.gen({ self: this }, function* () {
      const slots = yield* this.#store.slotsTakenFrom(scope, [...keys])
      const ids = slots.flatMap((slot) => this.#state.table.row(slot)?.id ?? [])
      const known = new Set([...ids, ...this.#overlay.keys()])
      const found = yield* Effect.forEach(known, (id) => this.find(id))
      return found.filter((stored) => stored !== undefined && isTaken(stored)) as ReadonlyArray<StoredRecord>
    })
  }

  /** Live memories that carry on the words of any of these, as the draft leaves them. */
  carrying(ids: ReadonlySet<string>): Effect.Effect<ReadonlyArray<StoredRecord>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const slots = yield* this.#store.slotsTakenFrom(undefined, [...ids])
      const known = new Set([
        ...slots.flatMap((slot) => this.#state.table.row(slot)?.id ?? []),
        ...this.#overlay.keys()
      ])
      const found = yield* Effect.forEach(known, (id) => this.find(id))
      return found.flatMap((stored) =>
        stored?.record.sources?.some(({ isCarried, key }) => isCarried === true && ids.has(key)) === true
          ? [stored]
          : []
      )
    })
  }

  /** Ids of the messages of a conversation that are there. */
  storedMessages(
    scope: ConversationScope,
    keys: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<string>, StoreError> {
    return Effect.map(this.#store.conversations.stored(scope, keys), (stored) =>
      Array.from(stored.values()).filter((id) => id !== undefined)
    )
  }

  /** The context of the next extraction, as committed. */
  turnsOf(scope: ConversationScope): Effect.Effect<ReadonlyArray<KeptTurn>, StoreError> {
    return Effect.map(this.#store.conversations.context(scope, this.nowMillis), ({ turns }) => turns)
  }

  /** Keys of the messages near these in their conversation, as far as memories have words of each other. */
  keysAround(
    scope: ConversationScope,
    messages: ReadonlyArray<MemoryRecord>
  ): Effect.Effect<ReadonlyArray<string>, StoreError> {
    const order = this.#state.table.messagesOf(scope)
    const places = messages.flatMap(
      ({ position }) =>
        (position === undefined ? undefined : order?.around(position, position, Limits.neighboursPerMemoryMax)) ?? []
    )
    return Effect.map(this.committed([...new Set(places.map(({ slot }) => slot))]), (records) =>
      records.flatMap(({ sources = [] }) => sources.map(({ key }) => key))
    )
  }

  /** Whether the message behind a key was stored in the conversation and is gone. */
  isErased(scope: ConversationScope, key: string): Effect.Effect<boolean, StoreError> {
    return Effect.flatMap(this.#store.conversations.stored(scope, [key]), (stored) => {
      const id = stored.get(key)
      return id === undefined ? Effect.succeed(stored.has(key)) : Effect.map(this.has(id), (isThere) => !isThere)
    })
  }

  /** Whether turns or the summary of the conversation were erased since the mark, or by this group; true when in doubt. */
  isErasedSince(scope: ConversationScope, mark: ErasureMark): boolean {
    const isForgotten = this.#group.some(({ conversation }) => conversation !== undefined && erasesTurns(conversation))
    return this.#erases || isForgotten || this.#store.conversations.isErasedSince(scope, mark)
  }

  insert(given: MemoryRecord, vector: MemoryVector | undefined): StoredRecord {
    const record = withinBounds(given)
    const supersedes = record.uniqueKey === undefined ? undefined : this.#latest(record.uniqueKey)?.id
    const slot = this.#state.takeSlot()
    this.#putUnits(slot, record, vector, supersedes)
    // Deleted first so that the entry becomes the last one: the order tells which version is latest.
    this.#overlay.delete(record.id)
    this.#overlay.set(record.id, { slot, record })
    this.#messages.change(slot, record, false)
    return { slot, record }
  }

  replace(slot: number, given: MemoryRecord, vector: MemoryVector | undefined): StoredRecord {
    const record = withinBounds(given)
    this.#erases = true
    this.#removePassages(slot)
    this.#putUnits(slot, record, vector)
    this.#overlay.set(record.id, { slot, record })
    this.#messages.change(slot, record, false)
    return { slot, record }
  }

  patch(slot: number, record: MemoryRecord): void {
    this.#replacesTags = true
    const passages = this.#passagesAt(slot)
    const [first, ...others] = memoryUnits(record, cutsOf(passages))
    this.#add({ _tag: "Patch", slot, record, columns: first.columns })
    for (const [at, passage] of passages.entries())
      this.#add({ _tag: "Reindex", slot: passage.slot, columns: others[at]!.columns })
    this.#overlay.set(record.id, { slot, record })
    this.#messages.change(slot, record, true)
  }

  /** `keepsTurns`: what it was taken from stays the context of the next extraction. */
  remove(slot: number, id: string, keepsTurns = false): void {
    this.#erases = true
    this.#removePassages(slot)
    this.#add({ _tag: "Remove", slot, ...(keepsTurns && { keepsTurns }) })
    this.#overlay.set(id, undefined)
    this.#messages.change(slot, undefined, false)
  }

  embed(slot: number, vector: MemoryVector): void {
    this.#erases ||= this.#state.vectors.modelOf(slot) !== undefined
    this.#add({ _tag: "Embed", slot, isPassage: false, vector })
    for (const [at, passage] of this.#passagesAt(slot).entries()) {
      const own = vectorOfPassage(vector, at)
      if (own !== undefined) this.#add({ _tag: "Embed", slot: passage.slot, isPassage: true, vector: own })
    }
  }

  /** At most one per command. */
  changeConversation(change: ConversationChange): void {
    this.#conversation = change
    this.#changesConversations = true
    this.#erasesConversations ||= erasesTurns(change)
    if (change._tag === "Advance") this.#changeCount += change.processed.length + change.turns.length
  }

  /** Drafts the erasure only if it matches something, so that one without effect makes no commit. */
  eraseConversations(erasure: ConversationErasure): Effect.Effect<void, StoreError> {
    return Effect.map(this.#store.conversations.finds(erasure), (isFound) => {
      if (isFound) this.changeConversation(erasure)
    })
  }

  /** Ends the changes of one command; they commit together with its idempotency result. */
  endCommand(idempotency: StoredResult | undefined): void {
    const conversation = this.#conversation
    if (this.#changes.length > 0 || idempotency !== undefined || conversation !== undefined)
      this.#group.push({ changes: this.#changes, idempotency, conversation })
    this.#changes = []
    this.#conversation = undefined
  }

  /** Gives messages the words of those around them, also committed ones whose neighbours change. The last step. */
  get completeColumns(): Effect.Effect<void, StoreError> {
    return Effect.map(this.#messages.columns, (columns) => {
      const drafted = new Set<number>()
      this.#group = this.#group.map((command) => ({
        ...command,
        changes: command.changes.map((change) => {
          const complete = change._tag === "Put" || change._tag === "Patch" ? columns.get(change.slot) : undefined
          if (complete === undefined) return change
          drafted.add(change.slot)
          return { ...change, columns: complete } as MemoryChange
        })
      }))
      const others = [...columns].filter(([slot]) => !drafted.has(slot))
      if (others.length === 0) return
      const changes = others.map(([slot, complete]): MemoryChange => ({ _tag: "Surround", slot, columns: complete }))
      this.#group.push({ changes, idempotency: undefined })
    })
  }

  /** A message of several passages has its first one at its own slot. */
  #putUnits(slot: number, record: MemoryRecord, vector: MemoryVector | undefined, supersedes?: string): void {
    const [first, ...others] = memoryUnits(record)
    this.#add({ _tag: "Put", slot, record, columns: first.columns, vector, supersedes })
    const passages = others.map(({ columns, passage, traits }, at) => {
      const row = { slot: this.#state.takeSlot(), memory: slot, start: passage!.start, end: passage!.end, traits }
      this.#add({ _tag: "PutPassage", ...row, columns, vector: vectorOfPassage(vector, at) })
      return row
    })
    this.#passages.set(slot, passages)
  }

  #removePassages(slot: number): void {
    for (const passage of this.#passagesAt(slot)) this.#add({ _tag: "RemovePassage", slot: passage.slot })
    this.#passages.set(slot, [])
  }

  #passagesAt(slot: number): ReadonlyArray<PassageRow> {
    return this.#passages.get(slot) ?? this.#state.table.passagesOf(slot)
  }

  #isExpired({ expiresAt }: MemoryRecord): boolean {
    return expiresAt !== undefined && expiresAt <= this.nowMillis
  }

  /** Whether the memory at `slot` would be the latest version of its key. */
  #isLatest(slot: number, uniqueKey: string | undefined): boolean {
    return uniqueKey === undefined || this.#latest(uniqueKey)?.slot === slot
  }

  /** The latest version of a key, as the draft would leave it. */
  #latest(uniqueKey: string): { readonly slot: number; readonly id: string } | undefined {
    const { table } = this.#state
    const holdsKey = (drafted: StoredRecord | undefined): drafted is StoredRecord =>
      drafted !== undefined && drafted.record.uniqueKey === uniqueKey && !this.#isExpired(drafted.record)
    const isNew = (drafted: StoredRecord) => table.row(drafted.slot)?.id !== drafted.record.id
    const inserted = Array.from(this.#overlay.values()).findLast((drafted) => holdsKey(drafted) && isNew(drafted))
    if (inserted !== undefined) return { slot: inserted.slot, id: inserted.record.id }
    const moved = [...this.#overlay.values()].filter(
      (drafted): drafted is StoredRecord => holdsKey(drafted) && table.row(drafted.slot)!.uniqueKey !== uniqueKey
    )
    const holders = moved.map(({ record, slot }) => ({ slot, id: record.id }))
    for (let slot = table.latestOf(uniqueKey); slot !== undefined; slot = table.versionBefore(slot)) {
      const { id } = table.row(slot)!
      if (this.#overlay.has(id) && !holdsKey(this.#overlay.get(id))) continue
      holders.push({ slot, id })
      break
    }
    const insertedAt = ({ slot }: { readonly slot: number }) => table.row(slot)!.createdSeq
    return holders.toSorted((left, right) => insertedAt(right) - insertedAt(left))[0]
  }

  #add(change: MemoryChange): void {
    this.#changes.push(change)
    this.#changeCount++
  }

  #committed(id: string): Effect.Effect<StoredRecord | undefined, StoreError> {
    return Effect.flatMap(this.#store.slotOf(id), (slot) =>
      slot === undefined || !this.#state.table.isLive(slot)
        ? Effect.succeed(undefined)
        : Effect.map(this.#store.record(slot), (record) => (record === undefined ? undefined : { slot, record }))
    )
  }
}

const erasesTurns = (change: ConversationChange): boolean => change._tag !== "Advance" || change.withheld !== undefined

/** The vector of the passage `at` after the first. */
const vectorOfPassage = (vector: MemoryVector | undefined, at: number): MemoryVector | undefined => {
  const values = vector?.passages?.[at]
  return vector === undefined || values === undefined ? undefined : { model: vector.model, values }
}

/** Neighbours are kept for search only, so a bounded part of them is enough. */
const withinBounds = (record: MemoryRecord): MemoryRecord =>
  record.neighbours === undefined
    ? record
    : {
        ...record,
        neighbours: record.neighbours
          .slice(0, Limits.neighboursPerMemoryMax)
          .map((text) => text.slice(0, Limits.neighbourTextLengthMax))
      }

/** Share of the new memory's life. With a share of 1, a fact stated daily under a `ttl` would be stored daily. */
const lifeShareMin = 0.5

/**
 * Lifetime rule for duplicates, in milliseconds: a stored memory replaces a new one with the same content only if it lives
 * long enough. Without it a memory that is about to expire would keep out a statement that is to be kept for longer.
 * `undefined` never ends.
 */
export const coversLife = (knownEnd: number | undefined, newEnd: number | undefined, nowMillis: number): boolean => {
  if (knownEnd === undefined) return true
  return newEnd !== undefined && knownEnd - nowMillis >= lifeShareMin * (newEnd - nowMillis)
}
