/**
 * Part of the conformance suite: a vector that was removed leaves nothing behind. Two indexes that did the
 * same with different vectors must be left with the same memory, byte for byte, once these are removed.
 */
import { describe, expect, it } from "vitest"
import { workAll, workOnce, type EngineUnderTest, type IndexUnderTest } from "./indexConformanceCheck.ts"
import { vectorsOf } from "./indexConformanceVectors.ts"

const dims = 64
const { rows } = vectorsOf("clustered", 111, dims, 300, 0)
const [secret, other] = vectorsOf("isotropic", 112, dims, 2, 0).rows

/** What is left in memory after a story about one vector. */
const memoryAfter = (
  engine: EngineUnderTest,
  vector: Float32Array,
  story: (index: IndexUnderTest, vector: Float32Array) => void
): Uint8Array => {
  const { index, memory } = engine.makeAlone(dims)
  story(index, vector)
  const left = memory().slice()
  index.close()
  return left
}

export const erasureConformance = (engine: EngineUnderTest): void => {
  const stories: ReadonlyArray<readonly [string, (index: IndexUnderTest, vector: Float32Array) => void]> = [
    [
      "among others",
      (index, vector) => {
        for (const [slot, row] of rows.entries()) index.upsert(slot, row, slot)
        workAll(index)
        index.upsert(300, vector, 400)
        index.remove(300, 401)
      }
    ],
    [
      "replaced before",
      (index, vector) => {
        for (const [slot, row] of rows.entries()) index.upsert(slot, row, slot)
        workAll(index)
        index.upsert(5, vector, 400)
        index.upsert(5, rows[5]!, 401)
      }
    ],
    [
      "the only one there ever was, whatever was built of it",
      (index, vector) => {
        index.upsert(0, vector, 1)
        workAll(index)
        index.remove(0, 2)
        workAll(index)
      }
    ],
    [
      "read out before",
      (index, vector) => {
        for (const [slot, row] of rows.entries()) index.upsert(slot, row, slot)
        index.upsert(300, vector, 400)
        index.search(rows[0]!, 1, undefined)
        index.vectorOf?.(300)
        index.remove(300, 401)
      }
    ],
    [
      "removed while the engine was building, and closed in the middle of it",
      (index, vector) => {
        for (const [slot, row] of rows.entries()) index.upsert(slot, row, slot)
        index.upsert(300, vector, 400)
        for (let step = 0; step < 4; step++) workOnce(index)
        index.remove(300, 401)
        index.close()
      }
    ]
  ]
  describe("leaves no byte of a vector that was removed", () => {
    it.each(stories)("%s", (_, story) => {
      const [left, leftByOther] = [secret!, other!].map((vector) => memoryAfter(engine, vector, story))
      expect(differences(left!, leftByOther!)).toEqual([])
    })
  })
}

/** Where two memories differ: first and last byte of each run, the gaps of a cache line left out. */
const differences = (a: Uint8Array, b: Uint8Array): ReadonlyArray<readonly [number, number]> => {
  const runs: Array<[number, number]> = []
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    if (a[at] === b[at]) continue
    const last = runs.at(-1)
    if (last !== undefined && at - last[1] < 64) last[1] = at
    else runs.push([at, at])
  }
  return runs
}
