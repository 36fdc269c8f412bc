/**
 * Turns a command into changes on the draft of its group. A command that fails drafts nothing. A command whose
 * idempotency key is known drafts nothing either, and replies with the stored result (contract: Idempotency).
 */
import { Effect } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { Conflict, memoryNotFound, type NotFound, type PayloadTooLarge } from "@muniment/domain/Errors"
import { withFeedback } from "@muniment/domain/Feedback"
import { Limits } from "@muniment/domain/Limits"
import { correctedSources, type MemoryRecord, type MemoryVersion } from "@muniment/domain/Memory"
import { requireQuota } from "@muniment/domain/Plans"
import type { MemoryFilter } from "@muniment/domain/Search"
import type {
  Command,
  ConversationCommit,
  ExpectedMemory,
  GiveFeedback,
  GrowingCommand,
  ImportRecords,
  MovedMemory,
  PatchMemories,
  PreparedMemory,
  RemoveCreatedBefore,
  RemoveMatching,
  RemoveMemories,
  Replies,
  Room,
  StoredMemories,
  StoreMemories,
  StoreVectors,
  Sweep
} from "./Commands.ts"
import type { Draft } from "./Draft.ts"
import { memoryBytes } from "../store/MemoryRow.ts"
import type { NamespaceState } from "./NamespaceState.ts"
import type { StoredRecord } from "../store/Commit.ts"
import { type ConversationScope, scopeText } from "../store/Conversations.ts"
import { versionTag } from "./versionTag.ts"
import type { StoreError } from "../store/StoreError.ts"

/** Makes the reply; called after the commit is applied to the image. */
export type Reply<A> = () => A

type Plan<A> = Effect.Effect<Reply<A>, NotFound | Conflict | PayloadTooLarge | StoreError>

/** Reserves `growth` bytes of the account's quota; answers how many bytes it holds. */
type HoldRoom = (growth: () => number) => Effect.Effect<number, PayloadTooLarge>

export class CommandPlanner {
  readonly #state: NamespaceState
  readonly #hold: HoldRoom

  constructor(state: NamespaceState, hold: HoldRoom) {
    this.#state = state
    this.#hold = hold
  }

