/** Dates that count from the day of saying, the same for extraction, ranking, answers and the checks of a model. */
import { describe, expect, it } from "vitest"
import { questionDates } from "@muniment/language/calendar/QuestionDates"
import { speakersDay, speakersTime, spokenDates, spokenForms } from "@muniment/language/calendar/SpokenDates"
import { resolvedDates } from "@muniment/language/calendar/ResolvedDates"
import { makeDateSupport } from "@muniment/language/calendar/DateSupport"
import { eventDates } from "@muniment/language/calendar/EventDates"

describe("each form", () => {
  it.each(spokenForms)("of a $precision: $example", ({ counterexample, example, precision }) => {
    expect(spokenDates(example, "2024-01-18", "future").map((date) => date.precision)).toEqual([precision])
    expect(spokenDates(counterexample, "2024-01-18", "future")).toEqual([])
  })
})

/** Said on Friday, 30 January 2026. */
const friday = "2026-01-30"
const days = [
  ["next Saturday", "2026-02-07"],
  ["next Monday", "2026-02-02"],
  ["last Saturday", "2026-01-24"],
  ["this Sunday", "2026-02-01"],
  ["the Monday after next", "2026-02-09"],
  ["the Friday before last", "2026-01-16"],
  ["a week on Tuesday", "2026-02-10"],
  ["tomorrow", "2026-01-31"],
  ["a year ago today", "2025-01-30"],
  ["two weeks ago yesterday", "2026-01-15"],
  ["a week today", "2026-02-06"],
  ["three weeks from today", "2026-02-20"],
  ["two weeks from tomorrow", "2026-02-14"],
  ["the day before yesterday", "2026-01-28"],
  ["in three days", "2026-02-02"],
  ["12 days ago", "2026-01-18"]
] as const

describe("a day said on Friday, 30 January 2026", () => {
  const support = makeDateSupport()
  it.each(days)("%s is one day everywhere", (words, day) => {
    const saidOn = "2026-01-30T18:00:00+01:00"
    expect(spokenDates(`We met ${words}.`, friday)[0]?.from).toBe(day)
    expect(resolvedDates(`We met ${words}.`, saidOn)[0]?.from).toBe(day)
    expect(eventDates(`the party ${words}`, friday, "future").map(({ start }) => start)).toEqual([day])
    const [range] = questionDates(`What will happen ${words}?`, { nowMillis: Date.parse(saidOn) })
    expect(new Date(range!.from).toISOString().slice(0, 10)).toBe(day)
    expect(support.isTold(day, `We met ${words}.`, friday)).toBe(true)
    const other = new Date(Date.parse(day) + 7 * 86_400_000).toISOString().slice(0, 10)
    expect(support.isTold(other, `We met ${words}.`, friday)).toBe(false)
  })

  it.each([
    ["on the 31st", "2026-01-31", "2025-12-31"],
    ["on the 30th", "2026-01-30", "2026-01-30"],
    ["on Monday", "2026-02-02", "2026-01-26"],
    ["on Friday", "2026-01-30", "2026-01-30"]
  ])("%s lies on the side of its verb, and nowhere without one", (words, ahead, past) => {
    expect(spokenDates(`a meeting ${words}`, friday, "future").map(({ from }) => from)).toEqual([ahead])
    expect(spokenDates(`a meeting ${words}`, friday, "past").map(({ from }) => from)).toEqual([past])
    expect(spokenDates(`a meeting ${words}`, friday)).toEqual([])
  })

  it.each([
    ["a fortnight ago", "2026-01-12", "2026-01-18", "2026-01-16"],
    ["two weeks from now", "2026-02-09", "2026-02-15", "2026-02-13"],
    ["the week before last", "2026-01-12", "2026-01-18", "2026-01-16"],
    ["the weekend before last", "2026-01-17", "2026-01-18", "2026-01-17"],
    ["last month", "2025-12-01", "2025-12-31", "2025-12-30"],
    ["three months ago", "2025-10-01", "2025-10-31", "2025-10-30"],
    ["the year before last", "2024-01-01", "2024-12-31", "2024-01-30"]
  ])("%s is a period", (words, from, to, day) => {
    expect(spokenDates(`It was ${words}.`, friday)).toMatchObject([{ text: words, from, to, day }])
  })

  it("in December is the one behind or ahead; of this month said ahead it is open", () => {
    expect(spokenDates("We met in December.", friday, "past")[0]?.from).toBe("2025-12-01")
    expect(spokenDates("We meet in December.", friday, "future")[0]?.from).toBe("2026-12-01")
    expect(spokenDates("We meet in January.", friday, "future")).toEqual([])
  })

  it.each([
    "a few weeks ago",
    "the Saturday after next",
    "some Monday",
    "the Friday of the match",
    "every Tuesday",
    "on Friday mornings",
    "one day",
    "on the 31st of May",
    "within a week"
  ])("%s fixes no day", (words) => expect(spokenDates(`We meet ${words}.`, friday, "future")).toEqual([]))

  it("finishing in two weeks is how long it took", () => {
    expect(spokenDates("I finished it in two weeks.", friday, "past")).toEqual([])
    expect(spokenDates("I finish it in two weeks.", friday, "future")).toHaveLength(1)
  })
})

describe("the speaker's day", () => {
  it.each([
    ["2024-05-01T20:30:00-07:00", undefined, "2024-05-01"],
    ["2024-05-01T20:30:00-07:00", "Europe/Berlin", "2024-05-01"],
    ["2024-05-02T03:30:00Z", "America/Los_Angeles", "2024-05-01"],
    ["2024-05-02T03:30:00Z", undefined, "2024-05-02"],
    ["2025-12-31T21:00:00-05:00", undefined, "2025-12-31"],
    ["2024-05-01T23:30:00Z", "Asia/Tokyo", "2024-05-02"],
    ["soon", undefined, undefined],
    [undefined, "Asia/Tokyo", undefined]
  ])("of %s in %s is %s", (sentAt, timeZone, day) =>
    expect(sentAt && speakersDay(speakersTime(sentAt, timeZone))).toBe(day)
  )
})
