/**
 * The nearest neighbours of every row, exactly, and the graph whose edges they are. Each pair is
 * compared once. Only rows that resemble each other (cosine above 0) are neighbours, so a row may have
 * fewer than k, or none.
 */
import type { Matrix } from "./Matrix.ts"
import { visitRowProducts } from "./RowProducts.ts"

export interface Neighbours {
  readonly rows: number
  readonly k: number
  /** Int32Array[rows * k], most similar first, -1 where there is none. */
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
  /** Float64Array[rows]: what a row must exceed to be a neighbour. */
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

/** A neighbour more similar than the weakest of the row; the similarity of the weakest one then. */
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

/** Each edge stands at both of its nodes. */
export interface WeightedGraph {
  readonly nodes: number
  /** Int32Array[nodes + 1]: where the edges of a node begin. */
  readonly starts: Int32Array
  readonly neighbours: Int32Array
  readonly weights: Float64Array
}

/**
 * Nodes are the rows. An edge weighs its similarity times the share of neighbours in common: two rows
 * of one topic have friends in common, a chance resemblance has none.
 */
export const neighbourGraph = ({ rows, k, neighbours, similarities }: Neighbours): WeightedGraph => {
  const from: Array<number> = []
  const to: Array<number> = []
  const weightOf: Array<number> = []
  const starts = new Int32Array(rows + 1)
  for (let row = 0; row < rows; row++) {
    for (let at = row * k; at < (row + 1) * k && neighbours[at]! >= 0; at++) {
      const other = neighbours[at]!
      const isMutual = isNeighbour(neighbours, k, other, row)
      if (isMutual && other < row) continue
      let shared = isMutual ? 2 : 1
      for (let friend = row * k; friend < (row + 1) * k && neighbours[friend]! >= 0; friend++) {
        if (isNeighbour(neighbours, k, other, neighbours[friend]!)) shared += 1
      }
      from.push(row)
      to.push(other)
      weightOf.push((similarities[at]! * shared) / k)
      starts[row]! += 1
      starts[other]! += 1
    }
  }
  return graphOf(starts, from, to, weightOf)
}

const isNeighbour = (neighbours: Int32Array, k: number, row: number, other: number): boolean => {
  for (let at = row * k; at < (row + 1) * k; at++) if (neighbours[at] === other) return true
  return false
}

/** `starts` holds the number of edges of each node, and is then filled from behind. */
const graphOf = (
  starts: Int32Array,
  from: ReadonlyArray<number>,
  to: ReadonlyArray<number>,
  weightOf: ReadonlyArray<number>
): WeightedGraph => {
  const graph: WeightedGraph = {
    nodes: starts.length - 1,
    starts,
    neighbours: new Int32Array(2 * from.length),
    weights: new Float64Array(2 * from.length)
  }
  for (let node = 1; node < starts.length; node++) starts[node]! += starts[node - 1]!
  const put = (node: number, other: number, weight: number): void => {
    const at = (starts[node]! -= 1)
    graph.neighbours[at] = other
    graph.weights[at] = weight
  }
  for (const [edge, node] of from.entries()) {
    put(node, to[edge]!, weightOf[edge]!)
    put(to[edge]!, node, weightOf[edge]!)
  }
  return graph
}
