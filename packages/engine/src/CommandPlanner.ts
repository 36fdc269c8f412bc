/**
 * What each command changes, decided against the draft of its group (interface.md sections 5.1, 5.2
 * and 5.4). A command that fails has added nothing. A key that was seen before gives the stored
 * result again instead of a second change.
 */
import { Effect } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { Conflict, memoryNotFound, type NotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord, MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type {
  Command,
  ConversationCommit,
  CreateMemories,
  CreateReply,
  ImportRecords,
  PatchMemories,
  PreparedMemory,
  RemoveCreatedBefore,
  RemoveMatching,
  RemoveMemories,
  Replies,
  StoreVectors,
  Sweep
} from "./Commands.ts"
import type { Draft, Found } from "./Draft.ts"
import type { NamespaceState } from "./NamespaceState.ts"
import type { StoreError } from "./store/NamespaceStore.ts"

/** Makes the reply; called once the commit is applied. */
export type Reply<A> = () => A

type Plan<A> = Effect.Effect<Reply<A>, NotFound | Conflict | StoreError>

export class CommandPlanner {
  readonly #state: NamespaceState

  constructor(state: NamespaceState) {
    this.#state = state
  }

  plan(command: Command, draft: Draft): Plan<Replies[Command["_tag"]]> {
    switch (command._tag) {
      case "CreateMemories":
        return this.#once(draft, command.idempotency, this.#create(command, draft), (result) =>
          this.#recreated(result, draft)
        )
      case "PatchMemories":
        return this.#once(draft, command.idempotency, this.#patch(command, draft), (result) =>
          this.#repatched(result, draft)
        )
      case "RemoveMemories":
        return this.#once(draft, command.idempotency, this.#remove(command, draft), recounted)
      case "RemoveMatching":
        return this.#removeMatching(command, draft)
      case "StoreVectors":
        return this.#storeVectors(command, draft)
      case "ImportRecords":
        return this.#import(command, draft)
      case "Sweep":
        return this.#sweep(command, draft)
      case "RemoveCreatedBefore":
        return this.#removeCreatedBefore(command, draft)
    }
  }

  /** Runs `fresh` unless its key is known; `fresh` also says what to keep under the key, if it did anything. */
  #once<A>(
    draft: Draft,
    token: IdempotencyToken | undefined,
    fresh: Effect.Effect<
      { readonly reply: Reply<A>; readonly result: string | undefined },
      NotFound | Conflict | StoreError
    >,
    again: (result: string) => Effect.Effect<Reply<A>, StoreError>
  ): Plan<A> {
    return Effect.gen(function* () {
      const stored = token === undefined ? undefined : yield* draft.storedResult(token.key)
      if (stored !== undefined && stored.fingerprint !== token?.fingerprint) return yield* idempotencyConflict()
      if (stored !== undefined) return yield* again(stored.result)
      const { reply, result } = yield* fresh
      draft.endUnit(token === undefined || result === undefined ? undefined : { ...token, result })
      return reply
    })
  }

  #create({ conversation, memories, skipsDuplicates = false }: CreateMemories, draft: Draft) {
    const state = this.#state
    return Effect.gen(function* () {
      if (conversation !== undefined && (yield* isStale(conversation, draft)))
        return { reply: () => staleReply, result: undefined }
      // All-or-nothing: every replacement must be possible before the first change is drafted.
      yield* Effect.forEach(
        memories.filter(({ isReplacement }) => isReplacement),
        (memory) => replaceable(memory, draft)
      )
      const created: Array<Found> = []
      const updated: Array<Found> = []
      const duplicates: Array<CreateReply["duplicates"][number]> = []
      for (const [index, memory] of memories.entries()) {
        yield* turnAfter(index)
        const twin = skipsDuplicates && !memory.isReplacement ? yield* draft.sameAs(memory.record) : undefined
        // Looked up again: a request may name one record twice, and the second builds on the first.
        const target = memory.isReplacement ? yield* draft.find(memory.record.id) : undefined
        if (twin !== undefined) duplicates.push({ index, id: twin })
        else if (!memory.isReplacement) created.push(draft.insert(memory.record, memory.vector))
        else if (target !== undefined)
          updated.push(draft.replace(target.slot, replacement(target.record, memory), memory.vector))
      }
      if (conversation !== undefined) {
        const { context, expiresAt, processed, scope, summary, turns } = conversation
        const summaryExpiresAt = earliest(expiresAt, context?.expiresAt)
        draft.converse({ _tag: "Advance", scope, processed, turns, summary, expiresAt, summaryExpiresAt })
      }
      const reply = (): CreateReply => ({
        created: created.map(versionIn(state)),
        updated: updated.map(versionIn(state)),
        duplicates,
        isStale: false
      })
      const result: CreateResult = { created: idsOf(created), updated: idsOf(updated), duplicates }
      return { reply, result: JSON.stringify(result) }
    })
  }

  #recreated(stored: string, draft: Draft): Effect.Effect<Reply<CreateReply>, StoreError> {
    const { created, updated, duplicates = [] } = JSON.parse(stored) as CreateResult
    return Effect.map(
      Effect.all([this.#versions(created, draft), this.#versions(updated, draft)]),
      ([first, second]) =>
        () => ({ created: first(), updated: second(), duplicates, isStale: false })
    )
  }

  #patch(command: PatchMemories, draft: Draft) {
    const { patch, atMillis } = command
    const state = this.#state
    return Effect.gen(function* () {
      const patched: Array<Found> = []
      for (const id of new Set(command.ids)) {
        const found = yield* draft.find(id)
        if (found === undefined) continue
        const record: MemoryRecord = {
          ...found.record,
          tags: patch.tags === undefined ? found.record.tags : [...new Set(patch.tags)],
          expiresAt: patch.expiresAt === undefined ? found.record.expiresAt : (patch.expiresAt ?? undefined),
          updatedAt: atMillis
        }
        draft.patch(found.slot, record)
        patched.push({ slot: found.slot, record })
      }
      return {
        reply: () => patched.map(versionIn(state)),
        result: JSON.stringify(patched.map(({ record }) => record.id))
      }
    })
  }

  #repatched(result: string, draft: Draft): Effect.Effect<Reply<ReadonlyArray<MemoryVersion>>, StoreError> {
    return this.#versions(JSON.parse(result) as Array<string>, draft)
  }

  #remove(command: RemoveMemories, draft: Draft) {
    return Effect.gen(function* () {
      let removed = 0
      for (const id of new Set(command.ids)) {
        const found = yield* draft.find(id)
        if (found === undefined) continue
        draft.remove(found.slot, id)
        removed++
      }
      return { reply: () => removed, result: String(removed) }
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
      if (coversConversations(filter)) yield* draft.forget({ _tag: "Forget", within: filter })
      return this.#removeSlots(slots, draft)
    })
  }

  #storeVectors(command: StoreVectors, draft: Draft) {
    return Effect.gen(function* () {
      let stored = 0
      for (const { id, contentHash, vector } of command.vectors) {
        const found = yield* draft.find(id)
        if (found?.record.contentHash !== contentHash) continue
        draft.embed(found.slot, vector)
        stored++
      }
      draft.endUnit(undefined)
      return () => stored
    })
  }

  #import(command: ImportRecords, draft: Draft) {
    return Effect.gen(function* () {
      let imported = 0
      for (const [index, { record, vector }] of command.records.entries()) {
        yield* turnAfter(index)
        if (yield* draft.has(record.id)) continue
        draft.insert(record, vector)
        imported++
      }
      draft.endUnit(undefined)
      return () => imported
    })
  }

  #removeCreatedBefore({ beforeMillis }: RemoveCreatedBefore, draft: Draft) {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#state
      const slots = table.slotsWhere(({ createdAt }) => createdAt < beforeMillis, Limits.removalsPerCommitMax)
      yield* draft.forget({ _tag: "DropTurns", beforeMillis })
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
    draft.endUnit(undefined)
    return () => slots.length
  }

  /** Those of `ids` that still live, as they are now. */
  #versions(ids: ReadonlyArray<string>, draft: Draft): Effect.Effect<Reply<ReadonlyArray<MemoryVersion>>, StoreError> {
    return Effect.map(
      Effect.forEach(ids, (id) => draft.find(id)),
      (all) => () => all.filter((found) => found !== undefined).map(versionIn(this.#state))
    )
  }
}

