import { describe, expect, it } from "vitest"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import { readQuestion } from "@muniment/language/question/Question"
import { evidenceOf } from "./Worlds.ts"

const statements: ReadonlyArray<readonly [kind: string, data: object, text: string]> = [
  ["factual_memory", { subject: "Alice", fact: "Alice lives in Seattle" }, "Alice lives in Seattle."],
  ["factual_memory", { subject: "Alice", fact: "lives in Seattle." }, "Alice lives in Seattle."],
  ["factual_memory", { subject: "user", fact: "has a dog called Rex" }, "The user has a dog called Rex."],
  ["factual_memory", { subject: "user", fact: "I live in Leeds!" }, "I live in Leeds!"],
  ["factual_memory", { subject: "wifi", fact: "Password changes weekly" }, "wifi: Password changes weekly."],
  ["preference_memory", { subject: "Alice", preferenceType: "likes", preference: "tea" }, "Alice likes tea."],
  ["preference_memory", { subject: "user", preferenceType: "avoids", preference: "gluten" }, "The user avoids gluten."],
  [
    "temporal_event",
    { subject: "Alice", event: "visits Berlin", eventDate: "2026-05-03", participants: ["Bob"] },
    "Alice visits Berlin on 3 May 2026 with Bob."
  ],
  [
    "temporal_event",
    { event: "Alice meets Bob in Berlin", eventDate: "2026-05-03", location: "Berlin", participants: ["Bob", "Eve"] },
    "Alice meets Bob in Berlin on 3 May 2026 with Eve."
  ],
  [
    "temporal_event",
    { subject: "Alice", event: "dentist", eventDate: "2026-12-01T09:30:00Z", location: "Pine Street Dental" },
    "Alice: dentist at Pine Street Dental on 1 December 2026 at 09:30 UTC."
  ],
  [
    "temporal_event",
    { event: "Fair", eventDate: "2026-05-03", endDate: "2026-05-05", location: "Leeds" },
    "Fair in Leeds from 3 May 2026 to 5 May 2026."
  ],
  [
    "userPet",
    {
      name: "Rex",
      shoeSize: 4,
      isGood: true,
      isBad: false,
      bornOn: "2022-02-01",
      likes: ["ham", "balls"],
      vet: { city: "Leeds" }
    },
    "user pet: name Rex, shoe size 4, is good yes, born on 1 February 2022, likes ham and balls, vet city Leeds."
  ]
]

describe("readStatement", () => {
  it.each(statements)("reads %s %j as a sentence", (kind, data, text) => {
    expect(readStatement(evidenceOf("m", kind, data)).text).toBe(text)
  })

  it("gives a memory of another shape without failing", () => {
    for (const data of [
      {},
      { subject: 4, fact: ["x"] },
      { event: null, participants: "Bob" },
      { a: { b: { c: { d: { e: { f: 1 } } } } } }
    ]) {
      for (const kind of ["factual_memory", "preference_memory", "temporal_event", "other"]) {
        expect(typeof readStatement(evidenceOf("m", kind, data)).text).toBe("string")
      }
    }
  })

  it("stays on one line, without what nobody sees, and bounded", () => {
    const fact = `Alice\n# lives\u202e in\u0000 <b>Seattle</b>\u{e0041} ${"very ".repeat(1_000)}far`
    const { text } = readStatement(evidenceOf("m", "factual_memory", { subject: "Alice", fact }))
    expect(text.startsWith("Alice # lives in <b>Seattle</b> very")).toBe(true)
    expect(text.length).toBeLessThanOrEqual(1_201)
    expect(text.endsWith("…")).toBe(true)
  })
})

const questions: ReadonlyArray<readonly [question: string, type: string]> = [
  ["Where does Alice live?", "place"],
  ["Can you tell me where I parked?", "place"],
  ["In which city does she live?", "place"],
  ["When is the party?", "date"],
  ["What time is the call?", "date"],
  ["Who is my boss?", "person"],
  ["whose dog is Rex", "person"],
  ["How many cats do I have?", "amount"],
  ["How old is Rex?", "age"],
  ["How often does she run?", "frequency"],
  ["Why did he quit?", "reason"],
  ["Does Alice like tea?", "yesNo"],
  ["What does Alice do when it rains?", "thing"],
  ["tea preferences", "topic"]
]

describe("readQuestion", () => {
  it.each(questions)("reads what %j asks for: %s", (question, type) => {
    expect(readQuestion(question).part).toBe(type)
  })

  it("tells the asker from others, names from openings, what was from what is", () => {
    expect(readQuestion("Where do I live?").isOfAsker).toBe(true)
    expect(readQuestion("Where does Ina live?").isOfAsker).toBe(false)
    expect(readQuestion("Does Alice know Bob Smith in May?").names).toEqual([["alic"], ["bob", "smith"]])
    expect(readQuestion("Where did Alice live before?").isOfPast).toBe(true)
    expect(readQuestion("what does rex's owner eat").focus).toEqual(["owner"])
    expect(readQuestion("Where is the spare key?").focus).toEqual(["spare", "kei"])
    expect(readQuestion("What is the name of Anna's dog?").focus).toEqual(["dog"])
    expect(readQuestion("What do I not like?").liking).toBe("dislikes")
  })

  it("has terms for a question without telling words, and none for one without words", () => {
    expect(readQuestion("Who am I?").terms).toEqual(["name"])
    expect(readQuestion("?!").terms).toEqual([])
  })
})
