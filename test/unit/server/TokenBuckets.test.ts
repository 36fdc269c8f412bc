/** Token buckets: bursts up to the limit, refill at its rate, nothing taken by a refusal, bounded memory. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { TokenBuckets } from "@muniment/server/http/RateLimits"

const rate = { minute: 10, hour: 300, day: 5_000 }

describe("token buckets", () => {
  it("let a burst of a minute's limit through, then one every six seconds", () => {
    const buckets = new TokenBuckets(10)
    for (let sent = 0; sent < 10; sent++) expect(buckets.take("a", rate, 0).isAllowed).toBe(true)
    const refused = buckets.take("a", rate, 0)
    expect(refused).toMatchObject({ isAllowed: false, limit: 10, remaining: 0, retryAfterSeconds: 6, window: "minute" })
    expect(buckets.take("a", rate, 5_999).isAllowed).toBe(false)
    expect(buckets.take("a", rate, 6_000).isAllowed).toBe(true)
    expect(buckets.take("a", rate, 6_001).isAllowed).toBe(false)
  })

  it("take no token of the hour when the minute refuses", () => {
    const buckets = new TokenBuckets(10)
    const small = { minute: 1, hour: 2, day: 10 }
    expect(buckets.take("a", small, 0).isAllowed).toBe(true)
    for (let tried = 0; tried < 50; tried++) expect(buckets.take("a", small, 1).isAllowed).toBe(false)
    expect(buckets.take("a", small, 60_001).isAllowed).toBe(true)
  })

  it("count callers apart", () => {
    const buckets = new TokenBuckets(10)
    const one = { minute: 1, hour: 1, day: 1 }
    expect(buckets.take("a", one, 0).isAllowed).toBe(true)
    expect(buckets.take("b", one, 0).isAllowed).toBe(true)
    expect(buckets.take("a", one, 0).isAllowed).toBe(false)
  })

  it("start full after a change of plan", () => {
    const buckets = new TokenBuckets(10)
    expect(buckets.take("a", { minute: 1, hour: 1, day: 1 }, 0).isAllowed).toBe(true)
    expect(buckets.take("a", { minute: 1, hour: 1, day: 1 }, 0).isAllowed).toBe(false)
    expect(buckets.take("a", rate, 0)).toMatchObject({ isAllowed: true, limit: 10, remaining: 9 })
  })

  it("remove callers that are idle for a day, and the least recently used above the bound", () => {
    const buckets = new TokenBuckets(3)
    for (const key of ["a", "b", "c", "d", "e"]) buckets.take(key, rate, 0)
    expect(buckets.size).toBe(3)
    buckets.take("f", rate, 90_000_000)
    buckets.take("f", rate, 90_000_000)
    expect(buckets.size).toBe(1)
  })

  it("never allow more than the limit and its refill in any span, whenever requests come", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 200 }), (gaps) => {
        const buckets = new TokenBuckets(10)
        let now = 0
        let allowed = 0
        for (const gap of gaps) {
          now += gap
          if (buckets.take("a", rate, now).isAllowed) allowed += 1
          expect(allowed).toBeLessThanOrEqual(rate.minute + (now * rate.minute) / 60_000 + 1e-6)
        }
      })
    )
  })
})
