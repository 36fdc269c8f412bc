/** Messages without ids (contract: Conversations, processed messages): what is said again is no copy of what was sent. */
import { describe, expect, it } from "vitest"
import { useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"

const alice = useAccount(useSharedServer(withoutModel), "alice-repeats")

const user = (content: string) => ({ role: "user", content })
const assistant = (content: string) => ({ role: "assistant", content })
const send = async (
  agentId: string,
  conversation: ReadonlyArray<object>,
  headers: Record<string, string> = {}
): Promise<Answer["body"]> => {
  const body = { agentId, threadId: "t", conversation, wait: "extraction" }
  const answer = await alice.post("/v1/memories", body, headers)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}
const homeOf = async (agentId: string) => {
  const { body } = await alice.call("GET", `/v1/memories?agentId=${agentId}&kind=factual_memory`)
  return body.memories.map(({ data }: Answer["body"]) => data.fact)
}

describe("without ids", () => {
  it("a message that is said once more is read once more", async () => {
    for (const city of ["Paris", "Rome", "Paris"]) {
      const { messages, skippedMessages } = await send("lone", [user(`I moved to ${city}.`)])
      expect([messages, skippedMessages]).toEqual([{ stored: 1, known: 0 }, 0])
    }
    expect(await homeOf("lone")).toEqual(["The user moved to Paris"])
    expect((await send("lone", [user("I moved to Paris.")])).messages).toEqual({ stored: 1, known: 0 })
  })

  it("an exchange that is said once more is read once more", async () => {
    for (const city of ["Paris", "Rome", "Paris"]) {
      const { messages } = await send("pairs", [user(`I moved to ${city}.`), assistant("Noted.")])
      expect(messages).toEqual({ stored: 2, known: 0 })
    }
    expect(await homeOf("pairs")).toEqual(["The user moved to Paris"])
    // The last one sent again, as a client does that got no answer.
    expect((await send("pairs", [user("I moved to Paris."), assistant("Noted.")])).messages).toEqual({
      stored: 0,
      known: 2
    })
  })

  it("a window that moves on brings its new messages alone", async () => {
    const said = ["I swim.", "Yes.", "I moved to Bern.", "Yes.", "No.", "I moved to Basel.", "Yes.", "I moved to Bern."]
    for (let end = 2; end <= said.length; end++) {
      const { messages } = await send("window", said.slice(Math.max(0, end - 4), end).map(user))
      expect(messages.stored, String(end)).toBe(end === 2 ? 2 : 1)
    }
    expect((await homeOf("window"))[0]).toBe("The user moved to Bern")
    expect((await send("window", said.slice(2, 6).map(user))).messages).toEqual({ stored: 0, known: 4 })
  })

  it("what stands alone in a window of new messages is new", async () => {
    await send("mixed", [user("I moved to Paris."), user("I like it."), user("Hello.")])
    await send("mixed", [user("I moved to Rome.")])
    const { messages } = await send("mixed", [user("I moved to Paris."), user("I like it less.")])
    expect(messages).toEqual({ stored: 2, known: 0 })
    expect(await homeOf("mixed")).toContain("The user moved to Paris")
  })

  it("a request under its Idempotency-Key is one request", async () => {
    const headers = { "idempotency-key": "said-once" }
    const first = await send("keyed", [user("I moved to Paris.")], headers)
    expect(await send("keyed", [user("I moved to Paris.")], headers)).toEqual(first)
  })
})

it("with an id a processed message is skipped, wherever it stands", async () => {
  const home = { id: "m1", role: "user", content: "I moved to Paris." }
  expect((await send("ids", [home])).skippedMessages).toBe(0)
  expect((await send("ids", [user("I moved to Rome.")])).skippedMessages).toBe(0)
  expect((await send("ids", [home])).skippedMessages).toBe(1)
  expect(await homeOf("ids")).toEqual(["The user moved to Rome"])
})
