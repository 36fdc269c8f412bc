/**
 * The result of a search as a model is shown it (contract: MCP), in the text of a tool's answer and in its structure: what
 * stands in a hit once is not repeated, long data are clipped, and a map has no coordinates. It only leaves out:
 * names and shapes are those of REST.
 */
import type { Schema } from "effect"
import { isJsonObject } from "@muniment/domain/isJsonObject"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject, SearchHit } from "@muniment/domain/Memory"
import type { SearchResult } from "@muniment/domain/SearchResult"
import { clippedText, isJsonArray } from "@muniment/insight/text/VisibleText"

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

export const shortHit = (hit: SearchHit): JsonObject => {
  const { data, isClipped } = clippedData(hit)
  return { ...hit, data, metadata: placeAndTimes(hit), ...(isClipped && { isClipped }) }
}

/** Of an own memory: its tags and confidence stand elsewhere in the hit, and no attestation names its hash. */
const ownFields = [
  "agentId",
  "subjectId",
  "threadId",
  "createdAt",
  "updatedAt",
  "expiresAt",
  "supersedes",
  "supersededBy",
  "sourceMessageIds"
]
const sharedFields = ["agentId", "contentHash", "source"]

const placeAndTimes = ({ metadata, source }: SearchHit): JsonObject =>
  Object.fromEntries(
    (source === "own" ? ownFields : sharedFields).flatMap((name) => {
      const value = metadata[name]
      return value === undefined ? [] : [[name, value]]
    })
  )

/** Of a long message the passage that was found; else the beginning of each long text, and of data with many. */
const clippedData = ({ data, passage }: SearchHit): { readonly data: JsonObject; readonly isClipped: boolean } => {
  const { text } = data
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