  plan(command: Command, draft: Draft): Plan<Replies[Command["_tag"]]> {
    switch (command._tag) {
      case "StoreMemories":
        return once(draft, command.idempotency, this.#store(command, draft), (result) => this.#stored(result, draft))
      case "PatchMemories":
        return once(draft, command.idempotency, this.#patch(command, draft), (result) =>
          this.#versions(JSON.parse(result) as Array<string>, draft)
        )
      case "GiveFeedback":
        return once(draft, command.idempotency, this.#giveFeedback(command, draft), (id) =>
          Effect.flatMap(draft.find(id), (found) =>
            found === undefined ? memoryNotFound() : Effect.succeed(() => this.#state.version(found))
          )
        )
      case "RemoveMemories":
        return once(draft, command.idempotency, remove(command, draft), (result) =>
          Effect.succeed(() => Number(result))
        )
      case "RemoveMatching":
        return this.#removeMatching(command, draft)
      case "StoreVectors":
        return storeVectors(command, draft)
      case "ImportRecords":
        return importRecords(command, draft, this.#holdOf(command))
      case "Sweep":
        return this.#sweep(command, draft)
      case "RemoveCreatedBefore":
        return this.#removeCreatedBefore(command, draft)
    }
  }

  #holdOf({ room }: GrowingCommand): HoldRoom {
    return room === undefined ? this.#hold : within(room)
  }

  #store(command: StoreMemories, draft: Draft) {
    const { conversation, expected, memories, moves = [], skipsDuplicates = false } = command
    const state = this.#state
    const hold = this.#holdOf(command)
    return Effect.gen(function* () {
      if (conversation !== undefined && (yield* isStale(conversation, draft)))
        return { reply: () => staleReply, result: undefined }
      if (!(yield* isExpected(expected, draft))) return { reply: () => staleReply, result: undefined }
      const moved = yield* movedRecords(moves, draft)
      if (moved === undefined) return { reply: () => staleReply, result: undefined }
      // All or nothing: every replacement must be possible before the first change is drafted.
      const replaced = yield* Effect.forEach(
        memories.filter(({ isReplacement }) => isReplacement),
        (memory) =>
          Effect.map(requireReplaceable(memory, draft), ({ record }) => growth(record, replacement(record, memory)))
      )
      const added = memories.filter(({ isReplacement }) => !isReplacement)
      const isKnown = ({ record }: PreparedMemory) =>
        skipsDuplicates && record.origin !== "conversation"
          ? Effect.map(draft.duplicateOf(record), (known) => known !== undefined)
          : Effect.succeed(false)
      draft.held += yield* holdFor(added, isKnown, sum(replaced), hold)
      for (const { record, slot, to } of moved) {
        // The messages that it was taken from are still there.
        if (to === undefined) draft.remove(slot, record.id, true)
        else if (to !== record.uniqueKey) draft.patch(slot, { ...record, uniqueKey: to })
      }
      const created: Array<StoredRecord> = []
      const updated: Array<StoredRecord> = []
      const duplicates: Array<StoredMemories["duplicates"][number]> = []
      for (const [index, memory] of memories.entries()) {
        yield* yieldAfter(index)
        const duplicate = skipsDuplicates && isComparable(memory) ? yield* draft.duplicateOf(memory.record) : undefined
        // Read again here: a command may replace one memory twice, and the second replacement builds on the first.
        const target = memory.isReplacement ? yield* draft.find(memory.record.id) : undefined
        if (duplicate !== undefined) duplicates.push({ index, id: duplicate })
        else if (target !== undefined)
          updated.push(draft.replace(target.slot, replacement(target.record, memory), memory.vector))
        else if (!memory.isReplacement) {
          const record = yield* draft.place(memory.record, false)
          if (record !== undefined) created.push(draft.insert(record, memory.vector))
        }
      }
      if (conversation !== undefined) {
        yield* withhold(conversation, draft)
        advanceConversation(conversation, draft)
      }
      const reply = (): StoredMemories => ({
        created: created.map((stored) => state.version(stored)),
        updated: updated.map((stored) => state.version(stored)),
        duplicates,
        isStale: false
      })
      const result: StoreResult = { created: idsOf(created), updated: idsOf(updated), duplicates }
      return { reply, result: JSON.stringify(result) }
    })
  }

  /** The reply to a repeated `StoreMemories`: the memories it named, as they are now. */
  #stored(result: string, draft: Draft): Effect.Effect<Reply<StoredMemories>, StoreError> {
    const { created, updated, duplicates = [] } = JSON.parse(result) as StoreResult
    return Effect.map(
      Effect.all([this.#versions(created, draft), this.#versions(updated, draft)]),
      ([first, second]) =>
        () => ({ created: first(), updated: second(), duplicates, isStale: false })
    )
  }

  #patch(command: PatchMemories, draft: Draft) {
    const { patch } = command
    const state = this.#state
    const hold = this.#holdOf(command)
    return Effect.gen(function* () {
      if (!(yield* isExpected(command.expected, draft))) return { reply: () => [], result: undefined }
      if (patch.tags !== undefined || patch.metadata !== undefined) {
        const found = yield* Effect.forEach(new Set(command.ids), (id) => draft.find(id))
        const grown = () =>
          sum(
            found.map((stored) => (stored === undefined ? 0 : growth(stored.record, patched(stored.record, command))))
          )
        draft.held += yield* hold(grown)
      }
      const changed: Array<StoredRecord> = []
      for (const id of new Set(command.ids)) {
        const found = yield* draft.find(id)
        if (found === undefined) continue
        const record = patched(found.record, command)
        draft.patch(found.slot, record)
        changed.push({ slot: found.slot, record })
      }
      return {
        reply: () => changed.map((stored) => state.version(stored)),
        result: JSON.stringify(idsOf(changed))
      }
    })
  }

  #giveFeedback(command: GiveFeedback, draft: Draft) {
    const state = this.#state
    const hold = this.#holdOf(command)
    return Effect.gen(function* () {
      const found = yield* draft.find(command.id)
      if (found === undefined) return yield* memoryNotFound()
      const feedback = withFeedback(found.record.feedback, command.feedback)
      if (feedback === undefined) return { reply: () => undefined, result: undefined }
      const record = { ...found.record, feedback }
      draft.held += yield* hold(() => growth(found.record, record))
      draft.patch(found.slot, record)
      return { reply: () => state.version({ slot: found.slot, record }), result: command.id }
    })
  }

