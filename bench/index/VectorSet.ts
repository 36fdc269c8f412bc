/**
 * The vectors of one bench run, as flat rows of float32, and the attributes that filters ask for.
 *
 * `rows` holds `count` vectors and, behind them, half as many again: replacements for the churn.
 * Attributes are whole numbers below `attributeMax`, so that a filter is "attribute < n" for every
 * contender alike: `chance` is independent of the content, `near` follows the similarity to one row.
 */
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"

export interface VectorSet {
  /** As reports call it: "hard", "real". */
  readonly name: string
  readonly dims: number
  readonly count: number
  /** Float32Array[1.5 count x dims] of unit norm. */
  readonly rows: Float32Array
  /** Float32Array[queries x dims] of unit norm. */
  readonly queries: Float32Array
  /** Others of the same kind, which are asked before anything is verified or timed: an index may learn from them. */
  readonly practice: Float32Array
  readonly attributes: Attributes
}

export type AttributeName = "chance" | "near"
/** By slot. */
export type Attributes = Readonly<Record<AttributeName, Int32Array>>

export interface Filter {
  readonly attribute: AttributeName
  /** The filter lets through what has an attribute below this. */
  readonly below: number
  readonly share: number
  readonly allowed: Bitmap
}

const attributeMax = 10_000
/** Queries for practice. */
export const practiceCount = 150
/** Rows for replacing, as a share of the count. */
export const churnShare = 0.5

export const rowsWithChurn = (count: number): number => Math.ceil(count * (1 + churnShare))

export const rowOf = ({ rows, dims }: VectorSet, at: number): Float32Array => rows.subarray(at * dims, (at + 1) * dims)

export const queriesOf = ({ queries, dims }: VectorSet): ReadonlyArray<Float32Array> => split(queries, dims)

export const practiceOf = ({ practice, dims }: VectorSet): ReadonlyArray<Float32Array> => split(practice, dims)

const split = (all: Float32Array, dims: number): ReadonlyArray<Float32Array> =>
  Array.from({ length: all.length / dims }, (_, at) => all.subarray(at * dims, (at + 1) * dims))

export const makeVectorSet = (
  random: () => number,
  parts: Pick<VectorSet, "name" | "dims" | "count" | "rows" | "queries" | "practice">
): VectorSet => ({ ...parts, attributes: attributesOf(random, parts) })

export const filterOf = (set: VectorSet, attribute: AttributeName, share: number): Filter => {
  const below = Math.max(1, Math.round(share * attributeMax))
  const allowed = new Bitmap()
  set.attributes[attribute].forEach((value, slot) => {
    if (value < below && slot < set.count) allowed.set(slot)
  })
  return { attribute, below, share, allowed }
}

const attributesOf = (
  random: () => number,
  { rows, dims, count }: Pick<VectorSet, "rows" | "dims" | "count">
): Attributes => {
  const total = rows.length / dims
  const chance = Int32Array.from({ length: total }, () => Math.floor(random() * attributeMax))
  const scores = Float64Array.from({ length: count }, (_, slot) => dotAt(rows, slot * dims, rows.subarray(0, dims)))
  const order = Array.from(scores.keys()).sort((left, right) => scores[right]! - scores[left]!)
  const near = new Int32Array(total).fill(attributeMax - 1)
  order.forEach((slot, rank) => (near[slot] = Math.floor((rank / count) * attributeMax)))
  return { chance, near }
}

/** Inner product of the row that begins at `from` with the query. */
export const dotAt = (rows: Float32Array, from: number, query: Float32Array): number => {
  // Four sums, because one would wait for each addition.
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  for (let i = 0; i < query.length; i += 4) {
    a += rows[from + i]! * query[i]!
    b += rows[from + i + 1]! * query[i + 1]!
    c += rows[from + i + 2]! * query[i + 2]!
    d += rows[from + i + 3]! * query[i + 3]!
  }
  return a + b + (c + d)
}

export const normalise = (vector: Float32Array): void => {
  const norm = Math.sqrt(dotAt(vector, 0, vector))
  for (let i = 0; i < vector.length; i++) vector[i]! /= norm
}
