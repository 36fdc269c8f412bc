/**
 * Memories in canonical order, as nodes of the map. Memories of equal content are one node with several ids, so that
 * repetition moves no cluster and equal memories stay together.
 *
 * Invariant: ids order the ids of one node and nothing else; the order of the memories has no effect.
 */
import type { MemoryTexts, ReadMemory } from "./MapProtocol.ts"

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
