/** What the data directory of a small service takes of the disk: not megabytes that are kept for what may come. */
import { lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { isLongRun } from "../support/Repetitions.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const bytesMax = 20_000_000
const agents = 10
const memoriesOfEach = isLongRun ? 100 : 10
const blockBytes = 512

const server = useServer()

const memory = (agent: number, at: number) => ({
  kind: "factual_memory",
  data: {
    subject: `person ${agent} ${at}`,
    fact: Array.from({ length: 25 }, (_, word) => `word${(word * 7_919 + at * 104_729 + agent) % 5_003}`).join(" ")
  }
})

const sizes = () => {
  const found = readdirSync(server.dataDirectory, { recursive: true, encoding: "utf8" })
    .flatMap((name) => lstatSync(join(server.dataDirectory, name), { throwIfNoEntry: false }) ?? [])
    .filter((stat) => stat.isFile())
  return {
    apparent: found.reduce((sum, { size }) => sum + size, 0),
    allocated: found.reduce((sum, { blocks }) => sum + blocks * blockBytes, 0)
  }
}

describe("the data directory of a service with the model", () => {
  it(`takes at most 20 MB with ${agents * memoriesOfEach} memories of ten agents, by the sizes of its files and on the disk`, async () => {
    for (let agent = 0; agent < agents; agent++) {
      const memories = Array.from({ length: memoriesOfEach }, (_, at) => memory(agent, at))
      const body = { agentId: `agent ${agent}`, memories, wait: "vectors" }
      const { status } = await server.call("POST", "/v1/memories/batch/create", { body })
      expect(status).toBe(200)
    }
    // What waits for its next round is emptied within a minute or two.
    await vi.waitUntil(() => sizes().apparent <= bytesMax, { timeout: patienceMillis, interval: 1_000 })
    expect(sizes().allocated).toBeLessThanOrEqual(bytesMax)
    expect(sizes().apparent).toBeGreaterThan(agents * memoriesOfEach * 384 * 4)
  })
})
