/**
 * Positions in the plane. Cluster centroids lie in the plane of their largest variance and are pushed apart until discs
 * of the clusters' sizes do not overlap; members lie around their centroid in the plane of the cluster's own variance;
 * memories without a cluster lie on the rim, in their direction.
 *
 * Invariants: coordinates are within -1..1 and never NaN; equal features give equal positions, signs included.
 */
import type { Clustering } from "./Clusters.ts"
import { centroidsOf } from "./Clusters.ts"
import type { MapPosition } from "./MapProtocol.ts"
import { makeMatrix, type Matrix, rowOf } from "./Matrix.ts"
import { plane } from "./Projection.ts"

/** Share of the square's area that all discs cover; larger discs could not be pushed apart. */
const coveredShare = 0.35
/** Least distance of two discs, divided by the sum of their radii. */
const discGap = 1.15
const pushRoundsMax = 200
const rimRadius = 0.98
const decimals = 10_000

/** A position for each row of `features`. */
export const layOut = (features: Matrix, clustering: Clustering): ReadonlyArray<MapPosition> => {
  const { rows } = features
  if (rows === 0) return []
  const discs = placeDiscs(features, clustering)
  const places = Array.from({ length: rows }, (): MapPosition => ({ x: 0, y: 0 }))
  for (const disc of discs) {
    for (const [at, { x, y }] of aroundCentroid(features, disc).entries()) {
      places[disc.rows[at]!] = { x: rounded(disc.x + x), y: rounded(disc.y + y) }
    }
  }
  placeOnRim(features, clustering, places)
  return places
}

interface Disc {
  readonly rows: ReadonlyArray<number>
  readonly radius: number
  x: number
  y: number
}

const placeDiscs = (features: Matrix, clustering: Clustering): ReadonlyArray<Disc> => {
  const rowsOf = Array.from({ length: clustering.count }, (): Array<number> => [])
  for (const [row, cluster] of clustering.clusterOf.entries()) if (cluster >= 0) rowsOf[cluster]!.push(row)
  const clustered = rowsOf.reduce((sum, rows) => sum + rows.length, 0)
  const centroids = plane(centroidsOf(features, clustering))
  const farthest = Math.max(...centroids.values.map(Math.abs), Number.MIN_VALUE)
  const discs = rowsOf.map((rows, cluster): Disc => {
    const radius = Math.sqrt(((rows.length / clustered) * coveredShare * 4) / Math.PI)
    const reach = 1 - radius
    const [x, y] = rowOf(centroids, cluster)
    return { rows, radius, x: (x! / farthest) * reach, y: (y! / farthest) * reach }
  })
  pushApart(discs)
  return discs
}

const pushApart = (discs: ReadonlyArray<Disc>): void => {
  for (let round = 0; round < pushRoundsMax; round++) {
    let isSettled = true
    for (const [number, disc] of discs.entries()) {
      for (const other of discs.slice(0, number)) {
        const wanted = (disc.radius + other.radius) * discGap
        const distance = Math.hypot(disc.x - other.x, disc.y - other.y)
        if (distance >= wanted) continue
        isSettled = false
        // Two discs in one place are moved in a direction that depends on their number.
        const angle = distance > 0 ? Math.atan2(disc.y - other.y, disc.x - other.x) : number
        const push = (wanted - distance) / 2
        move(disc, angle, push)
        move(other, angle, -push)
      }
    }
    if (isSettled) return
  }
}

const move = (disc: Disc, angle: number, distance: number): void => {
  const reach = Math.max(0, 1 - disc.radius)
  disc.x = Math.min(reach, Math.max(-reach, disc.x + Math.cos(angle) * distance))
  disc.y = Math.min(reach, Math.max(-reach, disc.y + Math.sin(angle) * distance))
}

/** Offsets from the centroid; the farthest member lies on the edge of the disc. */
const aroundCentroid = (features: Matrix, { rows, radius }: Disc): ReadonlyArray<MapPosition> => {
  const members = makeMatrix(rows.length, features.dims)
  for (const [at, row] of rows.entries()) rowOf(members, at).set(rowOf(features, row))
  const flat = plane(members)
  const offsets = rows.map((_, at) => ({ x: flat.values[at * 2]!, y: flat.values[at * 2 + 1]! }))
  const farthest = Math.max(...offsets.map(({ x, y }) => Math.hypot(x, y)))
  const scale = farthest > 0 ? radius / farthest : 0
  return offsets.map(({ x, y }) => ({ x: x * scale, y: y * scale }))
}

const placeOnRim = (features: Matrix, { clusterOf }: Clustering, places: Array<MapPosition>): void => {
  const outside = [...clusterOf.keys()].filter((row) => clusterOf[row]! < 0)
  if (outside.length === 0) return
  const all = plane(features)
  const angleOf = (row: number): number => Math.atan2(all.values[row * 2 + 1]!, all.values[row * 2]!)
  // Evenly spaced in the order of their directions, so that none covers another.
  outside.sort((left, right) => angleOf(left) - angleOf(right) || left - right)
  for (const [number, row] of outside.entries()) {
    const angle = -Math.PI + (2 * Math.PI * (number + 0.5)) / outside.length
    places[row] = { x: rounded(rimRadius * Math.cos(angle)), y: rounded(rimRadius * Math.sin(angle)) }
  }
}

/** To four decimals within -1..1; never -0. */
export const rounded = (value: number): number => Math.round(Math.min(1, Math.max(-1, value)) * decimals) / decimals + 0
