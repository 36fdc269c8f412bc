/** Judgement of cases: the rules that the authors of their regular expressions relied on. */
import { describe, expect, it } from "vitest"
import type { Case, CaseQuestion } from "@muniment/cli/evaluation/CaseFiles"
import { foundOf, states, verdictOf } from "@muniment/cli/evaluation/CasePlay"

const question = (rest: Partial<CaseQuestion>): CaseQuestion => ({ q: "?", type: "fact", answer: ["harbour"], ...rest })
const said = (answer: string) => ({ answer, grounded: true })
const nothing = { answer: "Nothing is known.", grounded: false }

describe("an answer", () => {
  it.each([
    ["meets one pattern, whatever its case", question({}), said("At the HARBOUR."), "right"],
    ["meets none", question({}), said("At Lumen."), "wrong"],
    ["claims nothing", question({}), nothing, "withheld"],
    [
      "claims something where nothing answers",
      question({ type: "none", answer: [] }),
      said("At the harbour."),
      "wrong"
    ],
    ["claims nothing where somebody else's statement is all", question({ abstain: true }), nothing, "right"],
    [
      "says the stale value last",
      question({ type: "current", wrong: ["lumen"] }),
      said("First the harbour, now Lumen."),
      "wrong"
    ],
    [
      "says the stale value first",
      question({ type: "current", wrong: ["lumen"] }),
      said("First Lumen, now the harbour."),
      "right"
    ],
    [
      "says the wrong value of what cannot be stale",
      question({ type: "other", wrong: ["lumen"] }),
      said("The harbour, not Lumen."),
      "right"
    ],
    ["says yes, which counts alone", question({ type: "yesno", answer: ["^no"] }), said("Yes: no harbour."), "wrong"]
  ] as const)("that %s", (_, asked, answered, verdict) => {
    expect(verdictOf(asked, answered)).toBe(verdict)
  })
})

describe("a memory", () => {
  const chat: Case = {
    id: "c",
    kind: "assistant",
    user: "Mira Halloran",
    asked: "",
    timeZone: "UTC",
    messages: [],
    questions: [],
    facts: []
  }
  const fact = { about: "Mira", says: ["vegan", "since"], true: true }
  it.each([
    ["states a fact by its person's name", "Mira is vegan since May", true],
    ["states a fact of the user as the user's", "The user is vegan since May", true],
    ["lacks a part", "Mira is vegan", false],
    ["is about somebody else", "Ben is vegan since May", false]
  ])("%s", (_, text, isStated) => {
    expect(states(fact, chat, text)).toBe(isStated)
  })
})

describe("evidence among the hits", () => {
  const hits = [[], [1], [], [0, 1], []].map((held) => new Set(held))
  it("counts once, by the first hit that holds it", () => {
    expect(foundOf(2, hits)).toEqual({ shares: [0, 0.5, 1], reciprocalRank: 0.5 })
  })
  it("is nothing where nothing is expected, and none where no hit holds any", () => {
    expect(foundOf(0, hits)).toBeUndefined()
    expect(foundOf(1, [new Set()])).toEqual({ shares: [0, 0, 0], reciprocalRank: 0 })
  })
})
