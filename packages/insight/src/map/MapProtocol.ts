/**
 * What the service and its worker say to each other. Vectors travel as one buffer that is handed
 * over, not copied again; the map comes back as it is answered.
 */
import type { MapMemory } from "./MemoryMap.ts"

export interface MapRequest {
  readonly memories: ReadonlyArray<Omit<MapMemory, "vector">>
  /** Float32Array[memories * dims]; empty unless every memory has a vector of that size. */
  readonly vectors: Float32Array<ArrayBuffer>
  readonly dims: number
}

export const packRequest = (memories: ReadonlyArray<MapMemory>): MapRequest => {
  const dims = memories[0]?.vector?.length ?? 0
  const isEmbedded = memories.every(({ vector }) => vector?.length === dims)
  const vectors = new Float32Array(isEmbedded ? memories.length * dims : 0)
  const plain = memories.map(({ id, kind, data, contentHash, vector }, at) => {
    if (isEmbedded && vector !== undefined) vectors.set(vector, at * dims)
    return { id, kind, data, contentHash }
  })
  return { memories: plain, vectors, dims: isEmbedded ? dims : 0 }
}

export const unpackRequest = ({ memories, vectors, dims }: MapRequest): ReadonlyArray<MapMemory> =>
  memories.map((memory, at) => ({
    ...memory,
    vector: dims > 0 ? vectors.subarray(at * dims, (at + 1) * dims) : undefined
  }))
