/**
 * Memories in canonical order, as nodes of the map. Memories of equal content are one node with
 * several ids: how often something was said moves no cluster, and equal memories stay together.
 *
 * Invariant: ids play no part but to order the ids of one node, and the order of the memories none.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import type { MapMemory } from "./MemoryMap.ts"
import { type MemoryTexts, textsOf } from "./MemoryTexts.ts"

export interface MapNode extends MemoryTexts {
  readonly kind: string
  readonly vector: Float32Array | undefined
  readonly ids: ReadonlyArray<string>
}

export const nodesOf = (memories: ReadonlyArray<MapMemory>): ReadonlyArray<MapNode> => {
  const sorted = memories
    .map((memory) => ({ memory, content: canonicalText(memory.data) }))
    .sort(
      (left, right) =>
        compare(left.memory.contentHash, right.memory.contentHash) ||
        compare(left.memory.kind, right.memory.kind) ||
        compare(left.content, right.content) ||
        compareVectors(left.memory.vector, right.memory.vector) ||
        compare(left.memory.id, right.memory.id)
    )
  const groups: Array<typeof sorted> = []
  for (const entry of sorted) {
    const first = groups.at(-1)?.[0]
    const isSame =
      first !== undefined &&
      first.memory.contentHash === entry.memory.contentHash &&
      first.memory.kind === entry.memory.kind &&
      first.content === entry.content
    if (isSame) groups.at(-1)!.push(entry)
    else groups.push([entry])
  }
  return groups.map((group) => {
    const { kind, data, vector } = group[0]!.memory
    return { ...textsOf(data), kind, vector, ids: group.map(({ memory }) => memory.id).sort(compare) }
  })
}

/** By code units, never by the host's language. */
export const compare = (left: string, right: string): number => {
  if (left === right) return 0
  return left < right ? -1 : 1
}

const compareVectors = (left: Float32Array | undefined, right: Float32Array | undefined): number => {
  if (left === undefined || right === undefined) return Number(right === undefined) - Number(left === undefined)
  const differing = left.findIndex((value, dim) => value !== right[dim])
  return differing < 0 ? 0 : left[differing]! - (right[differing] ?? 0)
}

/** JSON with sorted keys. */
const canonicalText = (data: JsonObject): string =>
  JSON.stringify(data, (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => compare(left, right)))
      : value
  )