  #removeMatching({ filter }: RemoveMatching, draft: Draft) {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#state
      const matching = table.allowed({ ...filter, includeSuperseded: true })
      const slots: Array<number> = []
      for (
        let slot = matching.next(0);
        slot >= 0 && slots.length < Limits.removalsPerCommitMax;
        slot = matching.next(slot + 1)
      ) {
        slots.push(slot)
      }
      const { subjectId, threadId } = filter
      const erased = slots.map((slot) => table.row(slot)!.id)
      if (coversConversations(filter)) {
        yield* draft.eraseConversations({ _tag: "Forget", within: { subjectId, threadId } })
        for (const slot of slots) draft.remove(slot, table.row(slot)!.id)
        // A thread was erased: other threads of the subject may carry on what was said there.
        if (threadId !== undefined) yield* removeCarrying(erased, draft)
        draft.endCommand(undefined)
        return () => slots.length
      }
      const messages = yield* draft.committed(slots.filter((slot) => table.row(slot)?.message !== undefined))
      for (const slot of slots) draft.remove(slot, table.row(slot)!.id)
      yield* removeTakenFrom(messages, draft)
      draft.endCommand(undefined)
      return () => slots.length
    })
  }

  #removeCreatedBefore({ beforeMillis }: RemoveCreatedBefore, draft: Draft) {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#state
      const slots = table.slotsWhere(({ createdAt }) => createdAt < beforeMillis, Limits.removalsPerCommitMax)
      yield* draft.eraseConversations({ _tag: "DropTurns", beforeMillis })
      return this.#removeSlots(slots, draft)
    })
  }

  #sweep({ expiredBy = Infinity }: Sweep, draft: Draft) {
    return Effect.sync(() => {
      const { table } = this.#state
      const slots: Array<number> = []
      for (const slot of table.expired) {
        if (slots.length === Limits.removalsPerCommitMax) break
        if (table.row(slot)!.expiresAt! <= expiredBy) slots.push(slot)
      }
      return this.#removeSlots(slots, draft)
    })
  }

  #removeSlots(slots: ReadonlyArray<number>, draft: Draft): Reply<number> {
    for (const slot of slots) draft.remove(slot, this.#state.table.row(slot)!.id)
    draft.endCommand(undefined)
    return () => slots.length
  }

  /** The memories among `ids` that still live, as they are now. */
  #versions(ids: ReadonlyArray<string>, draft: Draft): Effect.Effect<Reply<ReadonlyArray<MemoryVersion>>, StoreError> {
    return Effect.map(
      Effect.forEach(ids, (id) => draft.find(id)),
      (all) => () => all.filter((found) => found !== undefined).map((stored) => this.#state.version(stored))
    )
  }
}

/** Runs `fresh` unless the key is known; `result` is what to store under the key, undefined for nothing. */
const once = Effect.fnUntraced(function* <A>(
  draft: Draft,
  token: IdempotencyToken | undefined,
  fresh: Effect.Effect<
    { readonly reply: Reply<A>; readonly result: string | undefined },
    NotFound | Conflict | PayloadTooLarge | StoreError
  >,
  again: (result: string) => Effect.Effect<Reply<A>, NotFound | StoreError>
) {
  const stored = token === undefined ? undefined : yield* draft.storedResult(token.key)
  if (stored !== undefined && stored.fingerprint !== token?.fingerprint) return yield* idempotencyConflict()
  if (stored !== undefined) return yield* again(stored.result)
  const { reply, result } = yield* fresh
  draft.endCommand(token === undefined || result === undefined ? undefined : { ...token, result })
  return reply
})

