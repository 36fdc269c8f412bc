/**
 * Messages between the service and the map's worker. Vectors travel as one buffer, all else as JSON in portions: buffers
 * are transferred, where 5,000 objects would be copied in one turn of the event loop.
 *
 * Only the bounded texts that a map reads are sent, not the whole data: 5,000 memories of 64 KiB exceed the worker's
 * heap, and a heap that overflows while a message is deserialized ends the process, not only the worker.
 */
import { Effect } from "effect"
import type { JsonObject } from "@muniment/domain/Memory"
import { visibleText } from "@muniment/language/text/VisibleText"

export interface MapMemory {
  readonly id: string
  readonly kind: string
  readonly data: JsonObject
  readonly contentHash: string
  /** Unit length, of one model for all memories; where one is undefined, words place all of them. */
  readonly vector: Float32Array | undefined
}

/** The parts of a memory that a map reads. */
export interface ReadMemory extends Omit<MapMemory, "data"> {
  readonly texts: MemoryTexts
}

export interface MapRequest {
  /** Each an array of `Omit<ReadMemory, "vector">`, in UTF-8. */
  readonly portions: ReadonlyArray<Uint8Array<ArrayBuffer>>
  /** Float32Array[memories * dims]; empty unless every memory has a vector of that size. */
  readonly vectors: Float32Array<ArrayBuffer>
  readonly dims: number
}

export const readMemory = ({ contentHash, data, id, kind, vector }: MapMemory): ReadMemory => ({
  id,
  kind,
  texts: textsOf(data),
  contentHash,
  vector
})

/** Memories that are packed in one turn of the event loop. */
const packedPerTurn = 250

export const packRequest = Effect.fnUntraced(function* (memories: ReadonlyArray<MapMemory>) {
  const dims = memories[0]?.vector?.length ?? 0
  const isEmbedded = memories.every(({ vector }) => vector?.length === dims)
  const vectors = new Float32Array(isEmbedded ? memories.length * dims : 0)
  const portions: Array<Uint8Array<ArrayBuffer>> = []
  const encoder = new TextEncoder()
  for (let from = 0; from < memories.length; from += packedPerTurn) {
    if (from > 0) yield* Effect.yieldNow
    const portion = memories.slice(from, from + packedPerTurn).map((memory, at) => {
      const { vector, ...read } = readMemory(memory)
      if (isEmbedded && vector !== undefined) vectors.set(vector, (from + at) * dims)
      return read
    })
    portions.push(encoder.encode(JSON.stringify(portion)))
  }
  return { portions, vectors, dims: isEmbedded ? dims : 0 } satisfies MapRequest
})

export const unpackRequest = ({ dims, portions, vectors }: MapRequest): ReadonlyArray<ReadMemory> => {
  const decoder = new TextDecoder()
  return portions
    .flatMap((portion) => JSON.parse(decoder.decode(portion)) as ReadonlyArray<Omit<ReadMemory, "vector">>)
    .map((memory, at) => ({
      ...memory,
      vector: dims > 0 ? vectors.subarray(at * dims, (at + 1) * dims) : undefined
    }))
}

export interface MapCluster {
  /** A few distinctive terms as a heading. */
  readonly topic: string
  readonly terms: ReadonlyArray<string>
  readonly count: number
  readonly kinds: ReadonlyArray<string>
  readonly memoryIds: ReadonlyArray<string>
  readonly position: MapPosition
}

/** Place in the drawing, both -1..1. */
export interface MapPosition {
  readonly x: number
  readonly y: number
}

export interface MapPoint extends MapPosition {
  readonly id: string
  /** Index into `clusters`; null: it belongs to none. */
  readonly cluster: number | null
}

export interface DrawnMap {
  /** Markdown: a heading per topic, a bullet per memory. */
  readonly memoryMap: string
  readonly clusters: ReadonlyArray<MapCluster>
  readonly points: ReadonlyArray<MapPoint>
}

interface MemoryTexts {
  /** The top-level `subject`; empty without one. */
  readonly subject: string
  /** All other values, in the order of the data. */
  readonly parts: ReadonlyArray<string>
  /** The parts that consist of words. */
  readonly wordParts: ReadonlyArray<string>
}

const partsMax = 64
const depthMax = 16
/** Values visited, empty ones included. */
const valuesMax = 2_000
/** About as much as an embedding model reads. */
const charactersMax = 2_000

export const textsOf = (data: JsonObject): MemoryTexts => {
  const parts: Array<string> = []
  const wordParts: Array<string> = []
  let characters = 0
  let values = 0
  const visit = (value: unknown, key: string, depth: number): void => {
    if (characters >= charactersMax || parts.length >= partsMax || depth > depthMax || values++ >= valuesMax) return
    if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) visit(inner, Array.isArray(value) ? key : name, depth + 1)
      return
    }
    const whole = typeof value === "string" ? value : scalarText(value, key)
    const text = visibleText(whole.slice(0, charactersMax - characters))
    if (text.trim() === "") return
    characters += text.length
    parts.push(text)
    if (typeof value === "string" && !isoDate.test(value)) wordParts.push(text)
  }
  const { subject, ...rest } = data
  const isNamed = typeof subject === "string"
  visit(isNamed ? rest : data, "", 0)
  return { subject: isNamed ? visibleText(subject.slice(0, charactersMax)) : "", parts, wordParts }
}

const isoDate = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]{5,15}(?:Z|[+-]\d{2}:?\d{2})?)?$/

const scalarText = (value: unknown, key: string): string => {
  if (typeof value === "number") return `${key} ${value}`
  return value === true ? key : ""
}

/**
 * Memories in canonical order, as nodes of the map. Memories of equal content are one node with several ids, so that
 * repetition moves no cluster and equal memories stay together.
 *
 * Invariant: ids order the ids of one node and nothing else; the order of the memories has no effect.
 */
export interface MapNode extends MemoryTexts {
  readonly kind: string
  readonly vector: Float32Array | undefined
  readonly ids: ReadonlyArray<string>
}

export const nodesOf = (memories: ReadonlyArray<ReadMemory>): ReadonlyArray<MapNode> => {
  const sorted = memories
    .map((memory) => ({ memory, said: JSON.stringify(memory.texts) }))
    .sort(
      (left, right) =>
        compare(left.memory.contentHash, right.memory.contentHash) ||
        compare(left.memory.kind, right.memory.kind) ||
        compare(left.said, right.said) ||
        compareVectors(left.memory.vector, right.memory.vector) ||
        compare(left.memory.id, right.memory.id)
    )
  const groups: Array<typeof sorted> = []
  for (const entry of sorted) {
    const first = groups.at(-1)?.[0]
    const isSame =
      first !== undefined &&
      first.memory.contentHash === entry.memory.contentHash &&
      first.memory.kind === entry.memory.kind
    if (isSame) groups.at(-1)!.push(entry)
    else groups.push([entry])
  }
  return groups.map((group) => {
    const { kind, texts, vector } = group[0]!.memory
    return { ...texts, kind, vector, ids: group.map(({ memory }) => memory.id).sort(compare) }
  })
}

/** By code units, independent of the locale. */
export const compare = (left: string, right: string): number => {
  if (left === right) return 0
  return left < right ? -1 : 1
}

const compareVectors = (left: Float32Array | undefined, right: Float32Array | undefined): number => {
  if (left === undefined || right === undefined) return Number(right === undefined) - Number(left === undefined)
  const differing = left.findIndex((value, dim) => value !== right[dim])
  return differing < 0 ? 0 : left[differing]! - (right[differing] ?? 0)
}
