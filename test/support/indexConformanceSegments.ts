/**
 * Part of the conformance suite, for engines that save their vectors in segments: a restored index answers as the saved
 * one, and damaged bytes are refused.
 */
import { describe, expect, it } from "vitest"
import type { SegmentedIndex } from "@muniment/engine/vectors/VectorIndex"
import { slotsPerSegment } from "@muniment/engine/bitmap/Bitmap"
import {
  expectSound,
  filled,
  Recall,
  workAll,
  type EngineUnderTest,
  type IndexUnderTest
} from "./indexConformanceCheck.ts"
import { Oracle, vectorsOf } from "./indexConformanceVectors.ts"

const dims = 48

/** The index with its port, if it lays segments down. */
const segmented = (index: IndexUnderTest): (IndexUnderTest & SegmentedIndex) | undefined =>
  isSegmented(index) ? index : undefined
const isSegmented = (index: IndexUnderTest): index is IndexUnderTest & SegmentedIndex =>
  index.encodeSegment !== undefined && index.adoptSegment !== undefined && index.changedSegments !== undefined

const laidDown = (index: SegmentedIndex): ReadonlyMap<number, Uint8Array> =>
  new Map(
    index.changedSegments().flatMap((segment) => {
      const data = index.encodeSegment(segment)
      return data === undefined ? [] : [[segment, data] as const]
    })
  )

