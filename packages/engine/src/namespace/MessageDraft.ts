/**
 * Changes of one group of commands to messages of conversations: which are stored, at which positions, and the words
 * that messages around them gain or lose.
 *
 * Invariant: after every commit the columns equal those derived from the rows of the file.
 */
import { Effect } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { NamespaceState } from "./NamespaceState.ts"
import { scopeText, type ConversationScope } from "../store/Conversations.ts"
import { isShort, messageRowOf } from "../store/MemoryRow.ts"
import type { OpenNamespace } from "../store/NamespaceStore.ts"
import type { StoreError } from "../store/StoreError.ts"
import { memoryColumns, type MemoryColumns } from "../text/MemoryText.ts"
import { Limits } from "@muniment/domain/Limits"
import { byPlace, type MessagePlace } from "./table/MessageOrder.ts"

export class MessageDraft {
  readonly #state: NamespaceState
  readonly #store: OpenNamespace
  /** By conversation. */
  readonly #conversations = new Map<string, DraftedConversation>()
  /** Records of changed messages by slot, as they will be; undefined: removed. */
  readonly #records = new Map<number, MemoryRecord | undefined>()

  constructor(state: NamespaceState, store: OpenNamespace) {
    this.#state = state
    this.#store = store
  }

  /**
   * The message with its position; undefined if it is stored in its conversation, in the file or by the group. With
   * `onlyIfThere`, one whose memory is gone is placed again. `isForgotten`: the group has erased the marks in the file.
   */
  place(
    record: MemoryRecord,
    options: { readonly onlyIfThere: boolean; readonly isForgotten: boolean }
  ): Effect.Effect<MemoryRecord | undefined, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const key = record.sources?.[0]?.key
      const drafted = yield* this.#conversationOf(record)
      if (key !== undefined) {
        const stored = options.isForgotten ? undefined : yield* this.#store.conversations.stored(record, [key])
        const isKnown = stored?.has(key) === true && (!options.onlyIfThere || stored.get(key) !== undefined)
        if (isKnown || drafted.keys.has(key)) return undefined
        drafted.keys.add(key)
      }
      const position = record.position ?? drafted.nextPosition
      drafted.nextPosition = Math.max(drafted.nextPosition, position + 1)
      return { ...record, position }
    })
  }

  /** Notes what becomes of the memory at `slot`; undefined: it is removed. `keepsWords`: only tags or expiry change. */
  change(slot: number, record: MemoryRecord | undefined, keepsWords: boolean): void {
    const row = this.#state.table.row(slot)
    const latest = record ?? this.#records.get(slot)
    const message = latest === undefined ? row?.message : messageRowOf(latest)
    const scope = latest ?? row
    if (message?.position === undefined || scope === undefined) return
    const { changes } = this.#draftedOf(scope)
    changes.set(slot, {
      place: { slot, position: message.position, createdSeq: row?.createdSeq ?? Number.MAX_SAFE_INTEGER },
      becomes: record && {
        isShort: isShort(message),
        keepsWords: keepsWords && (changes.get(slot)?.becomes?.keepsWords ?? true)
      }
    })
    this.#records.set(slot, record)
  }

  /** The columns of all messages that the group changes and of those around them, by slot. Call it before the commit. */
  get columns(): Effect.Effect<ReadonlyMap<number, MemoryColumns>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#state
      const sources = [...this.#conversations.values()].flatMap(({ changes, scope }) => {
        const positions = Array.from(changes.values(), ({ place }) => place.position)
        if (positions.length === 0) return []
        const before = table.messagesOf(scope)?.around(Math.min(...positions), Math.max(...positions), changeMargin)
        return [...changedColumns(before ?? [], changes, (slot) => isShort(table.row(slot)?.message))]
      })
      const needed = new Set(sources.flatMap(([slot, around]) => [slot, ...around]))
      const own = yield* this.#ownColumns([...needed])
      return new Map(
        sources.map(([slot, around]) => {
          const neighbours = around.flatMap((one) => own.get(one)?.main ?? [])
          return [slot, { ...own.get(slot)!, neighbours }]
        })
      )
    })
  }

  /** The columns of these messages without neighbours, as they will be. */
  #ownColumns(slots: ReadonlyArray<number>): Effect.Effect<ReadonlyMap<number, MemoryColumns>, StoreError> {
    const drafted = slots.flatMap((slot) => {
      const record = this.#records.get(slot)
      return record === undefined ? [] : [{ slot, record }]
    })
    const others = slots.filter((slot) => !this.#records.has(slot))
    const committed = others.length === 0 ? Effect.succeed([]) : this.#store.records(others)
    return Effect.map(
      committed,
      (found) => new Map([...drafted, ...found].map(({ record, slot }) => [slot, memoryColumns(record)]))
    )
  }

  #conversationOf(scope: ConversationScope): Effect.Effect<DraftedConversation, StoreError> {
    const drafted = this.#conversations.get(scopeText(scope))
    if (drafted?.isNumbered === true) return Effect.succeed(drafted)
    return Effect.map(this.#store.conversations.nextPosition(scope), (next) => {
      const conversation = this.#draftedOf(scope)
      // A forgotten conversation counts anew, while some of its messages may still wait for their removal.
      const last = this.#state.table.messagesOf(scope)?.lastPosition ?? -1
      conversation.nextPosition = Math.max(next, last + 1)
      conversation.isNumbered = true
      return conversation
    })
  }

  #draftedOf({ subjectId, threadId }: ConversationScope): DraftedConversation {
    const scope = { subjectId, threadId }
    let drafted = this.#conversations.get(scopeText(scope))
    if (drafted === undefined) {
      drafted = { scope, keys: new Set(), changes: new Map(), nextPosition: 0, isNumbered: false }
      this.#conversations.set(scopeText(scope), drafted)
    }
    return drafted
  }
}

