/**
 * Conversion between memories and SQLite rows. This file wrote the JSON columns, so it parses them without
 * validation; a row that does not parse means a damaged file and throws.
 */
import type { SQLInputValue, SQLOutputValue } from "node:sqlite"
import type { JsonObject, MemoryRecord, Mention, MessageSource } from "@muniment/domain/Memory"
import type { Condition, FieldCondition } from "@muniment/domain/Where"
import { storedContentHash } from "@muniment/trust/CanonicalJson"
import { memorySumColumns, memorySumOf, rowSum } from "./rowSums.ts"
import type { StoredVector } from "../NamespaceStore.ts"
import { type Extras, extrasText, feedbackIn, type MemoryRow, messageRowOf, type PassageRow } from "../MemoryRow.ts"

type Columns = Readonly<Record<string, unknown>>

/** A stored value that this code cannot have written: the file is damaged. */
export class DamagedColumn extends Error {
  override readonly name = "DamagedColumn"
}

const extrasIn = (text: unknown): Extras => (text === null ? {} : (JSON.parse(String(text)) as Extras))

/** Values in the order of the insert statement: `memorySumColumns`, `extras`, and `data` behind them. */
export const recordValues = (slot: number, seq: number, record: MemoryRecord): ReadonlyArray<SQLInputValue> => {
  const message = messageRowOf(record)
  return [
    slot,
    seq,
    record.id,
    record.kind,
    record.subjectId ?? null,
    record.threadId ?? null,
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
    message?.traits ?? null,
    extrasText(record) ?? null,
    JSON.stringify(record.data)
  ]
}

/**
 * Columns of a row of `memory` behind which its sum and its data follow. Rows are read as arrays: naming 20 columns was
 * a third of the cost.
 */
const rowColumns = [...memorySumColumns, "extras"].map((column) => `memory.${column}`).join(", ")
const withSums = "LEFT JOIN fulltext_length ON fulltext_length.slot ="

/** Rows of `recordOf`, of those in `from` that meet a condition. */
export const recordsSql = (from: string, where: string): string =>
  `SELECT ${rowColumns}, fulltext_length.sum, memory.data FROM ${from} ${withSums} memory.slot WHERE ${where}`

interface TextCondition {
  readonly sql: string
  readonly values: ReadonlyArray<string>
}

/** Says nothing: every text may fulfil it. */
const anyText: TextCondition = { sql: "1", values: [] }

/** Longer lists of values are looked for by the name of the field alone. */
const valuesLookedForMax = 8

/**
 * What the stored text of data that is as a condition says fulfils, and the parameters of it. Both texts are of
 * `JSON.stringify`, so a field with a value reads alike in both, at any depth.
 */
export const textCondition = (condition: Condition): TextCondition => {
  switch (condition._tag) {
    case "All":
    case "Any": {
      const parts = condition.of.map(textCondition)
      const joined = parts.map(({ sql }) => `(${sql})`).join(condition._tag === "All" ? " AND " : " OR ")
      return { sql: joined, values: parts.flatMap(({ values }) => values) }
    }
    // What may fulfil the condition may as well not.
    case "Not":
      return anyText
    case "Field":
      return textOfField(condition)
  }
}

const textOfField = ({ of, path, test, value }: FieldCondition): TextCondition => {
  const column = of === "data" ? "data" : "extras"
  const name = JSON.stringify(path.at(-1))
  if (test === "ne" || (test === "exists" && value === false)) return anyText
  const wanted = test === "eq" ? [value] : test === "in" && Array.isArray(value) ? value : []
  if (wanted.length === 0 || wanted.length > valuesLookedForMax)
    return { sql: `instr(${column}, ?) > 0`, values: [`${name}:`] }
  const texts = wanted.map((one) => JSON.stringify(one))
  return {
    sql: texts
      .map(() => `instr(${column}, ?) > 0 AND (instr(${column}, ?) > 0 OR instr(${column}, ?) > 0)`)
      .join(" OR "),
    values: texts.flatMap((text) => [text, `${name}:${text}`, `${name}:[`])
  }
}

/** Throws unless the hash is that of the content. */
export const contentOf = (agentId: string, kind: unknown, data: unknown, contentHash: unknown): JsonObject => {
  const content = { agentId, data: JSON.parse(String(data)) as JsonObject, kind: String(kind) }
  // 4 us of processor time: rot in what a caller is given is never taken for a memory.
  if (storedContentHash(content) !== contentHash)
    throw new DamagedColumn("the content of a memory does not match its hash")
  return content.data
}

