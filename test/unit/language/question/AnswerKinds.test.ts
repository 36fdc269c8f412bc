/** What kind of thing a text holds, and what kind a question asks for. */
import { describe, expect, it } from "vitest"
import { answerKinds, kindAsked, kindsIn } from "@muniment/language/question/QuestionTraits"

const { date, name, number, place, reason } = answerKinds

describe("a text", () => {
  it.each([
    ["we met yesterday", date],
    ["we met last month", date],
    ["it was back in 1998", date | number],
    ["come at 7 pm", date | number],
    ["I have two cats", number],
    ["it is on the shelf", place],
    ["we stayed near Rome", place | name],
    ["ask Ann about it", name],
    ["I left because it rained", reason],
    ["a red bicycle", 0],
    ["", 0]
  ])("%j holds its kinds", (text, kinds) => expect(kindsIn(text)).toBe(kinds))
})

describe("a question", () => {
  it.each([
    ["when did ann leave?", date],
    ["what year was it?", date],
    ["how many cats are there?", number],
    ["where does ann work?", place],
    ["who feeds the cats?", name],
    ["what is the cat called?", name],
    ["why did ann leave?", reason],
    ["what does ann like?", 0],
    ["somewhere over the rainbow", 0]
  ])("%j asks for its kind", (question, kind) => expect(kindAsked(question)).toBe(kind))
})
