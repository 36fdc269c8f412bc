/** Communities against the library whose outcome they must have, on graphs of many sizes. */
import { createRequire } from "node:module"
import type declared from "graphology-communities-louvain"
import { UndirectedGraph } from "graphology"
import { communitiesOf } from "@muniment/insight/map/Communities"
import { nearestNeighbours, neighbourGraph, type WeightedGraph } from "@muniment/insight/map/NeighbourGraph"
import { seededSequence } from "@muniment/insight/map/SeededSequence"
import { SeededRandom } from "../../../support/SeededRandom.ts"
import { describe, expect, it } from "vitest"
import { randomMatrix } from "./mapFixtures.ts"

// Its declaration describes a default export that this CommonJS module does not have.
const louvain: typeof declared.default = createRequire(import.meta.url)("graphology-communities-louvain")

/** Edges in an order that gives the library's index the order of ours: it fills each node from behind. */
const graphologyOf = ({ nodes, starts, neighbours, weights }: WeightedGraph): UndirectedGraph => {
  const graph = new UndirectedGraph()
  for (let node = 0; node < nodes; node++) graph.addNode(String(node))
  const next = Int32Array.from({ length: nodes }, (_, node) => starts[node + 1]! - 1)
  const isLeft = (node: number): boolean => next[node]! >= starts[node]!
  for (let isProgress = true; isProgress;) {
    isProgress = false
    for (let node = 0; node < nodes; node++) {
      while (isLeft(node)) {
        const other = neighbours[next[node]!]!
        if (!isLeft(other) || neighbours[next[other]!] !== node) break
        graph.addEdge(String(node), String(other), { weight: weights[next[node]!]! })
        next[node]! -= 1
        next[other]! -= 1
        isProgress = true
      }
    }
  }
  expect(2 * graph.size).toBe(neighbours.length)
  return graph
}

/** Names of communities carry no meaning: the first member stands for all. */
const firstMembers = (communities: ReadonlyArray<number>): ReadonlyArray<number> =>
  communities.map((community) => communities.indexOf(community))

describe("communitiesOf", () => {
  it("finds what graphology's Louvain finds, for graphs of 2 to 400 nodes", () => {
    const random = new SeededRandom(7)
    for (let round = 0; round < 40; round++) {
      const rows = random.between(2, round < 30 ? 80 : 400)
      const matrix = randomMatrix(rows, random.between(2, 12), round + 1)
      const graph = neighbourGraph(nearestNeighbours(matrix, random.between(1, 8)))
      const expected = louvain(graphologyOf(graph), { rng: seededSequence(round) })
      const found = communitiesOf(graph, seededSequence(round))
      expect(firstMembers([...found])).toEqual(firstMembers(Array.from({ length: rows }, (_, row) => expected[row]!)))
    }
  })

  it("leaves every node of a graph without edges alone", () => {
    const graph = neighbourGraph(nearestNeighbours({ rows: 3, dims: 1, values: new Float64Array(3) }, 2))
    expect([...communitiesOf(graph, seededSequence(1))]).toEqual([0, 1, 2])
  })
})
