/** What the scorer of extraction counts as right, wrong, misdated, fair and forbidden. */
import type { Candidate } from "@muniment/insight/extraction/Extractor"
import { describe, expect, it } from "vitest"
import type { Forbidden, Label, LabelledConversation } from "../../../bench/extraction/LabelledSet.ts"
import { type Score, score } from "../../../bench/extraction/score.ts"
import { read, says } from "../../../bench/extraction/Wordings.ts"

const conversation = (part: Partial<LabelledConversation>): LabelledConversation => ({
  id: "c",
  split: "dev",
  topic: "test",
  conversationDate: "2026-03-04",
  names: ["Alice Moreau", "Alice"],
  messages: [{ role: "user", content: "text" }],
  expected: [],
  accepted: [],
  forbidden: [],
  ...part
})

const candidate = (kind: string, data: Candidate["data"], confidence = 0.8): Candidate => ({
  kind,
  data,
  confidence,
  mentions: [],
  tags: [],
  sources: [0]
})

const scoreOf = (part: Partial<LabelledConversation>, ...candidates: ReadonlyArray<Candidate>): Score =>
  score([conversation(part)], new Map([["c", candidates]]))

const isMet = (label: Label, ...candidates: ReadonlyArray<Candidate>): boolean =>
  scoreOf({ expected: [label] }, ...candidates).all.recalled === 1

const fact = (subject: string, text: string): Candidate => candidate("factual_memory", { subject, fact: text })
const home: Label = {
  kind: "factual_memory",
  data: { subject: ["user"], terms: [["live", "home"], ["seattle"]], without: ["not"] }
}
const anna: Label = { kind: "factual_memory", data: { subject: ["anna", "sister"], terms: [["berlin"]] } }
const dentist: Label = {
  kind: "temporal_event",
  data: { subject: ["user"], terms: [["dentist"]], eventDate: ["2026-03-05"] }
}
const event = (data: Candidate["data"]): Candidate => candidate("temporal_event", data)

describe("wordings", () => {
  it.each([
    ["Alice isn't a vegetarian", "not"],
    ["Alice can't eat shellfish", "can not"],
    ["Alice has three children", "3"],
    ["Alice has 3 children", "three"],
    ["She lived in Gdansk", "lives in Gdańsk"],
    ["reach alice@example.org today", "alice@example.org"]
  ])("%s says %s", (text, phrase) => expect(says(read(text), phrase)).toBe(true))

  it.each([
    ["She lived in Rome", "=lives"],
    ["Alice likes seat covers", "eat"],
    ["New plans for York", "new york"]
  ])("%s does not say %s", (text, phrase) => expect(says(read(text), phrase)).toBe(false))
})

describe("facts", () => {
  it("are met by any wording under user or a name of the user", () => {
    for (const subject of ["user", "The user", "Alice", "alice moreau"]) {
      expect(isMet(home, fact(subject, "Alice's home is in Seattle"))).toBe(true)
    }
  })

  it("are missed when a word is missing, the sense is turned or the person is another", () => {
    expect(isMet(home, fact("user", "Alice was born in Seattle"))).toBe(false)
    expect(isMet(home, fact("user", "Alice doesn't live in Seattle"))).toBe(false)
    expect(isMet(home, fact("Anna", "Anna lives in Seattle"))).toBe(false)
  })

  it("of a third person may stand under the user when they name the person", () => {
    expect(isMet(anna, fact("Anna", "Anna lives in Berlin"))).toBe(true)
    expect(isMet(anna, fact("user's sister", "She lives in Berlin"))).toBe(true)
    expect(isMet(anna, fact("Alice", "Alice's sister lives in Berlin"))).toBe(true)
    expect(isMet(anna, fact("Alice", "Alice lives in Berlin"))).toBe(false)
  })

  it("may have other forms, of other kinds too", () => {
    const label: Label = {
      ...home,
      or: [{ kind: "preference_memory", data: { subject: ["user"], preferenceType: ["likes"], terms: [["seattle"]] } }]
    }
    const liked = { subject: "user", preferenceType: "likes", preference: "Seattle" }
    expect(isMet(label, candidate("preference_memory", liked))).toBe(true)
    expect(isMet(label, candidate("preference_memory", { ...liked, preferenceType: "dislikes" }))).toBe(false)
  })
})