/** Whether the memory is as the command expects it, if it expects anything. */
const isExpected = (expected: ExpectedMemory | undefined, draft: Draft): Effect.Effect<boolean, StoreError> =>
  expected === undefined
    ? Effect.succeed(true)
    : Effect.map(
        draft.find(expected.id),
        (found) => found !== undefined && expected.versions.includes(versionTag(found.record, draft.isLatest(found)))
      )

/** With the keys that they are to have; undefined: one of them is not as the command says. */
const movedRecords = Effect.fnUntraced(function* (moves: ReadonlyArray<MovedMemory>, draft: Draft) {
  const moved: Array<StoredRecord & Pick<MovedMemory, "to">> = []
  for (const { from, id, to, version } of moves) {
    const found = yield* draft.find(id)
    if (found === undefined || found.record.uniqueKey !== from) return undefined
    if (versionTag(found.record, draft.isLatest(found)) !== version) return undefined
    moved.push({ ...found, to })
  }
  return moved
})

const remove = Effect.fnUntraced(function* (command: RemoveMemories, draft: Draft) {
  if (!(yield* isExpected(command.expected, draft))) return { reply: () => 0, result: undefined }
  const removed: Array<MemoryRecord> = []
  for (const id of new Set(command.ids)) {
    const found = yield* draft.find(id)
    if (found === undefined) continue
    draft.remove(found.slot, id)
    removed.push(found.record)
  }
  yield* removeTakenFrom(removed, draft)
  return { reply: () => removed.length, result: String(removed.length) }
})

/** Erases messages that are stored, and what was taken from messages, stored or not. */
const withhold = Effect.fnUntraced(function* ({ scope, withheld = [] }: ConversationCommit, draft: Draft) {
  if (withheld.length === 0) return
  const erased: Array<MemoryRecord> = []
  for (const id of yield* draft.storedMessages(scope, withheld)) {
    const found = yield* draft.find(id)
    if (found === undefined) continue
    draft.remove(found.slot, id)
    erased.push(found.record)
  }
  yield* removeTaken(scope, new Set(withheld), draft)
  yield* forgetWords(scope, new Set(withheld), erased, draft)
})

/** Removes the extracted memories whose messages are all erased, now that these records are. */
const removeTakenFrom = Effect.fnUntraced(function* (erased: ReadonlyArray<MemoryRecord>, draft: Draft) {
  const messages = erased.filter(({ origin }) => origin === "conversation")
  for (const some of Map.groupBy(messages, scopeText).values()) {
    const [scope] = some as [MemoryRecord, ...ReadonlyArray<MemoryRecord>]
    const keys = new Set(some.flatMap(({ sources = [] }) => sources.map(({ key }) => key)))
    yield* removeTaken(scope, keys, draft)
    yield* forgetWords(scope, keys, some, draft)
  }
})

/** No memory keeps the words of erased messages, stored or kept as turns, beside its own. */
const forgetWords = Effect.fnUntraced(function* (
  scope: ConversationScope,
  keys: ReadonlySet<string>,
  erased: ReadonlyArray<MemoryRecord>,
  draft: Draft
) {
  const turns = yield* draft.turnsOf(scope)
  const gone = turns.filter(({ key }) => keys.has(key))
  const said = [...erased.map(({ data }) => String(data["text"])), ...gone.map(({ content }) => content)]
  const texts = new Set(said.map((text) => text.slice(0, Limits.neighbourTextLengthMax)))
  const near = [...(yield* draft.keysAround(scope, erased)), ...(gone.length === 0 ? [] : turns.map(({ key }) => key))]
  for (const { record, slot } of yield* draft.takenFrom(scope, new Set(near))) {
    const { neighbours = [] } = record
    const left = neighbours.filter((text) => !texts.has(text))
    if (left.length < neighbours.length) draft.patch(slot, { ...record, neighbours: left })
  }
})

