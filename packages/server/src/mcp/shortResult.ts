/**
 * Memories as a model is shown them (contract: MCP), in the text of a tool's answer and in its structure: `metadata` lacks
 * what stands in `data` or `context`, long data are clipped, and a map has no coordinates. It only leaves out: names
 * and shapes are those of REST.
 */
import type { Schema } from "effect"
import { isJsonObject } from "@muniment/domain/isJsonObject"
import { Limits } from "@muniment/domain/Limits"
import type { CreatedMemories, JsonObject, MemoryEntry, MemoryView, SearchHit } from "@muniment/domain/Memory"
import type { SearchResult } from "@muniment/domain/SearchResult"
import { clippedText, isJsonArray } from "@muniment/language/text/VisibleText"

export const shortResult = (result: SearchResult): JsonObject => {
  if ("memoryMap" in result) {
    const { clusters, points: _points, ...map } = result
    return { ...map, clusters: clusters.map(({ position: _position, ...cluster }) => cluster) }
  }
  return {
    ...result,
    memories: result.memories.map(shortHit),
    ...("hits" in result && result.hits !== undefined && { hits: result.hits.map(shortHit) })
  }
}

/** Short answer of a write, whose caller knows the data. */
export const shortCreated = ({ created, existing, updated, ...rest }: CreatedMemories) => ({
  created: created.map(shortMemory),
  updated: updated.map(shortMemory),
  ...(existing !== undefined && { existing: existing.map(shortMemory) }),
  ...rest
})

export const shortHit = (hit: SearchHit): JsonObject => {
  const { confidence: _confidence, contentHash, source: _source, ...metadata } = metadataBeside(hit)
  // The attestation names the hash of a shared memory.
  const kept = hit.source === "own" ? metadata : { ...metadata, ...(contentHash !== undefined && { contentHash }) }
  return { ...clipped(hit), metadata: kept }
}

export const shortMemory = (memory: MemoryEntry | MemoryView): JsonObject => ({
  ...clipped(memory),
  metadata: metadataBeside(memory)
})

export const wholeMemory = (memory: MemoryView): JsonObject => ({ ...memory, metadata: metadataBeside(memory) })

type Shown = MemoryEntry | MemoryView | SearchHit

/** System fields, which win on a name clash in `metadata`. */
const systemFields: ReadonlySet<string> = new Set([
  "agentId",
  "subjectId",
  "threadId",
  "confidence",
  "createdAt",
  "updatedAt",
  "contentHash",
  "expiresAt",
  "supersedes",
  "supersededBy",
  "sourceMessageIds"
])

/** Metadata without what stands beside it. */
const metadataBeside = (memory: Shown): JsonObject => {
  const context = "context" in memory ? memory.context : undefined
  const beside = { ...memory.data, ...context?.metadata }
  const isBeside = (name: string): boolean =>
    name === "tags" ? context !== undefined : !systemFields.has(name) && Object.hasOwn(beside, name)
  return Object.fromEntries(Object.entries(memory.metadata).filter(([name]) => !isBeside(name)))
}

const clipped = (memory: Shown): JsonObject => {
  const { data, isClipped } = clippedData(memory)
  return { ...memory, data, ...(isClipped && { isClipped }) }
}

/** The found passage of a long message; else the beginning of each long text, and of data with many. */
const clippedData = (memory: Shown): { readonly data: JsonObject; readonly isClipped: boolean } => {
  const { data } = memory
  const { text } = data
  const passage = "passage" in memory ? memory.passage : undefined
  if (passage !== undefined && typeof text === "string") {
    const [before, after] = [passage.start > 0, passage.end < text.length].map((isCut) => (isCut ? "…" : ""))
    return { data: { ...data, text: `${before}${text.slice(passage.start, passage.end)}${after}` }, isClipped: true }
  }
  const clipper = new Clipper()
  return { data: clipper.object(data), isClipped: clipper.isClipped }
}

/** Copies a value up to `Limits.shortDataLengthMax` characters of its names and texts, in their order. */
class Clipper {
  isClipped = false
  #room: number = Limits.shortDataLengthMax

  object(value: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]) => {
        this.#room -= name.length
        return this.#kept(inner).map((kept) => [name, kept] as const)
      })
    )
  }

  /** The value, or nothing where there is no room. */
  #kept(value: Schema.Json): ReadonlyArray<Schema.Json> {
    if (this.#room <= 0) {
      this.isClipped = true
      return []
    }
    if (isJsonObject(value)) return [this.object(value)]
    if (typeof value === "object" && value !== null && isJsonArray(value)) {
      return [value.flatMap((inner) => this.#kept(inner))]
    }
    return [typeof value === "string" ? this.#text(value) : this.#scalar(value)]
  }

  #text(text: string): string {
    const clipped = clippedText(text, Math.min(Limits.passageLengthMax, this.#room))
    this.#room -= clipped.length
    this.isClipped ||= clipped !== text
    return clipped
  }

  #scalar<Value extends Schema.Json>(value: Value): Value {
    this.#room -= String(value).length
    return value
  }
}