describe("events", () => {
  it("need the day, whatever time goes with it", () => {
    expect(isMet(dentist, event({ event: "dentist", eventDate: "2026-03-05T10:00:00Z" }))).toBe(true)
    expect(isMet(dentist, event({ event: "dentist", eventDate: "2026-03-06" }))).toBe(false)
    expect(isMet(dentist, event({ event: "dentist" }))).toBe(false)
  })

  it("of no known day must not have one", () => {
    const undated: Label = { ...dentist, data: { ...dentist.data, eventDate: ["none"] } }
    expect(isMet(undated, event({ event: "dentist" }))).toBe(true)
    expect(isMet(undated, event({ event: "dentist", eventDate: "2026-03-05" }))).toBe(false)
  })

  it("with a wrong day count as found for dates, and as wrong for the rest", () => {
    const { all, events, failures } = scoreOf(
      { expected: [dentist] },
      event({ event: "dentist", eventDate: "2026-03-09" })
    )
    expect(events).toEqual({ found: 1, dated: 0 })
    expect(all).toEqual({ expected: 1, recalled: 0, found: 1, correct: 0 })
    expect(failures[0]?.misdated).toHaveLength(1)
  })

  it("end when the label says", () => {
    const ending: Label = {
      ...dentist,
      data: { ...dentist.data, eventDate: ["2026-03-05"], endDate: ["2026-03-07", "none"] }
    }
    expect(isMet(ending, event({ event: "dentist", eventDate: "2026-03-05", endDate: "2026-03-07" }))).toBe(true)
    expect(isMet(ending, event({ event: "dentist", eventDate: "2026-03-05" }))).toBe(true)
    expect(isMet(ending, event({ event: "dentist", eventDate: "2026-03-05", endDate: "2026-03-08" }))).toBe(false)
  })
})

describe("records of registered kinds", () => {
  const contact: Label = {
    kind: "contact",
    data: { fields: { name: ["Ann Lee", "Ann"], email: "ann@example.org" }, optional: { phone: "+44 1632 960001" } }
  }

  it("need their fields exactly, but for case, spaces and the form of a phone number", () => {
    expect(isMet(contact, candidate("contact", { name: "ann lee", email: "ANN@example.org" }))).toBe(true)
    expect(
      isMet(contact, candidate("contact", { name: "Ann", email: "ann@example.org", phone: "+44 (1632) 960-001" }))
    ).toBe(true)
    expect(isMet(contact, candidate("contact", { name: "Ann Leeds", email: "ann@example.org" }))).toBe(false)
    expect(isMet(contact, candidate("contact", { name: "Ann" }))).toBe(false)
  })

  it("must not have a field that the label does not know", () => {
    expect(isMet(contact, candidate("contact", { name: "Ann", email: "ann@example.org", company: "Acme" }))).toBe(false)
  })

  it("compare arrays as sets and free text by its words", () => {
    const meeting: Label = {
      kind: "meeting",
      data: { fields: { title: { terms: [["budget"]] }, attendees: { set: ["Carla", "Stefan"] } } }
    }
    const record = (attendees: ReadonlyArray<string>): Candidate =>
      candidate("meeting", { title: "Budget review", attendees: [...attendees] })
    expect(isMet(meeting, record(["Stefan", "carla"]))).toBe(true)
    expect(isMet(meeting, record(["Stefan"]))).toBe(false)
  })
})

