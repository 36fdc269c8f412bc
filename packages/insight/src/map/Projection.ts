/**
 * Principal components by subspace iteration from a seeded start (N. Halko, P. G. Martinsson, J. A. Tropp, "Finding
 * structure with randomness", 2011). A few dimensions keep what memories have in common and drop the details of each,
 * which makes clusters clearer and neighbours cheaper.
 */
import {
  addScaled,
  dot,
  firstRows,
  makeMatrix,
  type Matrix,
  meanRow,
  normalise,
  rowOf,
  rowProducts
} from "./RowProducts.ts"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"

/** The components are found on this many rows; in canonical order the first ones are a random sample. */
const sampleRowsMax = 1_000
const iterations = 3
const seed = 0x6d756e69

/** Matrix[rows][dims]: the rows' coordinates on at most `dimsMax` principal axes; the rows' mean should be zero. */
export const project = (matrix: Matrix, dimsMax: number): Matrix => {
  if (matrix.dims <= dimsMax) return matrix
  // n rows span at most n dimensions.
  return rowProducts(matrix, principalAxes(firstRows(matrix, sampleRowsMax), Math.min(dimsMax, matrix.rows)))
}

/** Matrix[rows][2]: coordinates in the plane of largest variance around the mean, with fixed signs. */
export const plane = (matrix: Matrix): Matrix => {
  const centred = makeMatrix(matrix.rows, matrix.dims)
  const mean = meanRow(matrix)
  for (let row = 0; row < matrix.rows; row++) {
    const target = rowOf(centred, row)
    target.set(rowOf(matrix, row))
    addScaled(target, mean, -1)
  }
  const axes = principalAxes(centred, 2)
  fixSign(rowOf(axes, 0))
  fixSign(rowOf(axes, 1))
  return rowProducts(centred, axes)
}

/** Orthonormal rows, the first ones with most variance; zero rows where the data has fewer dimensions. */
const principalAxes = (sample: Matrix, count: number): Matrix => {
  const next = seededSequence(seed)
  let axes = makeMatrix(count, sample.dims)
  for (let at = 0; at < axes.values.length; at++) axes.values[at] = next() - 0.5
  orthonormalise(axes, 1)
  const byDim = transposed(sample)
  for (let iteration = 0; iteration < iterations; iteration++) {
    const coordinates = transposed(rowProducts(sample, axes))
    // For each axis the sum of the rows, weighted by their coordinates on it.
    const moved = transposed(rowProducts(byDim, coordinates))
    orthonormalise(moved, iteration < iterations - 1 ? 1 : 2)
    axes = moved
  }
  return axes
}

const transposed = ({ rows, dims, values }: Matrix): Matrix => {
  const result = makeMatrix(dims, rows)
  for (let row = 0; row < rows; row++) {
    for (let dim = 0; dim < dims; dim++) result.values[dim * rows + row] = values[row * dims + dim]!
  }
  return result
}

/** A row that adds less than this share of its length to the rows before it is rounding error. */
const independentMin = 1e-6

/** Gram-Schmidt. One pass loses digits; only the last iteration needs them. */
const orthonormalise = (axes: Matrix, passes: number): void => {
  const rows = Array.from({ length: axes.rows }, (_, axis) => rowOf(axes, axis))
  for (const [axis, current] of rows.entries()) {
    normalise(current)
    for (let pass = 0; pass < passes; pass++) {
      for (let before = 0; before < axis; before++) addScaled(current, rows[before]!, -dot(current, rows[before]!))
    }
    if (dot(current, current) < independentMin * independentMin) current.fill(0)
    normalise(current)
  }
}

/** Makes the component of largest size positive. */
const fixSign = (axis: Float64Array): void => {
  let largest = 0
  for (const value of axis) if (Math.abs(value) > Math.abs(largest) + independentMin) largest = value
  if (largest < 0) for (let dim = 0; dim < axis.length; dim++) axis[dim] = -axis[dim]!
}
