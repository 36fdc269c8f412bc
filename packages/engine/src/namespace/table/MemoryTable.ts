/**
 * The rows of a namespace in memory, with bitmaps for visibility and filters.
 *
 * Invariants: equals the committed rows; a row is invisible from the millisecond of its expiry on, before any sweep;
 * a version is latest if no live version of its unique key was inserted after it, so when the newer one expires or
 * is removed, the older one is latest again (contract: Schemas). The version chain is derived from the order of
 * insertion and not stored, so it cannot disagree with the rows.
 */
import type { FeedbackFilter } from "@muniment/domain/Feedback"
import { conversationMessageKind } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { Limits } from "@muniment/domain/Limits"
import { Bitmap } from "../../bitmap/Bitmap.ts"
import type { LiveMemories } from "../StorageMeter.ts"
import { newerFirst, type TieOrder } from "../../ranking/Fusion.ts"
import { scopeText, type ConversationScope } from "../../store/Conversations.ts"
import { isShort, type MemoryRow, type PassageRow } from "../../store/MemoryRow.ts"
import { messageTraits } from "../../text/MemoryText.ts"
import { ExpiryQueue, SlotTimes, SlotSet } from "./Slots.ts"
import { MessageOrder, placeOf } from "./MessageOrder.ts"
import { VersionChain } from "./VersionChain.ts"

/** Outdated entries allowed in the expiry queue, beyond twice the live rows. */
const outdatedExpiriesMax = 1_024

/** With more speakers than this a namespace is no chat of a few people. */
const speakersMax = 64

export interface VersionLinks {
  readonly isLatest: boolean
  readonly supersedes: string | undefined
  readonly supersededBy: string | undefined
}

/** A filter by data or metadata is given as the slots that `DataMatches` found. */
export type TableFilter = MemoryFilter & { readonly within?: Bitmap | undefined }

export class MemoryTable {
  #rows: Array<MemoryRow | undefined> = []
  #live = new Bitmap()
  #latest = new Bitmap()
  #liveCount = 0
  #latestCount = 0
  readonly #expired = new Set<number>()
  readonly #expiry = new ExpiryQueue()
  readonly #versions = new Map<string, VersionChain>()
  readonly #latestOf = new Map<string, number>()
  readonly #kinds = new Map<string, SlotSet>()
  /** Key undefined: the memories without a subject. */
  readonly #subjects = new Map<string | undefined, SlotSet>()
  readonly #threads = new Map<string | undefined, SlotSet>()
  readonly #tags = new Map<string, SlotSet>()
  readonly #feedback = new Map<FeedbackFilter, SlotSet>()
  /** Messages by the name of their speaker. */
  readonly #speakers = new Map<string, SlotSet>()
  /** Messages with the role `user`. */
  readonly #byUsers = new SlotSet()
  /** Further passages of long messages: by the slot of the message, and each by its own slot. */
  readonly #passagesOf = new Map<number, ReadonlyArray<PassageRow>>()
  readonly #passages = new Map<number, PassageRow>()
  readonly #passageSlots = new Bitmap()
  /** By conversation. */
  readonly #messages = new Map<string, MessageOrder>()
  /** By slot: the conversation of a message. */
  readonly #orderAt: Array<MessageOrder | undefined> = []
  /** By slot: where a message was in its order when it was last looked for. */
  readonly #indexAt: Array<number> = []
  readonly #eventTimes = new SlotTimes()
  readonly #createdTimes = new SlotTimes()
  readonly #expiryTimes = new SlotTimes()
  /** Memories whose data was replaced in place, and when. */
  readonly #changedAt = new Map<number, number>()
  /** Memories with a unique key, live or expired. */
  readonly #keyed = new Bitmap()

  /** Live memories, superseded versions included. */
  get liveCount(): number {
    return this.#liveCount
  }

