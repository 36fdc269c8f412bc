/**
 * Chats that the model of English, which every installation has, does not know (contract: Search): their messages are
 * kept and found by their words, and no cosine that means nothing stands before them.
 */
import { expect, it } from "vitest"
import { foreignChats } from "../support/ForeignChats.ts"
import { useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const calls = useAccount(useSharedServer(), "abroad")

it.each(foreignChats)("$language: each message is kept, and questions in its words find it first", async (chat) => {
  const { language, messages, questions } = chat
  const conversation = messages.map((content, at) => ({ id: `m${at}`, role: "user", content }))
  const stored = await calls.post("/v1/memories", { agentId: language, conversation, wait: ["vectors", "extraction"] })
  expect(stored.body.messages).toEqual({ stored: messages.length, known: 0 })
  const missed: Array<string> = []
  const relevances: Array<number> = []
  for (const [question, at] of questions) {
    const { body } = await calls.call(
      "GET",
      `/v1/memories/search?agentId=${language}&limit=3&include=messages&query=${encodeURIComponent(question)}`
    )
    const [first] = body.memories
    if (first?.data.text === messages[at]) relevances.push(first.quality.relevance)
    else missed.push(`${question} -> ${first?.data.text}`)
  }

  expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(2)
})
