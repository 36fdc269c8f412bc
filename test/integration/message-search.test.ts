/** Who said it and when, in searches over HTTP (contract: Search): `now`, `timeZone`, and the terms of `explain`. */
import { beforeAll, describe, expect, it } from "vitest"
import { useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const alice = useAccount(useSharedServer(withoutModel), "alice")
beforeAll(async () => {
  const conversation = [
    { id: "1", role: "user", name: "Ann", content: "I fired the kiln.", sentAt: "2024-06-10T02:00:00Z" },
    { id: "2", role: "user", name: "Ben", content: "I fired the kiln.", sentAt: "2024-05-10T02:00:00Z" },
    { id: "3", role: "assistant", content: "Was the kiln hot?", sentAt: "2024-05-10T02:01:00Z" }
  ]
  const { status } = await alice.post("/v1/memories", { agentId: "pots", threadId: "t", conversation })
  expect(status).toBe(200)
})

const kind = "conversation_message"
const search = (query: string, rest: Readonly<Record<string, string>> = {}) =>
  alice.search({ query, agentId: "pots", kind, explain: "true", ...rest })
/** Terms of a hit and what they add to its score. */
const termsOf = (hit: Awaited<ReturnType<typeof search>>[number] | undefined) =>
  Object.fromEntries(
    hit?.explain.terms.map(({ adds, term }: { readonly adds: number; readonly term: string }) => [term, adds])
  )

describe("a search over messages", () => {
  it("explains who said it and what sort of sentence it is", async () => {
    const [ann, ...others] = await search("Who fired Ann's kiln?")
    expect(ann?.data.name).toBe("Ann")
    expect(termsOf(ann)).toMatchObject({ states: 0.08, speaks: 0.15 })
    expect(others).toHaveLength(2)
    for (const other of others) expect(termsOf(other)).not.toHaveProperty("speaks")
    expect(termsOf(others.find(({ data }) => data.role === "assistant"))).toMatchObject({ aside: -0.1 })
    const scores = [ann, ...others].map((hit) => hit?.explain.score)
    expect(scores).toEqual(scores.toSorted((left, right) => right - left))
  })

  it("counts days from `now` in the caller's time zone", async () => {
    const asked = async (rest: Readonly<Record<string, string>>) => (await search("the kiln yesterday", rest))[0]
    const inTime = await asked({ now: "2024-06-11T12:00:00Z" })
    expect(inTime?.data.name).toBe("Ann")
    expect(termsOf(inTime)).toMatchObject({ inRange: 0.13, nearRange: 0.1 })
    const elsewhere = await asked({ now: "2024-06-11T12:00:00Z", timeZone: "America/Los_Angeles" })
    expect(termsOf(elsewhere)).toMatchObject({ nearRange: 0.1 })
    expect(termsOf(elsewhere)).not.toHaveProperty("inRange")
    expect(termsOf(await asked({}))).not.toHaveProperty("nearRange")
  })

  it("takes one clock for all queries of a batch", async () => {
    const { body, status } = await alice.post("/v1/memories/batch/search", {
      queries: [{ query: "the kiln yesterday", filters: { agentId: "pots", kind } }],
      now: "2024-06-11T12:00:00Z",
      timeZone: "Europe/Berlin"
    })
    expect(status).toBe(200)
    expect(body.results[0].memories[0].data.name).toBe("Ann")
  })
})
