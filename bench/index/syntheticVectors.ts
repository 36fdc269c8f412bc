/**
 * Seeded vectors without texts. "hard": a mixture of clusters, each a cloud in a subspace of its own
 * under ambient noise, so that the local intrinsic dimension (`Truth.ts` estimates it) is 26 to 33,
 * that of difficult embeddings, with queries noisier than the data. "isotropic": noise without any
 * structure, the worst case of every index.
 */
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { makeVectorSet, normalise, practiceCount, rowsWithChurn, type VectorSet } from "./VectorSet.ts"

export const dims = 384
/** Directions in which a cluster extends, and its extent in each against its centre's length of 1. */
const clusterDirections = 48
const clusterExtent = 0.9
/** Of the whole ambient noise, against the centre's length. */
export const dataNoise = 0.5
export const queryNoise = 0.8
const clustersPerRootOfCount = 0.5
const clustersMin = 8

export interface Cluster {
  readonly centre: Float32Array
  readonly directions: ReadonlyArray<Float32Array>
}

/** Clusters for this many hard vectors. */
export const hardClusters = (normal: () => number, count: number): ReadonlyArray<Cluster> =>
  Array.from({ length: Math.max(clustersMin, Math.ceil(Math.sqrt(count) * clustersPerRootOfCount)) }, () => ({
    centre: noise(normal, 1),
    directions: Array.from({ length: clusterDirections }, () => noise(normal, 1))
  }))

/** Somewhere in a cluster's cloud, without ambient noise. */
export const placeWithin = (target: Float32Array, { centre, directions }: Cluster, normal: () => number): void => {
  target.set(centre)
  for (const direction of directions) {
    const weight = (normal() * clusterExtent) / Math.sqrt(clusterDirections)
    for (let i = 0; i < dims; i++) target[i]! += weight * direction[i]!
  }
}

/** Adds the noise, and makes a unit vector of it. */
export const blur = (target: Float32Array, normal: () => number, ambient: number): void => {
  for (let i = 0; i < dims; i++) target[i]! += (normal() * ambient) / Math.sqrt(dims)
  normalise(target)
}

export const hardVectors = (count: number, queries: number, seed: number): VectorSet => {
  const random = seededSequence(seed)
  const normal = gaussian(random)
  const clusters = hardClusters(normal, count)
  const sample = (target: Float32Array, ambient: number): void => {
    placeWithin(target, clusters[Math.floor(random() * clusters.length)]!, normal)
    blur(target, normal, ambient)
  }
  return makeVectorSet(random, {
    name: "hard",
    dims,
    count,
    rows: filled(rowsWithChurn(count), (target) => sample(target, dataNoise)),
    queries: filled(queries, (target) => sample(target, queryNoise)),
    practice: filled(practiceCount, (target) => sample(target, queryNoise))
  })
}

export const isotropicVectors = (count: number, queries: number, seed: number): VectorSet => {
  const random = seededSequence(seed)
  const normal = gaussian(random)
  const sample = (target: Float32Array): void => target.set(noise(normal, 1))
  return makeVectorSet(random, {
    name: "isotropic",
    dims,
    count,
    rows: filled(rowsWithChurn(count), sample),
    queries: filled(queries, sample),
    practice: filled(practiceCount, sample)
  })
}

const filled = (count: number, sample: (target: Float32Array) => void): Float32Array => {
  const all = new Float32Array(count * dims)
  for (let at = 0; at < count; at++) sample(all.subarray(at * dims, (at + 1) * dims))
  return all
}

/** A random direction of that length. */
const noise = (normal: () => number, length: number): Float32Array => {
  const vector = Float32Array.from({ length: dims }, normal)
  normalise(vector)
  return length === 1 ? vector : vector.map((x) => x * length)
}

/** Box and Muller, both values of a pair used. */
export const gaussian = (random: () => number): (() => number) => {
  let spare: number | undefined
  return () => {
    if (spare !== undefined) {
      const value = spare
      spare = undefined
      return value
    }
    const radius = Math.sqrt(-2 * Math.log(1 - random()))
    const angle = 2 * Math.PI * random()
    spare = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }
}
