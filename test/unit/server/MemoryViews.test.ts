/** Records as callers see them (contract: Memories): name clashes, absent fields, internal fields. */
import { rank } from "@muniment/engine/ranking/Fusion"
import { describe, expect, it } from "vitest"
import type { MemoryVersion } from "@muniment/domain/Memory"
import { exportedMemory, memoryEntry, memoryView, searchHit } from "@muniment/server/memories/MemoryViews"
import { memoryRecord } from "../../support/EngineFixtures.ts"

const version = (fields: Partial<MemoryVersion> = {}): MemoryVersion => ({
  ...memoryRecord(1, "Alice lives in Seattle"),
  isLatest: true,
  supersedes: undefined,
  supersededBy: undefined,
  ...fields
})
const data = { subject: "Alice", agentId: "from the data", tags: "from the data", createdAt: -1, supersedes: "no one" }

describe("metadata", () => {
  it("holds the data laid flat, and on a clash the system field wins while data keeps its own", () => {
    const { metadata, data: kept } = memoryEntry(version({ data, supersedes: "mem_before" }))
    expect(kept).toEqual(data)
    expect(metadata).toMatchObject({
      subject: "Alice",
      agentId: "agent",
      tags: [],
      createdAt: 1_001,
      supersedes: "mem_before"
    })
  })

  it("keeps a field of the data where the system has no value", () => {
    const { metadata } = memoryEntry(version({ data: { ...data, subjectId: "mine", expiresAt: "never" } }))
    expect(metadata).toMatchObject({ subjectId: "mine", expiresAt: "never", supersedes: "no one" })
  })

  it("has no undefined members and no internal fields", () => {
    const { metadata } = memoryEntry(version({ uniqueKey: "secret", subjectId: undefined }))
    expect(Object.values(metadata)).not.toContain(undefined)
    expect(Object.keys(metadata).toSorted()).toEqual(
      ["agentId", "confidence", "contentHash", "createdAt", "fact", "tags", "updatedAt"].toSorted()
    )
  })
})

describe("a memory", () => {
  it("is shown with its context; the event time only if there is one", () => {
    expect(memoryView(version()).context).toEqual({ mentions: [], tags: [], isLatest: true })
    const when = "2026-11-21T00:00:00.000Z"
    expect(memoryView(version({ when, isLatest: false })).context).toMatchObject({ when, isLatest: false })
  })

  it("is found with its relevance, and with its scores on request", () => {
    const memory = version()
    const candidate = {
      id: memory.id,
      createdAt: 1,
      lexicalScore: 2,
      matchedTerms: 1,
      cosine: undefined,
      modelId: undefined,
      slot: 0,
      unit: 0,
      passage: undefined,
      namespace: "0"
    }
    const ranked = rank(candidate, { scoreBound: 8, termCount: 1, modelId: undefined })
    const plain = searchHit({ memory, ranked }, { rank: 1, explain: false, grantor: undefined, turns: undefined })
    expect(plain).toMatchObject({ source: "own", quality: { relevance: ranked.relevance, confidence: 1 } })
    for (const name of ["explain", "grantor"]) expect(plain).not.toHaveProperty(name)
    expect(plain.metadata).toEqual(memoryView(memory).metadata)
    const shown = searchHit({ memory, ranked }, { rank: 3, explain: true, grantor: undefined, turns: undefined })
    expect(shown.explain).toMatchObject({
      lexical: 0.25,
      dense: null,
      fused: ranked.relevance,
      rank: 3,
      terms: [
        { term: "words", value: 0.25, weight: 1, adds: 0.25 },
        { term: "meaning", value: 0, adds: 0 }
      ]
    })
  })

  it("is exported whole but for its place in the chain, which insertion order restores", () => {
    const exported = exportedMemory(version({ uniqueKey: "k", supersedes: "mem_a", supersededBy: "mem_b" }))
    expect(exported).toMatchObject({ id: version().id, uniqueKey: "k", origin: "direct" })
    for (const name of ["isLatest", "supersedes", "supersededBy"]) expect(exported).not.toHaveProperty(name)
  })
})
