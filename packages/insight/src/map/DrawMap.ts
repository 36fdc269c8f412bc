/**
 * Draws a map, as one pure function: canonical order, features, clusters, topics, places, text. It takes up to a second,
 * so the service runs it in a worker (`MapWorker`).
 */
import { type Clustering, clusterRows, numbered, similaritiesToOwn, centroidsOf } from "./Clusters.ts"
import { type Features, featuresOf, plane } from "./Features.ts"
import {
  compare,
  type DrawnMap,
  type MapCluster,
  type MapMemory,
  type MapNode,
  type MapPoint,
  type MapPosition,
  nodesOf,
  readMemory,
  type ReadMemory
} from "./MapProtocol.ts"
import { otherTopic, topicsOf } from "./Topics.ts"
import { visibleLine } from "@muniment/language/text/VisibleText"
import { makeMatrix, type Matrix, rowOf } from "./RowProducts.ts"

/** A memory with less than this share of its cluster's median closeness is an outlier. */
const closenessShareMin = 0.4
const clusterSizeMin = 3
/** With fewer memories, one less is enough for a cluster. */
const fewMemories = 20

export const drawMap = (memories: ReadonlyArray<MapMemory>): DrawnMap => drawRead(memories.map(readMemory))

export const drawRead = (memories: ReadonlyArray<ReadMemory>): DrawnMap => {
  const nodes = nodesOf(memories)
  if (nodes.length === 0) return { memoryMap: "", clusters: [], points: [] }
  const features = featuresOf(nodes)
  const found = withoutOutliers(features, clusterRows(features.reduced))
  const sizeMin = memories.length < fewMemories ? clusterSizeMin - 1 : clusterSizeMin
  const clustering = withoutSmall(nodes, withRepeated(nodes, found), sizeMin)
  return describe(nodes, features, clustering)
}

const withoutOutliers = ({ full }: Features, clustering: Clustering): Clustering => {
  const closeness = similaritiesToOwn(full, clustering)
  const medians = Array.from({ length: clustering.count }, (_, cluster) => {
    const sorted = closeness.filter((_value, row) => clustering.clusterOf[row] === cluster).sort()
    return sorted[sorted.length >> 1] ?? 0
  })
  return numbered(
    clustering.clusterOf.map((cluster, row) =>
      cluster >= 0 && closeness[row]! >= closenessShareMin * medians[cluster]! ? cluster : -1
    )
  )
}

/** A memory that was stored several times is a topic of its own even if nothing else is near it. */
const withRepeated = (nodes: ReadonlyArray<MapNode>, { clusterOf, count }: Clustering): Clustering =>
  numbered(clusterOf.map((cluster, row) => (cluster < 0 && nodes[row]!.ids.length > 1 ? count + row : cluster)))

const withoutSmall = (nodes: ReadonlyArray<MapNode>, clustering: Clustering, sizeMin: number): Clustering => {
  const sizes = new Int32Array(clustering.count)
  for (const [row, cluster] of clustering.clusterOf.entries())
    if (cluster >= 0) sizes[cluster]! += nodes[row]!.ids.length
  return numbered(clustering.clusterOf.map((cluster) => (cluster >= 0 && sizes[cluster]! >= sizeMin ? cluster : -1)))
}

const describe = (nodes: ReadonlyArray<MapNode>, features: Features, clustering: Clustering): DrawnMap => {
  const closeness = similaritiesToOwn(features.full, clustering)
  const places = layOut(features.reduced, clustering)
  const { others, groups } = grouped(nodes, clustering)
  const bySize = groups.sort((left, right) => right.count - left.count || left.rows[0]! - right.rows[0]!)
  const topics = topicsOf(
    nodes,
    bySize.map(({ rows }) => rows),
    closeness
  )
  const ordered = bySize
    .map((group, at) => ({ ...group, ...topics[at]! }))
    .sort((left, right) => right.count - left.count || compare(left.topic, right.topic))
  const clusters = ordered.map(({ rows, count, topic, terms }): MapCluster => {
    const memoryIds = idsOf(nodes, rows)
    const kinds = [...new Set(rows.map((row) => nodes[row]!.kind))].sort(compare)
    return { topic, terms, count, kinds, memoryIds, position: meanPlace(nodes, rows, places) }
  })
  const pointsOf = (rows: ReadonlyArray<number>, cluster: number | null): ReadonlyArray<MapPoint> =>
    rows.flatMap((row) => nodes[row]!.ids.map((id) => ({ id, cluster, ...places[row]! })))
  const sections = ordered.map(({ topic, count, rows }) => ({ topic, count, rows }))
  if (others.rows.length > 0) sections.push({ topic: otherTopic, ...others })
  return {
    memoryMap: markdownOf(
      sections.map(({ topic, count, rows }) => ({ topic, count, nodes: rows.map((row) => nodes[row]!) }))
    ),
    clusters,
    points: [...ordered.flatMap(({ rows }, cluster) => pointsOf(rows, cluster)), ...pointsOf(others.rows, null)]
  }
}

