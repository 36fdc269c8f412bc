import { describe, expect, it } from "vitest"
import { extractiveAnswer } from "@muniment/insight/answers/ExtractiveAnswers"
import { QUOTE_LENGTH_MAX, quotedSentence } from "@muniment/insight/answers/Quote"
import { type Evidence, nothingKnown } from "@muniment/insight/answers/WrittenAnswer"
import { tokenize } from "@muniment/language/text/Tokenizer"

interface Said {
  readonly on?: string
  readonly relevance?: number
  readonly role?: string
}

const message = (
  name: string | undefined,
  text: string,
  { on = "2024-01-02", relevance = 0.8, role = "user" }: Said = {}
) =>
  ({
    id: `${name}: ${text}`.slice(0, 40),
    kind: "conversation_message",
    data: { role, text, sentAt: `${on}T10:00:00Z`, ...(name === undefined ? {} : { name }) },
    when: `${on}T10:00:00Z`,
    createdAt: 0,
    relevance
  }) satisfies Evidence
/** A search returns more than what answers. */
const others = [
  message("Melanie", "That is good to hear, tell me more!", { relevance: 0.02 }),
  message("Caroline", "Sure, see you then.", { relevance: 0.01 })
]
const answer = (question: string, ...evidence: ReadonlyArray<Evidence>) =>
  extractiveAnswer(question, [...evidence, ...others])

