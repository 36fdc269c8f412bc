/**
 * The export format (JSONL): the first line is a header with the format's version, the account and
 * its schemas, every other line one memory, whole, so that ids and times survive a move. Lines are
 * self-contained: a damaged one costs one memory.
 */
import { Cause, Exit, Schema } from "effect"
import { AccountRecord } from "@muniment/domain/api/AdminApi"
import { ExportedMemory } from "@muniment/domain/Memory"
import { MemorySchema } from "@muniment/domain/MemorySchema"

export const formatVersion = 1

const ExportHeader = Schema.Struct({
  muniment: Schema.Literal("export"),
  version: Schema.Literal(formatVersion),
  account: AccountRecord,
  schemas: Schema.Array(MemorySchema)
})
type ExportHeader = typeof ExportHeader.Type
export type ExportRecord = typeof ExportedMemory.Type

type ParsedLine =
  | { readonly _tag: "Header"; readonly header: ExportHeader }
  | { readonly _tag: "Record"; readonly record: ExportRecord }
  | { readonly _tag: "Bad"; readonly reason: string }

const decodeHeader = Schema.decodeUnknownExit(ExportHeader)
const decodeRecord = Schema.decodeUnknownExit(ExportedMemory)
const reasonCharactersMax = 300

/** `lineNumber` counts from 1; only the first line can be a header. */
export const parseLine = (text: string, lineNumber: number): ParsedLine => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    return bad(`not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  if (lineNumber === 1 && typeof value === "object" && value !== null && "muniment" in value) {
    const header = decodeHeader(value)
    return Exit.isSuccess(header)
      ? { _tag: "Header", header: header.value }
      : bad(`not a header of format version ${formatVersion}: ${reasonOf(header.cause)}`)
  }
  const record = decodeRecord(value)
  return Exit.isSuccess(record) ? { _tag: "Record", record: record.value } : bad(reasonOf(record.cause))
}

/** Records and header are plain JSON, so a line is their text. */
export const lineOf = (value: ExportHeader | ExportRecord): string => `${JSON.stringify(value)}\n`

const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

const bad = (reason: string): ParsedLine => ({
  _tag: "Bad",
  reason: reason.replaceAll(/\s+/g, " ").slice(0, reasonCharactersMax)
})
