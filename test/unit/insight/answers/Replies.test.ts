/** What was said in reply to a question of somebody else: the question says what it is about. */
import { describe, expect, it } from "vitest"
import { extractiveAnswer } from "@muniment/insight/answers/ExtractiveAnswers"
import type { Evidence } from "@muniment/insight/answers/WrittenAnswer"

interface Said {
  readonly name: string
  readonly text: string
  readonly position: number
  readonly relevance?: number
}

const chat = (...said: ReadonlyArray<Said>): ReadonlyArray<Evidence> =>
  [
    ...said,
    { name: "Wen", text: "ok thanks", position: 40, relevance: 0.004 },
    { name: "Ines", text: "lovely weather at last", position: 42, relevance: 0.002 }
  ].map(({ name, position, relevance = 0.01, text }) => ({
    id: `m${position}`,
    kind: "conversation_message",
    data: { role: "user", name, text, sentAt: `2026-05-04T09:${10 + position}:00Z` },
    turn: { conversation: "work", position },
    createdAt: 0,
    relevance
  }))

const asked = { name: "Wen", text: "Where do we track bugs for this one?", position: 3, relevance: 0.3 }
const reply = { name: "Tomasz", text: "In the Linear board, not in the old spreadsheet please.", position: 4 }
const answered = (question: string, ...said: ReadonlyArray<Said>) => extractiveAnswer(question, chat(...said))

describe("a reply", () => {
  it("answers what it was asked, with the question beside it, and cites both", () => {
    expect(answered("Where do we track bugs?", asked, reply)).toEqual({
      answer: `Wen: "Where do we track bugs for this one?" Tomasz (4 May 2026): "${reply.text}"`,
      citations: ["m3", "m4"],
      grounded: true,
      method: "extractive"
    })
  })

  it("gives a reason in any form where why was asked, also shortly of what was said before", () => {
    const said = [
      { name: "Rosa", text: "the studio moved my start date", position: 6, relevance: 0.4 },
      { name: "Ben", text: "how come", position: 7 },
      { name: "Rosa", text: "their boiler broke and the office is closed", position: 8 }
    ]
    const { answer, grounded } = answered("Why was Rosa's start date moved?", ...said)
    expect(grounded).toBe(true)
    expect(answer).toContain("boiler")
    expect(answered("Why was Rosa's start date moved?", said[0]!, said[2]!).grounded).toBe(false)
  })

  it.each([
    ["is of another turn", { ...reply, position: 6 }],
    ["is by the one who asked", { ...reply, name: "Wen" }],
    ["asks back", { ...reply, text: "In the Linear board or in the old spreadsheet?" }]
  ])("is none where it %s", (_, other) => {
    expect(answered("Where do we track bugs?", asked, other).grounded).toBe(false)
  })

  it("is none to an exclamation that begins like a question", () => {
    const wish = { ...asked, text: "Have a good trip!" }
    const told = { ...reply, text: "We fly to Oslo on 5 July.", relevance: 0.6 }
    const { answer, citations } = answered("When do we fly to Oslo?", wish, told)
    expect(answer).not.toContain("trip")
    expect(citations).toEqual(["m4"])
  })

  it("is none in another conversation", () => {
    const [first, ...others] = chat(asked, reply)
    const elsewhere = { ...first!, turn: { conversation: "home", position: 3 } }
    expect(extractiveAnswer("Where do we track bugs?", [elsewhere, ...others]).grounded).toBe(false)
  })
})
