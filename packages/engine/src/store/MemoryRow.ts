/** Part of a stored memory that the image keeps: every field that filters, orders or identifies, without `data`. */
import type { FeedbackFilter } from "@muniment/domain/Feedback"
import type { JsonObject, MemoryRecord } from "@muniment/domain/Memory"
import { type Passage, passagesOf } from "@muniment/language/text/Passages"
import { Limits } from "@muniment/domain/Limits"
import { messageOf, messageTraits, namingsOf, traitsOf } from "../text/MemoryText.ts"

export interface MemoryRow {
  readonly slot: number
  readonly id: string
  /** Sequence number of the insertion; orders the versions of one unique key. */
  readonly createdSeq: number
  readonly kind: string
  readonly subjectId: string | undefined
  readonly threadId: string | undefined
  readonly tags: ReadonlyArray<string>
  readonly eventAt: number | undefined
  readonly createdAt: number
  /** When its data was last replaced in place; undefined: never. */
  readonly changedAt?: number | undefined
  /** Of the kinds of feedback on it; undefined: there is none. */
  readonly feedback?: ReadonlyArray<FeedbackFilter> | undefined
  readonly expiresAt: number | undefined
  readonly uniqueKey: string | undefined
  /** Messages of conversations only. */
  readonly message?: MessageRow | undefined
  /** Of other kinds: whom or what it is about, in lower case. Derived from the data, and not stored. */
  about?: string | undefined
}

/** What ranks a message. */
export interface MessageRow {
  /** Number in the conversation; undefined for a message that was stored as a direct memory. */
  readonly position: number | undefined
  /** Name, or role. */
  readonly speaker: string
  /** Bits of `messageTraits`, of the first passage if there are several. */
  readonly traits: number
}

/** Kept with the record: a write asks for it several times. */
const messageRows = new WeakMap<MemoryRecord, MessageRow>()

export const messageRowOf = (record: MemoryRecord): MessageRow | undefined => {
  const message = messageOf(record)
  const known = messageRows.get(record)
  if (message === undefined || known !== undefined) return known
  const { isByUser, speaker, text } = message
  const [{ end }] = passagesOf(text)
  // A message of several passages is never short.
  const traits = traitsOf(text.slice(0, end), isByUser) & (end < text.length ? ~messageTraits.isShort : -1)
  const names = namingsOf(record).length === 0 ? messageTraits.namesNobody : 0
  const row = { position: record.position, speaker, traits: traits | names }
  messageRows.set(record, row)
  return row
}

/** Whether its data need not be read for names; of what is no message that is not known. */
export const namesNobody = ({ message }: Pick<MemoryRow, "message">): boolean =>
  message !== undefined && (message.traits & messageTraits.namesNobody) !== 0

/** Whether a message gives its words to those around it, and receives theirs. */
export const isShort = (message: MessageRow | undefined): boolean =>
  message !== undefined && (message.traits & messageTraits.isShort) !== 0

/** The row of a record that was just committed at `slot`. */
export const rowOfRecord = (slot: number, createdSeq: number, record: MemoryRecord): MemoryRow => ({
  slot,
  id: record.id,
  createdSeq,
  kind: record.kind,
  subjectId: record.subjectId,
  threadId: record.threadId,
  tags: record.tags,
  eventAt: record.when === undefined ? undefined : Date.parse(record.when),
  createdAt: record.createdAt,
  changedAt: record.changedAt,
  feedback: feedbackIn(record),
  expiresAt: record.expiresAt,
  uniqueKey: record.uniqueKey,
  message: messageRowOf(record),
  about: aboutOf(record.data)
})

/** The filters that let a memory through by its feedback. */
export const feedbackIn = ({ feedback }: Pick<MemoryRecord, "feedback">): MemoryRow["feedback"] => {
  if (feedback === undefined) return undefined
  const said = new Set(feedback.map(({ useful }) => (useful ? "useful" : "not_useful")))
  return ["given", ...said]
}

const aboutLengthMax = 64
/** The subject of a fact; of a message there is none. */
export const aboutOf = ({ subject }: JsonObject): string | undefined =>
  typeof subject === "string" && subject.length <= aboutLengthMax ? subject.toLowerCase() : undefined

/** A further passage of a long message; the first one has the slot of the message. */
export interface PassageRow extends Passage {
  readonly slot: number
  /** Slot of the message. */
  readonly memory: number
  /** Bits of `messageTraits`. */
  readonly traits: number
}

/** Bytes that a memory takes (contract: Quotas), as the triggers of its file count them. */

/** What few memories have. */
export type Extras = Pick<MemoryRecord, "changedAt" | "feedback" | "metadata" | "revision">

/** As the file has it, JSON; undefined: nothing. */
export const extrasText = ({ changedAt, feedback, metadata, revision }: Extras): string | undefined => {
  const text = JSON.stringify({ changedAt, metadata, revision, feedback } satisfies Extras)
  return text === "{}" ? undefined : text
}

type Counted = Pick<MemoryRecord, "data" | "feedback" | "metadata" | "tags">

export const memoryBytes = ({ data, feedback, metadata, tags }: Counted): number =>
  Buffer.byteLength(JSON.stringify(data)) +
  tagBytes(tags) +
  jsonBytes(metadata) +
  jsonBytes(feedback) +
  Limits.memoryOverheadBytes

export const tagBytes = (tags: ReadonlyArray<string>): number => Buffer.byteLength(JSON.stringify(tags))

export const metadataBytes = (metadata: MemoryRecord["metadata"]): number => jsonBytes(metadata)

export const feedbackBytes = (feedback: MemoryRecord["feedback"]): number => jsonBytes(feedback)

const jsonBytes = (json: MemoryRecord["feedback"] | MemoryRecord["metadata"]): number =>
  json === undefined ? 0 : Buffer.byteLength(JSON.stringify(json))
