/** The SIMD kernels against their scalar versions, bit for bit. */
import {
  codeBlockBytes,
  loadKernels,
  pairBytes,
  queryBytes,
  rowBytes,
  tablesBytes
} from "@muniment/engine/vectors/arena/Kernels"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { Slab } from "@muniment/engine/vectors/arena/Slab"
import { describe, expect, it } from "vitest"
import {
  boundScalar,
  decodeRowScalar,
  encodeCodeScalar,
  encodeQueryScalar,
  encodeRowScalar,
  encodeTablesScalar,
  halfSquareScalar,
  rotateScalar,
  scoreRoughlyScalar,
  scoreScalar
} from "../../../support/ScalarKernels.ts"
import { SeededRandom } from "../../../support/SeededRandom.ts"

const slab = new Slab(loadKernels())
const { kernels } = slab
const random = new SeededRandom(6)
const widths = [64, 128, 192, 384, 448, 768]

const placed = (values: Float32Array): number => {
  const address = slab.allocate(values.byteLength)
  slab.floats.set(values, address >>> 2)
  return address
}
const floatsAt = (address: number, count: number) => slab.floats.slice(address >>> 2, (address >>> 2) + count)
const noise = (width: number, size = 1) => Float32Array.from({ length: width }, () => (random.next() - 0.5) * size)
const oneHot = (width: number) => Float32Array.from({ length: width }, (_value, at) => (at === 5 ? 1 : 0))

/** Usual and extreme: noise, few large components, equal components, nothing, steps that end in a half. */
const vectorsOf = (width: number): ReadonlyArray<Float32Array> => [
  noise(width),
  noise(width, 1e-20),
  noise(width, 1e8),
  oneHot(width),
  new Float32Array(width).fill(-0.05),
  new Float32Array(width),
  Float32Array.from({ length: width }, (_value, at) => (at === 0 ? 127 : (at % 20) + 0.5))
]
const signsOf = (width: number) => Float32Array.from({ length: 4 * width }, () => (random.next() < 0.5 ? -1 : 1))

