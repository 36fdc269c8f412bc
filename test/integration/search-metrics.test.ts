/** `/metrics` tells where the time of a search went. */
import { describe, expect, it } from "vitest"
import { searchStages } from "@muniment/engine/search/MemorySearch"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })

const countOf = async (stage: string): Promise<number> => {
  const { body } = await server.call("GET", "/metrics")
  const line = String(body)
    .split("\n")
    .find((text) => text.startsWith("muniment_search_stage_seconds_count") && text.includes(`stage="${stage}"`))
  return Number(line?.split(" ").at(-1) ?? 0)
}

describe("the stages of a search in /metrics", () => {
  it("count every search once each, and nothing else", async () => {
    await server.call("POST", "/v1/memories", {
      body: { agentId: "a", memories: [{ kind: "factual_memory", data: { subject: "Ebba", fact: "rows on Sundays" } }] }
    })
    for (const stage of searchStages) expect(await countOf(stage), stage).toBe(0)
    for (let searches = 1; searches <= 2; searches++) {
      const { body } = await server.call("GET", "/v1/memories/search?query=who%20rows")
      expect(body.memories).toHaveLength(1)
      for (const stage of searchStages) expect(await countOf(stage), stage).toBe(searches)
    }
    await server.call("GET", "/v1/memories")
    for (const stage of searchStages) expect(await countOf(stage), stage).toBe(2)
  })

  it("say how late the event loop was, without the interval at which it is sampled", async () => {
    const { body } = await server.call("GET", "/metrics")
    const gauge = (name: string) => Number(new RegExp(`^muniment_${name} (.*)$`, "m").exec(String(body))?.[1])
    expect(gauge("event_loop_delay_p99_seconds")).toBeGreaterThanOrEqual(0)
    expect(gauge("event_loop_delay_max_seconds")).toBeGreaterThanOrEqual(gauge("event_loop_delay_p99_seconds"))
  })
})
