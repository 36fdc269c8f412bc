/** What a correction makes of what was said before it, in one request and over two. */
import { describe, expect, it } from "@effect/vitest"
import { correctionsIn } from "@muniment/insight/rules/Corrections"
import { correctionForms } from "@muniment/insight/rules/lexicon/corrections"
import { writtenOut } from "@muniment/language/speech/WrittenOut"
import { brief, briefs, read, said } from "./reading.ts"

describe("forms of corrections", () => {
  for (const { counterexample, example, type } of correctionForms) {
    it(`are known: ${example}`, () => {
      const types = (text: string) => correctionsIn(writtenOut(text)).map((correction) => correction.type)
      expect(types(example)).toContain(type)
      expect(briefs("I have a dentist appointment on 9 March.", counterexample)).toContain(
        "user @ 2026-03-09: The user has a dentist appointment"
      )
    })
  }
})

/** The second message corrects the first: the one memory that is left. */
const corrected: ReadonlyArray<readonly [string, string, string]> = [
  ["I live in Lisbon.", "Actually, Porto.", "user: The user lives in Porto"],
  ["I live in Lisbon.", "Sorry, I meant Porto.", "user: The user lives in Porto"],
  ["I live in Lisbon.", "Porto, not Lisbon.", "user: The user lives in Porto"],
  ["My dog is called Rex.", "no wait, not Rex but Max", "user: The user's dog is called Max"],
  ["My budget is 300 euros.", "scratch that, 350", "user: The user's budget is 350 euros"],
  [
    "The wedding is on 18 July in Napier.",
    "The wedding isn't in Napier but in Hastings.",
    "user @ 2026-07-18: The wedding is in Hastings"
  ],
  [
    "I have a dentist appointment on 9 March.",
    "I meant the 12th.",
    "user @ 2026-03-12: The user has a dentist appointment"
  ],
  [
    "I have a dentist appointment on 9 March.",
    "the appointment got moved to the 16th",
    "user @ 2026-03-16: The user has a dentist appointment"
  ],
  [
    "I have a wrist scan on 9 March.",
    "but the scan got moved forward to 5 March which is good",
    "user @ 2026-03-05: The user has a wrist scan"
  ],
  [
    "My exam in statistics is on 23 March.",
    "They postponed the exam to 30 March!",
    "user @ 2026-03-30: The user's exam in statistics"
  ],
  [
    "I'm flying to Oslo on 20 March.",
    "I'm not flying to Oslo anymore.",
    "user @ no date: Cancelled: The user is flying to Oslo"
  ],
  [
    "I have a job interview on 20 March.",
    "The interview is cancelled.",
    "user @ no date: Cancelled: The user has a job interview"
  ]
]

describe("a correction", () => {
  for (const [first, second, left] of corrected) {
    it(`takes the place of what it corrects: ${second}`, () => expect(briefs(first, second)).toEqual([left]))

    it(`of an earlier request keeps its slot: ${second}`, () => {
      const before = read({ messages: said(first) })
      const after = read({ messages: said(second), context: said(first), summary: before.summary })
      expect(after.candidates.map(brief)).toEqual([left])
      expect(after.candidates[0]?.slot).toEqual(before.candidates[0]?.slot)
    })
  }

  it("of nothing that was said makes no memory", () => {
    for (const text of [
      "Actually, Porto.",
      "The 12th, not the 9th.",
      "It's been postponed to Friday.",
      "Not Rex but Max."
    ]) {
      expect(briefs(text)).toEqual([])
    }
  })

  it("does not reach what another person said", () => {
    const messages = [
      { role: "user", name: "Ines", content: "I live in Lisbon." },
      { role: "user", name: "Tomas", content: "Actually, Porto." }
    ] as const
    expect(read({ messages }).candidates.map(brief)).toEqual(["Ines: Ines lives in Lisbon"])
  })

  it("of an earlier request is of whom it names, not of the other person", () => {
    const context = [
      { role: "user", name: "Ines", content: "I live in Lisbon." },
      { role: "user", name: "Tomas", content: "I live in Lagos." }
    ] as const
    const correcting = (name: string) =>
      read({ context, messages: [{ role: "user", name, content: "Actually, Porto." }] }).candidates.map(brief)
    expect([correcting("Ines"), correcting("Tomas"), correcting("Bo")]).toEqual([
      ["Ines: Ines lives in Porto"],
      ["Tomas: Tomas lives in Porto"],
      []
    ])
  })

  it("takes `4 days a week` for no day", () => {
    expect(briefs("I start at the new lab on 9 March.", "It's 4 days a week.")).toEqual([
      "user @ 2026-03-09: The user starts at the new lab"
    ])
  })
})
