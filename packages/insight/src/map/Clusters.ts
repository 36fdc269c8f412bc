/**
 * Clusters of rows, and the rows that belong to none. Communities of the neighbour graph (Louvain: V. D. Blondel et al.,
 * "Fast unfolding of communities in large networks", 2008) give the number of clusters; spherical k-means then assigns
 * each row to its most similar centroid.
 *
 * Invariant: the result is a function of the rows and their order; callers pass a canonical order.
 */
import { createRequire } from "node:module"
import type declared from "graphology-communities-louvain"
import {
  dot,
  lengthMin,
  type Matrix,
  normaliseRows,
  rowOf,
  rowProducts,
  sumsOf,
  visitRowProducts
} from "./RowProducts.ts"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { UndirectedGraph } from "graphology"

export interface Clustering {
  /** Int32Array[rows]: 0..count-1, or -1 for no cluster. */
  readonly clusterOf: Int32Array
  readonly count: number
}

// The types declare a default export that this CommonJS module does not have.
const louvain: typeof declared.default = createRequire(import.meta.url)("graphology-communities-louvain")

const neighboursPerRow = 6
const refinementRoundsMax = 8
/** A row belongs to no cluster if its cosine to every centroid is below. */
const centroidSimilarityMin = 0.2
/** Communities with centroids at least this similar are merged. */
const mergeSimilarityMin = 0.7
const seed = 0x746f7069

/** Rows have length 1, or 0: a row of zeros belongs to no cluster. */
export const clusterRows = (features: Matrix): Clustering => {
  const graph = neighbourGraph(nearestNeighbours(features, neighboursPerRow))
  const communities = louvain(graph, { rng: seededSequence(seed) })
  const communityOf = Int32Array.from({ length: features.rows }, (_, row) => communities[row] ?? -1)
  let clustering = mergeSimilar(features, numbered(communityOf))
  for (let round = 0; round < refinementRoundsMax; round++) {
    const refined = refine(features, clustering)
    const isStable = refined.clusterOf.every((cluster, row) => cluster === clustering.clusterOf[row])
    clustering = refined
    if (isStable) break
  }
  return clustering
}

/** Mean directions of the clusters, of length 1. */
export const centroidsOf = (features: Matrix, { clusterOf, count }: Clustering): Matrix => {
  const centroids = sumsOf(features, clusterOf, count)
  normaliseRows(centroids)
  return centroids
}

/** Assigns every row to its most similar centroid; the centroid of its own cluster is taken without the row. */
const refine = (features: Matrix, clustering: Clustering): Clustering => {
  const centroids = centroidsOf(features, clustering)
  const own = similaritiesToOwn(features, clustering)
  const { values: similarities } = rowProducts(features, centroids)
  const clusterOf = new Int32Array(features.rows).fill(-1)
  for (let row = 0; row < features.rows; row++) {
    let best = centroidSimilarityMin
    for (let cluster = 0; cluster < clustering.count; cluster++) {
      const isOwn = clustering.clusterOf[row] === cluster
      const similarity = isOwn ? own[row]! : similarities[row * clustering.count + cluster]!
      if (similarity <= best) continue
      best = similarity
      clusterOf[row] = cluster
    }
  }
  return numbered(clusterOf)
}

/** Float64Array[rows]: cosine of each row to the centroid of the others in its cluster; 0 for a row without others. */
export const similaritiesToOwn = (features: Matrix, { clusterOf, count }: Clustering): Float64Array => {
  const { dims, values } = features
  const { values: sums } = sumsOf(features, clusterOf, count)
  return Float64Array.from(clusterOf, (cluster, row) => {
    if (cluster < 0) return 0
    let lengthSquared = 0
    let product = 0
    for (let dim = 0; dim < dims; dim++) {
      const value = values[row * dims + dim]!
      const others = sums[cluster * dims + dim]! - value
      lengthSquared += others * others
      product += others * value
    }
    const length = Math.sqrt(lengthSquared)
    return length < lengthMin ? 0 : product / length
  })
}

/**
 * Simplified silhouette with cosine distances, -1..1 (E. R. Hruschka et al., "Evolutionary algorithms for clustering
 * gene-expression data", 2004): how much nearer rows are to their own centroid than to the next.
 */
export const silhouette = (features: Matrix, clustering: Clustering): number => {
  const { clusterOf, count } = clustering
  if (count < 2) return 0
  const { values: similarities } = rowProducts(features, centroidsOf(features, clustering))
  let sum = 0
  let rows = 0
  for (let row = 0; row < features.rows; row++) {
    if (clusterOf[row]! < 0) continue
    let own = 0
    let next = Number.POSITIVE_INFINITY
    for (let cluster = 0; cluster < count; cluster++) {
      const distance = Math.max(0, 1 - similarities[row * count + cluster]!)
      if (cluster === clusterOf[row]) own = distance
      else next = Math.min(next, distance)
    }
    const larger = Math.max(own, next)
    sum += larger > 0 ? (next - own) / larger : 0
    rows += 1
  }
  return rows > 0 ? sum / rows : 0
}

const mergeSimilar = (features: Matrix, clustering: Clustering): Clustering => {
  const centroids = centroidsOf(features, clustering)
  const target = Int32Array.from({ length: clustering.count }, (_, cluster) => cluster)
  for (let later = 1; later < clustering.count; later++) {
    for (let earlier = 0; earlier < later; earlier++) {
      if (dot(rowOf(centroids, later), rowOf(centroids, earlier)) < mergeSimilarityMin) continue
      target[later] = target[earlier]!
      break
    }
  }
  return numbered(clustering.clusterOf.map((cluster) => (cluster < 0 ? -1 : target[cluster]!)))
}

/** Renumbers the clusters 0, 1, 2... in order of their first row. */
export const numbered = (clusterOf: Int32Array): Clustering => {
  const numbers = new Map<number, number>()
  for (const cluster of clusterOf) if (cluster >= 0 && !numbers.has(cluster)) numbers.set(cluster, numbers.size)
  return { clusterOf: clusterOf.map((cluster) => numbers.get(cluster) ?? -1), count: numbers.size }
}

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
