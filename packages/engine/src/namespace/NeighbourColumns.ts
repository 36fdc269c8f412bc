/**
 * The column `neighbours` of messages: the words of the messages around each in its conversation
 * (`Limits.neighbourMessagesEachSide` on each side), so that an answer is found by the words of its question. Derived
 * from the order of the messages and never stored: a change of one message changes the documents of those around it in
 * the image, and their lengths in the file, in the same commit.
 *
 * Invariant: after every commit the columns equal those derived from the rows of the file. Messages above
 * `Limits.neighbourMessageLengthMax` neither give nor receive words, but keep their place in the order.
 */
import { Limits } from "@muniment/domain/Limits"
import { byPlace, type MessagePlace } from "./table/MessageOrder.ts"

/** A change of one message by a group of commands. */
export interface MessageChange {
  readonly place: MessagePlace
  /** What the message says afterwards; undefined: it is removed. */
  readonly becomes: { readonly isShort: boolean; readonly keepsWords: boolean } | undefined
}

/** Messages whose columns must be written, each with the slots around it that give their words, in order. */
export type ColumnSources = ReadonlyMap<number, ReadonlyArray<number>>

const eachSide = Limits.neighbourMessagesEachSide

/** Messages to know on each side of a change: those whose columns it changes, and those around them. */
export const changeMargin = eachSide * 2

/**
 * Which columns of one conversation change.
 *
 * @param before the messages around the changes as committed, with `changeMargin` on each side
 * @param changes by slot
 * @param wasShort whether a committed message gives and receives words
 */
export const changedColumns = (
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
