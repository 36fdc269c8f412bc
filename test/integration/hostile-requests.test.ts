/** Made-up bad input over every endpoint of the contract; the long form sends 50,000. */
import { describe, expect, it } from "vitest"
import { hostileEnvironment, hostileSummary, runHostileRequests } from "../support/HostileRun.ts"
import { blockedMillisMax } from "../support/LivenessProbe.ts"
import { chosenSeed } from "../support/SeededRandom.ts"
import { startServer } from "../support/TestServer.ts"

describe("200 requests made up from the contract, and frames that no client sends", () => {
  it("get no 5xx, leave nothing when they are refused, and block nobody", async () => {
    const seed = chosenSeed()
    const server = await startServer({ environment: hostileEnvironment })
    const report = await runHostileRequests(server, 200, seed)
    console.log(hostileSummary(seed, report))
    expect(report).toMatchObject({ failures: [], leftovers: [], blockers: [] })
    expect(report.waitMillis.p99).toBeLessThan(blockedMillisMax)
    expect(report.statuses["200"]).toBeGreaterThan(0)
    expect(await server.stop()).toBe(0)
  })
})
