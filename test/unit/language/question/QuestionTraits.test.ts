import { describe, expect, it } from "vitest"
import { namedSpeaker, questionTraits } from "@muniment/language/question/QuestionTraits"

const at = { nowMillis: Date.parse("2024-06-12T15:00:00Z") }
const traits = (question: string) => questionTraits(question, at)

describe("questionTraits", () => {
  it.each(["Where do I live?", "what's my sister's name", "Where did we go?", "Where does the user work?"])(
    "%s is about the asker",
    (question) => expect(traits(question).isFirstPerson).toBe(true)
  )

  it.each([
    "What did you suggest for dinner?",
    "Which film have you recommended?",
    "What was your advice on the roof?"
  ])("%s is about what the assistant said", (question) => expect(traits(question).isOfAssistant).toBe(true))

  it.each(["Can you tell me where I live?", "What did Ann suggest?", "Will you remember it?"])(
    "%s is not about what the assistant said",
    (question) => expect(traits(question).isOfAssistant).toBe(false)
  )

  it("goes on with a talk where it begins with a statement, is several sentences and long", () => {
    const said = "I have looked at the schema again. The tags feel too basic for what comes. What would you change?"
    expect(traits(said).goesOnAt).toBe(at.nowMillis)
    expect(traits("Where does Mr. Brown live?").goesOnAt).toBeUndefined()
    expect(traits(said.replaceAll(". ", ", ")).goesOnAt).toBeUndefined()
    expect(traits(said.replace(".", "?")).goesOnAt).toBeUndefined()
  })

  it.each(["Where does Ann live?", "Tell me about Ann", "Remind me what Ann likes", "Who is in the US team?"])(
    "%s is not about the asker",
    (question) => expect(traits(question).isFirstPerson).toBe(false)
  )

  it.each([
    "Where does Ann live?",
    "What's her job?",
    "Is Ann married?",
    "the most recent address",
    "Where did Ann move most recently?",
    "Who looks after the dog?",
    "How many people come to the barbecue?",
    "Can I eat gluten?"
  ])("%s asks for the state of today", (question) => expect(traits(question).isPresent).toBe(true))

  it.each([
    "Where did Ann live?",
    "What is the first city she lived in?",
    "How many times has Ann moved?",
    "Where does Ann say she was?",
    "Who is the previous boss?",
    "What has she done in 2023?",
    "favourite colour",
    "Who painted the kitchen?",
    "Who won?",
    "Who cooks after the talk?"
  ])("%s does not", (question) => expect(traits(question).isPresent).toBe(false))

  it("names its ranges in the caller's time zone", () => {
    const { ranges } = questionTraits("What did I do yesterday?", { ...at, timeZone: "America/Los_Angeles" })
    expect(ranges).toEqual([{ from: Date.parse("2024-06-11T07:00:00Z"), to: Date.parse("2024-06-13T07:00:00Z") }])
  })
})

describe("namedSpeaker", () => {
  const speakers = ["Deborah", "Sam", "Samantha Jones", "Will"]
  it.each([
    ["What did Deborah cook?", "Deborah"],
    ["what does deborah cook", "Deborah"],
    ["What is Deborah's job?", "Deborah"],
    ["What did Deb cook?", "Deborah"],
    ["What did Samantha cook?", "Samantha Jones"],
    ["What did Sam cook?", "Sam"],
    ["Does Will cook?", "Will"]
  ])("%s names %s", (question, speaker) => expect(namedSpeaker(traits(question), speakers)).toBe(speaker))

  it.each(["What did Sam cook for Deborah?", "What will they cook?", "What about debts?", "What did Jones cook?", ""])(
    "%s names nobody, or several",
    (question) => expect(namedSpeaker(traits(question), speakers)).toBeUndefined()
  )
})
