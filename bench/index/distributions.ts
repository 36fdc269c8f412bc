/**
 * Sets on which scores of 8-bit rows order the nearest wrongly, each for a reason of its own: noise without structure,
 * near-duplicates, few directions that carry most of the variance, vectors that drift as they are inserted, and queries
 * from elsewhere than the vectors.
 */
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { dims, gaussian, isotropicVectors } from "./syntheticVectors.ts"
import { makeVectorSet, normalise, practiceCount, rowsWithChurn, type VectorSet } from "./VectorSet.ts"

/** Vectors of a cluster of near-duplicates, and how far they lie from its centre. */
const duplicates = 50
const duplicateNoise = 0.02
/** Variance of the k-th direction falls as k to this power. */
const spectrum = -1
/** Of the drift from the first vector to the last, against the noise around it. */
const drift = 2

type Sample = (target: Float32Array, at: number) => void

const setOf = (name: string, count: number, queries: number, random: () => number, row: Sample, query: Sample) =>
  makeVectorSet(random, {
    name,
    dims,
    count,
    rows: sampled(rowsWithChurn(count), row),
    queries: sampled(queries, query),
    practice: sampled(practiceCount, query)
  })

const sampled = (count: number, sample: Sample): Float32Array => {
  const all = new Float32Array(count * dims)
  for (let at = 0; at < count; at++) {
    const target = all.subarray(at * dims, (at + 1) * dims)
    sample(target, at)
    normalise(target)
  }
  return all
}

const noiseOf =
  (normal: () => number, scale = (_at: number): number => 1): Sample =>
  (target) => {
    for (let i = 0; i < dims; i++) target[i] = normal() * scale(i)
  }

/** Clusters of vectors that differ by `duplicateNoise`; queries are as near to a cluster as its own vectors. */
export const nearDuplicates = (count: number, queries: number, seed: number): VectorSet => {
  const random = seededSequence(seed)
  const normal = gaussian(random)
  const centres = Array.from({ length: Math.ceil(rowsWithChurn(count) / duplicates) }, () => {
    const centre = Float32Array.from({ length: dims }, normal)
    normalise(centre)
    return centre
  })
  const around = (target: Float32Array, centre: Float32Array): void => {
    for (let i = 0; i < dims; i++) target[i] = centre[i]! + (normal() * duplicateNoise) / Math.sqrt(dims)
  }
  const clusters = Math.ceil(count / duplicates)
  return setOf(
    "near-duplicates",
    count,
    queries,
    random,
    (target, at) => around(target, centres[Math.floor(at / duplicates)]!),
    (target) => around(target, centres[Math.floor(random() * clusters)]!)
  )
}

/** Most of the variance lies in few directions, and all vectors share one. */
export const anisotropic = (count: number, queries: number, seed: number): VectorSet => {
  const random = seededSequence(seed)
  const sample = noiseOf(gaussian(random), (at) => (at + 1) ** spectrum)
  const shifted: Sample = (target, at) => {
    sample(target, at)
    target[0]! += 1
  }
  return setOf("anisotropic", count, queries, random, shifted, shifted)
}

/** The mean moves from one direction to another while vectors are inserted; queries are of the whole way. */
export const drifting = (count: number, queries: number, seed: number): VectorSet => {
  const random = seededSequence(seed)
  const normal = gaussian(random)
  const ends = [0, 1].map(() => Float32Array.from({ length: dims }, normal))
  const sample = (target: Float32Array, share: number): void => {
    for (let i = 0; i < dims; i++) target[i] = normal() + drift * ((1 - share) * ends[0]![i]! + share * ends[1]![i]!)
  }
  return setOf(
    "drifting",
    count,
    queries,
    random,
    (target, at) => sample(target, Math.min(1, at / count)),
    (target) => sample(target, random())
  )
}

/** Queries lie in all directions alike, vectors in few. */
export const foreignQueries = (count: number, queries: number, seed: number): VectorSet => {
  const random = seededSequence(seed)
  const normal = gaussian(random)
  return setOf(
    "foreign queries",
    count,
    queries,
    random,
    noiseOf(normal, (at) => (at + 1) ** spectrum),
    noiseOf(normal)
  )
}

/** All that need no texts; vectors of real texts are the sixth kind (`realVectors.ts`). */
export const distributions = [isotropicVectors, nearDuplicates, anisotropic, drifting, foreignQueries] as const
