/** What of a candidate the shown text supports: numbers in the form that either side writes them. */
import { describe, expect, it } from "vitest"
import { inventedWord, makeShownText } from "@muniment/insight/prompts/Support"

const invented = (text: string, shown: string) => inventedWord([{ property: "fact", text }], makeShownText([shown]))

describe("a number", () => {
  it.each([
    ["the rent is 1,250 a month", "We pay 1,250 for the flat, every month."],
    ["the rent is 1250 a month", "We pay 1,250 for the flat, every month."],
    ["the rent is 1,250 a month", "We pay 1250 for the flat, every month."],
    ["the house cost 1,250,000", "It was 1,250,000 in the end."],
    ["has 1, 2 or 3 cats", "I have 1 cat, maybe 2, never 3."],
    ["has three cats", "There are 3 cats."]
  ])("is supported: %s", (text, shown) => expect(invented(text, shown)).toBeUndefined())

  it.each([
    ["the rent is 1,250 a month", "We pay 250 for the flat, and 1 for the bin.", "1,250"],
    ["the rent is 250 a month", "We pay 1,250 for the flat.", "250"],
    ["the rent is 1,350 a month", "We pay 1,250 for the flat.", "1,350"]
  ])("is invented: %s, of: %s", (text, shown, word) => expect(invented(text, shown)).toBe(word))
})
