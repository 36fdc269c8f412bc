/**
 * Data and oracle of the vector engines' conformance suite: vectors that are hard in different ways, and a plain map of
 * float32 vectors, summed in double precision and sorted completely, which shares no code with any engine.
 */
import type { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"

export interface Vectors {
  readonly rows: ReadonlyArray<Float32Array>
  readonly queries: ReadonlyArray<Float32Array>
}

/** A slot and its inner product with the query, in double precision. */
export interface Scored {
  readonly slot: number
  readonly score: number
}

export class Oracle {
  readonly rows = new Map<number, Float32Array>()

  static of(rows: Iterable<readonly [number, Float32Array]>): Oracle {
    const oracle = new Oracle()
    for (const [slot, row] of rows) oracle.rows.set(slot, row)
    return oracle
  }

  score(slot: number, query: Float32Array): number {
    return dot(this.rows.get(slot) ?? new Float32Array(query.length), query)
  }

  /** The k best of the allowed rows, best first, of equals the higher slot. */
  best(query: Float32Array, k: number, allowed: Bitmap | undefined): ReadonlyArray<Scored> {
    const slots: Array<number> = []
    const scores: Array<number> = []
    for (const [slot, row] of this.rows) {
      if (allowed !== undefined && !allowed.has(slot)) continue
      slots.push(slot)
      scores.push(dot(row, query))
    }
    if (k === 0) return []
    // Numbers sort fast; only what reaches the k-th of them is sorted with its slot.
    const least = Float64Array.from(scores).sort().at(-k) ?? -Infinity
    const best: Array<Scored> = []
    for (const [at, score] of scores.entries()) if (score >= least) best.push({ slot: slots[at]!, score })
    return best.sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, k)
  }
}

export const dot = (a: Float32Array, b: Float32Array): number => {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

export const unit = (vector: Float32Array): Float32Array => {
  const norm = Math.sqrt(dot(vector, vector))
  return norm === 0 ? unit(Float32Array.from(vector, (_, i) => (i === 0 ? 1 : 0))) : vector.map((x) => x / norm)
}

type Normal = () => number
const normals = (seed: number): Normal => {
  const random = seededSequence(seed)
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
const gaussian = (normal: Normal, dims: number): Float32Array => Float32Array.from({ length: dims }, normal)
const around = (normal: Normal, centre: Float32Array, noise: number): Float32Array =>
  unit(centre.map((x) => x + (normal() * noise) / Math.sqrt(centre.length)))

/** Points in all directions alike: nothing to cluster by. */
const isotropic = (seed: number, count: number, dims: number): Float32Array[] => {
  const normal = normals(seed)
  return Array.from({ length: count }, () => unit(gaussian(normal, dims)))
}

/** Clusters of unlike sizes, whose queries lie further out than their rows. */
const clusters = (normal: Normal, dims: number, count: number) => {
  const centres = Array.from({ length: Math.max(4, Math.ceil(Math.sqrt(count) / 2)) }, () =>
    unit(gaussian(normal, dims))
  )
  // The product of two uniform numbers: a few clusters hold most rows.
  const pick = (at: number) => centres[Math.floor(((at * 0.618_034) % 1) * ((at * 0.414_214) % 1) * centres.length)]!
  return (at: number, noise: number) => around(normal, pick(at + 1), noise)
}

const made = (
  seed: number,
  dims: number,
  count: number,
  queries: number,
  row: (normal: Normal, at: number) => Float32Array,
  query = row
): Vectors => {
  const normal = normals(seed)
  return {
    rows: Array.from({ length: count }, (_, at) => row(normal, at)),
    queries: Array.from({ length: queries }, (_, at) => query(normal, at))
  }
}

export type VectorKind =
  | "clustered"
  | "isotropic"
  | "copies"
  | "all equal"
  | "almost equal"
  | "in one half-space"
  | "noise about one direction"
  | "one-hot"
  | "of equal components"

/** In these everything is equally far from everything, so an engine that leaves anything out shows its worst. */
export const isNoise = (kind: VectorKind): boolean =>
  kind === "isotropic" || kind === "of equal components" || kind === "noise about one direction"

export const vectorKinds: ReadonlyArray<VectorKind> = [
  "clustered",
  "isotropic",
  "almost equal",
  "in one half-space",
  "one-hot",
  "copies",
  "all equal",
  "noise about one direction",
  "of equal components"
]

/** Rows and queries of unit length; the same for the same arguments. */
export const vectorsOf = (kind: VectorKind, seed: number, dims: number, count: number, queries: number): Vectors => {
  const first = isotropic(seed, 1, dims)[0]!
  switch (kind) {
    case "clustered": {
      const sample = clusters(normals(seed), dims, count)
      return made(
        seed,
        dims,
        count,
        queries,
        (_, at) => sample(at, 0.7),
        (_, at) => sample(at, 1)
      )
    }
    case "isotropic":
      return made(seed, dims, count, queries, (normal) => unit(gaussian(normal, dims)))
    case "copies": {
      const sample = clusters(normals(seed), dims, count)
      const few = Array.from({ length: Math.max(1, Math.ceil(count / 8)) }, (_, at) => sample(at, 0.7))
      return made(
        seed,
        dims,
        count,
        queries,
        (_, at) => few[(at * 7) % few.length]!,
        (_, at) => sample(at, 1)
      )
    }
    case "all equal":
      return made(seed, dims, count, queries, () => first)
    case "almost equal":
      return made(seed, dims, count, queries, (normal) => around(normal, first, 0.02))
    case "in one half-space": {
      const sample = clusters(normals(seed), dims, count)
      const shifted = (at: number, noise: number) => unit(sample(at, noise).map((x, i) => x + 1.5 * first[i]!))
      return made(
        seed,
        dims,
        count,
        queries,
        (_, at) => shifted(at, 0.7),
        (_, at) => shifted(at, 1)
      )
    }
    case "noise about one direction":
      return made(seed, dims, count, queries, (normal) => around(normal, first, 0.5))
    case "one-hot":
      return made(seed, dims, count, queries, (_, at) => hot(dims, at))
    case "of equal components":
      return made(seed, dims, count, queries, (normal) =>
        unit(Float32Array.from({ length: dims }, () => (normal() < 0 ? -1 : 1)))
      )
  }
}

/** One component of plus or minus one: the widest range that a quantiser has to cover. */
const hot = (dims: number, at: number): Float32Array => {
  const vector = new Float32Array(dims)
  vector[at % dims] = Math.floor(at / dims) % 2 === 0 ? 1 : -1
  return vector
}
