/**
 * The exact nearest neighbours of every row, and the graph of these pairs. Each pair is compared once. Only rows with a
 * positive cosine are neighbours, so a row may have fewer than k.
 */
import { UndirectedGraph } from "graphology"
import type { Matrix } from "./Matrix.ts"
import { visitRowProducts } from "./RowProducts.ts"

export interface Neighbours {
  readonly rows: number
  readonly k: number
  /** Int32Array[rows * k], most similar first, padded with -1. */
  readonly neighbours: Int32Array
  readonly similarities: Float64Array
}

/** Rows have length 1, or 0. */
export const nearestNeighbours = (matrix: Matrix, k: number): Neighbours => {
  const { rows } = matrix
  const found: Neighbours = {
    rows,
    k,
    neighbours: new Int32Array(rows * k).fill(-1),
    similarities: new Float64Array(rows * k)
  }
  /** Float64Array[rows]: similarity that a new neighbour must exceed. */
  const weakest = new Float64Array(rows)
  visitRowProducts(matrix, matrix, "up to itself", (products, stride, from, to) => {
    for (let left = from; left < to; left++) {
      const first = (left - from) * stride
      for (let right = 0; right < left; right++) {
        const similarity = products[first + right]!
        if (similarity > weakest[left]!) weakest[left] = offer(found, left, right, similarity)
        if (similarity > weakest[right]!) weakest[right] = offer(found, right, left, similarity)
      }
    }
  })
  return found
}

/** Inserts a neighbour that is more similar than the weakest; returns the similarity of the new weakest. */
const offer = ({ k, neighbours, similarities }: Neighbours, row: number, other: number, similarity: number): number => {
  const first = row * k
  let at = first + k - 1
  for (; at > first && similarity > similarities[at - 1]!; at--) {
    similarities[at] = similarities[at - 1]!
    neighbours[at] = neighbours[at - 1]!
  }
  similarities[at] = similarity
  neighbours[at] = other
  return similarities[first + k - 1]!
}

/**
 * Nodes are the rows. The weight of an edge is the similarity times the share of neighbours in common, which separates two
 * rows of one topic from a chance resemblance.
 */
export const neighbourGraph = ({ rows, k, neighbours, similarities }: Neighbours): UndirectedGraph => {
  const graph = new UndirectedGraph()
  for (let row = 0; row < rows; row++) graph.addNode(row)
  for (let row = 0; row < rows; row++) {
    for (let at = row * k; at < (row + 1) * k && neighbours[at]! >= 0; at++) {
      const other = neighbours[at]!
      const isMutual = isNeighbour(neighbours, k, other, row)
      if (isMutual && other < row) continue
      let shared = isMutual ? 2 : 1
      for (let next = row * k; next < (row + 1) * k && neighbours[next]! >= 0; next++) {
        if (isNeighbour(neighbours, k, other, neighbours[next]!)) shared += 1
      }
      graph.addUndirectedEdge(row, other, { weight: (similarities[at]! * shared) / k })
    }
  }
  return graph
}

const isNeighbour = (neighbours: Int32Array, k: number, row: number, other: number): boolean => {
  for (let at = row * k; at < (row + 1) * k; at++) if (neighbours[at] === other) return true
  return false
}
