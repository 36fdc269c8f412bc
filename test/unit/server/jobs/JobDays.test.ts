/** Days and moments of the daily job (contract: Plans and the daily job). */
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { dayOf } from "@muniment/domain/CalendarDay"
import { dayAfter, dueDays, lastDueDay, momentOf, nextRunMillis } from "@muniment/server/jobs/JobClock"

const at = (text: string) => Date.parse(`${text}Z`)

describe("days of the daily job", () => {
  it("have their moment at 00:10 UTC and are due from that millisecond on", () => {
    expect(momentOf("2026-11-21")).toBe(at("2026-11-21T00:10"))
    expect(lastDueDay(at("2026-11-21T00:09:59.999"))).toBe("2026-11-20")
    expect(lastDueDay(at("2026-11-21T00:10"))).toBe("2026-11-21")
    expect(nextRunMillis(at("2026-11-21T00:10"))).toBe(at("2026-11-22T00:10"))
    expect(nextRunMillis(at("2026-11-21T00:09:59.999"))).toBe(at("2026-11-21T00:10"))
  })

  it("follow each other over months, leap days and years", () => {
    expect([dayAfter("2026-12-31"), dayAfter("2028-02-28"), dayAfter("2026-03-01", -1)]).toEqual([
      "2027-01-01",
      "2028-02-29",
      "2026-02-28"
    ])
    expect(dayOf(at("2026-11-21T23:59:59.999"))).toBe("2026-11-21")
  })

  it("are due in their order, once each, and none when the clock stepped back", () => {
    expect(dueDays("2026-11-21", at("2026-11-24T00:09"))).toEqual({ days: ["2026-11-22", "2026-11-23"], skipped: 0 })
    expect(dueDays("2026-11-21", at("2026-11-21T23:00")).days).toEqual([])
    expect(dueDays("2026-11-21", at("2026-11-19T00:00"))).toEqual({ days: [], skipped: 0 })
  })

  it("are skipped, the oldest first, when too many are due", () => {
    const { days, skipped } = dueDays("2026-01-01", at("2026-03-01T12:00"))
    expect([days.length, skipped]).toEqual([Limits.jobCatchUpDaysMax, 59 - Limits.jobCatchUpDaysMax])
    expect(days.at(-1)).toBe("2026-03-01")
  })
})
