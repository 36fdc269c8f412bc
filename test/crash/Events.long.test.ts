/** The same as `Events.test.ts`, with ten thousand writes and three kills. */
import { expect, it } from "vitest"
import { followThroughKills } from "./EventFollowing.ts"

it("10,000 writes and three kills: every change is told once, in order", async () => {
  const { streams, told, types, written } = await followThroughKills({ writes: 10_000, kills: 3, agents: 4 })
  expect(told).toEqual(written)
  expect([...types]).toEqual(["memory.created"])
  expect(streams).toBeGreaterThanOrEqual(4)
}, 600_000)
