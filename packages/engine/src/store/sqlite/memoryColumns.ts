/**
 * Conversion between memories and SQLite rows. This file wrote the JSON columns, so it parses them without
 * validation; a row that does not parse means a damaged file and throws.
 */
import type { SQLInputValue } from "node:sqlite"
import type { JsonObject, MemoryRecord, Mention, MessageSource } from "@muniment/domain/Memory"
import { storedContentHash } from "@muniment/trust/CanonicalJson"
import type { StoredVector } from "../NamespaceStore.ts"
import { messageRowOf, type MemoryRow, type MessageRow, type PassageRow } from "../MemoryRow.ts"

type Columns = Readonly<Record<string, unknown>>

/** A stored value that this code cannot have written: the file is damaged. */
export class DamagedColumn extends Error {
  override readonly name = "DamagedColumn"
}

/** Values in the order of the insert statement. */
export const recordValues = (slot: number, seq: number, record: MemoryRecord): ReadonlyArray<SQLInputValue> => {
  const message = messageRowOf(record)
  return [
    slot,
    seq,
    record.id,
    record.kind,
    record.subjectId ?? null,
    record.threadId ?? null,
    JSON.stringify(record.data),
    JSON.stringify(record.tags),
    JSON.stringify(record.mentions),
    record.when ?? null,
    record.confidence,
    record.contentHash,
    record.createdAt,
    record.updatedAt,
    record.expiresAt ?? null,
    record.uniqueKey ?? null,
    record.origin,
    jsonOf(record.sources),
    jsonOf(record.neighbours),
    record.position ?? null,
    message?.speaker ?? null,
    message?.traits ?? null
  ]
}

/** Columns of `recordOf`, in its order. Rows are read as arrays: naming 20 columns was a third of the cost. */
export const recordColumns =
  "slot id subject_id thread_id kind data tags mentions event_time confidence content_hash created_at updated_at expires_at unique_key origin sources neighbours position".split(
    " "
  )

export const recordOf = (agentId: string, row: ReadonlyArray<unknown>): MemoryRecord => {
  const [, id, subjectId, threadId, kind, data, tags, mentions, when, confidence, contentHash, ...rest] = row
  const [createdAt, updatedAt, expiresAt, uniqueKey, origin, sources, neighbours, position] = rest
  const content = { agentId, data: JSON.parse(String(data)) as JsonObject, kind: String(kind) }
  // 4 us of processor time: rot in what a caller is given is never taken for a memory.
  if (storedContentHash(content) !== contentHash)
    throw new DamagedColumn("the content of a memory does not match its hash")
  return {
    id: String(id),
    agentId,
    subjectId: textOf(subjectId),
    threadId: textOf(threadId),
    kind: content.kind,
    data: content.data,
    tags: listOf<string>(tags),
    mentions: listOf<Mention>(mentions),
    when: textOf(when),
    confidence: Number(confidence),
    contentHash: String(contentHash),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
    expiresAt: numberOf(expiresAt),
    uniqueKey: textOf(uniqueKey),
    origin: origin === "extraction" || origin === "conversation" ? origin : "direct",
    position: numberOf(position),
    sources: sources === null ? undefined : listOf<MessageSource>(sources),
    neighbours: neighbours === null ? undefined : listOf<string>(neighbours)
  }
}

/** The messages that an extracted memory was taken from. */
export const sourcesOf = (columns: Columns): ReadonlyArray<MessageSource> | undefined =>
  columns["sources"] === null ? undefined : listOf<MessageSource>(columns["sources"])

export const rowOf = (columns: Columns): MemoryRow => {
  const eventTime = textOf(columns["event_time"])
  return {
    slot: Number(columns["slot"]),
    id: String(columns["id"]),
    createdSeq: Number(columns["created_seq"]),
    kind: String(columns["kind"]),
    subjectId: textOf(columns["subject_id"]),
    threadId: textOf(columns["thread_id"]),
    tags: listOf<string>(columns["tags"]),
    eventAt: eventTime === undefined ? undefined : Date.parse(eventTime),
    createdAt: Number(columns["created_at"]),
    expiresAt: numberOf(columns["expires_at"]),
    uniqueKey: textOf(columns["unique_key"]),
    message: messageOf(columns)
  }
}

const messageOf = (columns: Columns): MessageRow | undefined =>
  columns["traits"] === null
    ? undefined
    : {
        position: numberOf(columns["position"]),
        speaker: String(columns["speaker"]),
        traits: Number(columns["traits"])
      }

export const passageOf = (columns: Columns): PassageRow => ({
  slot: Number(columns["slot"]),
  memory: Number(columns["memory"]),
  start: Number(columns["starts"]),
  end: Number(columns["ends"]),
  traits: Number(columns["traits"])
})

/** float32, little endian: the byte order of all platforms that Node supports. */
export const vectorBytes = (values: Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

export const vectorOf = (columns: Columns): StoredVector => {
  const bytes = columns["value"] as Uint8Array
  if (bytes.byteLength === 0 || bytes.byteLength % Float32Array.BYTES_PER_ELEMENT !== 0)
    throw new DamagedColumn(`a vector of ${bytes.byteLength} bytes`)
  // Copied, because the buffer from SQLite need not be aligned to four bytes.
  const values = new Float32Array(bytes.slice().buffer)
  return { slot: Number(columns["slot"]), seq: Number(columns["seq"]), model: String(columns["model"]), values }
}

/** Most lists are empty; parsing is the largest part of reading a row. */
const listOf = <A>(value: unknown): ReadonlyArray<A> =>
  value === "[]" ? [] : (JSON.parse(String(value)) as ReadonlyArray<A>)

const jsonOf = (list: ReadonlyArray<unknown> | undefined): string | null =>
  list === undefined ? null : JSON.stringify(list)
export const textOf = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : String(value)
const numberOf = (value: unknown): number | undefined =>
  value === null || value === undefined ? undefined : Number(value)
