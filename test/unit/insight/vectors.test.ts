/** The labelled conversations are what their readers take them for. */
import type { Candidate } from "@muniment/insight/extraction/Extractor"
import { describe, expect, it } from "vitest"
import {
  type FieldLabel,
  kindsOf,
  type Label,
  type LabelForm,
  type LabelledConversation,
  readConversations,
  readKinds,
  readQuestionedConversations,
  readQuestions,
  type Terms
} from "../../../bench/extraction/LabelledSet.ts"
import { score } from "../../../bench/extraction/score.ts"
import { read, says } from "../../../bench/extraction/Wordings.ts"

/** Words a memory says although the conversation puts them otherwise: `I'm Alice` is a name. */
const restated = new Set(
  (
    "name known call live home reside work job was former previous before ex past used died death dead deceased " +
    "passed not never"
  ).split(" ")
)

const dev = readConversations("dev")
const heldOut = readConversations("held-out")
const all = [...dev, ...heldOut]
const kinds = readKinds()

const labelsOf = ({ expected, accepted }: LabelledConversation): ReadonlyArray<Label> => [...expected, ...accepted]
const formsOf = (label: Label): ReadonlyArray<LabelForm> => [label, ...(label.or ?? [])]
const textOf = ({ messages }: LabelledConversation): string => messages.map(({ content }) => content).join("\n")

/** Groups of terms of which nothing is in the text. */
const unsupported = (conversation: LabelledConversation, terms: Terms): Terms => {
  const text = read(textOf(conversation))
  return terms.filter((group) => !group.some((phrase) => restated.has(phrase) || says(text, phrase)))
}

/** Whether a field's value, or one of the values it may have, is in the text; days and currencies are resolved. */
const isSupported = (text: string, asked: FieldLabel): boolean => {
  if (typeof asked !== "object") return isResolved(String(asked)) || isWritten(text, String(asked))
  if ("terms" in asked) return asked.terms.every((group) => group.some((phrase) => says(read(text), phrase)))
  if ("set" in asked) return asked.set.every((member) => isWritten(text, member))
  return asked.some((value) => isSupported(text, value))
}

const isResolved = (value: string): boolean => /^(?:\d{4}-\d{2}-\d{2}|USD|EUR|GBP)$/.test(value)
const isWritten = (text: string, value: string): boolean =>
  says(read(text), value) || (/^\d+$/.test(value) && text.replace(/[\s,]/g, "").includes(value))

describe("labelled conversations", () => {
  it("are at least 160, half of them held out, with the same share of every topic", () => {
    expect(all.length).toBeGreaterThanOrEqual(160)
    expect(dev.every(({ split }) => split === "dev") && heldOut.every(({ split }) => split === "held-out")).toBe(true)
    expect(topicsOf(heldOut)).toEqual(topicsOf(dev))
    const traps = all.filter(({ topic }) => topic === "trap").length / all.length
    expect(traps).toBeGreaterThan(0.25)
    expect(traps).toBeLessThan(0.35)
  })

  it("share no message between the halves", () => {
    const longTexts = (half: ReadonlyArray<LabelledConversation>): ReadonlyArray<string> =>
      half.flatMap(({ messages }) => messages.map(({ content }) => content)).filter((text) => text.length > 40)
    const seen = new Set(longTexts(dev))
    expect(longTexts(heldOut).filter((text) => seen.has(text))).toEqual([])
  })

  it("have ids of their own", () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
    for (const { messages } of all) {
      const ids = messages.flatMap(({ id }) => (id === undefined ? [] : [id]))
      expect(new Set(ids).size).toBe(ids.length)
    }
  })

  it("are short, and speak of a real day", () => {
    for (const { id, messages, conversationDate } of all) {
      expect(messages.length, id).toBeGreaterThanOrEqual(1)
      expect(messages.length, id).toBeLessThanOrEqual(8)
      expect(
        messages.some(({ role }) => role === "user"),
        id
      ).toBe(true)
      expect(new Date(`${conversationDate}T00:00:00Z`).toISOString().slice(0, 10)).toBe(conversationDate)
    }
  })

  it("name kinds that exist, in labels of those kinds", () => {
    for (const conversation of all) {
      const names = kindsOf(conversation, kinds).map(({ name }) => name)
      for (const form of labelsOf(conversation).flatMap(formsOf)) expect(names, conversation.id).toContain(form.kind)
    }
  })

  it("have labels of the shape that their kind asks for", () => {
    for (const conversation of all) {
      for (const { kind, data } of labelsOf(conversation).flatMap(formsOf)) {
        if ("fields" in data) {
          const { properties, required } = JSON.parse(kinds.get(kind)!.schema) as {
            readonly properties: Readonly<Record<string, unknown>>
            readonly required: ReadonlyArray<string>
          }
          expect(Object.keys(data.fields), conversation.id).toEqual(expect.arrayContaining([...required]))
          expect(Object.keys(properties), conversation.id).toEqual(
            expect.arrayContaining([...Object.keys(data.fields), ...Object.keys(data.optional ?? {})])
          )
          continue
        }
        expect(data.subject.length * data.terms.length, conversation.id).toBeGreaterThan(0)
        expect("preferenceType" in data, conversation.id).toBe(kind === "preference_memory")
        expect("eventDate" in data, conversation.id).toBe(kind === "temporal_event")
        if ("preferenceType" in data) {
          for (const type of data.preferenceType) expect(preferenceTypes, conversation.id).toContain(type)
        }
        if ("eventDate" in data) {
          for (const day of [...data.eventDate, ...(data.endDate ?? [])]) expect(day).toMatch(dayOrNone)
        }
      }
    }
  })

  it("ask for nothing that the conversation does not say", () => {
    const findings = all.flatMap((conversation) =>
      labelsOf(conversation)
        .flatMap(formsOf)
        .flatMap(({ data }) => ("fields" in data ? [] : unsupported(conversation, data.terms)))
        .map((group) => `${conversation.id}: ${group.join("/")}`)
    )
    expect(findings).toEqual([])
  })

  it("fill fields with what the conversation says", () => {
    for (const conversation of all) {
      for (const { data } of labelsOf(conversation).flatMap(formsOf)) {
        if (!("fields" in data)) continue
        for (const [field, asked] of Object.entries({ ...data.fields, ...data.optional })) {
          expect(isSupported(textOf(conversation), asked), `${conversation.id} ${field}`).toBe(true)
        }
      }
    }
  })

  it("forbid only what could be said of them", () => {
    for (const { id, forbidden } of all) {
      for (const { description, match } of forbidden) {
        expect(description, id).not.toBe("")
        expect(match.terms.length, id).toBeGreaterThan(0)
      }
    }
  })
})

