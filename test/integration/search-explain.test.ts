/**
 * `explain=true` over HTTP (contract: Search): which engine looked for the vectors of each of the caller's agents, and
 * why; the same at debug level in the log.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { accountCalls, fact, type MemoryCalls, useAccount } from "../support/MemoryCalls.ts"
import { patienceMillis, startServer } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, searchPath, signedGrant, walletCalls } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: { MUNIMENT_LOG_LEVEL: "Debug" } })
const alice = useAccount(server, "alice")

const answer = async (calls: MemoryCalls, parameters: Readonly<Record<string, string>>) => {
  const { body } = await calls.call("GET", `/v1/memories/search?${new URLSearchParams(parameters)}`)
  expect(body, JSON.stringify(body)).toMatchObject({ success: true })
  return body
}

beforeAll(async () => {
  await alice.create("gardens", [fact("Ann", "Ann grows tomatoes"), fact("Ann", "Ann waters the roses")])
  await alice.create("boats", [fact("Ben", "Ben sails to the island")])
})

describe("explain=true", () => {
  it("says of each agent which engine searched it, why, and what that was expected to cost", async () => {
    const { explain } = await answer(alice, { query: "vegetables", explain: "true" })
    const agents = explain.index.map((one: { readonly agentId: string }) => one.agentId)
    expect(agents.toSorted()).toEqual(["boats", "gardens"])
    for (const one of explain.index) {
      expect(one).not.toHaveProperty("probedLists")
      expect(one).toMatchObject({ engine: "exact", reason: expect.stringMatching(/\w/), model: expect.any(String) })
      expect(one.estimatedMicros).toBeGreaterThanOrEqual(0)
    }
    const costs: ReadonlyArray<number> = explain.index.map(
      (one: { readonly estimatedMicros: number }) => one.estimatedMicros
    )
    expect(costs).toEqual(costs.toSorted((a, b) => b - a))
  })

  it("says of a search with strict recall that it is certified, and finds what a fast one finds", async () => {
    const asked = { query: "vegetables", explain: "true" }
    const [strict, fast] = [await answer(alice, { ...asked, recall: "strict" }), await answer(alice, asked)]
    expect(strict.explain.index).toHaveLength(2)
    for (const one of strict.explain.index)
      expect(one).toMatchObject({ engine: "exact", isCertified: true, reason: "strict recall was asked for" })
    for (const one of fast.explain.index) expect(one).not.toHaveProperty("isCertified")
    const idsOf = ({ memories }: typeof fast) => memories.map(({ id }: { readonly id: string }) => id)
    expect(idsOf(strict)).toEqual(idsOf(fast))
    const refused = await alice.call("GET", searchPath({ query: "vegetables", recall: "strict", mode: "map" }))
    expect([refused.status, refused.body.details]).toEqual([400, [{ path: "/recall", message: expect.any(String) }]])
  })

  it("tells it in every mode, and only of the agents that the filter names", async () => {
    for (const mode of ["llm", "answer", "map"]) {
      const { explain } = await answer(alice, { query: "Ann", agentId: "gardens", mode, explain: "true" })
      expect(explain.index, mode).toHaveLength(1)
      expect(explain.index[0].agentId).toBe("gardens")
    }
    expect((await answer(alice, { query: "Ann", agentId: "nobody", explain: "true" })).explain).toEqual({ index: [] })
  })

  it("says in words why a hit stands higher or lower than its score", async () => {
    const conversation = [
      { role: "user", content: "I pay 980 a month for the flat" },
      { role: "user", content: "The flat was raised to 1,050 a month" }
    ]
    const said = { agentId: "rent", threadId: "rent", conversation, wait: "vectors" }
    expect((await alice.post("/v1/memories", said)).status).toBe(200)
    const asked = { query: "How much do I pay for the flat?", agentId: "rent", explain: "true" }
    const { memories } = await answer(alice, { ...asked, include: "messages" })
    const movedBy = new Map(
      memories.map(({ data, explain }: { data: { text: string }; explain: { moved?: string } }) => [
        data.text,
        explain.moved
      ])
    )
    expect(memories[0].data.text).toBe("The flat was raised to 1,050 a month")
    expect(movedBy.get("The flat was raised to 1,050 a month")).toMatch(/^newer: tells of a change/)
    expect(movedBy.get("I pay 980 a month for the flat")).toMatch(/^older/)
    const still = await answer(alice, { ...asked, include: "messages", newerFirst: "false" })
    expect(JSON.stringify(still)).not.toContain("moved")
  })

  it("is of a message alone whose matter is asked for: a correction leaves the other facts", async () => {
    const say = async (content: string) => {
      const conversation = [{ role: "user", content }]
      const said = { agentId: "lisbon", threadId: "lisbon", conversation, wait: "vectors" }
      expect((await alice.post("/v1/memories", said)).status).toBe(200)
    }
    await say("I live in Lisbon with my dog Bruno, rent is 900.")
    await say("Actually I moved to Porto last week, and the rent is 1,050 now.")
    const ask = (query: string) => answer(alice, { query, agentId: "lisbon", mode: "answer", explain: "true" })
    const dog = await ask("What is my dog called?")
    expect(dog).toMatchObject({ grounded: true, answer: "The user's dog is called Bruno." })
    expect(JSON.stringify(dog.memories[0].data)).toContain("Bruno")
    expect(JSON.stringify(dog)).not.toContain('moved":')
    expect((await ask("Where do I live?")).answer).toContain("Porto")
    expect((await ask("How much is my rent?")).answer).toContain("1,050")
  })

  it("is told to nobody who did not ask", async () => {
    for (const mode of ["llm", "answer", "map"])
      expect(await answer(alice, { query: "Ann", mode })).not.toHaveProperty("explain")
    const batch = await alice.post("/v1/memories/batch/search", { queries: [{ query: "Ann" }] })
    expect(batch.body).not.toHaveProperty("explain")
  })

  it("is logged for every search at debug level, without the query's text", async () => {
    await answer(alice, { query: "zeppelin rhubarb", agentId: "boats" })
    const lines = server
      .output()
      .split("\n")
      .filter((line) => line.includes("vectors were searched"))
    expect(lines.at(-1)).toContain("exact")
    expect(lines.join("\n")).not.toContain("zeppelin")
  })
})

describe("explain=true where MUNIMENT_INDEX pins the quantised engine", () => {
  it("says how many of its lists were probed, once they are there", async () => {
    const pinned = await startServer({ environment: { MUNIMENT_INDEX: "quantized" } })
    try {
      const calls = await accountCalls(pinned, "carla")
      await calls.create("stars", [fact("Ed", "Ed watches Jupiter"), fact("Ed", "Ed owns a telescope")])
      const explained = async () => (await answer(calls, { query: "planets", explain: "true" })).explain.index[0]
      await expect.poll(explained, { timeout: patienceMillis }).toMatchObject({
        agentId: "stars",
        engine: "quantized",
        probedLists: 1,
        reason: "pinned by configuration"
      })
    } finally {
      await pinned.stop()
    }
  })
})

describe("explain=true with shared memories", () => {
  it("does not say how the grantor's vectors were searched: the cost would tell how many there are", async () => {
    const [grantor, reader] = [evmWallet("A"), evmWallet("B")]
    const [owner, caller] = [walletCalls(server, grantor), walletCalls(server, reader)]
    await owner.create("library", [fact("Cleo", "Cleo reads about glaciers")])
    await caller.create("desk", [fact("Dora", "Dora draws glaciers")])
    const grant = await signedGrant(grantor, { g: reader.wallet.address, a: "library" })
    const path = searchPath({ query: "glaciers", explain: "true" })
    const { body } = await caller.call("GET", path, { headers: grantsHeader([grant]) })
    expect(body, JSON.stringify(body)).toMatchObject({ success: true })
    const sources = body.memories.map((memory: { readonly source: string }) => memory.source)
    expect(sources.toSorted()).toEqual(["own", "shared"])
    expect(body.explain.index.map((one: { readonly agentId: string }) => one.agentId)).toEqual(["desk"])
  })
})
