/** Terms of the ranking score and of relevance, for messages and for other memories. */
import { describe, expect, it } from "vitest"
import { dayMillis } from "@muniment/domain/CalendarDay"
import {
  answerableOf,
  evidenceOf,
  orderOf,
  relevanceOf,
  type AskedTraits,
  type ScoredCandidate,
  type ScoredQuery
} from "@muniment/engine/ranking/Evidence"
import { explainedTerms } from "@muniment/engine/ranking/Explanation"
import { answerKinds } from "@muniment/language/question/QuestionTraits"
import { messageTraits } from "@muniment/engine/text/MemoryText"

const june = { from: Date.parse("2024-06-01T00:00:00Z"), to: Date.parse("2024-07-04T00:00:00Z") }
const nobody: AskedTraits = { speaker: undefined, isFirstPerson: false, ranges: [] }
const query = (asked: Partial<AskedTraits> = {}) => ({
  scoreBound: 20,
  termCount: 3,
  modelId: "e5-small-v2-q8",
  asked: { ...nobody, ...asked }
})
const plain: ScoredCandidate = { lexicalScore: 8, matchedTerms: 2, cosine: 0.84 }
const message = (given: Partial<ScoredCandidate> = {}, speaker = "Ann", traits: number = messageTraits.isByUser) => ({
  ...plain,
  message: { speaker, traits },
  ...given
})
/** How much more one candidate scores than the other, in units of the score. */
const gain = (better: ScoredCandidate, worse: ScoredCandidate, asked = query()) => {
  const evidence = evidenceOf(better, asked)
  return (orderOf(evidence) - orderOf(evidenceOf(worse, asked))) / evidence.calibration.score.slope
}

describe("the score of a message", () => {
  it("rises with statements about oneself", () => {
    expect(gain(message({}, "Ann", messageTraits.states), message())).toBeCloseTo(0.08)
  })

  it("falls for the side of the chat that is not asked about, by its role", () => {
    expect(gain(message({}, "assistant", 0), message())).toBeCloseTo(-0.1)
    const ofAssistant = query({ isOfAssistant: true })
    expect(gain(message({}, "assistant", 0), message(), ofAssistant)).toBe(0)
    expect(gain(message({}, "user"), message(), ofAssistant)).toBeCloseTo(-0.1)
  })

  it("rises where the message has what the form of the question asks for, and falls where it is known to lack it", () => {
    const asked = query({ kind: answerKinds.date })
    const sorted = (kinds: number) => message({}, "Ann", messageTraits.isSorted | kinds)
    expect(gain(sorted(answerKinds.date), message(), asked)).toBeCloseTo(0.067)
    expect(gain(sorted(answerKinds.place), message(), asked)).toBeCloseTo(-0.067)
    expect(gain(sorted(answerKinds.place), message())).toBe(0)
  })

  it("rises with newness where the query goes on with a talk", () => {
    const at = (days: number) => message({ eventAt: june.to - days * dayMillis })
    const goingOn = query({ goesOnAt: june.to })
    expect(gain(at(0), at(30), goingOn)).toBeCloseTo(0.3 * (1 - Math.exp(-1)))
    expect(gain(at(-1), at(0), goingOn)).toBe(0)
    expect(gain(at(0), at(30))).toBe(0)
  })

  it("rises with the nearest message around it; one without any counts as its own", () => {
    expect(gain(message({ aroundCosine: 0.9 }), message({ aroundCosine: 0.8 }))).toBeCloseTo(0.135)
    expect(gain(message({ aroundCosine: plain.cosine }), message())).toBe(0)
  })

  it("rises for the speaker whom the question names, and then not for the user", () => {
    const named = query({ speaker: "Ben", isFirstPerson: true })
    expect(gain(message({}, "Ben", 0), message({}, "Ann"), named)).toBeCloseTo(0.15)
  })

  it("rises for the user where the question says I", () => {
    expect(gain(message(), message({}, "Ben", 0), query({ isFirstPerson: true }))).toBeCloseTo(0.15)
    expect(gain(message(), message({}, "Ben", 0))).toBe(0)
  })

  it("rises inside a range that the question names, and less around it", () => {
    const asked = query({ ranges: [june] })
    const at = (eventAt: number | undefined) => message({ eventAt })
    expect(gain(at(june.from), at(undefined), asked)).toBeCloseTo(0.23)
    expect(gain(at(june.to), at(undefined), asked)).toBeCloseTo(0.1)
    expect(gain(at(june.from - 3 * dayMillis), at(undefined), asked)).toBeCloseTo(0.1)
    expect(gain(at(june.to + 10 * dayMillis), at(undefined), asked)).toBe(0)
    expect(gain(at(june.from - 4 * dayMillis), at(undefined), asked)).toBe(0)
  })

  it("weighs meaning 3.2 times as much as words; of other memories 2 times", () => {
    const around = { aroundCosine: plain.cosine }
    expect(gain(message({ ...around, cosine: 0.94 }), message(around))).toBeCloseTo(0.32)
    expect(gain({ ...plain, cosine: 0.94 }, plain)).toBeCloseTo(0.2)
  })
})

