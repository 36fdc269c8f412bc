/**
 * hnswlib-node, the service's optional dependency, called directly: M 16, efConstruction 200. It
 * takes plain arrays only; the copy into one is part of its time, as for every contender.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { loadHnswlib, type NativeGraph } from "@muniment/engine/vectors/hnsw/HnswGraph"
import type { Contender, ContenderKind, Place } from "../Contender.ts"

const m = 16
const efConstruction = 200
const randomSeed = 100
/** Width of the first search after opening. */
const coldEf = 100

export const hnswlib: ContenderKind = {
  name: "hnswlib-node",
  countMax: 1_000_000,
  open: async (place) => {
    let reason = ""
    const module = await loadHnswlib((why) => void (reason = why))
    if (module === undefined) throw new Error(`hnswlib-node was left out: ${reason}`)
    const graph = new module.HierarchicalNSW("ip", place.dims)
    graph.initIndex({ maxElements: place.capacity, m, efConstruction, randomSeed })
    return contender(graph, place, () => new module.HierarchicalNSW("ip", place.dims))
  }
}

const contender = (graph: NativeGraph, { dims, directory, attributes }: Place, fresh: () => NativeGraph): Contender => {
  const plain = Array.from<number>({ length: dims }).fill(0)
  const asPlain = (vector: Float32Array): Array<number> => {
    for (let i = 0; i < dims; i++) plain[i] = vector[i]!
    return plain
  }
  return {
    knob: { name: "ef", values: [10, 16, 24, 40, 64, 100, 160, 240, 400, 800] },
    add: (from, vectors) => vectors.forEach((vector, at) => graph.addPoint(asPlain(vector), from + at)),
    settle: () => {},
    search: (query, k, ef) => {
      graph.setEf(ef)
      return graph.searchKnn(asPlain(query), k).neighbors
    },
    filterKind: "callback",
    searchWhere: (query, k, ef, { attribute, below }) => {
      const values = attributes[attribute]
      graph.setEf(ef)
      return graph.searchKnn(asPlain(query), k, (label) => values[label]! < below).neighbors
    },
    // A point of a label that exists is moved within the graph.
    replace: (slots, vectors) => slots.forEach((slot, at) => graph.addPoint(asPlain(vectors[at]!), slot)),
    persist: async () => {
      const path = join(directory, "graph.hnsw")
      await graph.writeIndex(path)
      return {
        bytes: (await stat(path)).size,
        firstAnswer: async (query, k) => {
          const opened = fresh()
          await opened.readIndex(path)
          opened.setEf(coldEf)
          return opened.searchKnn(asPlain(query), k).neighbors
        }
      }
    },
    close: () => {}
  }
}
