/** Limits that the client states are those of the service; what it cuts and divides fits into them. */
import { callLimits, messageParts, queryOf, requestsOf } from "@muniment/client/CallLimits"
import { Limits } from "@muniment/domain/Limits"
import { expect, it } from "vitest"

it("are those of the service", () => {
  expect(callLimits).toEqual({
    queryLengthMax: Limits.queryLengthMax,
    messageLengthMax: Limits.messageLengthMax,
    messagesPerRequestMax: Limits.messagesPerConversationMax,
    memoriesPerRequestMax: Limits.memoriesPerRequestMax,
    idsPerRequestMax: Limits.batchIdsMax,
    requestBytesMax: Limits.requestBodyBytesMax
  })
})

it("a query is cut by characters, not in one", () => {
  expect([...queryOf("🏠".repeat(3_000))!].length).toBe(Limits.queryLengthMax)
  expect(queryOf("short")).toBe("short")
  expect(queryOf(" \n ")).toBeUndefined()
})

it("a long text becomes messages that together say it", () => {
  const text = "🏠x".repeat(40_000)
  const parts = messageParts(text)
  expect(parts.join("")).toBe(text)
  for (const part of parts) expect([...part].length).toBeLessThanOrEqual(Limits.messageLengthMax)
  expect(messageParts("")).toEqual([])
})

it("requests fit by count and by bytes, in order", () => {
  const long = Array.from({ length: 40 }, (_, at) => ({ at, text: "我".repeat(20_000) }))
  const requests = requestsOf(long, callLimits.memoriesPerRequestMax)
  expect(requests.flat()).toEqual(long)
  for (const request of requests)
    expect(Buffer.byteLength(JSON.stringify(request))).toBeLessThan(Limits.requestBodyBytesMax)
  expect(
    requestsOf(
      Array.from({ length: 250 }, () => 1),
      100
    ).map((request) => request.length)
  ).toEqual([100, 100, 50])
})
