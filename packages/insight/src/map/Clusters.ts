/**
 * Rows into clusters, and rows near nothing into none. Communities of the neighbour graph (Louvain:
 * V. D. Blondel et al., "Fast unfolding of communities in large networks", 2008) say how many
 * clusters there are; then each row joins the centre that it resembles most (spherical k-means).
 *
 * Invariant: the outcome is a function of the rows and their order; callers bring a canonical order.
 */
import { createRequire } from "node:module"
import type declared from "graphology-communities-louvain"
import { dot, lengthMin, type Matrix, normaliseRows, rowOf, sumsOf } from "./Matrix.ts"
import { nearestNeighbours, neighbourGraph } from "./NeighbourGraph.ts"
import { rowProducts } from "./RowProducts.ts"
import { seededSequence } from "@muniment/engine/index/SeededSequence"

export interface Clustering {
  /** Int32Array[rows]: 0..count-1, or -1 for none. */
  readonly clusterOf: Int32Array
  readonly count: number
}

// Its declaration describes a default export that this CommonJS module does not have.
const louvain: typeof declared.default = createRequire(import.meta.url)("graphology-communities-louvain")

const neighboursPerRow = 6
const refinementRoundsMax = 8
/** A row below this cosine to every centre is near nothing. */
const centreSimilarityMin = 0.2
/** Communities whose centres are that similar are halves of one cluster. */
const mergeSimilarityMin = 0.7
const seed = 0x746f7069

/** Rows of length 1, or 0: those belong to no cluster. */
export const clusterRows = (features: Matrix): Clustering => {
  const graph = neighbourGraph(nearestNeighbours(features, neighboursPerRow))
  const communities = louvain(graph, { rng: seededSequence(seed) })
  const communityOf = Int32Array.from({ length: features.rows }, (_, row) => communities[row] ?? -1)
  let clustering = mergeAlike(features, numbered(communityOf))
  for (let round = 0; round < refinementRoundsMax; round++) {
    const refined = refine(features, clustering)
    const isStable = refined.clusterOf.every((cluster, row) => cluster === clustering.clusterOf[row])
    clustering = refined
    if (isStable) break
  }
  return clustering
}

/** Centres of length 1. */
export const centresOf = (features: Matrix, { clusterOf, count }: Clustering): Matrix => {
  const centres = sumsOf(features, clusterOf, count)
  normaliseRows(centres)
  return centres
}

/** Every row to the centre it resembles most; its own centre is taken without it. */
const refine = (features: Matrix, clustering: Clustering): Clustering => {
  const centres = centresOf(features, clustering)
  const own = similaritiesToOwn(features, clustering)
  const { values: similarities } = rowProducts(features, centres)
  const clusterOf = new Int32Array(features.rows).fill(-1)
  for (let row = 0; row < features.rows; row++) {
    let best = centreSimilarityMin
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

/** Float64Array[rows]: cosine of each row to the centre of the others in its cluster; 0 when alone or in none. */
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
 * Simplified silhouette with cosine distances, -1..1 (E. R. Hruschka et al., "Evolutionary algorithms
 * for clustering gene-expression data", 2004): how much nearer rows are to their own centre than to
 * the next.
 */
export const silhouette = (features: Matrix, clustering: Clustering): number => {
  const { clusterOf, count } = clustering
  if (count < 2) return 0
  const { values: similarities } = rowProducts(features, centresOf(features, clustering))
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

const mergeAlike = (features: Matrix, clustering: Clustering): Clustering => {
  const centres = centresOf(features, clustering)
  const target = Int32Array.from({ length: clustering.count }, (_, cluster) => cluster)
  for (let later = 1; later < clustering.count; later++) {
    for (let earlier = 0; earlier < later; earlier++) {
      if (dot(rowOf(centres, later), rowOf(centres, earlier)) < mergeSimilarityMin) continue
      target[later] = target[earlier]!
      break
    }
  }
  return numbered(clustering.clusterOf.map((cluster) => (cluster < 0 ? -1 : target[cluster]!)))
}

/** The same clusters with numbers 0, 1, 2... in order of their first row. */
export const numbered = (clusterOf: Int32Array): Clustering => {
  const numbers = new Map<number, number>()
  for (const cluster of clusterOf) if (cluster >= 0 && !numbers.has(cluster)) numbers.set(cluster, numbers.size)
  return { clusterOf: clusterOf.map((cluster) => numbers.get(cluster) ?? -1), count: numbers.size }
}
