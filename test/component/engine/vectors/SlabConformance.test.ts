/**
 * Attacks on the memory that indexes share: thousands of tiny indexes, addresses above 2 GiB, and a slab that
 * is full. Whatever happens, every index answers for exactly what it holds.
 */
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { ExactIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { type KernelFactory, loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { QuantizedIndex } from "@muniment/engine/vectors/lists/QuantizedIndex"
import { seededSequence, Slab, SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import { describe, expect, it } from "vitest"
import { expectSound, workAll, workOnce } from "../../../support/indexConformanceCheck.ts"
import { Oracle, vectorsOf } from "../../../support/indexConformanceVectors.ts"

const dims = 64
const { queries, rows } = vectorsOf("clustered", 121, dims, 6_000, 4)
const row = (at: number): Float32Array => rows[at % rows.length]!
const kernels = loadKernels()

/** A slab that is full after so many MiB. */
const smallSlab = (mebibytes: number): Slab => {
  const factory: KernelFactory = ({ initial }) => kernels({ initial, maximum: mebibytes * 16 })
  return new Slab(factory)
}

/** Has the slab make its shared places, as large as these tests need them, while there is room. */
const warm = (slab: Slab, query: Float32Array): void => {
  const arena = new VectorArena(dims, slab)
  const index = new QuantizedIndex(arena)
  for (let slot = 0; slot < 1_500; slot++) index.upsert(slot, row(slot), slot)
  index.upsert(60_000, row(0), 0)
  for (let round = 0; round < 2; round++) {
    index.search(query, 1_000, Bitmap.of([1, 60_000]))
    workAll(index)
  }
  index.close()
  arena.close()
}

describe("a slab", () => {
  it("serves ten thousand tiny indexes, none of which sees another's vectors, and reuses what they gave back", () => {
    const pool = new SlabPool(kernels)
    let used = 0
    for (const round of ["first", "second", "third"]) {
      const arenas = Array.from({ length: 10_000 }, () => new VectorArena(dims, pool.take()))
      const indexes = arenas.map((arena) => new QuantizedIndex(arena))
      for (const [at, index] of indexes.entries()) {
        for (let slot = 0; slot < 3; slot++) index.upsert(slot, row(at + slot), slot)
        if (at % 2 === 0) workAll(index)
      }
      for (const [at, index] of indexes.entries()) {
        const best = index.search(row(at), 3, undefined)
        expect(best.slots.toSorted(), round).toEqual(Int32Array.of(0, 1, 2))
        expect(best.scores[0]).toBeGreaterThan(0.99)
      }
      for (const [at, index] of indexes.entries()) {
        index.close()
        arenas[at]!.close()
      }
      const { end } = pool.take()
      // The first one made the places that all share.
      if (round === "third") expect(end).toBe(used)
      used = end
    }
    // A block of rows, one of codes, and tables: what three vectors cost at least.
    expect(used / 10_000).toBeLessThan(6_000)
  })

  it("lets indexes that build in turns, while they change and are searched, answer as each would alone", () => {
    const story = (indexes: ReadonlyArray<QuantizedIndex>) => {
      const found: Array<Array<unknown>> = indexes.map(() => [])
      for (let slot = 0; slot < 6_000; slot++) {
        for (const [at, index] of indexes.entries()) {
          index.upsert(slot, row(slot * (at + 1)), slot)
          if (slot % 7 === at) index.remove(slot >> 1, slot)
          if (slot > 4_500 && slot % 3 === 0) workOnce(index)
          if (slot % 500 === 0) found[at]!.push(index.search(queries[at]!, 20, undefined))
        }
      }
      for (const [at, index] of indexes.entries()) {
        workAll(index)
        found[at]!.push(index.lists, index.search(queries[at]!, 100, undefined))
      }
      return found
    }
    const slab = new Slab(kernels)
    const together = story([0, 1].map(() => new QuantizedIndex(new VectorArena(dims, slab))))
    const apart = story([0, 1].map(() => new QuantizedIndex(new VectorArena(dims, new Slab(kernels)))))
    expect(together).toEqual(apart)
  })

  it("holds a vector of 384 dimensions in less than 540 bytes, lists and what training them took included", () => {
    const slab = new Slab(kernels)
    const width = 384
    const count = 8_000
    const many = vectorsOf("clustered", 1, width, count, 0).rows
    const index = new QuantizedIndex(new VectorArena(width, slab))
    for (const [slot, vector] of many.entries()) index.upsert(slot, vector, slot)
    workAll(index)
    expect(index.lists).toBeGreaterThan(30)
    expect(slab.end / count).toBeLessThan(540)
  })

  it("does not grow when an index grows and shrinks again and again", () => {
    const slab = new Slab(kernels)
    const index = new QuantizedIndex(new VectorArena(dims, slab))
    const random = seededSequence(5)
    const ends: Array<number> = []
    for (let cycle = 0; cycle < 16; cycle++) {
      const size = 4_000 + Math.floor(random() * 2_000)
      for (let slot = 0; slot < size; slot++) index.upsert(slot, row(slot), 2 * cycle)
      workAll(index)
      for (let slot = 500; slot < size; slot++) index.remove(slot, 2 * cycle + 1)
      workAll(index)
      ends.push(slab.end)
    }
    expect(ends.at(-1)! / ends[3]!).toBeLessThan(1.1)
  })

  it.each([2 ** 31 - 2 ** 18, 2 ** 31 + 64, 2 ** 32 - 2 ** 24])("works at addresses around %d", (address) => {
    const slab = new Slab(kernels)
    slab.allocate(address - slab.end)
    const index = new QuantizedIndex(new VectorArena(dims, slab))
    const oracle = new Oracle()
    for (let slot = 0; slot < 1_500; slot++) {
      index.upsert(slot, row(slot), slot)
      oracle.rows.set(slot, row(slot))
      if (slot === 1_000) workAll(index)
    }
    for (let slot = 0; slot < 1_500; slot += 3) {
      index.remove(slot, 2_000)
      oracle.rows.delete(slot)
    }
    for (const query of queries) {
      const recall = expectSound(index, oracle, query, 10, undefined)
      expect(recall.found).toBe(recall.wanted)
    }
  })

  for (const [name, make] of [
    ["exact", (arena: VectorArena) => new ExactIndex(arena)],
    ["quantised", (arena: VectorArena) => new QuantizedIndex(arena)]
  ] as const) {
    it(`that is full refuses a vector, and after a removal the ${name} indexes in it answer for what they hold`, () => {
      const slab = smallSlab(2)
      warm(slab, queries[0]!)
      const neighbour = new ExactIndex(new VectorArena(dims, slab))
      for (let slot = 0; slot < 100; slot++) neighbour.upsert(slot, row(slot), slot)
      const index = make(new VectorArena(dims, slab))
      const oracle = new Oracle()
      const fill = () => {
        for (let slot = oracle.rows.size; ; slot++) {
          index.upsert(slot, row(slot), slot)
          oracle.rows.set(slot, row(slot))
        }
      }
      expect(fill).toThrow(RangeError)
      expect(oracle.rows.size).toBeGreaterThan(1_000)
      index.remove(oracle.rows.size, 50_000)
      expect(index.size).toBe(oracle.rows.size)
      for (const query of queries) {
        expectSound(index, oracle, query, 10, undefined)
        expectSound(neighbour, Oracle.of(rows.slice(0, 100).entries()), query, 10, undefined)
      }
    })
  }

  it("that is full has room again once vectors are removed", () => {
    const slab = smallSlab(2)
    warm(slab, queries[0]!)
    const index = new ExactIndex(new VectorArena(dims, slab))
    const oracle = new Oracle()
    const fill = (from: number) => {
      for (let slot = from; ; slot++) {
        index.upsert(slot, row(slot), 10_000 + slot)
        oracle.rows.set(slot, row(slot))
      }
    }
    expect(() => fill(0)).toThrow(RangeError)
    const held = oracle.rows.size
    expect(index.size).toBe(held)
    for (let slot = 0; slot < 640; slot++) {
      index.remove(slot, 30_000)
      oracle.rows.delete(slot)
    }
    for (let slot = 0; slot < 640; slot++) {
      index.upsert(slot, row(slot + 7), 40_000)
      oracle.rows.set(slot, row(slot + 7))
    }
    expect(index.size).toBe(held)
    for (const query of queries) expectSound(index, oracle, query, 10, undefined)
  })

  it("whose scratch buffer could not grow keeps it apart from vectors", () => {
    const slab = smallSlab(2)
    const index = new ExactIndex(new VectorArena(dims, slab))
    const oracle = new Oracle()
    const put = (slot: number) => {
      index.upsert(slot, row(slot), slot)
      oracle.rows.set(slot, row(slot))
    }
    for (let slot = 0; slot < 4_000; slot++) put(slot)
    for (const k of [10, 1_000]) index.search(queries[0]!, k, undefined)
    const fill = () => {
      for (;;) slab.allocate(4_096)
    }
    expect(fill).toThrow(RangeError)
    // More results than there is room for: refused, and nobody else gets the old room while it is in use.
    expect(() => index.search(queries[0]!, 4_000, undefined)).toThrow(RangeError)
    let taken: number | undefined
    try {
      taken = slab.allocate(8 * 1_024)
    } catch (cause) {
      expect(cause).toBeInstanceOf(RangeError)
    }
    if (taken !== undefined) slab.bytes.fill(7, taken, taken + 8 * 1_024)
    for (const query of queries) expectSound(index, oracle, query, 1_000, undefined)
    if (taken !== undefined)
      expect(slab.bytes.subarray(taken, taken + 8 * 1_024).every((byte) => byte === 7)).toBe(true)
  })
})
