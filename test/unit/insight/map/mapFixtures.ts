/** Memories for the tests of maps: groups that are plainly groups, with words and vectors that say so. */
import { createHash } from "node:crypto"
import type { JsonObject } from "@muniment/domain/Memory"
import { makeMatrix, type Matrix, normaliseRows } from "@muniment/insight/map/RowProducts"
import type { MapMemory } from "@muniment/insight/map/MapProtocol"
import { SeededRandom } from "../../../support/SeededRandom.ts"

const groupWords = ["sailing boat", "bread dough", "chess opening", "mountain tent", "tax letter"]
const dims = 16

export const memoryOf = (id: string, data: JsonObject, vector: Float32Array | undefined): MapMemory => ({
  id,
  kind: "factual_memory",
  data,
  contentHash: `0x${createHash("sha256").update(JSON.stringify(data)).digest("hex")}`,
  vector
})

/** At most five groups; vectors around one axis each. */
export const groupedMemories = (groups: number, perGroup: number): ReadonlyArray<MapMemory> => {
  const random = new SeededRandom(groups * 100 + perGroup)
  return groupWords.slice(0, groups).flatMap((words, group) =>
    Array.from({ length: perGroup }, (_, at) => {
      const raw = Float32Array.from({ length: dims }, (_value, dim) =>
        dim === group ? 1 : 0.2 * (random.next() - 0.5)
      )
      const length = Math.hypot(...raw)
      const data = { subject: `person ${at % 3}`, fact: `has ${words} story number ${at}` }
      return memoryOf(
        `m${group}_${at}`,
        data,
        raw.map((value) => value / length)
      )
    })
  )
}

export const shuffled = <A>(items: ReadonlyArray<A>, random: SeededRandom): ReadonlyArray<A> => {
  const order = [...items]
  for (let last = order.length - 1; last > 0; last--) {
    const other = random.between(0, last)
    ;[order[last], order[other]] = [order[other]!, order[last]!]
  }
  return order
}

/** Rows of length 1 in random directions. */
export const randomMatrix = (rows: number, dims: number, seed: number): Matrix => {
  const random = new SeededRandom(seed)
  const matrix = makeMatrix(rows, dims)
  for (let at = 0; at < matrix.values.length; at++) matrix.values[at] = random.next() - 0.5
  normaliseRows(matrix)
  return matrix
}
