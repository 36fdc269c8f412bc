/** A new value in a few words, within a talk about the matter (contract: Search, `newerFirst`). */
import { describe, expect, it } from "vitest"
import { replyOdds, type SaidBefore } from "@muniment/engine/ranking/ReplyInThread"

const asks = (text: string, cosine: number | undefined = 0.86): SaidBefore => ({ text, isByOther: true, cosine })

const odds = (question: string, older: string, text: string, ...before: ReadonlyArray<SaidBefore>): number =>
  replyOdds(question, older, text, before, 2)

const rent = "How much is my rent?"
const olderRent = "I pay 980 a month for the flat, bills not included."

describe("replyOdds", () => {
  it.each([
    [rent, olderRent, "It's 1,050 now.", "Shall we go over the flat again? I have 980."],
    [
      "When is the team dinner?",
      "The team dinner is on Thursday.",
      "yes, we pushed it to Friday",
      "Anything to move for the team dinner?"
    ],
    ["How many tickets do I need?", "I need four tickets.", "actually make that two", "Four tickets, is that right?"],
    [
      "Who is the best man?",
      "Leo is going to be the best man.",
      "I asked my brother, he said yes.",
      "Who will be best man then?"
    ],
    [
      "What is the code of the door?",
      "The code of the door is 4471.",
      "No, it's 9025.",
      "Is the code of the door still 4471?"
    ],
    [
      "What does the dog eat?",
      "My dog gets chicken.",
      "better not! he's on salmon",
      "Should I bring chicken for the dog?"
    ]
  ])("%s: takes it for the newer state", (question, older, text, before) => {
    expect(odds(question, older, text, asks(before))).toBeGreaterThan(0)
  })

  it("needs a talk about the matter", () => {
    expect(odds(rent, olderRent, "It's 1,050 now.")).toBe(-Infinity)
    expect(odds(rent, olderRent, "It's 1,050 now.", asks("How many bottles did you buy?", 0.74))).toBe(-Infinity)
    expect(
      odds(rent, olderRent, "It's 1,050 now.", { ...asks("How many bottles did you buy?"), cosine: undefined })
    ).toBe(-Infinity)
  })

  it("needs the sort of value that is asked for, in the same unit", () => {
    const talk = asks("Shall we go over the flat again?")
    expect(odds(rent, olderRent, "It's fine, don't worry.", talk)).toBe(-Infinity)
    expect(odds("How old is my cat?", "My cat is 11.", "No, 240 euros, ouch.", asks("Is your cat at the vet?"))).toBe(
      -Infinity
    )
    expect(odds("What does the rent cost in euros?", "980 euros", "No, it's on Friday at 12.", talk)).toBe(-Infinity)
  })

  it.each([
    ["another person's", "It's 1,150 for her.", "How much is the flat?"],
    ["another person's in the talk before", "It's 1,150.", "My sister found a flat."],
    ["a wish", "It would be 1,150 if we stayed.", "Will the flat get dearer?"],
    ["a question", "It's 1,150 now?", "How much is the flat?"]
  ])("leaves out what is %s", (_, text, before) => {
    expect(odds(rent, olderRent, text, { text: before, isByOther: before.endsWith("?"), cosine: 0.86 })).toBe(-Infinity)
  })

  it("leaves out another time of day, and long messages, which say themselves what they are about", () => {
    const question = "What do I drink in the morning?"
    const talk = asks("Should I buy coffee?")
    const older = "I have two coffees in the morning."
    expect(odds(question, older, "No, I stopped after 2 weeks.", talk)).toBeGreaterThan(0)
    expect(odds(question, older, "No, in the evening I switched to 2 teas.", talk)).toBe(-Infinity)
    expect(odds(rent, olderRent, `It's 1,050 now. ${"and so on ".repeat(6)}`, asks("How much is the flat?"))).toBe(
      -Infinity
    )
  })
})
