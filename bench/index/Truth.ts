/**
 * Ground truth: the k best by brute force over the float32 vectors, which every answer is compared with before it is
 * timed; and how hard a set is, by its local intrinsic dimension (E. Levina and P. Bickel, Maximum likelihood
 * estimation of intrinsic dimension, NIPS 2004; averaged over points as MacKay and Ghahramani proposed).
 */
import type { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { TopK } from "./TopK.ts"
import { dotAt, queriesOf, rowOf, type VectorSet } from "./VectorSet.ts"

/** The slots of the best k for each query, best first. */
export type Truth = ReadonlyArray<Int32Array>

/** Points and neighbours of the dimension's estimate. */
const dimensionPoints = 100
const dimensionNeighbours = 20

/** `slotRow` maps a slot to the row it holds after replacements; the identity by default. */
export const truthOf = (set: VectorSet, k: number, allowed?: Bitmap, slotRow?: Int32Array): Truth =>
  queriesOf(set).map((query) => bestOf(set, query, k, allowed, slotRow).slots)

export const bestOf = (set: VectorSet, query: Float32Array, k: number, allowed?: Bitmap, slotRow?: Int32Array) => {
  const top = new TopK(Math.min(k, allowed?.count() ?? set.count))
  for (let slot = 0; slot < set.count; slot++) {
    if (allowed !== undefined && !allowed.has(slot)) continue
    top.offer(slot, dotAt(set.rows, (slotRow?.[slot] ?? slot) * set.dims, query))
  }
  return top.drain()
}

/** Share of the right slots among the answers. */
export const recallOf = (truth: Truth, answers: ReadonlyArray<ArrayLike<number>>): number => {
  let found = 0
  let wanted = 0
  truth.forEach((right, at) => {
    const given = new Set(Array.from(answers[at] ?? []))
    wanted += right.length
    for (const slot of right) if (given.has(slot)) found++
  })
  return wanted === 0 ? 1 : found / wanted
}

/** The estimated local intrinsic dimension of the set, around some of its own rows. */
export const intrinsicDimension = (set: VectorSet): number => {
  const step = Math.max(1, Math.floor(set.count / dimensionPoints))
  let inverses = 0
  let points = 0
  for (let row = 0; row < set.count && points < dimensionPoints; row += step) {
    const distances = Array.from(bestOf(set, rowOf(set, row), dimensionNeighbours + 1).scores)
      // The first is the row itself; twins at no distance say nothing.
      .slice(1)
      .map((score) => Math.sqrt(Math.max(0, 2 - 2 * score)))
      .filter((distance) => distance > twinDistance)
    const furthest = distances.at(-1)
    if (furthest === undefined || distances.length < 3) continue
    const logs = distances.slice(0, -1).map((distance) => Math.log(furthest / distance))
    inverses += logs.reduce((sum, log) => sum + log, 0) / (logs.length - 1)
    points++
  }
  return points / inverses
}

const twinDistance = 1e-3
