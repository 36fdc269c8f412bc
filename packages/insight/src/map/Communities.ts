/**
 * Communities of a weighted graph by Louvain's method (V. D. Blondel et al., "Fast unfolding of
 * communities in large networks", 2008) with a queue of nodes whose neighbours moved (V. A. Traag,
 * "Faster unfolding of communities", 2015), on flat arrays.
 *
 * Invariant: it finds what `graphology-communities-louvain` finds for the same edges in the same order
 * and the same seed (test); that one takes several times as long, most of it to build its graph.
 */
import type { WeightedGraph } from "./NeighbourGraph.ts"

/** Gains that differ by less are equal. */
const gainDifferenceMin = 1e-10

/** A level of the method: its nodes are the communities of the level below. */
interface Level {
  readonly graph: WeightedGraph
  /** Float64Array[nodes]: twice the weight inside of a node. */
  readonly loops: Float64Array
  /** Float64Array[nodes]: weight of all edges of a node, those inside counted twice. */
  readonly totals: Float64Array
}

/** Int32Array[nodes]: the community of each node; a node without edges is one of its own. */
export const communitiesOf = (graph: WeightedGraph, random: () => number): Int32Array => {
  const totals = Float64Array.from({ length: graph.nodes }, (_, node) => weightOf(graph, node))
  const graphWeight = totals.reduce((sum, total) => sum + total, 0) / 2
  const communityOf = Int32Array.from({ length: graph.nodes }, (_, node) => node)
  let level: Level = { graph, loops: new Float64Array(graph.nodes), totals }
  if (graphWeight === 0) return communityOf
  // Every round but the last one leaves fewer nodes.
  for (;;) {
    const moved = moveNodes(level, graphWeight, random)
    if (moved === undefined) return communityOf
    const numbers = numberInOrder(moved.communityOf)
    for (const [node, community] of communityOf.entries()) communityOf[node] = numbers.numberOf[community]!
    level = contract(level, numbers, moved.totals)
  }
}

const weightOf = ({ starts, weights }: WeightedGraph, node: number): number => {
  let sum = 0
  for (let at = starts[node]!; at < starts[node + 1]!; at++) sum += weights[at]!
  return sum
}

interface Moved {
  readonly communityOf: Int32Array
  /** By community: the weight of its nodes. */
  readonly totals: Float64Array
}

/** Each node to the neighbouring community that gains most, until none gains; undefined when none moved. */
const moveNodes = ({ graph, loops, totals }: Level, graphWeight: number, random: () => number): Moved | undefined => {
  const { nodes, starts, neighbours } = graph
  const communityOf = Int32Array.from({ length: nodes }, (_, node) => node)
  const communityTotals = totals.slice()
  const counts = new Int32Array(nodes).fill(1)
  const unused: Array<number> = []
  const queue = makeQueue(nodes, Math.floor(random() * nodes))
  const near = makeTally(nodes)
  let hasMoved = false
  for (let node = queue.take(); node >= 0; node = queue.take()) {
    const own = communityOf[node]!
    const weight = near.count(graph, communityOf, node) + loops[node]!
    const gainOf = (community: number, total: number): number =>
      near.weights[community]! - (weight * total) / (2 * graphWeight)
    let best = own
    let bestGain = gainOf(own, communityTotals[own]! - weight)
    for (let at = 0; at < near.size(); at++) {
      const community = near.communities[at]!
      if (community === own) continue
      const gain = gainOf(community, communityTotals[community]!)
      const isEqual = Math.abs(gain - bestGain) < gainDifferenceMin
      if (isEqual ? best === own || community <= best : gain <= bestGain) continue
      best = community
      bestGain = gain
    }
    if (bestGain < 0 && counts[own] === 1) best = own
    else if (bestGain < 0) best = unused.pop()!
    if (best === own) continue
    communityTotals[own]! -= weight
    communityTotals[best]! += weight
    communityOf[node] = best
    counts[best]! += 1
    counts[own]! -= 1
    if (counts[own] === 0) unused.push(own)
    hasMoved = true
    for (let at = starts[node]!; at < starts[node + 1]!; at++) {
      if (communityOf[neighbours[at]!] !== best) queue.add(neighbours[at]!)
    }
  }
  return hasMoved ? { communityOf, totals: communityTotals } : undefined
}

