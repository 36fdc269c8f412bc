/**
 * A commit as the body of a record of the log: JSON of the changes without their vectors, and the vectors in the order
 * of the changes. Columns are stored and not made again, because the tokeniser changes with releases.
 *
 * Invariant: what is read is what was written, for all that a commit writes to the file.
 */
import type { LogRecord } from "../../log/RecordReader.ts"
import { recordFlags, type RecordBody } from "../../log/logFormat.ts"
import { COLUMNS, type MemoryColumns } from "../../text/MemoryText.ts"
import type { CommandChanges, MemoryChange, MemoryVector } from "../Commit.ts"
import type { NamespaceKey } from "../NamespaceStore.ts"
import type { LoggedOrder } from "./CommitTransaction.ts"

export interface LoggedCommit {
  readonly group: ReadonlyArray<CommandChanges>
  /** Of the first commit of an owner: whose file it is. */
  readonly key: NamespaceKey | undefined
  /** Whether the commit removes or replaces what earlier records hold. */
  readonly erases: boolean
}

type PackedColumns = ReadonlyArray<string>
/** Model and dimensions; 0: none. */
type PackedVector = readonly [string, number] | 0

type PackedChange =
  | readonly ["P", number, Extract<MemoryChange, { _tag: "Put" }>["record"], PackedColumns, PackedVector, string?]
  | readonly ["A", number, Extract<MemoryChange, { _tag: "Patch" }>["record"], PackedColumns]
  | readonly ["Q", ReadonlyArray<number>, PackedColumns, PackedVector]
  | readonly ["X", number]
  | readonly ["R", number, 1?]
  | readonly ["S" | "I", number, PackedColumns]
  | readonly ["E", number, 0 | 1, PackedVector]

type PackedUnit = readonly [
  ReadonlyArray<PackedChange>,
  CommandChanges["idempotency"] | 0,
  Exclude<CommandChanges["conversation"], undefined> | 0
]
type PackedCommit = readonly [ReadonlyArray<PackedUnit>, NamespaceKey | 0, 0 | 1]

export const encodeCommit = ({ erases, group, key }: LoggedCommit): RecordBody => {
  const vectors: Array<Float32Array> = []
  const vectorOf = (vector: MemoryVector | undefined): PackedVector => {
    if (vector === undefined) return 0
    vectors.push(vector.values)
    return [vector.model, vector.values.length]
  }
  const units = group.map(({ changes, conversation, idempotency }): PackedUnit => [
    changes.map((change) => packed(change, vectorOf)),
    idempotency ?? 0,
    conversation ?? 0
  ])
  return { text: JSON.stringify([units, key ?? 0, erases ? 1 : 0] satisfies PackedCommit), vectors }
}

/** The order that carries out a record of the log. */
export const orderOf = ({ header, text, vectors }: LogRecord): LoggedOrder => {
  const [units, key, erases] = JSON.parse(text) as PackedCommit
  let at = 0
  const vectorOf = (told: PackedVector): MemoryVector | undefined => {
    if (told === 0) return undefined
    const [model, dims] = told
    const values = new Float32Array(dims)
    new Uint8Array(values.buffer).set(vectors.subarray(at, at + values.byteLength))
    at += values.byteLength
    return { model, values }
  }
  return {
    key: key === 0 ? { tag: header.tag, account: "", agentId: "" } : key,
    epoch: header.epoch,
    seq: header.fromSeq,
    isClaim: (header.flags & recordFlags.claim) !== 0,
    group: units.map(([changes, idempotency, conversation]) => ({
      changes: changes.map((change) => unpacked(change, vectorOf)),
      idempotency: idempotency === 0 ? undefined : idempotency,
      conversation: conversation === 0 ? undefined : conversation
    })),
    atMillis: header.atMillis,
    ordinal: header.ordinal,
    erases: erases === 1
  }
}

const packed = (change: MemoryChange, vectorOf: (vector: MemoryVector | undefined) => PackedVector): PackedChange => {
  switch (change._tag) {
    case "Put": {
      const { columns, record, slot, supersedes, vector } = change
      const put = ["P", slot, record, packedColumns(columns), vectorOf(vector)] as const
      return supersedes === undefined ? put : [...put, supersedes]
    }
    case "Patch":
      return ["A", change.slot, change.record, packedColumns(change.columns)]
    case "PutPassage": {
      const { end, memory, slot, start, traits } = change
      return ["Q", [slot, memory, start, end, traits], packedColumns(change.columns), vectorOf(change.vector)]
    }
    case "RemovePassage":
      return ["X", change.slot]
    case "Remove":
      return change.keepsTurns === true ? ["R", change.slot, 1] : ["R", change.slot]
    case "Surround":
      return ["S", change.slot, packedColumns(change.columns)]
    case "Reindex":
      return ["I", change.slot, packedColumns(change.columns)]
    case "Embed":
      return ["E", change.slot, change.isPassage ? 1 : 0, vectorOf(change.vector)]
  }
}

const unpacked = (change: PackedChange, vectorOf: (told: PackedVector) => MemoryVector | undefined): MemoryChange => {
  switch (change[0]) {
    case "P": {
      const [, slot, record, columns, vector, supersedes] = change
      return { _tag: "Put", slot, record, columns: columnsOf(columns), vector: vectorOf(vector), supersedes }
    }
    case "A":
      return { _tag: "Patch", slot: change[1], record: change[2], columns: columnsOf(change[3]) }
    case "Q": {
      const [slot = 0, memory = 0, start = 0, end = 0, traits = 0] = change[1]
      const row = { slot, memory, start, end, traits }
      return { _tag: "PutPassage", ...row, columns: columnsOf(change[2]), vector: vectorOf(change[3]) }
    }
    case "X":
      return { _tag: "RemovePassage", slot: change[1] }
    case "R":
      return { _tag: "Remove", slot: change[1], ...(change[2] === 1 && { keepsTurns: true }) }
    case "S":
      return { _tag: "Surround", slot: change[1], columns: columnsOf(change[2]) }
    case "I":
      return { _tag: "Reindex", slot: change[1], columns: columnsOf(change[2]) }
    case "E": {
      const vector = vectorOf(change[3])
      if (vector === undefined) throw new SyntaxError("a record embeds without a vector")
      return { _tag: "Embed", slot: change[1], isPassage: change[2] === 1, vector }
    }
  }
}

/** In the order of `COLUMNS`. No token has a space in it: the file stores them in the same way. */
const packedColumns = (columns: MemoryColumns): PackedColumns => COLUMNS.map((column) => columns[column].join(" "))

const columnsOf = ([main, subject, neighbours, when, tags]: PackedColumns): MemoryColumns => ({
  main: tokensOf(main),
  subject: tokensOf(subject),
  neighbours: tokensOf(neighbours),
  when: tokensOf(when),
  tags: tokensOf(tags)
})

const tokensOf = (text = ""): ReadonlyArray<string> => (text === "" ? [] : text.split(" "))
