import { Effect } from "effect"
import { expect, it } from "vitest"
import { packRequest } from "@muniment/insight/map/MapProtocol"

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
  expect(JSON.stringify(request.memories).length).toBeLessThan(travellingMax)
})