/** Every node once, beginning with `first`; then those that are added while they do not wait already. */
const makeQueue = (nodes: number, first: number) => {
  const ring = Int32Array.from({ length: nodes }, (_, at) => (first + at) % nodes)
  const isWaiting = new Uint8Array(nodes).fill(1)
  let start = 0
  let waiting = nodes
  return {
    /** -1: none. */
    take: (): number => {
      if (waiting === 0) return -1
      const node = ring[start]!
      start = start + 1 === nodes ? 0 : start + 1
      waiting -= 1
      isWaiting[node] = 0
      return node
    },
    add: (node: number): void => {
      if (isWaiting[node] === 1) return
      isWaiting[node] = 1
      ring[(start + waiting) % nodes] = node
      waiting += 1
    }
  }
}

/** Weights of a node's edges by the communities at their other ends, in order of first appearance. */
const makeTally = (nodes: number) => {
  const communities = new Int32Array(nodes)
  const weights = new Float64Array(nodes)
  const isCounted = new Uint8Array(nodes)
  let size = 0
  return {
    communities,
    weights,
    size: (): number => size,
    /** The sum of them all. */
    count: ({ starts, neighbours, weights: edgeWeights }: WeightedGraph, communityOf: Int32Array, node: number) => {
      for (let at = 0; at < size; at++) {
        weights[communities[at]!] = 0
        isCounted[communities[at]!] = 0
      }
      size = 0
      let sum = 0
      weights[communityOf[node]!] = 0
      for (let at = starts[node]!; at < starts[node + 1]!; at++) {
        const community = communityOf[neighbours[at]!]!
        if (isCounted[community] === 0) {
          isCounted[community] = 1
          communities[size++] = community
        }
        weights[community]! += edgeWeights[at]!
        sum += edgeWeights[at]!
      }
      return sum
    }
  }
}

interface Numbers {
  /** Int32Array[nodes]: the number of the node's community. */
  readonly numberOf: Int32Array
  /** By number: the community's name before. */
  readonly names: ReadonlyArray<number>
}

/** Communities numbered in order of their first node. */
const numberInOrder = (communityOf: Int32Array): Numbers => {
  const numbers = new Map<number, number>()
  const numberOf = communityOf.map((community) => {
    const number = numbers.get(community) ?? numbers.size
    numbers.set(community, number)
    return number
  })
  return { numberOf, names: [...numbers.keys()] }
}

/** Communities as nodes; edges between them in order of their numbers. */
const contract = ({ graph, loops }: Level, { numberOf, names }: Numbers, communityTotals: Float64Array): Level => {
  const { nodes, starts, neighbours, weights } = graph
  const inside = new Float64Array(names.length)
  const outside = names.map(() => new Map<number, number>())
  for (let node = 0; node < nodes; node++) {
    const own = numberOf[node]!
    const between = outside[own]!
    inside[own]! += loops[node]!
    for (let at = starts[node]!; at < starts[node + 1]!; at++) {
      const other = numberOf[neighbours[at]!]!
      if (other === own) inside[own]! += weights[at]!
      else between.set(other, (between.get(other) ?? 0) + weights[at]!)
    }
  }
  const edges = outside.map((between) => [...between].sort(([left], [right]) => left - right))
  const contractedStarts = new Int32Array(names.length + 1)
  for (const [number, { length }] of edges.entries()) contractedStarts[number + 1] = contractedStarts[number]! + length
  return {
    graph: {
      nodes: names.length,
      starts: contractedStarts,
      neighbours: Int32Array.from(edges.flat(), ([other]) => other),
      weights: Float64Array.from(edges.flat(), ([, weight]) => weight)
    },
    loops: inside,
    totals: Float64Array.from(names, (name) => communityTotals[name]!)
  }
}
