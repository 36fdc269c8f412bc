/**
 * A commit as the body of a log record: `[[[changes, idempotency or 0, conversation or 0], ...], key or 0]` as JSON,
 * and the vectors in the order of the changes. Tokens are stored and not made again, because the tokeniser changes.
 *
 * Invariant: what is read back commits the same rows. Absent fields stay absent, also if they were `undefined`.
 */
import { COLUMNS, type MemoryColumns } from "../text/MemoryText.ts"
import type { RecordBody } from "../log/logFormat.ts"
import type { CommandChanges, MemoryChange, MemoryVector } from "./Commit.ts"
import type { NamespaceKey } from "./NamespaceStore.ts"

type StoredColumns = ReadonlyArray<string>
/** Model and dims; 0: no vector. Passages of a vector have changes of their own. */
type StoredVector = readonly [model: string, dims: number] | 0

type StoredChange =
  | readonly ["P", Fields<"Put">, StoredColumns, StoredVector]
  | readonly ["A", Fields<"Patch">, StoredColumns]
  | readonly ["p", Fields<"PutPassage">, StoredColumns, StoredVector]
  | readonly ["R", slot: number]
  | readonly ["r", slot: number]
  | readonly ["S", slot: number, StoredColumns]
  | readonly ["X", slot: number, StoredColumns]
  | readonly ["E", Fields<"Embed">, StoredVector]

/** A change without what is stored in another form. */
type Fields<Tag extends MemoryChange["_tag"]> = Omit<
  Extract<MemoryChange, { readonly _tag: Tag }>,
  "_tag" | "columns" | "vector"
>

type StoredCommand = readonly [
  changes: ReadonlyArray<StoredChange>,
  idempotency: NonNullable<CommandChanges["idempotency"]> | 0,
  conversation: NonNullable<CommandChanges["conversation"]> | 0
]

export interface DecodedCommit {
  readonly group: ReadonlyArray<CommandChanges>
  /** Only of an owner's first commit. */
  readonly key: NamespaceKey | undefined
}

export const encodeCommit = (group: ReadonlyArray<CommandChanges>, key: NamespaceKey | undefined): RecordBody => {
  const vectors: Array<Float32Array> = []
  const commands = group.map(({ changes, conversation, idempotency }): StoredCommand => [
    changes.map((change) => storedChange(change, vectors)),
    idempotency ?? 0,
    conversation ?? 0
  ])
  return { text: JSON.stringify([commands, key ?? 0]), vectors }
}

/** `vectors`: their bytes, one after the other. */
export const decodeCommit = (text: string, vectors: Uint8Array): DecodedCommit => {
  const [commands, key] = JSON.parse(text) as [ReadonlyArray<StoredCommand>, NamespaceKey | 0]
  let at = 0
  const take = (stored: StoredVector): MemoryVector | undefined => {
    if (stored === 0) return undefined
    const [model, dims] = stored
    const values = new Float32Array(dims)
    new Uint8Array(values.buffer).set(vectors.subarray(at, at + values.byteLength))
    at += values.byteLength
    return { model, values }
  }
  const group = commands.map(([changes, idempotency, conversation]): CommandChanges => ({
    changes: changes.map((change) => changeOf(change, take)),
    idempotency: idempotency === 0 ? undefined : idempotency,
    ...(conversation !== 0 && { conversation })
  }))
  return { group, key: key === 0 ? undefined : key }
}

const storedChange = (change: MemoryChange, vectors: Array<Float32Array>): StoredChange => {
  const give = (vector: MemoryVector | undefined): StoredVector => {
    if (vector === undefined) return 0
    vectors.push(vector.values)
    return [vector.model, vector.values.length]
  }
  switch (change._tag) {
    case "Put":
      return ["P", { slot: change.slot, record: change.record }, textsOf(change.columns), give(change.vector)]
    case "Patch":
      return ["A", { slot: change.slot, record: change.record }, textsOf(change.columns)]
    case "PutPassage": {
      const { end, memory, slot, start, traits } = change
      return ["p", { end, memory, slot, start, traits }, textsOf(change.columns), give(change.vector)]
    }
    case "RemovePassage":
      return ["r", change.slot]
    case "Remove":
      return ["R", change.slot]
    case "Surround":
      return ["S", change.slot, textsOf(change.columns)]
    case "Reindex":
      return ["X", change.slot, textsOf(change.columns)]
    case "Embed":
      return ["E", { slot: change.slot, isPassage: change.isPassage }, give(change.vector)]
  }
}

const changeOf = (stored: StoredChange, take: (stored: StoredVector) => MemoryVector | undefined): MemoryChange => {
  switch (stored[0]) {
    case "P":
      return { _tag: "Put", ...stored[1], columns: columnsOf(stored[2]), vector: take(stored[3]) }
    case "A":
      return { _tag: "Patch", ...stored[1], columns: columnsOf(stored[2]) }
    case "p":
      return { _tag: "PutPassage", ...stored[1], columns: columnsOf(stored[2]), vector: take(stored[3]) }
    case "r":
      return { _tag: "RemovePassage", slot: stored[1] }
    case "R":
      return { _tag: "Remove", slot: stored[1] }
    case "S":
      return { _tag: "Surround", slot: stored[1], columns: columnsOf(stored[2]) }
    case "X":
      return { _tag: "Reindex", slot: stored[1], columns: columnsOf(stored[2]) }
    case "E": {
      const vector = take(stored[2])
      if (vector === undefined) throw new TypeError("a stored change that embeds has no vector")
      return { _tag: "Embed", ...stored[1], vector }
    }
    default:
      throw new TypeError("a stored change of an unknown kind")
  }
}

/** A token contains no space. */
const textsOf = (columns: MemoryColumns): StoredColumns => COLUMNS.map((column) => columns[column].join(" "))

const columnsOf = (texts: StoredColumns): MemoryColumns => {
  const tokensAt = (at: number): ReadonlyArray<string> => texts[at]?.split(" ").filter((token) => token !== "") ?? []
  return { main: tokensAt(0), subject: tokensAt(1), neighbours: tokensAt(2), when: tokensAt(3), tags: tokensAt(4) }
}