/** Removes what was taken from these messages and from none that is left, and what carries its words on. */
const removeTaken = Effect.fnUntraced(function* (scope: ConversationScope, keys: ReadonlySet<string>, draft: Draft) {
  const removed: Array<string> = []
  for (const { record, slot } of yield* draft.takenFrom(scope, keys)) {
    const left = (record.sources ?? []).filter(({ isCarried, key }) => isCarried !== true && !keys.has(key))
    const gone = yield* Effect.forEach(left, ({ key }) => draft.isErased(scope, key))
    if (!gone.every(Boolean)) continue
    draft.remove(slot, record.id)
    removed.push(record.id)
  }
  yield* removeCarrying(removed, draft)
})

/** The newer versions of erased memories that carry their words on, in whatever thread. */
const removeCarrying = Effect.fnUntraced(function* (erased: ReadonlyArray<string>, draft: Draft) {
  let gone = erased
  while (gone.length > 0) {
    const carrying = yield* draft.carrying(new Set(gone))
    for (const { record, slot } of carrying) draft.remove(slot, record.id)
    gone = carrying.map(({ record }) => record.id)
  }
})

const storeVectors = Effect.fnUntraced(function* (command: StoreVectors, draft: Draft) {
  let stored = 0
  for (const { id, contentHash, vector } of command.vectors) {
    const found = yield* draft.find(id)
    if (found?.record.contentHash !== contentHash) continue
    draft.embed(found.slot, vector)
    stored++
  }
  draft.endCommand(undefined)
  return () => stored
})

const importRecords = Effect.fnUntraced(function* (command: ImportRecords, draft: Draft, hold: HoldRoom) {
  draft.held += yield* holdFor(command.records, ({ record }) => draft.has(record.id), 0, hold)
  let imported = 0
  for (const [index, { record: given, vector }] of command.records.entries()) {
    yield* yieldAfter(index)
    const isCompared = command.skipsDuplicates === true && given.origin !== "conversation"
    const isKnown = (yield* draft.has(given.id)) || (isCompared && (yield* draft.duplicateOf(given)) !== undefined)
    const record = isKnown ? undefined : yield* draft.place(given, true)
    if (record === undefined) continue
    draft.insert(record, vector)
    imported++
  }
  draft.endCommand(undefined)
  return () => imported
})

/** Holds room for records; where there is none for all, for those that are not known. */
const holdFor = <A extends { readonly record: MemoryRecord }>(
  added: ReadonlyArray<A>,
  isKnown: (added: A) => Effect.Effect<boolean, StoreError>,
  more: number,
  hold: HoldRoom
): Effect.Effect<number, PayloadTooLarge | StoreError> => {
  const bytesOf = (some: ReadonlyArray<A>) => () => sum(some.map(({ record }) => memoryBytes(record))) + more
  return Effect.catchTag(hold(bytesOf(added)), "PayloadTooLarge", (refusal) =>
    Effect.flatMap(
      Effect.filter(added, (each) => Effect.map(isKnown(each), (known) => !known)),
      (fresh) => (fresh.length < added.length ? hold(bytesOf(fresh)) : Effect.fail(refusal))
    )
  )
}

/** The room is held by the sender of the command. */
const within =
  ({ limit, used }: Room): HoldRoom =>
  (growth) =>
    Effect.suspend(() => Effect.as(requireQuota("bytes", { bytes: limit }, used, growth()), 0))

const growth = (before: MemoryRecord, after: MemoryRecord): number =>
  Math.max(0, memoryBytes(after) - memoryBytes(before))

/** A memory as a command leaves it. */
const patched = (record: MemoryRecord, { atMillis, patch }: PatchMemories): MemoryRecord => ({
  ...record,
  tags: patch.tags === undefined ? record.tags : [...new Set(patch.tags)],
  metadata: patch.metadata === undefined ? record.metadata : (patch.metadata ?? undefined),
  expiresAt: patch.expiresAt === undefined ? record.expiresAt : (patch.expiresAt ?? undefined),
  updatedAt: atMillis
})

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, each) => total + each, 0)

/** Result of `StoreMemories` under its idempotency key; files of version 1 have no `duplicates`. */
interface StoreResult {
  readonly created: ReadonlyArray<string>
  readonly updated: ReadonlyArray<string>
  readonly duplicates?: StoredMemories["duplicates"]
}

