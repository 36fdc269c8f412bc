/**
 * Seeded mixtures of clusters on the unit sphere, for benches and tests of the index.
 *
 * Each vector is a cluster's centre plus noise in a subspace of its own, and queries carry more
 * noise than the data. They are easier than text embeddings (recall 1.000 where those have .997),
 * so they show mistakes and speed, not the width a walk needs.
 */

export interface ClusteredOptions {
  readonly dims: number
  readonly count: number
  readonly queries: number
}

/** Rows and queries as Float32Array[dims] of unit norm. */
export const clusteredVectors = (random: () => number, options: ClusteredOptions) => {
  const { dims, count, queries } = options
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const gaussian = () => Float32Array.from({ length: dims }, normal)
  const clusters = Array.from({ length: Math.max(8, Math.ceil(Math.sqrt(count) / 2)) }, () => ({
    centre: gaussian(),
    directions: Array.from({ length: directionsPerCluster }, gaussian)
  }))
  const sample = (noise: number): Float32Array => {
    const { centre, directions } = clusters[Math.floor(random() * clusters.length)]!
    const vector = Float32Array.from(centre)
    for (const direction of directions) {
      const weight = (normal() * noise) / Math.sqrt(directionsPerCluster)
      for (let i = 0; i < dims; i++) vector[i]! += weight * direction[i]!
    }
    for (let i = 0; i < dims; i++) vector[i]! += normal() * ambientNoise * noise
    return toUnit(vector)
  }
  return {
    rows: Array.from({ length: count }, () => sample(dataNoise)),
    queries: Array.from({ length: queries }, () => sample(queryNoise))
  }
}

const directionsPerCluster = 48
const dataNoise = 1
const queryNoise = 1.4
const ambientNoise = 0.7

const toUnit = (vector: Float32Array): Float32Array => {
  const norm = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
  return vector.map((x) => x / norm)
}