describe("an answer from messages", () => {
  it("quotes the message with its speaker and date", () => {
    const said = message("Caroline", "My favourite dish is the lasagne that my aunt makes on Sundays.")
    expect(answer("What is Caroline's favourite dish?", said)).toEqual({
      answer: `Caroline (2 January 2024): "My favourite dish is the lasagne that my aunt makes on Sundays."`,
      citations: [said.id],
      grounded: true,
      method: "extractive"
    })
  })

  it("lets what one user without a name said later replace nothing that another said", () => {
    const of = (owner: string, said: Evidence): Evidence => ({ ...said, id: `${owner} ${said.id}`, owner })
    const hers = of("mara", message(undefined, "I live in Porto, close to the river.", { on: "2024-01-02" }))
    const his = of("kenji", message(undefined, "I live in Graz now.", { on: "2024-03-04", relevance: 0.02 }))
    expect(answer("Where do I live?", hers, his).citations).toEqual([hers.id])
    const later = of("mara", message(undefined, "I live in Lyon now.", { on: "2024-03-05", relevance: 0.7 }))
    expect(answer("Where do I live?", hers, his, later).citations).toEqual([later.id])
  })

  it("begins with the date that the words give when asked when; the day it was said is none", () => {
    const when = "When did Caroline go to the support group?"
    const yesterday = message("Caroline", "I went to a support group for painters yesterday and it was powerful.")
    expect(answer(when, yesterday).answer).toBe(
      `1 January 2024. Caroline (2 January 2024): "I went to a support group for painters yesterday [= 1 January 2024] and it was powerful."`
    )
    const plain = message("Caroline", "I just went to that support group for painters and it was powerful.", {
      relevance: 0.95
    })
    expect(answer(when, plain).grounded).toBe(false)
  })

  it("is not what was still to come when it is asked when something was done", () => {
    const said = message("Caroline", "I am going to the support group for painters next Sunday.", { relevance: 0.99 })
    expect(answer("When did Caroline go to the support group?", said).grounded).toBe(false)
    expect(answer("When is Caroline going to the support group?", said).answer).toMatch(/^14 January 2024\. Caroline/)
  })

  it("never has the words of another speaker than the one who was named", () => {
    const said = message("Melanie", "I went to a support group yesterday and it was powerful.", { relevance: 0.99 })
    expect(answer("When did Caroline go to the support group?", said).grounded).toBe(false)
    expect(answer("when did caroline go to the support group?", said).grounded).toBe(false)
    expect(answer("When did Melanie go to the support group?", said).grounded).toBe(true)
  })

  it("is never grounded without the part that was asked", () => {
    const said = message("Caroline", "I adopted a puppy and I am so happy about it!", { relevance: 0.99 })
    for (const question of [
      "What is the name of Caroline's puppy?",
      "How long has Caroline had the puppy?",
      "How much did Caroline pay for the puppy?",
      "Why did Caroline adopt a puppy?",
      "How often does Caroline walk the puppy?",
      "When did Caroline adopt a puppy in 2019?"
    ]) {
      expect(answer(question, said), question).toMatchObject({ answer: nothingKnown, grounded: false, citations: [] })
    }
    const full = message("Caroline", "I adopted a puppy named Coco because I was lonely, for 300 dollars!", {
      relevance: 0.99
    })
    for (const question of ["What is the name of Caroline's puppy?", "Why did Caroline adopt a puppy?"]) {
      expect(answer(question, full).grounded, question).toBe(true)
    }
  })

  it("says nothing to lists, counts of what happened, what would be, and summaries", () => {
    const said = message("Caroline", "I love pottery, camping and swimming with my kids in July.", { relevance: 0.99 })
    for (const question of [
      "What activities does Caroline love?",
      "How many times has Caroline been swimming?",
      "What would Caroline do in July?",
      "How has Caroline's life changed?"
    ]) {
      expect(answer(question, said).grounded, question).toBe(false)
    }
    expect(answer("What does Caroline love to do in July?", said).grounded).toBe(true)
  })

  it("does not answer with a question, nor when nothing is near enough", () => {
    const asks = message("Caroline", "Have you ever been to the pottery class?", { relevance: 0.5 })
    expect(answer("When did Caroline go to the pottery class?", asks).grounded).toBe(false)
    const far = message("Caroline", "The pottery class is on Main Street.", { relevance: 0.05 })
    expect(answer("When did Caroline go to the pottery class?", far).grounded).toBe(false)
  })

  it("has the newest value of a slot, and the older one when asked for the past", () => {
    const oslo = message("Ann", "I live in Oslo with two cats.", { on: "2023-03-01", relevance: 0.8 })
    const porto = message("Ann", "Big news, I moved to Porto!", { on: "2024-01-01", relevance: 0.2 })
    expect(answer("Where does Ann live?", oslo, porto).citations).toEqual([porto.id])
    expect(answer("Where did Ann live before?", oslo, porto).citations).toEqual([oslo.id])
  })

  it("has the value of a past time that is named, by what was said until then or tells of it", () => {
    const oslo = message("Ann", "I live in Oslo with two cats.", { on: "2026-01-12" })
    const porto = message("Ann", "I moved to Porto last week.", { on: "2026-03-20", relevance: 0.7 })
    const kiel = message("Ann", "I moved to Kiel yesterday.", { on: "2026-06-02", relevance: 0.9 })
    const lived = (time: string, ...said: ReadonlyArray<Evidence>) =>
      extractiveAnswer(`Where did Ann live ${time}?`, [...said, ...others], {
        nowMillis: Date.parse("2026-11-30T00:00:00Z"),
        timeZone: "Europe/Lisbon"
      }).citations
    const all = [oslo, porto, kiel]
    expect(lived("in January", ...all)).toEqual([oslo.id])
    expect(lived("in March", ...all)).toEqual([porto.id])
    expect(lived("in March 2026", ...all)).toEqual([porto.id])
    expect(lived("in September", ...all)).toEqual([kiel.id])
    expect(lived("in March", kiel)).toEqual([])
    expect(lived("in January", message("Ann", "I moved to Graz in January 2026.", { on: "2026-06-02" }))).toHaveLength(
      1
    )
  })

  it("takes the asker for the user, and an unknown name for nobody's", () => {
    const said = message(undefined, "I live in Oslo and teach ceramics.")
    expect(answer("Where do I live?", said).answer).toBe('User (2 January 2024): "I live in Oslo and teach ceramics."')
    expect(answer("Where does Bob live?", said).grounded).toBe(false)
    expect(answer("Where does Bob live?", said, message(undefined, "My name is Bob.")).grounded).toBe(true)
    const assistant = message(undefined, "I live in Oslo and teach ceramics.", { role: "assistant" })
    expect(answer("Where do I live?", assistant).grounded).toBe(false)
  })
})

describe("the quote of a long message", () => {
  const filler = "Nothing of note happened in the long and quiet days that came before all of this. ".repeat(8)
  const terms = new Set(tokenize("gate code cellar"))

  it("is the two adjacent sentences that hold most words of the question", () => {
    const text = `${filler}The gate is green. The code of the cellar is 4711. Its gate is open. ${filler}`
    expect(quotedSentence(text, terms)).toBe("The gate is green. The code of the cellar is 4711.")
  })

  it("is taken from the passage that was found", () => {
    const text = `The code of the cellar is 4711. ${filler}The code of the attic is 1234.`
    const start = text.indexOf("The code of the attic")
    const found = { ...message("Ann", text), passage: { start, end: text.length } }
    expect(answer("What does Ann say the code of the attic is?", found).answer).toContain(
      '"The code of the attic is 1234."'
    )
  })

  it("is all of a short one, and bounded in any case", () => {
    expect(quotedSentence("The code is 4711. Fine.", terms)).toBe("The code is 4711. Fine.")
    expect(quotedSentence(`gate ${"code ".repeat(900)}`, terms).length).toBeLessThanOrEqual(QUOTE_LENGTH_MAX)
  })
})
