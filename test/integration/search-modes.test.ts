/**
 * Search modes `answer` and `map` over HTTP, without a language model (contract: Answers and maps): shapes, invariants,
 * filters, shared memories, and what limits apply.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { fact, idsOf, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")

const topics = {
  cooking: ["Ann bakes sourdough bread", "Ann fries onions in butter", "Ann cooks lentil soup", "Ann bakes rye bread"],
  sailing: [
    "Ann sails a small boat",
    "The boat needs a new sail",
    "Ann moors the boat in the harbour",
    "The harbour was windy"
  ],
  chess: [
    "Ann plays chess on Mondays",
    "Ann lost a chess game with the queen",
    "The chess club meets weekly",
    "Ann opens chess games with e4"
  ]
}

const mode = async (name: string, parameters: Readonly<Record<string, string>>) => {
  const answer = await alice.call("GET", `/v1/memories/search?${new URLSearchParams({ mode: name, ...parameters })}`)
  expect(answer.body, JSON.stringify(answer.body)).toMatchObject({ success: true })
  return answer.body
}

beforeAll(async () => {
  await alice.create("facts", [
    fact("Ann", "Ann lives in Oslo"),
    fact("Ben", "Ben is a carpenter"),
    fact("Ann", "Ann's cat is called Miro")
  ])
  for (const texts of Object.values(topics)) {
    await alice.create(
      "topics",
      texts.map((words) => fact("Ann", words))
    )
  }
})

describe("mode answer", () => {
  it("answers from the memories that say so, and cites them", async () => {
    const body = await mode("answer", { query: "Where does Ann live?", agentId: "facts" })
    expect(body).toMatchObject({ grounded: true, method: "extractive" })
    expect(body.answer).toContain("Oslo")
    expect(body.answer).not.toContain("carpenter")
    expect(body.citations).toEqual(idsOf(body.memories))
    expect(body.memories[0].data.fact).toBe("Ann lives in Oslo")
    expect(Date.parse(body.searchedAt)).toBeGreaterThan(0)
  })

  it("says so when nothing known supports an answer", async () => {
    for (const query of ["What is the airspeed of a swallow?", "Who wrote the Iliad?"]) {
      const body = await mode("answer", { query, agentId: "facts" })
      expect(body).toMatchObject({ grounded: false, citations: [], memories: [] })
      expect(body.answer.length).toBeGreaterThan(0)
      expect(body.hits.length, "what was found is shown").toBeGreaterThan(0)
      expect(body.hits.length).toBeLessThanOrEqual(Limits.answerHitsMax)
    }
    expect(await mode("answer", { query: "Where?", agentId: "nobody" })).toMatchObject({
      grounded: false,
      memories: []
    })
  })

  it("keeps to the filters, and to 100 memories", async () => {
    const body = await mode("answer", { query: "Where does Ann live?", agentId: "topics" })
    expect(body.answer).not.toContain("Oslo")
    const tooMany = await alice.call("GET", "/v1/memories/search?query=q&mode=answer&limit=101")
    expect([tooMany.status, tooMany.body.code, tooMany.body.details[0].path]).toEqual([
      400,
      "invalid_request",
      "/limit"
    ])
  })
})

describe("mode map", () => {
  it("puts every memory on the map once, in clusters that hold together", async () => {
    const body = await mode("map", { query: "Ann", agentId: "topics" })
    const all = Object.values(topics).flat().length
    expect(body.points.length).toBe(all)
    expect(new Set(idsOf(body.points)).size).toBe(all)
    for (const [at, cluster] of body.clusters.entries()) {
      expect(cluster.count).toBe(cluster.memoryIds.length)
      expect(cluster.topic.length).toBeGreaterThan(0)
      expect(cluster.kinds).toEqual(["factual_memory"])
      const members = body.points.filter((point: { readonly cluster: number | null }) => point.cluster === at)
      expect(idsOf(members).toSorted()).toEqual(cluster.memoryIds.toSorted())
      expect(body.memoryMap).toContain(cluster.topic)
    }
    for (const { id, x, y } of body.points) {
      expect(body.memoryMap).toContain(id)
      expect(Math.max(Math.abs(x), Math.abs(y))).toBeLessThanOrEqual(1)
    }
  })

  it("is the same when asked again, and in another order of insertion", async () => {
    const { searchedAt: _first, ...once } = await mode("map", { query: "Ann", agentId: "topics" })
    const { searchedAt: _second, ...again } = await mode("map", { query: "Ann", agentId: "topics" })
    expect(again).toEqual(once)
    for (const texts of Object.values(topics).toReversed()) {
      await alice.create(
        "topics-reversed",
        texts.toReversed().map((words) => fact("Ann", words))
      )
    }
    const reversed = await mode("map", { query: "Ann", agentId: "topics-reversed" })
    const shape = ({
      clusters
    }: {
      readonly clusters: ReadonlyArray<{ readonly topic: string; readonly count: number }>
    }) => clusters.map(({ count, topic }) => ({ count, topic }))
    expect(shape(reversed)).toEqual(shape(once))
  })

  it("of nothing is empty, and its limit reaches to 5,000", async () => {
    expect(await mode("map", { query: "q", agentId: "nobody" })).toMatchObject({ clusters: [], points: [] })
    expect((await mode("map", { query: "Ann", limit: "5000" })).points.length).toBeGreaterThan(12)
    expect((await alice.call("GET", "/v1/memories/search?query=q&mode=map&limit=5001")).status).toBe(400)
  })
})
