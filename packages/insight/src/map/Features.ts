/**
 * Numbers that say what memories are about. A vector also says of whom and of which kind a memory is,
 * and these shape clusters more than the topic does when everybody's memories are mixed: so what all
 * memories of one kind, and of one subject, have in common is taken away, unless clusters then stand
 * apart less clearly, since a kind or a subject may be a topic of its own (README.md, decisions).
 */
import { clusterRows, silhouette } from "./Clusters.ts"
import type { MapNode } from "./MapNodes.ts"
import {
  addScaled,
  copyOf,
  firstRows,
  makeMatrix,
  type Matrix,
  meanRow,
  normaliseRows,
  rowOf,
  sumsOf
} from "./Matrix.ts"
import { project } from "./Projection.ts"
import { wordFeatures } from "./WordFeatures.ts"

export interface Features {
  /** All dimensions: tells a memory that belongs nowhere. */
  readonly full: Matrix
  /** Principal components: tells clusters apart. */
  readonly reduced: Matrix
}

const reducedVectorDims = 24
/** Words overlap less than meanings do, so they need more components. */
const reducedWordDims = 64
/** The trial is made on this many memories; in canonical order the first ones are a random sample. */
const trialRowsMax = 600
/** With fewer memories the mean of a kind or a subject says more about them than about it. */
const trialRowsMin = 12
/** Taking a facet away may cost this share of the silhouette; topics proper lose more. */
const separationKeptMin = 0.85
/** A facet of few memories is taken away in part only: its mean is mostly their own. */
const facetShrinkage = 2

export const featuresOf = (nodes: ReadonlyArray<MapNode>): Features => {
  const isEmbedded = nodes.every(({ vector }) => vector !== undefined && vector.length === nodes[0]!.vector?.length)
  const dims = isEmbedded ? reducedVectorDims : reducedWordDims
  let full = isEmbedded ? vectorFeatures(nodes) : wordFeatures(nodes)
  let separationNow: number | undefined
  for (const facet of [nodes.map(({ kind }) => kind), nodes.map(({ subject }) => subject.toLowerCase())]) {
    if (nodes.length < trialRowsMin || new Set(facet).size < 2) continue
    const without = withoutFacet(full, facet)
    const separationWithout = separation(without, dims)
    separationNow ??= separation(full, dims)
    if (separationWithout < separationKeptMin * separationNow) continue
    full = without
    separationNow = separationWithout
  }
  return { full, reduced: reduce(full, dims) }
}

/** Minus their mean: what all memories share tells none of them apart. */
const vectorFeatures = (nodes: ReadonlyArray<MapNode>): Matrix => {
  const features = makeMatrix(nodes.length, nodes[0]?.vector?.length ?? 0)
  for (const [row, { vector }] of nodes.entries()) if (vector !== undefined) rowOf(features, row).set(vector)
  const mean = meanRow(features)
  for (let row = 0; row < features.rows; row++) addScaled(rowOf(features, row), mean, -1)
  normaliseRows(features)
  return features
}

const withoutFacet = (features: Matrix, facet: ReadonlyArray<string>): Matrix => {
  const values = [...new Set(facet)].filter((value) => value !== "")
  const numbers = new Map(values.map((value, number) => [value, number]))
  const groupOf = Int32Array.from(facet, (value) => numbers.get(value) ?? -1)
  const sums = sumsOf(features, groupOf, values.length)
  const sizes = new Int32Array(values.length)
  for (const group of groupOf) if (group >= 0) sizes[group]! += 1
  const result = copyOf(features)
  for (let row = 0; row < result.rows; row++) {
    const group = groupOf[row]!
    // A row of zeros shares nothing with anybody, hence nothing of this facet either.
    if (group < 0 || !rowOf(result, row).some((value) => value !== 0)) continue
    addScaled(rowOf(result, row), rowOf(sums, group), -1 / (sizes[group]! + facetShrinkage))
  }
  normaliseRows(result)
  return result
}

const separation = (full: Matrix, dims: number): number => {
  const reduced = reduce(firstRows(full, trialRowsMax), dims)
  return silhouette(reduced, clusterRows(reduced))
}

const reduce = (full: Matrix, dims: number): Matrix => {
  const reduced = copyOf(project(full, dims))
  normaliseRows(reduced)
  return reduced
}