describe("counting", () => {
  it("takes one candidate for one label, whichever way round they come", () => {
    const broad: Label = { kind: "factual_memory", data: { subject: ["user"], terms: [["seattle"]] } }
    const both = fact("user", "Alice lives in Seattle")
    const one = fact("user", "Alice works in Seattle")
    for (const candidates of [
      [both, one],
      [one, both]
    ]) {
      for (const expected of [
        [broad, home],
        [home, broad]
      ]) {
        expect(scoreOf({ expected }, ...candidates).all.recalled).toBe(2)
      }
    }
    expect(scoreOf({ expected: [broad, home] }, both).all).toEqual({ expected: 2, recalled: 1, found: 1, correct: 1 })
  })

  it("takes a second wording of the same memory for a fault", () => {
    const twice = [fact("user", "Alice lives in Seattle"), fact("user", "Seattle is home to Alice")]
    expect(scoreOf({ expected: [home] }, ...twice).all).toEqual({ expected: 1, recalled: 1, found: 2, correct: 1 })
  })

  it("leaves out what is fair to remember and fair to leave", () => {
    const { all, accepted } = scoreOf({ accepted: [home] }, fact("user", "Alice lives in Seattle"))
    expect(all).toEqual({ expected: 0, recalled: 0, found: 0, correct: 0 })
    expect(accepted).toBe(1)
  })

  it("keeps kinds apart: recall by the label's kind, precision by the candidate's", () => {
    const { kinds } = scoreOf(
      { expected: [home, dentist] },
      fact("user", "Alice lives in Seattle"),
      event({ event: "gym" })
    )
    expect(kinds).toEqual({
      factual_memory: { expected: 1, recalled: 1, found: 1, correct: 1 },
      temporal_event: { expected: 1, recalled: 0, found: 1, correct: 0 }
    })
  })

  it("reports a conversation without labels as spoiled by any candidate", () => {
    expect(scoreOf({}).empty).toEqual({ conversations: 1, spoiled: 0 })
    expect(scoreOf({}, fact("user", "Alice is tired")).empty).toEqual({ conversations: 1, spoiled: 1 })
  })

  it("bins candidates by confidence, certainty in the last tenth", () => {
    const right = candidate("factual_memory", { subject: "user", fact: "Alice lives in Seattle" }, 1)
    const wrong = candidate("factual_memory", { subject: "user", fact: "Alice is tall" }, 0.92)
    expect(scoreOf({ expected: [home] }, right, wrong).calibration).toEqual([
      { from: 0.9, candidates: 2, meanConfidence: 0.96, precision: 0.5 }
    ])
  })
})

describe("forbidden memories", () => {
  const forbidden: Forbidden = {
    kind: "preference_memory",
    description: "the sense turned round",
    match: { terms: [["coffee"]], preferenceType: ["likes"], subject: ["user"], without: ["not"] }
  }
  const preference = (subject: string, preferenceType: string, text: string): Candidate =>
    candidate("preference_memory", { subject, preferenceType, preference: text })
  const hits = (...candidates: ReadonlyArray<Candidate>): number =>
    scoreOf({ forbidden: [forbidden] }, ...candidates).forbidden.hit

  it("are hit by kind, type, person and words together", () => {
    expect(hits(preference("Alice", "likes", "black coffee"))).toBe(1)
    expect(hits(preference("Anna", "likes", "black coffee"))).toBe(0)
    expect(hits(preference("Alice", "dislikes", "black coffee"))).toBe(0)
    expect(hits(fact("Alice", "Alice likes coffee"))).toBe(0)
    expect(hits(preference("Alice", "likes", "not coffee"))).toBe(0)
  })

  it("are never hit by a candidate that is right", () => {
    const label: Label = {
      kind: "preference_memory",
      data: { subject: ["user"], preferenceType: ["likes"], terms: [["coffee"]] }
    }
    expect(
      scoreOf({ expected: [label], forbidden: [forbidden] }, preference("user", "likes", "coffee")).forbidden.hit
    ).toBe(0)
  })
})
