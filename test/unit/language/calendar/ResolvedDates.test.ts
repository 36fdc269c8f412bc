import { describe, expect, it } from "vitest"
import fc from "fast-check"
import { onlyResolvedDate, resolvedDates, withResolvedDates } from "@muniment/language/calendar/ResolvedDates"

/** A Thursday. */
const said = "2024-01-18T22:30:00Z"

describe("a relative date", () => {
  it.each([
    ["today", "18 January 2024"],
    ["last night", "17 January 2024"],
    ["yesterday", "17 January 2024"],
    ["the day before yesterday", "16 January 2024"],
    ["tomorrow", "19 January 2024"],
    ["three days ago", "15 January 2024"],
    ["in 10 days", "28 January 2024"],
    ["last Friday", "12 January 2024"],
    ["next Thursday", "25 January 2024"],
    ["last weekend", "the weekend of 13 January 2024"],
    ["next weekend", "the weekend of 27 January 2024"],
    ["last week", "the week of 8 January 2024"],
    ["two weeks ago", "the week of 1 January 2024"],
    ["next month", "February 2024"],
    ["a month ago", "December 2023"],
    ["last year", "2023"],
    ["seven years ago", "2017"],
    ["last summer", "summer 2023"],
    ["next winter", "winter 2024"]
  ])("%s is %s", (words, resolved) => {
    expect(resolvedDates(`We met ${words}.`, said).map((date) => date.resolved)).toEqual([resolved])
  })

  it("is added behind its words, which stay as they were said", () => {
    expect(withResolvedDates("I ran yesterday and swim tomorrow.", said)).toBe(
      "I ran yesterday [= 17 January 2024] and swim tomorrow [= 19 January 2024]."
    )
  })

  it("is not resolved without the day it was said, and changes nothing else of any text", () => {
    expect(withResolvedDates("I ran yesterday.", undefined)).toBe("I ran yesterday.")
    expect(withResolvedDates("I ran yesterday.", "soon")).toBe("I ran yesterday.")
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.constantFrom("yesterday", "", "in 3 days"), (text, words) => {
        expect(withResolvedDates(text + words, said).replaceAll(/ \[= [^\]]*\]/g, "")).toBe(
          (text + words).replaceAll(/ \[= [^\]]*\]/g, "")
        )
      })
    )
  })

  it("is the date of a text only when the text leaves no choice", () => {
    expect(onlyResolvedDate("I ran yesterday.", said)).toBe("17 January 2024")
    expect(onlyResolvedDate("I ran yesterday and today.", said)).toBeUndefined()
    expect(onlyResolvedDate("I ran yesterday, not on 3 May 2023.", said)).toBeUndefined()
    expect(onlyResolvedDate("I ran.", said)).toBeUndefined()
  })
})
