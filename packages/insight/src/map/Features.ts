/**
 * Feature vectors of memories, by topic. An embedding also carries a memory's kind and subject, which would shape the
 * clusters more than the topic: the mean of each kind and of each subject is subtracted, unless the clusters then
 * separate less clearly, because a kind or a subject may be a topic itself (README.md, decisions).
 */
import { stopWords } from "@muniment/language/text/Language"
import { tokenize } from "@muniment/language/text/Tokenizer"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { clusterRows, silhouette } from "./Clusters.ts"
import type { MapNode } from "./MapProtocol.ts"
import {
  addScaled,
  copyOf,
  dot,
  firstRows,
  makeMatrix,
  type Matrix,
  meanRow,
  normalise,
  normaliseRows,
  rowOf,
  rowProducts,
  sumsOf
} from "./RowProducts.ts"

export interface Features {
  /** All dimensions, to find outliers. */
  readonly full: Matrix
  /** Principal components, to find clusters. */
  readonly reduced: Matrix
}

const reducedVectorDims = 24
/** Words overlap less than embeddings, so they need more components. */
const reducedWordDims = 64
/** Separation is measured on this many memories: in canonical order the first ones are a random sample. */
const trialRowsMax = 600
/** With fewer memories no facet is subtracted: its mean is mostly their topic. */
const trialRowsMin = 12
/** A facet is subtracted if at least this share of the silhouette is left; a facet that is a topic loses more. */
const separationKeptMin = 0.85
/** Shrinks the mean of a facet with few memories, which is mostly their topic. */
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

/** Embeddings minus their mean, which distinguishes no memory from another. */
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
    // A row of zeros resembles nothing and stays so.
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

const hashedDims = 512
/** A word of a single memory says nothing about its neighbours. */
const memoriesPerWordMin = 2

/** Rows of length 1, or 0 for a memory that shares no word with another. */
export const wordFeatures = (nodes: ReadonlyArray<MapNode>): Matrix => {
  const wordsOf = nodes.map(({ subject, wordParts }) => {
    const tokens = tokenize([subject, ...wordParts].join(" "))
    return [...new Set(tokens)].filter((token) => !stopWords.has(token))
  })
  const memoriesOf = new Map<string, number>()
  for (const word of wordsOf.flat()) memoriesOf.set(word, (memoriesOf.get(word) ?? 0) + 1)

  const features = makeMatrix(nodes.length, hashedDims)
  for (const [row, words] of wordsOf.entries()) {
    const target = rowOf(features, row)
    for (const word of words) {
      const memories = memoriesOf.get(word) ?? 0
      if (memories < memoriesPerWordMin) continue
      const hash = hashOf(word)
      target[hash % hashedDims]! += (hash >>> 31 === 1 ? -1 : 1) * Math.log(1 + nodes.length / memories)
    }
  }
  normaliseRows(features)
  return features
}

/** FNV-1a with a final mix, 32 bits. */
const hashOf = (word: string): number => {
  let hash = 2_166_136_261
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 12)) >>> 0
}

/**
 * Principal components by subspace iteration from a seeded start (N. Halko, P. G. Martinsson, J. A. Tropp, "Finding
 * structure with randomness", 2011). A few dimensions keep what memories have in common and drop the details of each,
 * which makes clusters clearer and neighbours cheaper.
 */

/** The components are found on this many rows; in canonical order the first ones are a random sample. */
const sampleRowsMax = 1_000
const iterations = 3
const seed = 0x6d756e69

/** Matrix[rows][dims]: the rows' coordinates on at most `dimsMax` principal axes; the rows' mean should be zero. */
export const project = (matrix: Matrix, dimsMax: number): Matrix => {
  if (matrix.dims <= dimsMax) return matrix
  // n rows span at most n dimensions.
  return rowProducts(matrix, principalAxes(firstRows(matrix, sampleRowsMax), Math.min(dimsMax, matrix.rows)))
}

/** Matrix[rows][2]: coordinates in the plane of largest variance around the mean, with fixed signs. */
export const plane = (matrix: Matrix): Matrix => {
  const centred = makeMatrix(matrix.rows, matrix.dims)
  const mean = meanRow(matrix)
  for (let row = 0; row < matrix.rows; row++) {
    const target = rowOf(centred, row)
    target.set(rowOf(matrix, row))
    addScaled(target, mean, -1)
  }
  const axes = principalAxes(centred, 2)
  fixSign(rowOf(axes, 0))
  fixSign(rowOf(axes, 1))
  return rowProducts(centred, axes)
}

/** Orthonormal rows, the first ones with most variance; zero rows where the data has fewer dimensions. */
const principalAxes = (sample: Matrix, count: number): Matrix => {
  const next = seededSequence(seed)
  let axes = makeMatrix(count, sample.dims)
  for (let at = 0; at < axes.values.length; at++) axes.values[at] = next() - 0.5
  orthonormalise(axes, 1)
  const byDim = transposed(sample)
  for (let iteration = 0; iteration < iterations; iteration++) {
    const coordinates = transposed(rowProducts(sample, axes))
    // For each axis the sum of the rows, weighted by their coordinates on it.
    const moved = transposed(rowProducts(byDim, coordinates))
    orthonormalise(moved, iteration < iterations - 1 ? 1 : 2)
    axes = moved
  }
  return axes
}

const transposed = ({ rows, dims, values }: Matrix): Matrix => {
  const result = makeMatrix(dims, rows)
  for (let row = 0; row < rows; row++) {
    for (let dim = 0; dim < dims; dim++) result.values[dim * rows + row] = values[row * dims + dim]!
  }
  return result
}

/** A row that adds less than this share of its length to the rows before it is rounding error. */
const independentMin = 1e-6

/** Gram-Schmidt. One pass loses digits; only the last iteration needs them. */
const orthonormalise = (axes: Matrix, passes: number): void => {
  const rows = Array.from({ length: axes.rows }, (_, axis) => rowOf(axes, axis))
  for (const [axis, current] of rows.entries()) {
    normalise(current)
    for (let pass = 0; pass < passes; pass++) {
      for (let before = 0; before < axis; before++) addScaled(current, rows[before]!, -dot(current, rows[before]!))
    }
    if (dot(current, current) < independentMin * independentMin) current.fill(0)
    normalise(current)
  }
}

/** Makes the component of largest size positive. */
const fixSign = (axis: Float64Array): void => {
  let largest = 0
  for (const value of axis) if (Math.abs(value) > Math.abs(largest) + independentMin) largest = value
  if (largest < 0) for (let dim = 0; dim < axis.length; dim++) axis[dim] = -axis[dim]!
}
