/**
 * Rows of numbers in one buffer, and the operations that clustering needs. A row that is (nearly) zero stays zero when
 * it is normalised: it resembles nothing, and no NaN enters the map.
 */
export interface Matrix {
  readonly rows: number
  readonly dims: number
  /** Float64Array[rows * dims]: V8 loops over doubles twice as fast as over floats. */
  readonly values: Float64Array
}

/** Shorter rows count as zero. */
export const lengthMin = 1e-9

export const makeMatrix = (rows: number, dims: number): Matrix => ({
  rows,
  dims,
  values: new Float64Array(rows * dims)
})

export const copyOf = ({ rows, dims, values }: Matrix): Matrix => ({ rows, dims, values: values.slice() })

/** A view of the first rows. */
export const firstRows = ({ rows, dims, values }: Matrix, rowsMax: number): Matrix => {
  const taken = Math.min(rows, rowsMax)
  return { rows: taken, dims, values: values.subarray(0, taken * dims) }
}

export const rowOf = ({ dims, values }: Matrix, row: number): Float64Array =>
  values.subarray(row * dims, (row + 1) * dims)

export const dot = (left: Float64Array, right: Float64Array): number => {
  let sum = 0
  for (let dim = 0; dim < left.length; dim++) sum += left[dim]! * right[dim]!
  return sum
}

/** target += factor * source */
export const addScaled = (target: Float64Array, source: Float64Array, factor: number): void => {
  for (let dim = 0; dim < target.length; dim++) target[dim]! += factor * source[dim]!
}

/** To length 1, in place. */
export const normalise = (vector: Float64Array): void => {
  const length = Math.sqrt(dot(vector, vector))
  if (length < lengthMin) vector.fill(0)
  else for (let dim = 0; dim < vector.length; dim++) vector[dim]! /= length
}

export const normaliseRows = (matrix: Matrix): void => {
  for (let row = 0; row < matrix.rows; row++) normalise(rowOf(matrix, row))
}

export const meanRow = (matrix: Matrix): Float64Array => {
  const mean = new Float64Array(matrix.dims)
  for (let row = 0; row < matrix.rows; row++) addScaled(mean, rowOf(matrix, row), 1 / matrix.rows)
  return mean
}

/** Sums of the rows of each group; a row of group -1 is left out. */
export const sumsOf = (matrix: Matrix, groupOf: Int32Array, groups: number): Matrix => {
  const sums = makeMatrix(groups, matrix.dims)
  for (let row = 0; row < matrix.rows; row++) {
    const group = groupOf[row]!
    if (group >= 0) addScaled(rowOf(sums, group), rowOf(matrix, row), 1)
  }
  return sums
}