interface DraftedConversation {
  readonly scope: ConversationScope
  /** Messages stored by the group. */
  readonly keys: Set<string>
  /** By slot. */
  readonly changes: Map<number, MessageChange>
  nextPosition: number
  /** Whether `nextPosition` has been read. */
  isNumbered: boolean
}

/** A change of one message by a group of commands. */
interface MessageChange {
  readonly place: MessagePlace
  /** The message afterwards; undefined: it is removed. */
  readonly becomes: { readonly isShort: boolean; readonly keepsWords: boolean } | undefined
}

/** Messages whose columns must be written, each with the slots around it that give their words, in order. */
type ColumnSources = ReadonlyMap<number, ReadonlyArray<number>>

const eachSide = Limits.neighbourMessagesEachSide

/** Messages to know on each side of a change: those whose columns it changes, and those around them. */
const changeMargin = eachSide * 2

/**
 * The column `neighbours` of messages: the words of the messages around each in its conversation
 * (`Limits.neighbourMessagesEachSide` on each side), so that an answer is found by the words of its question. Derived
 * from the order of the messages and never stored: a change of one message changes the documents of those around it in
 * the image, and their lengths in the file, in the same commit. Messages above `Limits.neighbourMessageLengthMax` neither
 * give nor receive words, but keep their place in the order.
 *
 * @param before the messages around the changes as committed, with `changeMargin` on each side
 * @param changes by slot
 * @param wasShort whether a committed message gives and receives words
 */
const changedColumns = (
  before: ReadonlyArray<MessagePlace>,
  changes: ReadonlyMap<number, MessageChange>,
  wasShort: (slot: number) => boolean
): ColumnSources => {
  const isShort = (slot: number) => changes.get(slot)?.becomes?.isShort ?? wasShort(slot)
  const keepsWords = (slot: number) => changes.get(slot)?.becomes?.keepsWords ?? true
  const present = [...changes.values()].filter(({ becomes }) => becomes !== undefined).map(({ place }) => place)
  const after = [...before.filter(({ slot }) => !changes.has(slot)), ...present].sort(byPlace)
  const indexBefore = new Map(before.map(({ slot }, index) => [slot, index]))
  const found = new Map<number, ReadonlyArray<number>>()
  for (const [index, { slot }] of after.entries()) {
    if (!isShort(slot)) continue
    const sources = around(after, index, isShort)
    const had = changes.has(slot) ? undefined : around(before, indexBefore.get(slot)!, wasShort)
    const isSame = had?.length === sources.length && had.every((one, at) => one === sources[at] && keepsWords(one))
    if (!isSame) found.set(slot, sources)
  }
  return found
}

/** Slots of the short messages on both sides of one. */
const around = (
  places: ReadonlyArray<MessagePlace>,
  index: number,
  isShort: (slot: number) => boolean
): ReadonlyArray<number> =>
  [...places.slice(Math.max(0, index - eachSide), index), ...places.slice(index + 1, index + 1 + eachSide)]
    .map(({ slot }) => slot)
    .filter(isShort)