export const segmentConformance = (engine: EngineUnderTest): void => {
  const probe = engine.make(dims)
  const isOurs = segmented(probe) !== undefined
  probe.close()
  if (!isOurs) return
  describe("saved in segments", () => {
    const size = engine.sizes.at(-1)!
    const { queries, rows } = vectorsOf("clustered", 101, dims, size, 8)
    const make = (width = dims) => {
      const index = segmented(engine.make(width))
      if (index === undefined) throw new Error("the engine has no segments")
      return index
    }
    const written = () => {
      const index = segmented(filled(engine, rows, dims))
      if (index === undefined) throw new Error("the engine has no segments")
      return index
    }

    it("is restored completely: the same slots, the same scores, and no segment left to write", () => {
      const index = written()
      const segments = laidDown(index)
      expect([...segments.keys()]).toEqual(Array.from({ length: Math.ceil(size / slotsPerSegment) }, (_, at) => at))
      expect(index.changedSegments()).toEqual([])
      const again = make()
      for (const [segment, data] of segments) {
        const slots = again.adoptSegment(segment, data)
        const from = segment * slotsPerSegment
        const to = Math.min(size, from + slotsPerSegment)
        expect(slots).toEqual(Int32Array.from({ length: to - from }, (_, at) => from + at))
      }
      expect(again.size).toBe(size)
      expect(again.changedSegments()).toEqual([])
      const oracle = Oracle.of(rows.entries())
      const exact = queries.map((query) => index.search(query, size, undefined))
      expect(queries.map((query) => again.search(query, size, undefined))).toEqual(exact)
      for (const round of ["before work", "after work"]) {
        const recall = new Recall()
        for (const query of queries) expectSound(again, oracle, query, 10, undefined, recall)
        expect(recall.share, round).toBeGreaterThanOrEqual(engine.recallMin)
        workAll(again)
      }
      again.close()
      index.close()
    })

    it("counts a segment as changed after an upsert or a removal in it, and after no other change", () => {
      const index = written()
      laidDown(index)
      index.upsert(5, rows[6]!, 2 * size)
      index.remove(size - 1, 2 * size)
      index.upsert(slotsPerSegment, rows[0]!, 0)
      index.remove(slotsPerSegment + 1, 0)
      expect(index.changedSegments()).toEqual([0, (size - 1) >>> 10])
      laidDown(index)
      for (let slot = 0; slot < slotsPerSegment; slot++) index.remove(slot, 3 * size)
      expect(index.changedSegments()).toEqual([0])
      expect(index.encodeSegment(0)).toBeUndefined()
      expect(index.changedSegments()).toEqual([])
      index.close()
    })

    it("accepts changes afterwards as any index does", () => {
      const index = make()
      for (const [segment, data] of laidDown(written())) index.adoptSegment(segment, data)
      const oracle = Oracle.of(rows.entries())
      for (let slot = 0; slot < size; slot += 5) {
        index.remove(slot, 2 * size)
        oracle.rows.delete(slot)
        if (slot % 2 === 0) continue
        index.upsert(slot, rows[(slot + 1) % size]!, 2 * size + 1)
        oracle.rows.set(slot, rows[(slot + 1) % size]!)
      }
      for (const round of ["before work", "after work"]) {
        const recall = new Recall()
        for (const query of queries) expectSound(index, oracle, query, 10, undefined, recall)
        expect(recall.share, round).toBeGreaterThanOrEqual(engine.recallMin)
        workAll(index)
      }
      index.close()
    })

    it("is refused with another width, number, length or format, and then nothing is loaded", () => {
      const segments = laidDown(written())
      const data = segments.get(0)!
      const wide = make(dims * 2)
      expect(wide.adoptSegment(0, data), "another width").toBeUndefined()
      expect(wide.size).toBe(0)
      const doubts: ReadonlyArray<readonly [string, number, Uint8Array]> = [
        ["another number", 1, data],
        ["no bytes", 0, data.slice(0, 0)],
        ["cut short", 0, data.slice(0, -1)],
        ["half", 0, data.slice(0, data.length >> 1)],
        ["longer", 0, Uint8Array.from([...data, 0])],
        ["zeros", 0, new Uint8Array(data.length)],
        ["ones", 0, new Uint8Array(data.length).fill(255)],
        ...Array.from({ length: 8 }, (_, at) => [`byte ${at} flipped`, 0, flipped(data, at)] as const)
      ]
      for (const [doubt, segment, bytes] of doubts) {
        const index = make()
        expect(index.adoptSegment(segment, bytes), doubt).toBeUndefined()
        expect(index.size, doubt).toBe(0)
        expect(index.search(queries[0]!, 10, undefined).slots, doubt).toHaveLength(0)
        index.close()
      }
    })

    it("with any byte flipped is refused, or still gives only slots that it names, with finite scores", () => {
      const data = laidDown(written()).get(0)!
      for (let trial = 0; trial < 200; trial++) {
        const at = trial < 120 ? trial : Math.floor((data.length * (trial - 120)) / 80)
        const index = make()
        const slots = index.adoptSegment(0, flipped(data, at))
        const hits = index.search(queries[0]!, size, undefined)
        expect(Int32Array.from(hits.slots).sort(), `byte ${at}`).toEqual(slots ?? new Int32Array(0))
        for (const score of hits.scores) expect(Number.isFinite(score), `byte ${at}`).toBe(true)
        index.close()
      }
    })

    it("is the same bytes for the same vectors", () => {
      expect(laidDown(written())).toEqual(laidDown(written()))
    })

    it("holds nothing of a vector that was removed or replaced", () => {
      const index = written()
      const lonely = make()
      lonely.upsert(3, rows[3]!, 1)
      const code = longestRun(lonely.encodeSegment(0)!)
      expect(code.length).toBeGreaterThanOrEqual(dims / 2)
      expect(contains(index.encodeSegment(0)!, code)).toBe(true)
      index.remove(3, 2 * size)
      expect(contains(index.encodeSegment(0)!, code)).toBe(false)
      index.close()
    })
  })
}

const flipped = (data: Uint8Array, at: number): Uint8Array =>
  data.map((byte, i) => (i === at ? byte ^ (1 << (at % 8)) : byte))

const contains = (data: Uint8Array, part: Uint8Array): boolean => Buffer.from(data).includes(Buffer.from(part))

/** The longest run without two zeros in a row: the code of a segment's one vector. */
const longestRun = (data: Uint8Array): Uint8Array => {
  let [best, from] = [new Uint8Array(0), 0]
  for (let at = 1; at <= data.length; at++) {
    const isEnd = at === data.length || (data[at] === 0 && data[at - 1] === 0)
    if (isEnd && at - from > best.length) best = data.slice(from, at)
    if (data[at] === 0 && data[at - 1] === 0) from = at + 1
  }
  return best
}