it("the score of another memory knows times, and neither speakers nor traits", () => {
  const asked = query({ ranges: [june], speaker: "Ann", isFirstPerson: true })
  expect(gain({ ...plain, eventAt: june.from }, plain, asked)).toBeCloseTo(0.12)
  expect(evidenceOf(plain, asked)).toMatchObject({ speaks: 0, states: 0, aside: 0, fits: 0 })
})

describe("relevance", () => {
  it("as the gate of answers reads it never exceeds what the score of a long message says; of a short one it may", () => {
    const asked = { ...query({ isFirstPerson: true }), documents: 60, cosines: { mean: 0.8, deviation: 0.01 } }
    const of = (traits: number) => {
      const said = evidenceOf(message({ lexicalScore: 20, matchedTerms: 3, cosine: 0.95 }, "Ann", traits), asked)
      return { gate: answerableOf(said), order: 1 / (1 + Math.exp(-orderOf(said))) }
    }
    const long = of(messageTraits.isByUser)
    expect(long.gate).toBeLessThanOrEqual(long.order)
    const short = of(messageTraits.isByUser | messageTraits.isShort)
    expect(short.gate).toBeGreaterThanOrEqual(long.gate)
  })

  it("is greater where the query asked for more and all of it was found", () => {
    const found = (scoreBound: number, termCount: number) =>
      relevanceOf(
        evidenceOf(
          { lexicalScore: scoreBound * 0.8, matchedTerms: termCount, cosine: 0.85 },
          { ...query(), scoreBound, termCount }
        )
      )
    expect(found(40, 4)).toBeGreaterThan(found(10, 1))
  })

  it("of a message rises where its cosine stands out, and where few memories are visible", () => {
    const asked = (given: Partial<ScoredQuery>) =>
      relevanceOf(evidenceOf(message({}, "Ann", messageTraits.isShort), { ...query(), documents: 60, ...given }))
    const spread = (mean: number) => ({ cosines: { mean, deviation: 0.01 } })
    expect(asked(spread(0.81))).toBeGreaterThan(asked(spread(0.83)))
    expect(asked(spread(0.85))).toBe(asked(spread(0.9)))
    expect(asked({ documents: 60 })).toBeGreaterThan(asked({ documents: 600 }))
    expect(asked({ documents: 3 })).toBe(asked({ documents: 20 }))
    expect(asked({ documents: 1e6 })).toBe(asked({ documents: 700 }))
  })

  it("is judged by words alone where there is no vector", () => {
    const byWords = evidenceOf({ ...plain, cosine: undefined }, query())
    expect(byWords.cosine).toBe(0)
    expect(evidenceOf(plain, { ...query(), modelId: undefined })).toEqual(byWords)
  })
})

it("explainedTerms adds up to the score, and says each term in words", () => {
  const asked = query({ speaker: "Ann", ranges: [june] })
  const evidence = evidenceOf(message({ eventAt: june.from }, "Ann", messageTraits.states), asked)
  const terms = explainedTerms(evidence)
  expect(terms.map(({ term }) => term)).toEqual([
    "words",
    "meaning",
    "around",
    "states",
    "speaks",
    "inRange",
    "nearRange"
  ])
  const { intercept, slope } = evidence.calibration.score
  const sum = terms.reduce((total, { adds }) => total + adds, 0)
  expect(slope * sum + intercept).toBeCloseTo(orderOf(evidence), 2)
  for (const { meaning } of terms) expect(meaning.length).toBeGreaterThan(10)
})
