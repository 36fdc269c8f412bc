/** Times in questions (contract: Search, "Times in the query"). Now is Wednesday, 12 June 2024, 15:00 UTC. */
import { describe, expect, it } from "vitest"
import { DATED_TEXT_LENGTH_MAX, questionDates, RANGES_MAX } from "@muniment/language/calendar/QuestionDates"

const nowMillis = Date.parse("2024-06-12T15:00:00Z")
const dayOf = (millis: number): string => (Number.isFinite(millis) ? new Date(millis).toISOString().slice(0, 10) : "")
/** `first day..day after the last one`; an open side is empty. */
const ranges = (question: string): ReadonlyArray<string> =>
  questionDates(question, { nowMillis }).map(({ from, to }) => `${dayOf(from)}..${dayOf(to)}`)

describe("questionDates", () => {
  it.each([
    ["What did Ann do yesterday?", "2024-06-11..2024-06-13"],
    ["What did I say today?", "2024-06-12..2024-06-14"],
    ["What happened last week?", "2024-06-03..2024-06-11"],
    ["What did they cook last weekend?", "2024-06-08..2024-06-11"],
    ["What did Ann buy last month?", "2024-05-01..2024-06-04"],
    ["What did Ann buy this month?", "2024-06-01..2024-07-04"],
    ["Which trips were there in the last month?", "2024-05-12..2024-06-13"],
    ["What did we plan in the past three months?", "2024-03-12..2024-06-13"],
    ["What did Ann mention two weeks ago?", "2024-05-26..2024-06-03"],
    ["What has Ann read recently?", "2024-05-13..2024-06-13"],
    ["Whom did Ann meet on Monday?", "2024-06-10..2024-06-12"],
    ["Whom did Ann meet on Friday?", "2024-06-07..2024-06-09"],
    ["Whom does Ann meet next Monday?", "2024-06-17..2024-06-19"]
  ])("%s counts from now", (question, expected) => expect(ranges(question)).toEqual([expected]))

  it.each([
    ["What did Ann paint in 2023?", "2023-01-01..2024-01-04"],
    ["What did Ann paint in May?", "2024-05-01..2024-06-04"],
    ["What did Ann paint in December?", "2023-12-01..2024-01-04"],
    ["What did Ann paint in may 2023?", "2023-05-01..2023-06-04"],
    ["What did Ann paint on 8 May, 2023?", "2023-05-08..2023-05-10"],
    ["What did Ann paint on May 8?", "2024-05-08..2024-05-10"],
    ["What did Ann paint on 2023-05-08?", "2023-05-08..2023-05-10"],
    ["What did Ann paint on 8.5.2023?", "2023-05-08..2023-05-10"],
    ["What did Ann paint on 11/22/1963?", "1963-11-22..1963-11-24"],
    ["What did Ann paint from 3 to 5 May 2023?", "2023-05-03..2023-05-07"],
    ["What did Ann paint last summer?", "2023-06-01..2023-09-04"],
    ["What did Ann paint in the summer of 2022?", "2022-06-01..2022-09-04"],
    ["What did Ann paint in winter?", "2023-12-01..2024-03-04"]
  ])("%s names a day or a period", (question, expected) => expect(ranges(question)).toEqual([expected]))

  it.each([
    ["What did Ann paint in the first week of 2024?", "2024-01-01..2024-01-09"],
    ["What did Ann paint in the last week of May?", "2024-05-25..2024-06-02"],
    ["What did Ann paint on the second weekend of December?", "2023-12-09..2023-12-12"],
    ["What did Ann paint on the last weekend of May 2023?", "2023-05-27..2023-05-30"],
    ["What did Ann paint in the second half of the year 2023?", "2023-07-02..2024-01-02"],
    ["What did Ann paint in the first week of school?", ""]
  ])("%s names a part of a month or a year", (question, expected) => expect(ranges(question).join()).toBe(expected))

  it.each([
    ["What did Ann do on New Year's Eve?", "2023-12-31..2024-01-02"],
    ["What did Ann do on New Year\u2019s Day 2023?", "2023-01-01..2023-01-03"],
    ["What did Ann do at Christmas?", "2023-12-25..2023-12-28"],
    ["What did Ann do on Christmas Eve of 2021?", "2021-12-24..2021-12-26"],
    ["What did Ann do before Halloween?", "..2023-10-31"]
  ])("%s names a feast", (question, expected) => expect(ranges(question)).toEqual([expected]))

  it.each([
    ["Where did Ann live before January 4th?", "..2024-01-04"],
    ["Where did Ann live before January the 4th?", "..2024-01-04"],
    ["Where did Ann live before June?", "..2024-06-01"],
    ["Where did Ann live until 2023?", "..2023-01-01"],
    ["Where has Ann worked since March?", "2024-03-01.."],
    ["Where did Ann work after 3 January 2023?", "2023-01-04.."],
    ["What did Ann do the week before 9 June 2023?", "2023-06-02..2023-06-10"],
    ["What did Ann do between May 3 and May 10?", "2024-05-03..2024-05-12"],
    ["What did Ann do from 2021 to 2023?", "2021-01-01..2024-01-04"]
  ])("%s opens or joins ranges", (question, expected) => expect(ranges(question)).toEqual([expected]))

  it.each(["What does Ann do on Mondays?", "Who swims on Saturday mornings?"])("%s names no day", (question) =>
    expect(ranges(question)).toEqual([])
  )

  it("gives both months the year that is named once", () => {
    expect(ranges("What changed during June and July 2022?")).toEqual([
      "2022-06-01..2022-07-04",
      "2022-07-01..2022-08-04"
    ])
  })

  it.each([
    "What is 42?",
    "Who won 2023?",
    "May I bring a dog?",
    "How far is the sun?",
    "What does mon mean?",
    "Did Ann read 11/22/63?",
    "What is due on 5/6/2023?",
    "Did Ann fall in love?",
    "What does Ann do every Monday?",
    "How long did Ann live there for two years?",
    "Which version is 2.10.3?",
    "Where does Ann live?"
  ])("%s names no time", (question) => expect(ranges(question)).toEqual([]))

  it("takes days from the caller's time zone, also across a change of clocks", () => {
    const [inTokyo] = questionDates("today", { nowMillis: Date.parse("2024-06-12T23:30:00Z"), timeZone: "Asia/Tokyo" })
    expect(new Date(inTokyo!.from).toISOString()).toBe("2024-06-12T15:00:00.000Z")
    const [march] = questionDates("in March 2024", { nowMillis, timeZone: "America/New_York" })
    expect(new Date(march!.from).toISOString()).toBe("2024-03-01T05:00:00.000Z")
    expect(new Date(march!.to).toISOString()).toBe("2024-04-04T04:00:00.000Z")
  })

  it("is bounded: by ranges, and by the text it reads", () => {
    expect(questionDates("3 May 2023, ".repeat(30), { nowMillis })).toHaveLength(RANGES_MAX)
    expect(questionDates(`${"x".repeat(DATED_TEXT_LENGTH_MAX)} yesterday`, { nowMillis })).toEqual([])
  })
})
