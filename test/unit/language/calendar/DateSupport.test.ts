import { describe, expect, it } from "vitest"
import { datesInText } from "@muniment/language/calendar/CalendarWords"
import { makeDateSupport } from "@muniment/language/calendar/DateSupport"

const dates = makeDateSupport()
/** A Saturday. */
const today = "2026-11-21"

describe("a day that a text tells", () => {
  it.each([
    ["2026-11-22", "I fly to Oslo tomorrow."],
    ["2026-11-20", "We met yesterday."],
    ["2026-11-24", "The exam is on Tuesday."],
    ["2026-11-28", "See you next Saturday!"],
    ["2026-12-05", "My sister comes in two weeks."],
    ["2026-11-18", "I quit three days ago."],
    ["2026-12-01", "We move next month."],
    ["2026-12-24", "At Christmas we go to Bergen."],
    ["2027-05-03", "The wedding is on 3 May."],
    ["2027-05-03", "The wedding is on May 3rd, 2027."],
    ["2019-01-01", "I have lived here since 2019."],
    ["2026-05-03", "It was 3/5/2026."],
    ["2026-11-22", "Mañana vuelo a Oslo."],
    ["2026-11-23", "Pasado mañana tengo examen."],
    ["2026-11-24", "Am Dienstag habe ich frei."],
    ["2027-05-03", "結婚式は5月3日です。"],
    ["2026-11-22", "Завтра лечу в Осло."]
  ])("%s in %j", (day, text) => expect(dates.isTold(day, text, today)).toBe(true))
})

describe("a day that a text does not tell", () => {
  it.each([
    ["2031-01-01", "I live in Seattle."],
    ["2026-11-23", "I fly to Oslo tomorrow."],
    ["2026-11-25", "The exam is on Tuesday."],
    ["2028-05-03", "The wedding is on 3 May 2027."],
    ["2026-02-31", "It was on 31 February."],
    ["2027-06-11", "I have 11 cats."]
  ])("%s in %j", (day, text) => expect(dates.isTold(day, text, today)).toBe(false))
})

describe("the dates of a text", () => {
  it("are taken out of it in every form that models write", () => {
    expect(datesInText("Alice flew on 2026-05-03T10:00:00Z and back on May 9th, 2026", 2026)).toEqual({
      dates: [["2026-05-03"], ["2026-05-09"]],
      rest: "Alice flew on   and back on  "
    })
  })

  it("may be of this year or of a neighbour when they have none", () => {
    expect(datesInText("on 3 May", 2026).dates).toEqual([["2025-05-03", "2026-05-03", "2027-05-03"]])
  })
})
