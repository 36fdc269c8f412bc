/** Every row of the tables that answers are read by, on its own example and counterexample. */
import { describe, expect, it } from "vitest"
import { tokenize } from "@muniment/language/text/Tokenizer"
import { answerParts, hasPart, partAsked } from "@muniment/language/question/AnswerPart"
import { openFormOf, openForms } from "@muniment/language/question/Question"
import { endsOtherSlot, slotAsked, slotForms, slotStated } from "@muniment/language/question/SlotValue"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import { evidenceOf } from "./Worlds.ts"

describe("each part of an answer", () => {
  const held = (text: string) => ({ text, subject: undefined, date: undefined, location: undefined, participants: [] })

  it.each(answerParts)("$name is asked for and recognised", ({ counterexample, example, name, question }) => {
    const asked = new Set(tokenize(question))
    expect(partAsked(question.toLowerCase())).toBe(name)
    expect(hasPart(name, held(example), asked), example).toBe(true)
    if (counterexample !== undefined) expect(hasPart(name, held(counterexample), asked), counterexample).toBe(false)
  })

  it("is also a day of the month and a short unit", () => {
    expect(hasPart("date", held("studio moved it, im starting on the 16th now"), new Set())).toBe(true)
    expect(hasPart("date", held("my start date is 9 march btw"), new Set())).toBe(true)
    expect(hasPart("duration", held("40 min by train"), new Set())).toBe(true)
    expect(partAsked("do i have a waiting list?")).toBe("yesNo")
  })

  it("is not what the question itself names", () => {
    expect(hasPart("name", held("My dog Rex is a greyhound."), new Set(tokenize("name of Rex the dog")))).toBe(false)
    expect(hasPart("place", held("I live in Oslo."), new Set(tokenize("where in Oslo")))).toBe(false)
  })

  it("is no name that somebody is called by in passing", () => {
    for (const text of ["Hey Nate, it was great.", "Thanks, Gina! It was great.", "Long walks are great."]) {
      expect(hasPart("name", held(text), new Set()), text).toBe(false)
    }
    expect(hasPart("name", held("Max is a good dog."), new Set())).toBe(true)
  })
})

describe("each form of a question without one answer", () => {
  it.each(openForms)("$form: $example", ({ counterexample, example, form }) => {
    expect(openFormOf(example)).toBe(form)
    expect(openFormOf(counterexample)).toBeUndefined()
  })
})

describe("each slot", () => {
  const stated = (text: string) => {
    const memory = evidenceOf("a", "factual_memory", { subject: "Ann", fact: text })
    return slotStated(memory, readStatement(memory), text)
  }

  it.each(slotForms)("$slot is asked for and stated", ({ counterexample, example, question, slot }) => {
    expect(slotAsked(question, ["ann"])).toBe(slot)
    expect(stated(example)).toBe(slot)
    expect(stated(counterexample)).not.toBe(slot)
  })

  it("is left as it is by verbs that end another one", () => {
    for (const text of ["I quit nursing", "just retired", "I got laid off"]) {
      expect(
        ["workplace", "occupation"].filter((slot) => endsOtherSlot(slot, text)),
        text
      ).toEqual([])
      expect(endsOtherSlot("home", text), text).toBe(true)
    }
    expect(endsOtherSlot("home", "I quit Lisbon")).toBe(false)
    expect(endsOtherSlot("home", "we moved out")).toBe(false)
  })

  it("of any other attribute is named by it", () => {
    expect(slotAsked("what is ann's favourite colour?", tokenize("ann"))).toBe(stated("Ann's favorite color is teal"))
    expect(slotAsked("what is ann's sister?", tokenize("ann"))).toBeUndefined()
  })
})