/** A record with its place in the version chain now. */
export const versionIn =
  (state: NamespaceState) =>
  ({ slot, record }: Found): MemoryVersion => ({
    ...record,
    ...state.table.links(slot)
  })

/** What is kept of a create under its idempotency key; files of version 1 know no duplicates. */
interface CreateResult {
  readonly created: ReadonlyArray<string>
  readonly updated: ReadonlyArray<string>
  readonly duplicates?: CreateReply["duplicates"]
}

const staleReply: CreateReply = { created: [], updated: [], duplicates: [], isStale: true }

/** Lets other fibers look, once in so many memories; only the actor changes what a draft is made from. */
const turnAfter = (index: number): Effect.Effect<void> =>
  index > 0 && index % draftedPerTurn === 0 ? Effect.yieldNow : Effect.void

/** Cutting a text of 25 words into terms takes some 40 us. */
const draftedPerTurn = 25

/** Somebody processed its messages, or erased what they were read with, while they were read. */
const isStale = Effect.fnUntraced(function* (conversation: ConversationCommit, draft: Draft) {
  const { context, isForced, processed, scope } = conversation
  if (context !== undefined && draft.isErasedSince(scope, context.readAt)) return true
  return !isForced && (yield* draft.isProcessed(scope, processed))
})

const earliest = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined || right === undefined ? (left ?? right) : Math.min(left, right)

const idsOf = (found: ReadonlyArray<Found>) => found.map(({ record }) => record.id)

/** Whether a filter asks for all there is of a subject, a thread or the agent, and not for a choice of memories. */
const coversConversations = ({ anyOf, eventFrom, eventTo, kind, tags }: MemoryFilter): boolean =>
  [anyOf, eventFrom, eventTo, kind, tags].every((restriction) => restriction === undefined)

const recounted = (result: string) => Effect.succeed(() => Number(result))

const idempotencyConflict = () =>
  new Conflict({ code: "idempotency_conflict", error: "this Idempotency-Key was used with another body" })

const replaceable = Effect.fnUntraced(function* (memory: PreparedMemory, draft: Draft) {
  const found = yield* draft.find(memory.record.id)
  if (found === undefined || found.record.subjectId !== memory.record.subjectId) return yield* memoryNotFound()
  if (found.record.kind !== memory.record.kind) {
    return yield* new Conflict({ code: "kind_mismatch", error: `the memory is of kind "${found.record.kind}"` })
  }
  return found
})

const replacement = (old: MemoryRecord, { record, setsExpiry }: PreparedMemory): MemoryRecord => ({
  ...old,
  data: record.data,
  when: record.when,
  contentHash: record.contentHash,
  confidence: record.confidence,
  threadId: record.threadId ?? old.threadId,
  updatedAt: record.updatedAt,
  expiresAt: setsExpiry ? record.expiresAt : old.expiresAt,
  // Data that was replaced in place no longer answers to the key it was stored under.
  uniqueKey: undefined
})
