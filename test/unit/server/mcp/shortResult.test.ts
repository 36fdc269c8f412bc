/** What memories of a tool's answer leave out (contract: MCP). */
import { describe, expect, it } from "vitest"
import type { SearchHit } from "@muniment/domain/Memory"
import { Limits } from "@muniment/domain/Limits"
import { shortHit, shortMemory } from "@muniment/server/mcp/ToolResult"

const id = "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"
const system = { agentId: "a", tags: ["home"], confidence: 1, createdAt: 1, updatedAt: 1, contentHash: "0x1" }
const hitOf = (given: Partial<SearchHit>): SearchHit => ({
  id: id as SearchHit["id"],
  kind: "note",
  quality: { relevance: 0.5, confidence: 1 },
  data: { text: "short" },
  context: { mentions: [], tags: ["home"], isLatest: true },
  source: "own",
  metadata: { text: "short", ...system },
  ...given
})

describe("metadata", () => {
  it("of a hit has place and times, and of a shared one the hash that is attested", () => {
    expect(shortHit(hitOf({}))["metadata"]).toEqual({ agentId: "a", createdAt: 1, updatedAt: 1 })
    const metadata = { text: "short", agentId: "a", contentHash: "0x1", source: "shared" }
    const shared = shortHit(hitOf({ source: "shared", grantor: "0xAb", metadata }))
    expect(shared).toMatchObject({ source: "shared", metadata: { agentId: "a", contentHash: "0x1" } })
    expect(shared["metadata"]).not.toHaveProperty("source")
  })

  it("of what was written keeps what stands nowhere else, also by the name of a property", () => {
    const data = { title: "x", tags: "own", agentId: "own" }
    const metadata = { ...data, by: "mail", ...system }
    const written = shortMemory({ id: hitOf({}).id, kind: "note", data, metadata })
    expect(written).toEqual({ id, kind: "note", data, metadata: { by: "mail", ...system } })
  })
})

describe("a passage", () => {
  const length = Limits.passageLengthMax
  const text = "x".repeat(3 * length)
  it.each([
    ["at the beginning", 0, "", "…"],
    ["in the middle", length, "…", "…"],
    ["at the end", 2 * length, "…", ""]
  ])("%s is marked where something is missing", (_, start, before, after) => {
    const passage = { start, end: start + length }
    expect(shortHit(hitOf({ data: { role: "user", text }, passage }))).toMatchObject({
      isClipped: true,
      passage,
      data: { role: "user", text: `${before}${"x".repeat(length)}${after}` }
    })
  })
})

it("data with many texts end where there is no more room, between characters", () => {
  const data = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`p${at}`, "😀".repeat(300)]))
  const { data: kept, isClipped } = shortMemory({ id: hitOf({}).id, kind: "note", data, metadata: system })
  expect(isClipped).toBe(true)
  expect(JSON.stringify(kept).length).toBeLessThan(Limits.shortDataLengthMax + 100)
  for (const value of Object.values(kept as Record<string, string>)) expect(value).toMatch(/^(?:😀)*…?$/u)
})
