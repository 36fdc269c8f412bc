/**
 * The ways to cluster that are compared. All but the last two work on the same features as the map.
 */
import { clusterRows } from "@muniment/insight/map/Clusters"
import { drawMap } from "@muniment/insight/map/DrawMap"
import { featuresOf } from "@muniment/insight/map/Features"
import { type MapMemory, nodesOf, readMemory } from "@muniment/insight/map/MapProtocol"
import { type Matrix, rowOf } from "@muniment/insight/map/RowProducts"
import { kmeans } from "ml-kmeans"

/** Number of the cluster by place in the list; null: none. */
export type Method = (memories: ReadonlyArray<MapMemory>) => ReadonlyArray<number | null>

const clustersMax = 24
const seed = 5

const theMap: Method = (memories) => {
  const clusterOf = new Map(drawMap(memories).points.map(({ id, cluster }) => [id, cluster]))
  return memories.map(({ id }) => clusterOf.get(id) ?? null)
}

/** Kind and subject left in: what a map by vectors alone would show. */
const facetsKept: Method = (memories) =>
  theMap(memories.map((memory) => ({ ...memory, kind: "memory", data: { ...memory.data, subject: "somebody" } })))

const byFeatures =
  (cluster: (features: Matrix) => ReadonlyArray<number>): Method =>
  (memories) => {
    const nodes = nodesOf(memories.map(readMemory))
    const clusterOf = cluster(featuresOf(nodes).reduced)
    const byId = new Map(nodes.flatMap(({ ids }, row) => ids.map((id) => [id, clusterOf[row]!])))
    return memories.map(({ id }) => byId.get(id) ?? null)
  }

/** k by the best simplified silhouette. */
const kMeans = byFeatures((features) => {
  const rows = Array.from({ length: features.rows }, (_, row) => [...rowOf(features, row)])
  let best = { score: Number.NEGATIVE_INFINITY, clusters: rows.map(() => 0) }
  for (let k = 2; k <= Math.min(clustersMax, rows.length - 1); k++) {
    const { clusters, centroids } = kmeans(rows, k, { seed })
    const scores = rows.map((row, at) => {
      const distances = centroids.map((centre) => Math.hypot(...centre.map((value, dim) => value - row[dim]!)))
      const own = distances[clusters[at]!]!
      const next = Math.min(...distances.filter((_, cluster) => cluster !== clusters[at]))
      return (next - own) / Math.max(next, own, Number.MIN_VALUE)
    })
    const score = scores.reduce((sum, value) => sum + value, 0) / rows.length
    if (score > best.score) best = { score, clusters }
  }
  return best.clusters
})

export const methods: Readonly<Record<string, Method>> = {
  "the map": theMap,
  "without noise": byFeatures((features) => [...clusterRows(features).clusterOf]),
  "k-means": kMeans,
  "facets kept": facetsKept
}
