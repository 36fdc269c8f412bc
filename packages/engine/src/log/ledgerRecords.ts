/**
 * Records of the control database: what one of its transactions changed, as a patch set of SQLite's session extension,
 * or the note that the changes before a number are not here: then only a copy of the database that has reached this number
 * can follow.
 *
 * Invariant: the header alone says the numbers, so that they stay known when the body is erased.
 */
import type { RawRecord } from "./LogCursor.ts"
import { bodyOf, isErased, processTag, type RecordBody, type RecordFields, recordKinds } from "./logFormat.ts"

/** Changes of the control database carry numbers from 1 on, without gaps. */
export interface LedgerChange {
  /** The database's number after it. */
  readonly number: number
  /** Version of the database's tables. */
  readonly version: number
  readonly atMillis: number
  /** The patch set; `base`: only a copy that is at `number` can follow; `erased`: it was there. */
  readonly changes: Uint8Array | "base" | "erased"
}

/** A change to be appended. */
export type NewLedgerChange = LedgerChange & { readonly changes: Uint8Array | "base" }

/** What the log writes of a change. */
export const ledgerFields = ({
  atMillis,
  changes,
  number,
  version
}: NewLedgerChange): Omit<RecordFields, "ordinal" | "unsynced"> & { readonly body: RecordBody } => {
  const isBase = changes === "base"
  return {
    kind: recordKinds.ledger,
    flags: 0,
    tag: processTag,
    epoch: version,
    changes: isBase ? 0 : 1,
    fromSeq: isBase ? number : number - 1,
    atMillis,
    body: isBase ? { text: "[]", vectors: [] } : { text: JSON.stringify([changes.length]), vectors: [changes] }
  }
}

/** The change of a record of kind `ledger`. */
export const ledgerChangeOf = ({ bytes, header }: RawRecord): LedgerChange => {
  const { atMillis, changes, epoch: version, fromSeq } = header
  const said = { number: fromSeq + changes, version, atMillis }
  if (changes === 0) return { ...said, changes: "base" }
  if (isErased(header)) return { ...said, changes: "erased" }
  const { text, vectors } = bodyOf(bytes, 0, header)
  const [length] = JSON.parse(text) as readonly [length: number]
  return { ...said, changes: vectors.subarray(0, length) }
}
