/** A client that follows events through kills is told each change once, in order by agent (contract: Events). */
import { expect, it } from "vitest"
import { followThroughKills } from "./EventFollowing.ts"

it("100 writes and a kill: every change is told once, in order", async () => {
  const { streams, told, types, written } = await followThroughKills({ writes: 100, kills: 1, agents: 4 })
  expect(told).toEqual(written)
  expect([...types]).toEqual(["memory.created"])
  expect(streams).toBeGreaterThanOrEqual(2)
})
