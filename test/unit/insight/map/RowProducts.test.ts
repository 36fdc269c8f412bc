/** Products against the plainest loop, bit by bit, for sizes around those of blocks and panels. */
import { rowOf, rowProducts, visitRowProducts } from "@muniment/insight/map/RowProducts"
import { describe, expect, it } from "vitest"
import { randomMatrix } from "./mapFixtures.ts"

const product = (left: Float64Array, right: Float64Array): number =>
  left.reduce((sum, value, dim) => sum + value * right[dim]!, 0)

describe("rowProducts", () => {
  it("has the bits of the plain loop, for every number of rows and dimensions", () => {
    for (const rows of [0, 1, 2, 15, 16, 17, 33]) {
      for (const columns of [0, 1, 7, 8, 9, 24]) {
        for (const dims of [0, 1, 5, 64]) {
          const left = randomMatrix(rows, dims, rows + 1)
          const right = randomMatrix(columns, dims, columns + 2)
          const expected = Array.from({ length: rows * columns }, (_, at) =>
            product(rowOf(left, Math.floor(at / columns)), rowOf(right, at % columns))
          )
          expect([...rowProducts(left, right).values]).toEqual(expected)
        }
      }
    }
  })

  it("forgets what a larger call left behind", () => {
    const small = randomMatrix(3, 3, 5)
    const before = rowProducts(small, small)
    rowProducts(randomMatrix(900, 60, 6), randomMatrix(700, 60, 7))
    expect(rowProducts(small, small)).toEqual(before)
  })

  it("visits every row once with the rows before it, and itself", () => {
    const matrix = randomMatrix(37, 4, 9)
    const visited: Array<number> = []
    visitRowProducts(matrix, matrix, "up to itself", (products, stride, from, to) => {
      for (let row = from; row < to; row++) {
        visited.push(row)
        for (let column = 0; column <= row; column++) {
          const expected = product(rowOf(matrix, row), rowOf(matrix, column))
          expect(products[(row - from) * stride + column]).toBe(expected)
        }
      }
    })
    expect(visited).toEqual(Array.from({ length: 37 }, (_, row) => row))
  })
})
