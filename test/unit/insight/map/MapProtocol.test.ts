import { Effect } from "effect"
import { expect, it } from "vitest"
import { packRequest, readMemory, unpackRequest } from "@muniment/insight/map/MapProtocol"

/** What travels is held by the worker's heap 5,000 times. */
const travellingMax = 8_000

it.each([
  ["one long text", { fact: "x".repeat(60_000) }],
  ["a long subject", { subject: "x".repeat(60_000) }],
  ["a long name", { ["x".repeat(60_000)]: 7 }],
  ["many values", { list: Array.from({ length: 10_000 }, (_, at) => at) }],
  ["many values that say nothing", { list: Array.from({ length: 12_000 }, () => null), last: "x".repeat(3_000) }]
])("of a memory with %s only a bounded part travels to the worker", (_, data) => {
  const memory = { id: "mem_1", kind: "note", data, contentHash: "0x1", vector: undefined }
  const request = Effect.runSync(packRequest([memory]))
  expect(request.portions[0]?.length).toBeLessThan(travellingMax)
})

it("every memory arrives with its texts and its vector, in order, however many portions they are", () => {
  const memories = Array.from({ length: 600 }, (_, at) => ({
    id: `mem_${at}`,
    kind: "note",
    data: { subject: `s${at}`, fact: `größer ${at} 🎈` },
    contentHash: `0x${at}`,
    vector: Float32Array.of(at, 1)
  }))
  const arrived = unpackRequest(Effect.runSync(packRequest(memories)))
  expect(arrived).toEqual(memories.map(readMemory))
})
