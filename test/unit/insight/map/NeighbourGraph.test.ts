/** Neighbours against the plainest search, and components against data whose plane is known. */
import { makeMatrix, type Matrix, rowOf } from "@muniment/insight/map/RowProducts"
import { nearestNeighbours, neighbourGraph } from "@muniment/insight/map/Clusters"
import { plane, project } from "@muniment/insight/map/Features"
import { describe, expect, it } from "vitest"
import { randomMatrix } from "./mapFixtures.ts"

const plainly = (matrix: Matrix, row: number, k: number): ReadonlyArray<number> =>
  Array.from({ length: matrix.rows }, (_, other) => {
    const similarity = rowOf(matrix, row).reduce((sum, value, dim) => sum + value * rowOf(matrix, other)[dim]!, 0)
    return { other, similarity }
  })
    .filter(({ other, similarity }) => other !== row && similarity > 0)
    .sort((left, right) => right.similarity - left.similarity)
    .slice(0, k)
    .map(({ other }) => other)

describe("nearestNeighbours", () => {
  it("finds what a plain search finds, for every number of rows around the tile size", () => {
    for (const rows of [0, 1, 2, 3, 4, 5, 7, 8, 9, 30, 61]) {
      const matrix = randomMatrix(rows, 7, rows)
      const { neighbours } = nearestNeighbours(matrix, 5)
      for (let row = 0; row < rows; row++) {
        expect([...neighbours.subarray(row * 5, row * 5 + 5)].filter((other) => other >= 0)).toEqual(
          plainly(matrix, row, 5)
        )
      }
    }
  })

  it("leaves a row of zeros and opposite rows without neighbours and without edges", () => {
    const matrix: Matrix = { rows: 3, dims: 2, values: Float64Array.of(1, 0, -1, 0, 0, 0) }
    const found = nearestNeighbours(matrix, 2)
    expect([...found.neighbours]).toEqual([-1, -1, -1, -1, -1, -1])
    expect(neighbourGraph(found).size).toBe(0)
  })
})

describe("principal components", () => {
  it("keep lengths and angles of rows that lie in few dimensions", () => {
    const flat = randomMatrix(40, 3, 9)
    const wide = makeMatrix(40, 50)
    for (let row = 0; row < 40; row++) rowOf(wide, row).set(rowOf(flat, row), 20)
    const reduced = project(wide, 6)
    for (let row = 1; row < 40; row++) {
      const before = rowOf(flat, row).reduce((sum, value, dim) => sum + value * rowOf(flat, 0)[dim]!, 0)
      const after = rowOf(reduced, row).reduce((sum, value, dim) => sum + value * rowOf(reduced, 0)[dim]!, 0)
      expect(after).toBeCloseTo(before, 9)
    }
  })

  it("put the direction of largest variance first, the same sign every time", () => {
    const line = makeMatrix(5, 3)
    for (let row = 0; row < 5; row++) rowOf(line, row).set([0.1 * (row % 2), row, -row])
    const flat = plane(line)
    const xs = Array.from({ length: 5 }, (_, row) => flat.values[row * 2]!)
    expect(Math.abs(xs[4]! - xs[0]!)).toBeCloseTo(Math.hypot(4, 4), 1)
    expect(plane(line)).toEqual(flat)
  })

  it("of equal rows are all zero", () => {
    const same: Matrix = { rows: 4, dims: 3, values: new Float64Array(12).fill(1) }
    expect([...plane(same).values].every((value) => value === 0)).toBe(true)
  })
})
