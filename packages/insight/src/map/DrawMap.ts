/**
 * Draws a map, as one pure function: canonical order, features, clusters, topics, places, text. It takes up to a second,
 * so the service runs it in a worker (`MapWorker`).
 */
import { type Clustering, clusterRows, numbered, similaritiesToOwn } from "./Clusters.ts"
import { type Features, featuresOf } from "./Features.ts"
import { layOut, rounded } from "./Layout.ts"
import { compare, type MapNode, nodesOf } from "./MapNodes.ts"
import {
  type DrawnMap,
  type MapCluster,
  type MapMemory,
  type MapPoint,
  type MapPosition,
  readMemory,
  type ReadMemory
} from "./MapProtocol.ts"
import { otherTopic, topicsOf } from "./Topics.ts"
import { visibleLine } from "../text/VisibleText.ts"

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
