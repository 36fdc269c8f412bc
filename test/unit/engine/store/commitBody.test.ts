/** A commit through the body of a log record and back: golden text, and any commit. */
import { assert, property } from "fast-check"
import { constant, constantFrom, dictionary, double, integer, option, record, string } from "fast-check"
import { array, float, oneof, tuple } from "fast-check"
import { describe, expect, it } from "vitest"
import { bodyOf, readHeader, recordBytesMax, recordKinds, writeRecord } from "@muniment/engine/log/logFormat"
import { encodeCommit, orderOf } from "@muniment/engine/store/sqlite/commitBody"
import type { CommandChanges, MemoryChange } from "@muniment/engine/store/Commit"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { memoryRecord, namespaceKey } from "../../../support/EngineFixtures.ts"

const columns = { main: ["green", "tea"], subject: [], neighbours: ["x"], when: [], tags: ["a", "b"] }

/** As bytes of a record and back. */
const throughRecord = (group: ReadonlyArray<CommandChanges>, key: NamespaceKey | undefined = namespaceKey()) => {
  const body = encodeCommit({ group, key, erases: true })
  const bytes = Buffer.alloc(recordBytesMax(body))
  const fields = { kind: recordKinds.commit, flags: 1, tag: namespaceKey().tag, epoch: 4, changes: 0, fromSeq: 7 }
  writeRecord(bytes, 0, body, { ...fields, atMillis: 9, ordinal: 5, unsynced: 0 })
  const header = readHeader(bytes, 0)!
  return orderOf({ header, ...bodyOf(bytes, 0, header) })
}

describe("a commit in the log", () => {
  it("has this text", () => {
    const change = { _tag: "Patch", slot: 7, record: memoryRecord(1, "x"), columns } as const
    const group = [{ changes: [change, { _tag: "Remove" as const, slot: 3 }], idempotency: undefined }]
    expect(encodeCommit({ group, key: undefined, erases: false }).text).toBe(
      `[[[[["A",7,${JSON.stringify(memoryRecord(1, "x"))},["green tea","","x","","a b"]],["R",3]],0,0]],0,0]`
    )
  })

  it("comes back whole, whatever it changes", () => {
    assert(
      property(array(commands, { maxLength: 4 }), (group) => {
        const back = throughRecord(group)
        const owner = { key: namespaceKey(), epoch: 4, seq: 7, isClaim: true, atMillis: 9, ordinal: 5, erases: true }
        expect(back).toEqual({ ...owner, group })
      }),
      { numRuns: 300 }
    )
  })

  it("keeps vectors apart, in the order of the changes", () => {
    const values = [Float32Array.of(1, 2, 3), Float32Array.of(4), Float32Array.of(5, 6)]
    const changes = values.map((vector, slot): MemoryChange => ({
      _tag: "Embed",
      slot,
      isPassage: slot === 1,
      vector: { model: `m${slot}`, values: vector }
    }))
    expect(throughRecord([{ changes, idempotency: undefined }]).group[0]!.changes).toEqual(changes)
  })

  it("leaves out the owner's names where they are known", () => {
    expect(encodeCommit({ group: [], key: undefined, erases: false }).text).toBe("[[],0,0]")
  })
})

const slot = integer({ min: 0, max: 2 ** 31 })
const token = string({ unit: constantFrom("a", "é", "水", "9"), minLength: 1, maxLength: 6 })
const anyColumns = record({
  main: array(token),
  subject: array(token),
  neighbours: array(token),
  when: array(token),
  tags: array(token)
})
const vector = record({
  model: string(),
  values: array(float({ noNaN: true }), { maxLength: 9 }).map((values) => Float32Array.from(values))
})
const memory = tuple(
  integer({ min: 0, max: 1e9 }),
  string({ unit: "binary" }),
  dictionary(string(), double({ noNaN: true, min: 0, max: 1e9 }))
).map(([number, text, data]) => memoryRecord(number, text, { data: { text, ...data } }))
const changes = oneof(
  record({
    _tag: constant("Put" as const),
    slot,
    record: memory,
    columns: anyColumns,
    vector: option(vector, { nil: undefined })
  }),
  record({ _tag: constant("Patch" as const), slot, record: memory, columns: anyColumns }),
  record({
    _tag: constant("PutPassage" as const),
    slot,
    memory: slot,
    start: slot,
    end: slot,
    traits: slot,
    columns: anyColumns,
    vector: option(vector, { nil: undefined })
  }),
  record({ _tag: constantFrom("Remove" as const, "RemovePassage" as const), slot }),
  record({ _tag: constant("Remove" as const), slot, keepsTurns: constant(true) }),
  record({ _tag: constantFrom("Surround" as const, "Reindex" as const), slot, columns: anyColumns }),
  record({ _tag: constant("Embed" as const), slot, isPassage: constantFrom(true, false), vector })
)
const commands = record({
  changes: array(changes, { maxLength: 6 }),
  idempotency: option(record({ key: string(), fingerprint: string(), result: string() }), { nil: undefined })
})
