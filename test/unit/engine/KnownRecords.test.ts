/** Records kept in memory: found by their row, bounded, and gone with it. */
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject, MemoryRecord } from "@muniment/domain/Memory"
import { KnownRecords } from "@muniment/engine/namespace/NamespaceState"
import { rowOfRecord } from "@muniment/engine/store/MemoryRow"

const recordOf = (id: string, data: JsonObject): MemoryRecord => ({
  id,
  agentId: "agent",
  subjectId: undefined,
  threadId: undefined,
  kind: "factual_memory",
  data,
  tags: [],
  mentions: [],
  when: undefined,
  confidence: 1,
  contentHash: "0x0",
  createdAt: 0,
  updatedAt: 0,
  expiresAt: undefined,
  uniqueKey: undefined,
  origin: "direct"
})
const kept = (id: string, data: JsonObject = { fact: id }) => {
  const record = recordOf(id, data)
  return { record, row: rowOfRecord(1, 1, record) }
}

describe("known records", () => {
  it("are found by their row, not by one that replaced it", () => {
    const known = new KnownRecords()
    const { record, row } = kept("one")
    known.add(row, record)
    expect(known.of(row)).toBe(record)
    expect(known.of(rowOfRecord(1, 1, record))).toBeUndefined()
  })

  it("are gone once they are forgotten", () => {
    const known = new KnownRecords()
    const { record, row } = kept("one")
    known.add(row, record)
    known.forget(row)
    expect([known.of(row), known.size]).toEqual([undefined, 0])
  })

  it("make room for others, the one that was not used for longest first", () => {
    const known = new KnownRecords(2)
    const [first, second, third] = [kept("first"), kept("second"), kept("third")]
    known.add(first.row, first.record)
    known.add(second.row, second.record)
    known.of(first.row)
    known.add(third.row, third.record)
    expect([first, second, third].map(({ row }) => known.of(row)?.id)).toEqual(["first", undefined, "third"])
  })

  it("are short: a long text and nested data are read again", () => {
    const known = new KnownRecords()
    const long = kept("long", { fact: "x".repeat(Limits.knownRecordLengthMax + 1) })
    const nested = kept("nested", { where: { city: "Oslo" } })
    for (const { record, row } of [long, nested]) known.add(row, record)
    expect(known.size).toBe(0)
  })
})
