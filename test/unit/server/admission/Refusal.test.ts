/** The answer of a refusal, which is written without the contract's schemas. */
import { Schema } from "effect"
import { expect, it } from "vitest"
import { RateLimited, Unavailable } from "@muniment/domain/Errors"
import { type RefusalBound, wireRefusal } from "@muniment/server/admission/Refusals"
import { Refusals } from "@muniment/server/admission/Refusals"
import { Limits } from "@muniment/domain/Limits"

const bounds: ReadonlyArray<RefusalBound> = ["share", "wait", "account_bytes", "bytes", "slow_body", "account_answers"]

it.each(bounds)("for the bound %s has the form of the contract", (bound) => {
  const { body, retryAfterSeconds, status } = wireRefusal({ bound, work: "search", waitMillis: 2_400 })
  const schema: Schema.Codec<RateLimited | Unavailable, unknown> = status === 429 ? RateLimited : Unavailable
  const { code, details, error } = Schema.decodeUnknownSync(schema)(JSON.parse(body))
  expect([code, retryAfterSeconds]).toEqual([status === 429 ? "rate_limited" : "overloaded", 3])
  expect(error).toContain("try again in 3 s")
  expect(details).toEqual([{ path: bound, message: "search: a wait of 2400 ms was expected" }])
  expect(JSON.parse(body).success).toBe(false)
})

it("is counted every time, and listed for the log a bounded number of times", () => {
  const refusals = new Refusals()
  const line = { method: "GET", route: "/v1/memories", status: 503, millis: 1, account: undefined }
  for (let count = 0; count < Limits.refusalLinesMax + 5; count++) refusals.add("read", "wait", line)
  refusals.add("read", "share", { ...line, status: 429 })
  expect(refusals.counts.map(({ bound, count, status }) => [bound, status, count])).toEqual([
    ["wait", 503, Limits.refusalLinesMax + 5],
    ["share", 429, 1]
  ])
  const { lines, unlisted } = refusals.takeLines()
  expect([lines.length, unlisted]).toEqual([Limits.refusalLinesMax, 6])
  expect(refusals.takeLines().lines).toEqual([])
})