export const recordOf = (agentId: string, row: ReadonlyArray<SQLOutputValue>): MemoryRecord => {
  const [, , id, kind, subjectId, threadId, tags, mentions, when, confidence, contentHash, createdAt, ...rest] = row
  const [updatedAt, expiresAt, uniqueKey, origin, sources, neighbours, position, , , extras, sum, data] = rest
  requireMemorySum(row.slice(0, memorySumColumns.length + 1), sum)
  return {
    id: String(id),
    agentId,
    subjectId: textOf(subjectId),
    threadId: textOf(threadId),
    kind: String(kind),
    data: contentOf(agentId, kind, data, contentHash),
    tags: listOf<string>(tags),
    mentions: listOf<Mention>(mentions),
    when: textOf(when),
    confidence: Number(confidence),
    contentHash: String(contentHash),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
    ...extrasIn(extras),
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

/** Rows of `rowOf`, from a slot on and before another, up to a limit. */
export const rowsSql = `SELECT ${rowColumns}, fulltext_length.sum FROM memory ${withSums} memory.slot
  WHERE memory.slot >= ? AND memory.slot < ? ORDER BY memory.slot LIMIT ?`

export const rowOf = (row: ReadonlyArray<SQLOutputValue>): MemoryRow => {
  const [slot, createdSeq, id, kind, subjectId, threadId, tags, , when, , , createdAt, , expiresAt, uniqueKey] = row
  const [position, speaker, traits, extras, sum] = row.slice(-5)
  requireMemorySum(row.slice(0, -1), sum)
  const eventTime = textOf(when)
  const some = extrasIn(extras)
  return {
    slot: Number(slot),
    id: String(id),
    createdSeq: Number(createdSeq),
    kind: String(kind),
    subjectId: textOf(subjectId),
    threadId: textOf(threadId),
    tags: listOf<string>(tags),
    eventAt: eventTime === undefined ? undefined : Date.parse(eventTime),
    createdAt: Number(createdAt),
    changedAt: some.changedAt,
    feedback: feedbackIn(some),
    expiresAt: numberOf(expiresAt),
    uniqueKey: textOf(uniqueKey),
    message:
      traits === null ? undefined : { position: numberOf(position), speaker: String(speaker), traits: Number(traits) }
  }
}

/** Rows of `passageOf`, from a slot on and before another, up to a limit. */
export const passagesSql = `SELECT passage.slot, memory, starts, ends, traits, sum FROM passage ${withSums} passage.slot
  WHERE passage.slot >= ? AND passage.slot < ? ORDER BY passage.slot LIMIT ?`

export const passageOf = (row: ReadonlyArray<SQLOutputValue>): PassageRow => {
  requireSum(row.slice(0, -1), row.at(-1))
  const [slot, memory, start, end, traits] = row.map(Number) as [number, number, number, number, number]
  return { slot, memory, start, end, traits }
}

/** float32, little endian: the byte order of all platforms that Node supports. */
export const vectorBytes = (values: Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

/**
 * Rows of `vectorOf`, from a slot on and before another, up to a limit. Both tables are read in the order of their keys
 * and merged; nothing is sorted.
 */
export const vectorsSql = `SELECT vector.slot AS slot, seq, model, value, vector_sum FROM vector ${withSums} vector.slot
    WHERE vector.slot >= ?1 AND vector.slot < ?2
  UNION ALL SELECT passage.slot AS slot, seq, model, value, vector_sum FROM passage ${withSums} passage.slot
    WHERE passage.slot >= ?1 AND passage.slot < ?2 AND model IS NOT NULL
  ORDER BY slot LIMIT ?3`

/** Rows of `vectorOf`, of the slots in a JSON array. */
export const vectorsOfSlots = `SELECT vector.slot, seq, model, vector.value, vector_sum
    FROM json_each(?1) AS wanted CROSS JOIN vector ON vector.slot = wanted.value ${withSums} vector.slot
  UNION ALL SELECT passage.slot, seq, model, passage.value, vector_sum
    FROM json_each(?1) AS wanted CROSS JOIN passage ON passage.slot = wanted.value ${withSums} passage.slot
    WHERE model IS NOT NULL`

export const vectorOf = (row: ReadonlyArray<SQLOutputValue>): StoredVector => {
  const [slot, seq, model, value, sum] = row
  requireSum(row.slice(0, -1), sum)
  const bytes = value as Uint8Array
  if (bytes.byteLength === 0 || bytes.byteLength % Float32Array.BYTES_PER_ELEMENT !== 0)
    throw new DamagedColumn(`a vector of ${bytes.byteLength} bytes`)
  // Copied, because the buffer from SQLite need not be aligned to four bytes.
  const values = new Float32Array(bytes.slice().buffer)
  return { slot: Number(slot), seq: Number(seq), model: String(model), values }
}

const requireSum = (values: ReadonlyArray<SQLOutputValue>, sum: SQLOutputValue | undefined): void =>
  requireSame(rowSum(values), values, sum)

const requireMemorySum = (values: ReadonlyArray<SQLOutputValue>, sum: SQLOutputValue | undefined): void =>
  requireSame(memorySumOf(values), values, sum)

const requireSame = (found: number, values: ReadonlyArray<SQLOutputValue>, sum: SQLOutputValue | undefined): void => {
  if (found !== sum) throw new DamagedColumn(`slot ${String(values[0])} has a row that does not match its sum`)
}

/** Most lists are empty; parsing is the largest part of reading a row. */
const listOf = <A>(value: unknown): ReadonlyArray<A> =>
  value === "[]" ? [] : (JSON.parse(String(value)) as ReadonlyArray<A>)

export const jsonOf = (list: ReadonlyArray<unknown> | undefined): string | null =>
  list === undefined ? null : JSON.stringify(list)
export const textOf = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : String(value)
const numberOf = (value: unknown): number | undefined =>
  value === null || value === undefined ? undefined : Number(value)
