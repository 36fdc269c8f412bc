/** The unread set is whole: its form is checked here, its texts appear in no message of a test. */
import { describe, expect, it } from "vitest"
import { type AnswerableQuestion, questionTypes, readUnreadSet } from "../../../bench/answers/UnreadSet.ts"

const { conversations, questions } = readUnreadSet()
const answerable = questions.filter((label): label is AnswerableQuestion => label.type !== "unanswerable")
const messagesOf = (id: string) => conversations.find((conversation) => conversation.id === id)?.messages ?? []

describe("the unread set", () => {
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

  it("asks 20 answerable and 4 unanswerable questions of each conversation, of known types", () => {
    expect(new Set(questions.map(({ id }) => id)).size).toBe(120)
    expect(questions.every(({ type }) => questionTypes.includes(type))).toBe(true)
    for (const { id } of conversations) {
      const own = questions.filter(({ conversation }) => conversation === id)
      expect([own.length, own.filter(({ type }) => type === "unanswerable").length]).toEqual([24, 4])
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

  it("has at least four facts of each conversation that change, the newest said last", () => {
    for (const { id, messages } of conversations) {
      const place = new Map(messages.map((message, index) => [message.id, index]))
      const last = (ids: ReadonlyArray<string>): number => Math.max(...ids.map((each) => place.get(each) ?? -1))
      const updates = answerable.filter(({ conversation, type }) => conversation === id && type === "update")
      expect(updates.length).toBeGreaterThanOrEqual(4)
      expect(
        updates
          .filter(({ outdated = [], gold }) => outdated.length === 0 || last(gold) <= last(outdated))
          .map((q) => q.id)
      ).toEqual([])
    }
  })
})