  /** `liveCount`, and until when nothing expires. */
  get live(): LiveMemories {
    return { count: this.#liveCount, until: this.#expiry.earliest ?? Infinity }
  }

  /** Live memories that no newer live version supersedes. */
  get latestCount(): number {
    return this.#latestCount
  }

  /** Entries of the expiry queue, outdated ones included; bounded by the number of rows. */
  get expiryEntries(): number {
    return this.#expiry.length
  }

  /** Rows, expired ones included until they are swept. */
  get rowCount(): number {
    return this.#liveCount + this.#expired.size
  }

  /** Slots of expired rows that wait for a sweep. */
  get expired(): ReadonlySet<number> {
    return this.#expired
  }

  /** Lower bound of the next expiry; undefined when nothing expires. */
  get nextExpiry(): number | undefined {
    return this.#expired.size > 0 ? 0 : this.#expiry.earliest
  }

  row(slot: number): MemoryRow | undefined {
    return this.#rows[slot]
  }

  /** The row of the memory that is searched at a slot, its own or a passage's. */
  rowAt(slot: number): MemoryRow | undefined {
    return this.#rows[this.#passages.get(slot)?.memory ?? slot]
  }

  /** The passage at a slot; undefined for the slot of a memory. */
  passage(slot: number): PassageRow | undefined {
    return this.#passages.get(slot)
  }

  /** The passages of a message after the first, in order. */
  passagesOf(slot: number): ReadonlyArray<PassageRow> {
    return this.#passagesOf.get(slot) ?? []
  }

  /** The first `limit` slots whose rows, visible or not, satisfy `isWanted`. */
  slotsWhere(isWanted: (row: MemoryRow) => boolean, limit: number): ReadonlyArray<number> {
    const slots: Array<number> = []
    for (let slot = 0; slot < this.#rows.length && slots.length < limit; slot++) {
      const row = this.#rows[slot]
      if (row !== undefined && isWanted(row)) slots.push(slot)
    }
    return slots
  }

  isLive(slot: number): boolean {
    return this.#live.has(slot)
  }

  /** Hides every row that has expired. Call it with the clock's time before each read or write. */
  advance(nowMillis: number): void {
    for (let due = this.#expiry.popDue(nowMillis); due !== undefined; due = this.#expiry.popDue(nowMillis)) {
      const row = this.#rows[due.slot]
      if (row === undefined || row.expiresAt !== due.time || !this.#live.has(due.slot)) continue
      this.#hide(row)
      this.#expired.add(due.slot)
    }
  }

  insert(row: MemoryRow): void {
    this.#rows[row.slot] = row
    for (const slot of this.#slotsOf(row.slot)) {
      this.#setTimes(slot, row)
      this.#live.set(slot)
    }
    if (row.changedAt !== undefined) this.#changedAt.set(row.slot, row.changedAt)
    if (row.uniqueKey !== undefined) this.#keyed.set(row.slot)
    this.#liveCount++
    this.#setFilters(row, true)
    if (row.expiresAt !== undefined) this.#queueExpiry(row.slot, row.expiresAt)
    this.#setPlace(row, true)
    if (row.uniqueKey === undefined) this.#setLatest(row.slot, true)
    else this.#changeChain(row.uniqueKey, (chain) => chain.add(row))
  }

  /** Replaces a row and keeps its insertion order. */
  replace(row: MemoryRow): void {
    this.remove(row.slot)
    this.insert(row)
  }

  remove(slot: number): void {
    const row = this.#rows[slot]
    if (row === undefined) return
    if (this.#live.has(slot)) this.#hide(row)
    this.#expired.delete(slot)
    if (row.uniqueKey !== undefined) this.#changeChain(row.uniqueKey, (chain) => chain.remove(row))
    this.#setPlace(row, false)
    this.#rows[slot] = undefined
    this.#changedAt.delete(slot)
    this.#keyed.clear(slot)
    for (const one of this.#slotsOf(slot)) this.#setTimes(one, undefined)
  }

  /** Adds a passage of a message, which is visible whenever the message is. */
  insertPassage({ end, memory, slot, start, traits }: PassageRow): void {
    const passage = { slot, memory, start, end, traits }
    this.#passagesOf.set(memory, [...this.passagesOf(memory), passage].sort(byStart))
    this.#passages.set(slot, passage)
    this.#passageSlots.set(slot)
    const row = this.#rows[memory]
    if (row === undefined || !this.#live.has(memory)) return
    this.#setTimes(slot, row)
    this.#live.set(slot)
    if (this.#latest.has(memory)) this.#latest.set(slot)
    this.#setFiltersAt(slot, row, true)
  }

  removePassage(slot: number): void {
    const passage = this.#passages.get(slot)
    if (passage === undefined) return
    const row = this.#rows[passage.memory]
    if (row !== undefined && this.#live.has(slot)) this.#setFiltersAt(slot, row, false)
    this.#live.clear(slot)
    this.#latest.clear(slot)
    this.#setTimes(slot, undefined)
    const left = this.passagesOf(passage.memory).filter((one) => one.slot !== slot)
    if (left.length === 0) this.#passagesOf.delete(passage.memory)
    else this.#passagesOf.set(passage.memory, left)
    this.#passages.delete(slot)
    this.#passageSlots.clear(slot)
  }

  /** The messages of a conversation in order, expired ones included; undefined if it has none. */
  messagesOf(scope: ConversationScope): MessageOrder | undefined {
    return this.#messages.get(scopeText(scope))
  }

  /** Adds to `found` where the messages around one are searched: their slots, and those of their passages. */
  pushUnitsAround(row: MemoryRow, found: Array<number>): void {
    const order = this.#orderAt[row.slot]
    if (order === undefined) return
    const from = found.length
    const index = order.indexOf(row, this.#indexAt[row.slot] ?? -1)
    this.#indexAt[row.slot] = index
    order.pushNear(index, Limits.neighbourMessagesEachSide, found)
    if (this.#passages.size === 0) return
    const to = found.length
    for (let at = from; at < to; at++)
      for (const passage of this.#passagesOf.get(found[at]!) ?? []) found.push(passage.slot)
  }

  /** Slots of the `eachSide` messages before and after one in its conversation, among those that `isSeen`. */
  turnsAround(slot: number, eachSide: number, isSeen: (slot: number) => boolean) {
    const row = this.#rows[slot]
    const place = row === undefined ? undefined : placeOf(row)
    const order = this.#orderAt[slot]
    return place === undefined || order === undefined
      ? { before: [], after: [] }
      : order.seenAround(place, eachSide, isSeen)
  }

  /** Slots of the short messages around a short one, which share their words with it. */
  messagesAround(slot: number): ReadonlyArray<number> {
    const row = this.#rows[slot]
    const place = row === undefined ? undefined : placeOf(row)
    if (place === undefined || !isShort(row?.message)) return []
    const around = this.#orderAt[slot]?.neighboursOf(place, Limits.neighbourMessagesEachSide) ?? []
    return around.filter((one) => isShort(this.#rows[one]?.message))
  }

  /** The latest live version of a key, or the one that was latest at a time. */
  latestOf(uniqueKey: string, asOf?: number): number | undefined {
    return asOf === undefined
      ? this.#latestOf.get(uniqueKey)
      : this.#versions.get(uniqueKey)?.latest((slot) => this.wasStored(slot, asOf))
  }

  /** Whether a live memory was stored at a time, and had not expired by then. */
  wasStored(slot: number, asOf: number): boolean {
    const row = this.#live.has(slot) ? this.#rows[slot] : undefined
    return row !== undefined && row.createdAt <= asOf && (row.expiresAt === undefined || row.expiresAt > asOf)
  }

  /** Whether its data was then what it is now. */
  wasSame(slot: number, asOf: number): boolean {
    return this.wasStored(slot, asOf) && (this.#rows[slot]!.changedAt ?? -Infinity) <= asOf
  }

  /** Memories that were there at a time, with passages; unless `includeSuperseded` those that were latest then. */
  #thereAt(asOf: number, includeSuperseded: boolean): Bitmap {
    const now = includeSuperseded ? this.#live : this.#latest
    const there = this.#createdTimes.within(now, -Infinity, asOf)
    // For a time to come: expired memories are not live.
    there.andNot(this.#expiryTimes.within(there, -Infinity, asOf))
    if (!includeSuperseded) {
      const since = now.clone().andNot(there).and(this.#keyed)
      since.forEach((slot) => {
        const before = this.latestOf(this.#rows[slot]!.uniqueKey!, asOf)
        if (before !== undefined) for (const one of this.#slotsOf(before)) there.set(one)
      })
    }
    for (const [slot, changedAt] of this.#changedAt)
      if (changedAt > asOf) for (const one of this.#slotsOf(slot)) there.clear(one)
    return there
  }

  /** The live version before the one at `slot`. */
  versionBefore(slot: number): number | undefined {
    const row = this.#rows[slot]
    const chain = row?.uniqueKey === undefined ? undefined : this.#versions.get(row.uniqueKey)
    return row === undefined ? undefined : chain?.before(row, this.#live.has.bind(this.#live))
  }

  /** Slots of the live versions of a memory, newest first. */
  versionsOf(slot: number): ReadonlyArray<number> {
    const row = this.#rows[slot]
    const chain = row?.uniqueKey === undefined ? undefined : this.#versions.get(row.uniqueKey)
    return chain?.newestFirst((one) => this.#live.has(one)) ?? (this.#live.has(slot) ? [slot] : [])
  }

  /** As they are, or as they were at a time. */
  links(slot: number, asOf?: number): VersionLinks {
    const row = this.#rows[slot]
    const chain = row?.uniqueKey === undefined ? undefined : this.#versions.get(row.uniqueKey)
    const isThere = (one: number) => (asOf === undefined ? this.#live.has(one) : this.wasStored(one, asOf))
    if (row === undefined || chain === undefined)
      return { isLatest: isThere(slot), supersedes: undefined, supersededBy: undefined }
    const next = chain.after(row, isThere)
    return {
      isLatest: next === undefined && isThere(slot),
      supersedes: this.#idOf(chain.before(row, isThere)),
      supersededBy: this.#idOf(next)
    }
  }

  /** The memories that match a filter, as a new bitmap. Ignores `agentId`: a namespace has one agent. */
  allowed(filter: TableFilter): Bitmap {
    return this.searchable(filter).andNot(this.#passageSlots)
  }

  /** The memories that match a filter and the further passages of these, as a new bitmap. */
  searchable(filter: TableFilter): Bitmap {
    const { agentId: _agentId, includeSuperseded, tags, anyOf, eventFrom, eventTo, ...rest } = filter
    const { asOf, data, feedback, hasNoSubject, hasNoThread, include = "all", kind, ...others } = rest
    const { subjectId, threadId, where, within, ...unknown } = others
    requireNone(unknown)
    if (data !== undefined || where !== undefined) throw new Error("the filter by data is not resolved")
    let bitmap =
      asOf !== undefined
        ? this.#thereAt(asOf, includeSuperseded === true)
        : (includeSuperseded === true ? this.#live : this.#latest).clone()
    const exact: ReadonlyArray<readonly [string | undefined, ReadonlyMap<string | undefined, SlotSet>]> = [
      [kind, this.#kinds],
      [subjectId, this.#subjects],
      [threadId, this.#threads],
      [feedback, this.#feedback]
    ]
    for (const [value, sets] of exact) {
      if (value !== undefined) bitmap = sets.get(value)?.restrict(bitmap) ?? new Bitmap()
    }
    if (include !== "all") {
      const messages = new Bitmap()
      this.#kinds.get(conversationMessageKind)?.unite(messages)
      if (include === "messages") bitmap.and(messages)
      else bitmap.andNot(messages)
    }
    if (within !== undefined) bitmap.and(within)
    if (hasNoSubject === true) bitmap = this.#subjects.get(undefined)?.restrict(bitmap) ?? new Bitmap()
    if (hasNoThread === true) bitmap = this.#threads.get(undefined)?.restrict(bitmap) ?? new Bitmap()
    if (tags !== undefined) {
      const any = new Bitmap()
      for (const tag of tags) this.#tags.get(tag)?.unite(any)
      bitmap.and(any)
    }
    if (anyOf !== undefined) {
      const granted = new Bitmap()
      for (const scope of anyOf) granted.or(this.searchable({ includeSuperseded: true, ...scope }))
      bitmap.and(granted)
    }
    return eventFrom === undefined && eventTo === undefined
      ? bitmap
      : this.#eventTimes.within(bitmap, eventFrom ?? -Infinity, eventTo ?? Infinity)
  }

  /** Speakers of the messages among `allowed` that `isWanted` lets through, in no order. */
  speakersIn(allowed: Bitmap, isWanted: (speaker: string) => boolean): ReadonlyArray<string> {
    const found: Array<string> = []
    for (const [speaker, slots] of this.#speakers) {
      if (isWanted(speaker) && slots.intersects(allowed)) found.push(speaker)
    }
    return found
  }

  /** Names, or the role, of those who speak as users among `allowed`; empty with more than `speakersMax` speakers. */
  usersIn(allowed: Bitmap): ReadonlyArray<string> {
    if (this.#speakers.size > speakersMax) return []
    const said = this.#byUsers.restrict(allowed.clone())
    return this.speakersIn(said, () => true)
  }

  /** Subjects of the memories among `allowed`; undefined: those without one. Ends with the second one. */
  subjectsIn(allowed: Bitmap, candidates: Iterable<string | undefined> = this.#subjects.keys()) {
    const found: Array<string | undefined> = []
    for (const subject of candidates) {
      if (this.#subjects.get(subject)?.intersects(allowed) === true) found.push(subject)
      if (found.length === 2) break
    }
    return found
  }

  get hasMessages(): boolean {
    return this.#speakers.size > 0
  }

  /** Newest first, ids descending on a tie: the order of listings and of equal scores. */
  readonly newerFirst: TieOrder<number> = {
    timeOf: (slot) => this.rowAt(slot)!.createdAt,
    before: (left, right) => newerFirst(this.rowAt(left)!, this.rowAt(right)!)
  }

  #hide(row: MemoryRow): void {
    for (const slot of this.#slotsOf(row.slot)) this.#live.clear(slot)
    this.#liveCount--
    this.#setLatest(row.slot, false)
    this.#setFilters(row, false)
    if (row.uniqueKey !== undefined) this.#changeChain(row.uniqueKey, () => undefined)
  }

  /** Applies a change to a version chain, then updates which version is latest. */
  #changeChain(uniqueKey: string, change: (chain: VersionChain) => void): void {
    let chain = this.#versions.get(uniqueKey)
    if (chain === undefined) this.#versions.set(uniqueKey, (chain = new VersionChain()))
    change(chain)
    if (chain.size === 0) this.#versions.delete(uniqueKey)
    const before = this.#latestOf.get(uniqueKey)
    const latest = chain.latest((slot) => this.#live.has(slot))
    if (before === latest) return
    if (before !== undefined) this.#setLatest(before, false)
    if (latest === undefined) this.#latestOf.delete(uniqueKey)
    else {
      this.#setLatest(latest, true)
      this.#latestOf.set(uniqueKey, latest)
    }
  }

  /** Every changed expiry leaves an outdated entry; once most are outdated, the queue is rebuilt. */
  #queueExpiry(slot: number, expiresAt: number): void {
    this.#expiry.push(slot, expiresAt)
    if (this.#expiry.length <= this.#liveCount * 2 + outdatedExpiriesMax) return
    this.#expiry.clear()
    for (const row of this.#rows) {
      if (row?.expiresAt !== undefined && this.#live.has(row.slot)) this.#expiry.push(row.slot, row.expiresAt)
    }
  }

  #setTimes(slot: number, row: MemoryRow | undefined): void {
    this.#eventTimes.set(slot, row?.eventAt)
    this.#createdTimes.set(slot, row?.createdAt)
    this.#expiryTimes.set(slot, row?.expiresAt)
  }

  #setPlace(row: MemoryRow, member: boolean): void {
    const place = placeOf(row)
    if (place === undefined) return
    const scope = scopeText(row)
    let order = this.#messages.get(scope)
    if (order === undefined) this.#messages.set(scope, (order = new MessageOrder()))
    if (member) order.add(place)
    else order.remove(place)
    this.#orderAt[row.slot] = member ? order : undefined
    if (order.size === 0) this.#messages.delete(scope)
  }

  #idOf(slot: number | undefined): string | undefined {
    return slot === undefined ? undefined : this.#rows[slot]?.id
  }

  #setLatest(slot: number, isLatest: boolean): void {
    if (this.#latest.has(slot) === isLatest) return
    this.#latestCount += isLatest ? 1 : -1
    for (const one of this.#slotsOf(slot)) {
      if (isLatest) this.#latest.set(one)
      else this.#latest.clear(one)
    }
  }

  /** Where a memory is searched: at its own slot, and at those of its passages. */
  #slotsOf(slot: number): ReadonlyArray<number> {
    const passages = this.#passagesOf.get(slot)
    return passages === undefined ? [slot] : [slot, ...passages.map((passage) => passage.slot)]
  }

  #setFilters(row: MemoryRow, member: boolean): void {
    for (const slot of this.#slotsOf(row.slot)) this.#setFiltersAt(slot, row, member)
  }

  #setFiltersAt(slot: number, row: MemoryRow, member: boolean): void {
    this.#setFilter(this.#kinds, row.kind, slot, member)
    this.#setFilter(this.#subjects, row.subjectId, slot, member)
    this.#setFilter(this.#threads, row.threadId, slot, member)
    for (const tag of row.tags) this.#setFilter(this.#tags, tag, slot, member)
    for (const said of row.feedback ?? []) this.#setFilter(this.#feedback, said, slot, member)
    if (row.message === undefined) return
    this.#setFilter(this.#speakers, row.message.speaker, slot, member)
    if ((row.message.traits & messageTraits.isByUser) === 0) return
    if (member) this.#byUsers.add(slot)
    else this.#byUsers.remove(slot)
  }

  #setFilter<V extends string | undefined>(sets: Map<V, SlotSet>, value: V, slot: number, member: boolean): void {
    let set = sets.get(value)
    if (set === undefined) sets.set(value, (set = new SlotSet()))
    if (member) set.add(slot)
    else set.remove(slot)
    if (set.size === 0) sets.delete(value)
  }
}

/**
 * A filter that is not applied would show, or delete, what it was meant to leave out. A field of `MemoryFilter` that
 * `searchable` does not name does not compile; one that the type lacks fails here.
 */
const requireNone = (unknown: { readonly [name: string]: never }): void => {
  for (const name in unknown) throw new Error(`the filter "${name}" is not applied`)
}

const byStart = (left: PassageRow, right: PassageRow): number => left.start - right.start