interface Group {
  readonly rows: Array<number>
  /** Number of memories: a row may represent several. */
  count: number
}

const grouped = (nodes: ReadonlyArray<MapNode>, { clusterOf, count }: Clustering) => {
  const others: Group = { rows: [], count: 0 }
  const groups = Array.from({ length: count }, (): Group => ({ rows: [], count: 0 }))
  for (const [row, cluster] of clusterOf.entries()) {
    const group = groups[cluster] ?? others
    group.rows.push(row)
    group.count += nodes[row]!.ids.length
  }
  return { others, groups }
}

const idsOf = (nodes: ReadonlyArray<MapNode>, rows: ReadonlyArray<number>): ReadonlyArray<string> =>
  rows.flatMap((row) => nodes[row]!.ids)

const meanPlace = (
  nodes: ReadonlyArray<MapNode>,
  rows: ReadonlyArray<number>,
  places: ReadonlyArray<MapPosition>
): MapPosition => {
  const sum = { x: 0, y: 0, count: 0 }
  for (const row of rows) {
    const count = nodes[row]!.ids.length
    sum.x += places[row]!.x * count
    sum.y += places[row]!.y * count
    sum.count += count
  }
  return { x: rounded(sum.x / sum.count), y: rounded(sum.y / sum.count) }
}

export interface MarkdownSection {
  readonly topic: string
  readonly count: number
  readonly nodes: ReadonlyArray<MapNode>
}

export const summaryLengthMax = 160

export const markdownOf = (sections: ReadonlyArray<MarkdownSection>): string =>
  sections
    .map(({ topic, count, nodes }) => {
      const bullets = nodes.flatMap((node) => {
        const line = `(${neutral(node.kind)}): ${summaryOf(node)}`
        return node.ids.map((id) => `- ${neutral(id)} ${line}`)
      })
      return `## ${neutral(topic)} (${count})\n\n${bullets.join("\n")}\n`
    })
    .join("\n")

const summaryOf = ({ subject, parts }: MapNode): string => {
  const said = parts.join(", ")
  const text = visibleLine(subject === "" || said === "" ? subject + said : `${subject}: ${said}`)
  const characters = [...text]
  const cut = characters.length > summaryLengthMax ? `${characters.slice(0, summaryLengthMax - 1).join("")}…` : text
  return cut === "" ? "(no text)" : escaped(cut)
}

const neutral = (text: string): string => escaped(visibleLine(text))

/** Characters that start markup within a line; an underscore only outside words. */
const markup = /[\\`*[\]<>~|&#@]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu
/** Many renderers make links of bare addresses. */
const address = /:(?=\/\/)|(?<=\bwww)\./giu

const escaped = (text: string): string => text.replace(markup, String.raw`\$&`).replace(address, String.raw`\$&`)

/** Share of the square's area that all discs cover; larger discs could not be pushed apart. */
const coveredShare = 0.35
/** Least distance of two discs, divided by the sum of their radii. */
const discGap = 1.15
const pushRoundsMax = 200
const rimRadius = 0.98
const decimals = 10_000

/**
 * Positions in the plane. Cluster centroids lie in the plane of their largest variance and are pushed apart until discs
 * of the clusters' sizes do not overlap; members lie around their centroid in the plane of the cluster's own variance;
 * memories without a cluster lie on the rim, in their direction.
 *
 * Invariants: coordinates are within -1..1 and never NaN; equal features give equal positions, signs included.
 *
 * A position for each row of `features`.
 */
const layOut = (features: Matrix, clustering: Clustering): ReadonlyArray<MapPosition> => {
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
const rounded = (value: number): number => Math.round(Math.min(1, Math.max(-1, value)) * decimals) / decimals + 0
