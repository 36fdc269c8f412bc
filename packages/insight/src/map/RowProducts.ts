/**
 * Inner products of the rows of one matrix with those of another, by a WebAssembly kernel
 * (`packages/insight/kernels/rowProducts.ts`). Its memory is scratch space of this thread: it grows to what the largest
 * call needs (some 5 MB for the largest map), and nothing in it outlives a call.
 */
import { loadKernelModule } from "@muniment/engine/vectors/arena/Kernels"

interface RowProductKernel {
  /**
   * f64[rows][depth] at byte `left` times f64[panels][depth][panelColumns] at `right` into
   * f64[rows][panels * panelColumns] at `target`. No size is zero; `rows` is a multiple of `rowsTogether`.
   */
  readonly multiplyRows: (
    left: number,
    right: number,
    target: number,
    rows: number,
    depth: number,
    panels: number
  ) => void
}

/** Right rows that the kernel multiplies side by side: its accumulators hold their products with `rowsTogether` rows. */
const panelColumns = 8
const rowsTogether = 2
/** Left rows in one call: they and a panel fit the nearest cache. */
const blockRows = 16
const doubleBytes = 8
const pageBytes = 65_536

const { kernels, memory } = loadKernelModule<RowProductKernel>(
  new URL("../../kernels/rowProducts.wasm", import.meta.url)
)({ initial: 1 })

/** Matrix[left.rows][right.rows]: the product of each left row with each right row. */
export const rowProducts = (left: Matrix, right: Matrix): Matrix => {
  const columns = right.rows
  const result = makeMatrix(left.rows, columns)
  visitRowProducts(left, right, "all", (products, stride, from, to) => {
    for (let row = from; row < to; row++) {
      const first = (row - from) * stride
      result.values.set(products.subarray(first, first + columns), row * columns)
    }
  })
  return result
}

/**
 * Blocks of consecutive left rows `from..to-1`: the product of row `from + at` with right row `column` is
 * `products[at * stride + column]`. "up to itself" leaves those with later right rows undefined. The
 * next block overwrites `products`.
 */
export const visitRowProducts = (
  left: Matrix,
  right: Matrix,
  columns: "all" | "up to itself",
  visit: (products: Float64Array, stride: number, from: number, to: number) => void
): void => {
  const depth = left.dims
  if (depth === 0 || right.rows === 0) return
  const panels = panelsOf(right.rows)
  const rightAt = blockRows * depth
  const targetAt = rightAt + panels * panelColumns * depth
  const scratch = scratchOf(targetAt + blockRows * panels * panelColumns)
  packPanels(right, scratch.subarray(rightAt, targetAt))
  for (let from = 0; from < left.rows; from += blockRows) {
    const to = Math.min(left.rows, from + blockRows)
    const rows = Math.ceil((to - from) / rowsTogether) * rowsTogether
    scratch.fill(0, 0, rows * depth)
    scratch.set(left.values.subarray(from * depth, to * depth))
    const used = columns === "all" ? panels : Math.min(panels, panelsOf(to))
    kernels.multiplyRows(0, rightAt * doubleBytes, targetAt * doubleBytes, rows, depth, used)
    visit(scratch.subarray(targetAt), used * panelColumns, from, to)
  }
}

const panelsOf = (columns: number): number => Math.ceil(columns / panelColumns)

/** Rows as panels of `panelColumns` columns, dimension by dimension: the order in which the kernel reads. */
const packPanels = ({ rows, dims, values }: Matrix, panels: Float64Array): void => {
  panels.fill(0)
  for (let row = 0; row < rows; row++) {
    const first = (row - (row % panelColumns)) * dims + (row % panelColumns)
    for (let dim = 0; dim < dims; dim++) panels[first + dim * panelColumns] = values[row * dims + dim]!
  }
}

const scratchOf = (length: number): Float64Array => {
  const missing = length * doubleBytes - memory.buffer.byteLength
  if (missing > 0) memory.grow(Math.ceil(missing / pageBytes))
  return new Float64Array(memory.buffer, 0, length)
}

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
