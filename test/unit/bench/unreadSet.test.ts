/** The unread sets are whole: their form is checked here, their texts appear in no message of a test. */
import { describe, expect, it } from "vitest"
import { read, saysAll } from "../../../bench/extraction/Wordings.ts"
import { type AnswerableQuestion, questionTypes, readUnreadSet } from "../../../bench/answers/UnreadSet.ts"

/** Questions of each conversation: with an answer, without one, and those about a fact that changed. */
const sets = [
  { name: "unread", answerable: 20, unanswerable: 4, updatesLeast: 4 },
  { name: "unread2", answerable: 16, unanswerable: 4, updatesLeast: 8 },
  { name: "unread3", answerable: 16, unanswerable: 4, updatesLeast: 7 }
] as const

describe.each(sets)("the set $name", (form) => {
  const { conversations, questions } = readUnreadSet(form.name)
  const answerable = questions.filter((label): label is AnswerableQuestion => label.type !== "unanswerable")
  const messagesOf = (id: string) => conversations.find((conversation) => conversation.id === id)?.messages ?? []

  it("has five conversations of 60 messages, in the order of their times, each with its own id", () => {
    expect(conversations.map(({ messages }) => messages.length)).toEqual([60, 60, 60, 60, 60])
    for (const { messages } of conversations) {
      const times = messages.map(({ sentAt }) => Date.parse(sentAt))
      expect(times.every((time, index) => time > (times[index - 1] ?? 0))).toBe(true)
      expect(messages.every(({ text, role }) => text.trim() !== "" && ["user", "assistant"].includes(role))).toBe(true)
    }
    const ids = conversations.flatMap(({ messages }) => messages.map(({ id }) => id))
    expect(new Set(ids).size).toBe(300)
  })

  it("asks as many questions of each conversation, of known types", () => {
    expect(new Set(questions.map(({ id }) => id)).size).toBe(5 * (form.answerable + form.unanswerable))
    expect(questions.every(({ type }) => questionTypes.includes(type))).toBe(true)
    for (const { id } of conversations) {
      const own = questions.filter(({ conversation }) => conversation === id)
      const without = own.filter(({ type }) => type === "unanswerable")
      expect([own.length - without.length, without.length]).toEqual([form.answerable, form.unanswerable])
    }
  })

  it("names messages of the same conversation as gold and as outdated, and never one as both", () => {
    const broken = answerable.filter(({ conversation, gold, outdated = [] }) => {
      const ids = new Set(messagesOf(conversation).map(({ id }) => id))
      return (
        gold.length === 0 ||
        ![...gold, ...outdated].every((id) => ids.has(id)) ||
        outdated.some((id) => gold.includes(id))
      )
    })
    expect(broken.map(({ id }) => id)).toEqual([])
  })

  it("asks about facts of each conversation that change, the newest said last", () => {
    for (const { id, messages } of conversations) {
      const place = new Map(messages.map((message, index) => [message.id, index]))
      const last = (ids: ReadonlyArray<string>): number => Math.max(...ids.map((each) => place.get(each) ?? -1))
      const updates = answerable.filter(({ conversation, outdated }) => conversation === id && outdated !== undefined)
      expect(updates.length).toBeGreaterThanOrEqual(form.updatesLeast)
      expect(updates.filter(({ outdated = [], gold }) => last(gold) <= last(outdated)).map((q) => q.id)).toEqual([])
    }
  })

  it("says the expected words in a message that gives the answer", () => {
    const silent = answerable.filter(({ conversation, gold, expected }) => {
      const texts = messagesOf(conversation).filter(({ id }) => gold.includes(id))
      return !texts.some(({ text }) => saysAll(read(text), expected))
    })
    expect(silent.map(({ id }) => id)).toEqual([])
  })
})

const ownSets = [
  { name: "own/fit", conversations: 4 },
  { name: "own/held", conversations: 4 },
  { name: "own/fit2", conversations: 3 },
  { name: "own/held2", conversations: 3 }
] as const

describe.each(ownSets)("our own set $name", ({ conversations, name }) => {
  const own = readUnreadSet(name)

  it("asks questions of known types, answered by messages of the same conversation", () => {
    expect(own.conversations).toHaveLength(conversations)
    expect(new Set(own.questions.map(({ id }) => id)).size).toBe(own.questions.length)
    const broken = own.questions.filter((label) => {
      const ids = new Set(own.conversations.find(({ id }) => id === label.conversation)?.messages.map(({ id }) => id))
      if (!questionTypes.includes(label.type)) return true
      return label.type !== "unanswerable" && ![...label.gold, ...(label.outdated ?? [])].every((id) => ids.has(id))
    })
    expect(broken.map(({ id }) => id)).toEqual([])
  })
})
