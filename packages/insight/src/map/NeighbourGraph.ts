/**
 * The nearest neighbours of every row, exactly, and the graph whose edges they are. Each pair is
 * compared once, in tiles of 4 by 2 rows that reuse what they load. Only rows that resemble each
 * other (cosine above 0) are neighbours, so a row may have fewer than k, or none.
 */
import { UndirectedGraph } from "graphology"
import type { Matrix } from "./Matrix.ts"

export interface Neighbours {
  readonly rows: number
  readonly k: number
  /** Int32Array[rows * k], most similar first, -1 where there is none. */
  readonly neighbours: Int32Array
  readonly similarities: Float64Array
}

/** Rows have length 1, or 0. */
export const nearestNeighbours = (matrix: Matrix, k: number): Neighbours => {
  const { rows, dims, values } = matrix
  const found: Neighbours = {
    rows,
    k,
    neighbours: new Int32Array(rows * k).fill(-1),
    similarities: new Float64Array(rows * k)
  }
  let left = 0
  for (; left + 3 < rows; left += 4) {
    for (let right = 0; right < left; right += 2) compareTile(found, values, dims, left, right)
    compareAlone(found, values, dims, left, left + 4, left)
  }
  compareAlone(found, values, dims, left, rows, 0)
  return found
}

/** Rows left..left+3 against right..right+1. */
const compareTile = (found: Neighbours, values: Float64Array, dims: number, left: number, right: number): void => {
  const a = left * dims
  const b = right * dims
  let s00 = 0
  let s01 = 0
  let s10 = 0
  let s11 = 0
  let s20 = 0
  let s21 = 0
  let s30 = 0
  let s31 = 0
  for (let dim = 0; dim < dims; dim++) {
    const y0 = values[b + dim]!
    const y1 = values[b + dims + dim]!
    const x0 = values[a + dim]!
    const x1 = values[a + dims + dim]!
    const x2 = values[a + 2 * dims + dim]!
    const x3 = values[a + 3 * dims + dim]!
    s00 += x0 * y0
    s01 += x0 * y1
    s10 += x1 * y0
    s11 += x1 * y1
    s20 += x2 * y0
    s21 += x2 * y1
    s30 += x3 * y0
    s31 += x3 * y1
  }
  offerBoth(found, left, right, s00)
  offerBoth(found, left, right + 1, s01)
  offerBoth(found, left + 1, right, s10)
  offerBoth(found, left + 1, right + 1, s11)
  offerBoth(found, left + 2, right, s20)
  offerBoth(found, left + 2, right + 1, s21)
  offerBoth(found, left + 3, right, s30)
  offerBoth(found, left + 3, right + 1, s31)
}

/** Rows from..to-1 against every row from `least` up to themselves, one pair at a time. */
const compareAlone = (
  found: Neighbours,
  values: Float64Array,
  dims: number,
  from: number,
  to: number,
  least: number
): void => {
  for (let left = from; left < to; left++) {
    for (let right = least; right < left; right++) {
      let sum = 0
      for (let dim = 0; dim < dims; dim++) sum += values[left * dims + dim]! * values[right * dims + dim]!
      offerBoth(found, left, right, sum)
    }
  }
}

const offerBoth = (found: Neighbours, left: number, right: number, similarity: number): void => {
  if (!(similarity > 0)) return
  offer(found, left, right, similarity)
  offer(found, right, left, similarity)
}

const offer = ({ k, neighbours, similarities }: Neighbours, row: number, other: number, similarity: number): void => {
  const first = row * k
  let at = first + k - 1
  if (similarity <= similarities[at]!) return
  for (; at > first && similarity > similarities[at - 1]!; at--) {
    similarities[at] = similarities[at - 1]!
    neighbours[at] = neighbours[at - 1]!
  }
  similarities[at] = similarity
  neighbours[at] = other
}

/**
 * Nodes are the rows' numbers as text. An edge weighs its similarity times the share of neighbours in
 * common: two rows of one topic have friends in common, a chance resemblance has none.
 */
export const neighbourGraph = (found: Neighbours): UndirectedGraph => {
  const graph = new UndirectedGraph()
  const circles = Array.from({ length: found.rows }, (_, row) => circleOf(found, row))
  for (let row = 0; row < found.rows; row++) graph.addNode(String(row))
  for (let row = 0; row < found.rows; row++) {
    for (let at = row * found.k; at < (row + 1) * found.k && found.neighbours[at]! >= 0; at++) {
      const other = found.neighbours[at]!
      const isMutual = circles[other]!.has(row)
      if (isMutual && other < row) continue
      let shared = isMutual ? 2 : 1
      for (const friend of circles[row]!) if (circles[other]!.has(friend)) shared += 1
      graph.addEdge(String(row), String(other), { weight: (found.similarities[at]! * shared) / found.k })
    }
  }
  return graph
}

const circleOf = ({ k, neighbours }: Neighbours, row: number): ReadonlySet<number> =>
  new Set(neighbours.subarray(row * k, (row + 1) * k).filter((neighbour) => neighbour >= 0))