const staleReply: StoredMemories = { created: [], updated: [], duplicates: [], isStale: true }

/** Memories drafted between two yields: cutting a text of 25 words into terms takes about 40 us. */
const draftedPerTurn = 25

/** Lets other fibers run during long commands. Safe, because only the actor changes what a draft reads. */
const yieldAfter = (index: number): Effect.Effect<void> =>
  index > 0 && index % draftedPerTurn === 0 ? Effect.yieldNow : Effect.void

/** Whether messages were processed, or what the extraction was shown erased, by another command while it ran. */
const isStale = Effect.fnUntraced(function* (conversation: ConversationCommit, draft: Draft) {
  const { context, isForced, processed, scope, shown = [] } = conversation
  if (context !== undefined && draft.isErasedSince(scope, context.readAt)) return true
  for (const { contentHash, id, isReplaced } of shown) {
    const found = yield* draft.find(id)
    if (found?.record.contentHash !== contentHash) return true
    if (isReplaced === true && !draft.isLatest(found)) return true
  }
  return !isForced && (yield* draft.isProcessed(scope, processed))
})

const advanceConversation = (conversation: ConversationCommit, draft: Draft): void => {
  const { context, isForced: _isForced, shown: _shown, ...advance } = conversation
  const summaryExpiresAt = earliest(advance.expiresAt, context?.expiresAt)
  draft.changeConversation({ _tag: "Advance", expiresAt: undefined, ...advance, summaryExpiresAt })
}

const earliest = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined || right === undefined ? (left ?? right) : Math.min(left, right)

/** Two messages with the same words are two messages. */
const isComparable = ({ isReplacement, record }: PreparedMemory): boolean =>
  !isReplacement && record.origin !== "conversation"

const idsOf = (stored: ReadonlyArray<StoredRecord>) => stored.map(({ record }) => record.id)

/**
 * Filters that select whole conversations; with any other one, some messages stay. A removal always takes old versions.
 * Only these can be here: `ConversationScope` knows no others, so one more would erase conversations beyond it.
 */
const conversationFilters: ReadonlySet<string> = new Set<keyof MemoryFilter>([
  "agentId",
  "subjectId",
  "threadId",
  "includeSuperseded"
])

/** Whether a filter selects a whole subject, thread or agent, and not some of its memories. */
export const coversConversations = (filter: MemoryFilter): boolean =>
  Object.entries(filter).every(([name, value]) => value === undefined || conversationFilters.has(name))

const idempotencyConflict = () =>
  new Conflict({
    code: "idempotency_conflict",
    error: "this Idempotency-Key was used with another request; use a new key for a new request"
  })

const requireReplaceable = Effect.fnUntraced(function* ({ record }: PreparedMemory, draft: Draft) {
  const found = yield* draft.find(record.id)
  if (found === undefined || found.record.subjectId !== record.subjectId) return yield* memoryNotFound()
  if (found.record.kind !== record.kind) {
    const kinds = `memory has "${found.record.kind}", request has "${record.kind}"`
    return yield* new Conflict({ code: "kind_mismatch", error: `a replacement must keep its kind: ${kinds}` })
  }
  return found
})

const replacement = (old: MemoryRecord, { record, setsExpiry, setsTags = false }: PreparedMemory): MemoryRecord => ({
  ...old,
  data: record.data,
  when: record.when,
  contentHash: record.contentHash,
  sources: correctedSources(old, record.contentHash),
  confidence: record.confidence,
  // A message stays in its conversation.
  threadId: old.origin === "conversation" ? old.threadId : (record.threadId ?? old.threadId),
  updatedAt: record.updatedAt,
  changedAt: record.contentHash === old.contentHash ? old.changedAt : record.updatedAt,
  revision: record.contentHash === old.contentHash ? old.revision : (record.revision ?? { how: "corrected" }),
  expiresAt: setsExpiry ? record.expiresAt : old.expiresAt,
  tags: setsTags ? record.tags : old.tags,
  metadata: record.metadata ?? old.metadata,
  // Replaced data no longer belongs to the unique key that the old data had.
  uniqueKey: undefined
})
