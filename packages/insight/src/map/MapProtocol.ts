/**
 * What the service and its worker say to each other. Vectors travel as one buffer that is handed
 * over, not copied again; the map comes back as it is answered.
 *
 * Of the data only the bounded part goes that a map reads: 5,000 memories of 64 KiB are more than the
 * worker's heap, and a heap that overflows while a message is unpacked ends the process, not the worker.
 */
import type { MapMemory } from "./MemoryMap.ts"
import { type MemoryTexts, textsOf } from "./MemoryTexts.ts"

/** A memory as far as a map reads it. */
export interface ReadMemory extends Omit<MapMemory, "data"> {
  readonly texts: MemoryTexts
}

export interface MapRequest {
  readonly memories: ReadonlyArray<Omit<ReadMemory, "vector">>
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

export const packRequest = (memories: ReadonlyArray<MapMemory>): MapRequest => {
  const dims = memories[0]?.vector?.length ?? 0
  const isEmbedded = memories.every(({ vector }) => vector?.length === dims)
  const vectors = new Float32Array(isEmbedded ? memories.length * dims : 0)
  const plain = memories.map((memory, at) => {
    const { vector, ...read } = readMemory(memory)
    if (isEmbedded && vector !== undefined) vectors.set(vector, at * dims)
    return read
  })
  return { memories: plain, vectors, dims: isEmbedded ? dims : 0 }
}

export const unpackRequest = ({ memories, vectors, dims }: MapRequest): ReadonlyArray<ReadMemory> =>
  memories.map((memory, at) => ({
    ...memory,
    vector: dims > 0 ? vectors.subarray(at * dims, (at + 1) * dims) : undefined
  }))
