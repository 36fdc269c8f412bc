/**
 * Feature vectors of memories, by topic. An embedding also carries a memory's kind and subject, which would shape the
 * clusters more than the topic: the mean of each kind and of each subject is subtracted, unless the clusters then
 * separate less clearly, because a kind or a subject may be a topic itself (README.md, decisions).
 */
import { clusterRows, silhouette } from "./Clusters.ts"
import type { MapNode } from "./MapProtocol.ts"
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
} from "./RowProducts.ts"
import { project } from "./Projection.ts"
import { stopWords } from "@muniment/language/text/Language"
import { tokenize } from "@muniment/language/text/Tokenizer"

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