it("an extractor that knows the labels is right about every one of them, each for itself", () => {
  const results = new Map(all.map(({ id, expected }) => [id, expected.map(candidateFor)]))
  const { all: total, forbidden } = score(all, results)
  expect(total.correct).toBe(total.found)
  expect(total.recalled).toBe(total.expected)
  expect(forbidden.hit).toBe(0)
})

/** The shortest memory that a label asks for, in its own words. */
const candidateFor = ({ kind, data }: Label): Candidate => {
  const rest = { kind, confidence: 1, mentions: [], tags: [], sources: [0] }
  if ("fields" in data) {
    return {
      ...rest,
      data: Object.fromEntries(Object.entries(data.fields).map(([name, asked]) => [name, valueFor(asked)]))
    }
  }
  const text = data.terms.map(([phrase]) => phrase).join(" ")
  const subject = data.subject[0]!
  if ("preferenceType" in data) {
    return { ...rest, data: { subject, preferenceType: data.preferenceType[0]!, preference: text } }
  }
  if (!("eventDate" in data)) return { ...rest, data: { subject, fact: text } }
  const dates = { eventDate: data.eventDate[0]!, endDate: data.endDate?.[0] ?? "none" }
  const known = Object.entries(dates).filter(([, day]) => day !== "none")
  return { ...rest, data: { subject, event: text, ...Object.fromEntries(known) } }
}

const valueFor = (asked: FieldLabel): Candidate["data"][string] => {
  if (typeof asked !== "object") return asked
  if ("terms" in asked) return asked.terms.map(([phrase]) => phrase).join(" ")
  return "set" in asked ? [...asked.set] : asked[0]!
}

describe("questions", () => {
  const talks = new Map(readQuestionedConversations().map((talk) => [talk.id, talk]))
  const questions = readQuestions()

  it("are 60 with an answer and 15 without, over a dozen longer conversations", () => {
    expect(questions.filter(({ answerable }) => answerable)).toHaveLength(60)
    expect(questions.filter(({ answerable }) => !answerable)).toHaveLength(15)
    expect(talks.size).toBe(12)
    for (const { id, messages } of talks.values()) {
      expect(messages.length, id).toBeGreaterThanOrEqual(10)
      expect(messages.length, id).toBeLessThanOrEqual(25)
      expect(questions.filter(({ conversationId }) => conversationId === id).length, id).toBeGreaterThanOrEqual(5)
    }
  })

  it("are asked once each, about a conversation that exists", () => {
    expect(new Set(questions.map(({ question, conversationId }) => conversationId + question)).size).toBe(
      questions.length
    )
    for (const { conversationId } of questions) expect(talks.has(conversationId), conversationId).toBe(true)
  })

  it("expect what the user says in the conversation, and nothing where there is no answer", () => {
    for (const { question, conversationId, answerable, expected } of questions) {
      expect(expected.length > 0, question).toBe(answerable)
      const told = talks.get(conversationId)!.messages.filter(({ role }) => role === "user")
      const text = read(told.map(({ content }) => content).join("\n"))
      expect(expected.filter((group) => !group.some((phrase) => says(text, phrase)))).toEqual([])
    }
  })
})

/** How many conversations each topic has. */
const topicsOf = (half: ReadonlyArray<LabelledConversation>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...new Set(half.map(({ topic }) => topic))]
      .sort()
      .map((topic) => [topic, half.filter((conversation) => conversation.topic === topic).length])
  )

const preferenceTypes = ["likes", "dislikes", "prefers", "avoids", "wants", "needs"]
const dayOrNone = /^(?:none|\d{4}(?:-\d{2}(?:-\d{2})?)?)$/
