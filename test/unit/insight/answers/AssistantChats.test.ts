/** Answers from a chat of one person with an assistant: whose words count, and which of several values. */
import { describe, expect, it } from "vitest"
import { extractiveAnswer } from "@muniment/insight/answers/ExtractiveAnswers"
import { answerParts, isHedged, isPlain } from "@muniment/language/question/AnswerPart"
import type { Evidence } from "@muniment/insight/answers/WrittenAnswer"

interface Said {
  readonly text: string
  readonly role?: string
  readonly sentAt?: string
  readonly relevance?: number
}

/** Best first; of relevances as the ranking gives them in such chats. */
const chat = (...said: ReadonlyArray<Said>): ReadonlyArray<Evidence> =>
  said.map(({ relevance, role = "user", sentAt = "2026-01-06T19:00:00Z", text }, at) => ({
    id: `m${at}`,
    kind: "conversation_message",
    data: { role, text, sentAt },
    when: sentAt,
    createdAt: 0,
    relevance: relevance ?? 0.3 / (at + 1)
  }))

const answered = (question: string, ...said: ReadonlyArray<Said>) => extractiveAnswer(question, chat(...said))

describe("a chat with an assistant", () => {
  it.each([
    ["How much is the rent?", "the rent is 1,250 a month, we still took it"],
    ["Who is driving the van?", "booked the van for half a day, my brother Owen is driving because I lost my licence"],
    ["Why did I cancel the pool?", "And I canceled the pool for the week, since I caught a cold from Mila."],
    ["How long is the contract?", "signed the contract at last. The contract runs for two years"],
    ["Where is the pottery studio?", "found a pottery studio in Brixley Lane, looks lovely"],
    ["Am I allowed to sublet my flat?", "I asked at last, I'm not allowed to sublet my flat before the autumn."]
  ])("answers %s from what the person says", (question, text) => {
    const { answer, grounded } = answered(question, { text, relevance: 0.7 }, { text: "ok thanks", relevance: 0.005 })
    expect(grounded).toBe(true)
    expect(answer).toContain(text)
  })

  it("takes no fact from what the assistant suggests", () => {
    const advice = { role: "assistant", text: "The rent is 1,250 a month in such a flat." }
    expect(answered("How much is the rent?", advice, { text: "ok thanks for that" }).grounded).toBe(false)
  })

  it("quotes the assistant when its own words are asked for", () => {
    const advice = { role: "assistant", text: "I would suggest the museum in Ghent because of the rain." }
    const { answer, grounded } = answered("Why did you suggest the museum in Ghent?", advice, { text: "ok thanks" })
    expect(grounded).toBe(true)
    expect(answer).toContain("Assistant")
  })

  it.each([
    ["I've just moved to Bergen.", "I quit nursing, I'm a teacher now.", true],
    ["I am now living in Bergen.", "I was fired last week.", true],
    ["I've just moved to Bergen.", "I quit Bergen, it rained too much.", false],
    ["I've just moved to Bergen.", "I moved out at last.", false]
  ])("says where somebody lives by %j, and then %j: %j", (text, later, isGrounded) => {
    const { answer, grounded } = answered(
      "Where do I live?",
      { text, sentAt: "2026-03-10T10:00:00Z" },
      { text: later, sentAt: "2026-03-13T10:00:00Z" }
    )
    expect(grounded).toBe(isGrounded)
    if (isGrounded) expect(answer).toContain(text)
  })

  it("quotes the newest value where it tells a change", () => {
    const { answer } = answered(
      "How much is the rent?",
      { text: "the rent is 1,180 a month, plus heating", sentAt: "2026-01-06T19:00:00Z" },
      { text: "Bad news. the rent is now 1,250 a month", sentAt: "2026-02-03T19:00:00Z" }
    )
    expect(answer).toContain("1,250")
    expect(answer).not.toContain("1,180")
  })

  it("quotes the newest value also where the older one was extracted from its message", () => {
    const [older, newer] = chat(
      { text: "dentist appointment on 6 May at 8:30", sentAt: "2026-04-15T19:00:00Z" },
      { text: "They moved my dentist appointment to 13 May, same time", sentAt: "2026-05-04T19:00:00Z" }
    )
    const event = { subject: "user", event: "Dentist appointment", eventDate: "2026-05-06T08:30:00Z" }
    const extracted = { id: "e", kind: "temporal_event", data: event, createdAt: 10, relevance: 0.5 }
    const { answer } = extractiveAnswer("When is my dentist appointment?", [extracted, older!, newer!])
    expect(answer).toContain("13 May")
  })

  it.each([
    ["How much is the rent?", "what is a good rent? 1,250?"],
    ["What is my mother's name?", "My mum is coming from Utrecht for two weeks, she's 71"],
    ["What is my girlfriend's job?", "I'm an electrician btw, so I need a boot that fits a ladder"],
    ["What is my girlfriend's name?", "it went to Stine's girlfriend Paula in the end"],
    ["Why did Mateo leave the harbour office?", "Mateo leaves the harbour office, he starts at a school for sailing"],
    ["Do I have travel insurance?", "Do I need travel insurance? I have none"],
    ["Did I buy a new desk?", "I'm selling my old desk, somebody offered 45 and I said fine"],
    ["What did my new camera cost?", "sold my old camera for 260 and I'm happy"],
    ["What brand are my shoes?", "Bought shoes right after, the wide ones because my feet are flat"],
    ["When is the trip?", "the trip is going to be so much fun"]
  ])("does not answer %s from %s", (question, text) => {
    expect(answered(question, { text }).grounded).toBe(false)
  })
})

describe("the plain form of a part", () => {
  const asked = { topic: [], counted: [] }

  it.each(answerParts.flatMap(({ name, plainly }) => (plainly === undefined ? [] : [[name, ...plainly] as const])))(
    "%s: %s",
    (part, example, counterexample) => {
      expect(isPlain(part, example, asked), example).toBe(true)
      expect(isPlain(part, counterexample, asked), counterexample).toBe(false)
    }
  )

  it("of a number is beside what is counted, of a name beside what is named", () => {
    expect(isPlain("amount", "It has 310 pages, due in 2 weeks.", { ...asked, counted: ["page"] })).toBe(true)
    expect(isPlain("amount", "It is due in 2 weeks.", { ...asked, counted: ["page"] })).toBe(false)
    expect(isPlain("name", "My sister Lotte makes soup.", { ...asked, topic: ["sister"] })).toBe(true)
    expect(isPlain("name", "My sister lives in Oslo.", { ...asked, topic: ["sister"] })).toBe(false)
  })

  it("of a name is of the one who is named, of an age no day, of a duration no price, of a place no day", () => {
    const gran = { ...asked, topic: ["gran"] }
    expect(isPlain("name", "Gran is home, with a helper called Oksana.", gran)).toBe(false)
    expect(isPlain("name", "My gran is a woman called Oksana.", gran)).toBe(true)
    expect(isPlain("age", "The return is 30 October now.", asked)).toBe(false)
    expect(isPlain("duration", "It is 61 a month.", asked)).toBe(false)
    expect(isPlain("place", "We moved pottery to Wednesdays.", asked)).toBe(false)
  })

  it("is hedged by its words", () => {
    expect(isHedged("Maybe on 6 May.")).toBe(true)
    expect(isHedged("It is on 6 May.")).toBe(false)
  })
})