describe.each(widths)("of %d components", (width) => {
  it("rotations equal the scalar ones, preserve lengths and can be undone", () => {
    const signs = signsOf(width)
    const signsAt = placed(signs)
    for (const vector of vectorsOf(width)) {
      const at = placed(vector)
      kernels.rotate(at, signsAt, width)
      expect(floatsAt(at, width)).toEqual(rotateScalar(vector, signs))
      kernels.unrotate(at, signsAt, width)
      const largest = Math.max(...vector.map(Math.abs))
      for (const [i, x] of floatsAt(at, width).entries())
        expect(Math.abs(x - vector[i]!)).toBeLessThanOrEqual(largest * 1e-5)
    }
  })

  it("rows, queries and their products equal the scalar ones", () => {
    const row = slab.allocate(rowBytes(width))
    const query = slab.allocate(queryBytes(width))
    const decoded = slab.allocate(width * 4)
    for (const vector of vectorsOf(width)) {
      const expected = encodeRowScalar(vector)
      kernels.encodeRow(placed(vector), row, width)
      expect(new Int8Array(slab.bytes.slice(row, row + width).buffer)).toEqual(expected.codes)
      expect([slab.floats[(row + width) >>> 2], slab.words[(row + width + 4) >>> 2]! | 0]).toEqual([
        expected.scale,
        expected.sum
      ])
      kernels.decodeRow(row, decoded, width)
      expect(floatsAt(decoded, width)).toEqual(decodeRowScalar(expected))
      for (const other of vectorsOf(width)) {
        kernels.encodeQuery(placed(other), query, width)
        expect(kernels.scoreRow(row, query, width)).toBe(scoreScalar(expected, encodeQueryScalar(other)))
      }
    }
  })

  it("codes, tables and the choice of rows equal the scalar ones", () => {
    const rows = Array.from({ length: 70 }, () => noise(width))
    const table = slab.allocate(3 * 4)
    const rowBlocks = [0, 1, 2].map(() => slab.allocate(32 * rowBytes(width)))
    const codeBlocks = [0, 1, 2].map(() => slab.allocate(codeBlockBytes(width)))
    const blocks = slab.allocate(3 * 4)
    slab.words.set(rowBlocks, table >>> 2)
    slab.words.set(codeBlocks, blocks >>> 2)
    const centroid = noise(width, 0.2)
    const centroidAt = placed(centroid)
    const scratch = slab.allocate(width * 4)
    for (const block of codeBlocks) for (let lane = 0; lane < 32; lane++) kernels.clearCode(block, lane, width)
    const codes = rows.map((vector, slot) => {
      const [block, lane] = [slot >> 5, slot & 31]
      kernels.encodeRow(placed(vector), rowBlocks[block]! + lane * rowBytes(width), width)
      const expected = encodeCodeScalar(encodeRowScalar(vector), centroid)
      expect(kernels.encodeCode(table, slot, centroidAt, codeBlocks[block]!, lane, width, scratch)).toBe(
        expected.square
      )
      const factors = (codeBlocks[block]! + width * 4) >>> 2
      expect([0, 1, 2].map((part) => slab.floats[factors + part * 32 + lane])).toEqual([
        expected.factor,
        expected.offset,
        expected.error
      ])
      return expected
    })
    const query = noise(width)
    const queryAt = placed(query)
    const queryCodes = slab.allocate(queryBytes(width))
    const tablesAt = slab.allocate(tablesBytes(width))
    kernels.encodeQuery(queryAt, queryCodes, width)
    kernels.encodeTables(queryAt, tablesAt, width)
    const tables = encodeTablesScalar(query)
    expect(slab.bytes.slice(tablesAt, tablesAt + width * 4)).toEqual(tables.entries)
    expect([...floatsAt(tablesAt + width * 4, 2)]).toEqual([tables.step, tables.least])

    const scores = rows.map((vector) => scoreScalar(encodeRowScalar(vector), encodeQueryScalar(query)))
    const heap = slab.allocate(70 * pairBytes)
    for (const [k, spread] of [
      [5, 0],
      [5, 0.5],
      [70, 1]
    ] as const) {
      const found = kernels.scanCodes(blocks, 3, tablesAt, 0.1, spread, table, 0, 0, queryCodes, width, heap, 0, k)
      kernels.sortBestFirst(heap, found)
      const kept: Array<readonly [number, number]> = []
      let leastBound = -Infinity
      for (const [slot, code] of codes.entries()) {
        const least = kept.length < k ? -Infinity : kept[k - 1]![0]
        // Four rows at a time are chosen by what was the least before them.
        if (slot % 4 === 0) leastBound = least
        if (boundScalar(code, tables, 0.1, spread) < leastBound || scores[slot]! < least) continue
        kept.push([scores[slot]!, slot])
        kept.sort(([left, leftSlot], [right, rightSlot]) => right - left || leftSlot - rightSlot)
        kept.length = Math.min(k, kept.length)
      }
      const got = Array.from({ length: found }, (_value, at) => [
        slab.floats[(heap >>> 2) + 2 * at],
        slab.words[(heap >>> 2) + 2 * at + 1]
      ])
      expect(got).toEqual(kept)
    }
  })

  it("intersects two sets of slots, and counts the result", () => {
    const words = [1, 4, 7, 64]
    for (const count of words) {
      const [left, right] = [0, 1].map(() => Uint32Array.from({ length: count }, () => random.next() * 2 ** 32))
      const [target, other] = [slab.allocate(count * 4), slab.allocate(count * 4)]
      slab.words.set(left!, target >>> 2)
      slab.words.set(right!, other >>> 2)
      const both = left!.map((word, at) => word & right![at]!)
      expect(kernels.intersect(target, other, count)).toBe(new Bitmap(both).count())
      expect(slab.words.slice(target >>> 2, (target >>> 2) + count)).toEqual(both)
    }
  })

  it("finds the nearest list, and ranks lists by centroid score, as the scalar versions do", () => {
    const count = 37
    const centroids = Array.from({ length: count }, () => noise(width))
    const rows = slab.allocate(count * rowBytes(width))
    const halves = slab.allocate(count * 4)
    const heap = slab.allocate(count * pairBytes)
    const query = slab.allocate(queryBytes(width))
    for (const [list, centroid] of centroids.entries())
      kernels.encodeRow(placed(centroid), rows + list * rowBytes(width), width)
    const encoded = centroids.map(encodeRowScalar)
    kernels.halfSquares(rows, count, width, halves)
    expect([...floatsAt(halves, count)]).toEqual(encoded.map(halfSquareScalar))
    for (let trial = 0; trial < 10; trial++) {
      const vector = noise(width)
      kernels.encodeQuery(placed(vector), query, width)
      const products = encoded.map((row) => scoreScalar(row, encodeQueryScalar(vector)))
      const nearness = encoded.map((row) =>
        Math.fround(scoreRoughlyScalar(row, encodeQueryScalar(vector)) - halfSquareScalar(row))
      )
      const descending = (values: ReadonlyArray<number>) =>
        [...values.keys()].sort((left, right) => values[right]! - values[left]! || left - right)
      expect(kernels.nearestList(query, rows, halves, count, width)).toBe(descending(nearness)[0])
      const found = kernels.probe(query, rows, count, width, 9, heap)
      expect(Array.from({ length: found }, (_value, i) => slab.words[(heap >>> 2) + 2 * i + 1])).toEqual(
        descending(products).slice(0, 9)
      )
    }
  })
})
