/**
 * Inverted lists: f32[count][width] rotated centroids, and half the square of each one's length.
 *
 * Nearness is Euclidean: the list of a vector x is the one with the greatest c·x - |c|²/2.
 */
import { sumLanes } from "./lanes"
import { offer, sortBestFirst, threshold } from "./heap"

function product(left: i32, right: i32, width: i32): f32 {
  let a = f32x4.splat(0)
  let b = f32x4.splat(0)
  let c = f32x4.splat(0)
  let d = f32x4.splat(0)
  for (let i = 0; i < width * 4; i += 64) {
    a = f32x4.relaxed_madd(v128.load(left + i), v128.load(right + i), a)
    b = f32x4.relaxed_madd(v128.load(left + i, 16), v128.load(right + i, 16), b)
    c = f32x4.relaxed_madd(v128.load(left + i, 32), v128.load(right + i, 32), c)
    d = f32x4.relaxed_madd(v128.load(left + i, 48), v128.load(right + i, 48), d)
  }
  return sumLanes(f32x4.add(f32x4.add(a, b), f32x4.add(c, d)))
}

/** f32[count] halves of squared lengths at `target`. */
export function halfSquares(centroids: i32, count: i32, width: i32, target: i32): void {
  for (let list = 0; list < count; list++) {
    const centroid = centroids + list * width * 4
    store<f32>(target + list * 4, product(centroid, centroid, width) * 0.5)
  }
}

/** Nearness of f32[width] to four lists from `list` on; four at once share the loads of the vector. */
function nearnessOfFour(vector: i32, centroids: i32, halves: i32, list: i32, width: i32): v128 {
  const bytes = width * 4
  const first = centroids + list * bytes
  let a = f32x4.splat(0)
  let b = f32x4.splat(0)
  let c = f32x4.splat(0)
  let d = f32x4.splat(0)
  let e = f32x4.splat(0)
  let f = f32x4.splat(0)
  let g = f32x4.splat(0)
  let h = f32x4.splat(0)
  for (let i = 0; i < bytes; i += 32) {
    const left = v128.load(vector + i)
    const right = v128.load(vector + i, 16)
    const at = first + i
    a = f32x4.relaxed_madd(left, v128.load(at), a)
    b = f32x4.relaxed_madd(right, v128.load(at, 16), b)
    c = f32x4.relaxed_madd(left, v128.load(at + bytes), c)
    d = f32x4.relaxed_madd(right, v128.load(at + bytes, 16), d)
    e = f32x4.relaxed_madd(left, v128.load(at + 2 * bytes), e)
    f = f32x4.relaxed_madd(right, v128.load(at + 2 * bytes, 16), f)
    g = f32x4.relaxed_madd(left, v128.load(at + 3 * bytes), g)
    h = f32x4.relaxed_madd(right, v128.load(at + 3 * bytes, 16), h)
  }
  const products = f32x4(
    sumLanes(f32x4.add(a, b)),
    sumLanes(f32x4.add(c, d)),
    sumLanes(f32x4.add(e, f)),
    sumLanes(f32x4.add(g, h))
  )
  return f32x4.sub(products, v128.load(halves + list * 4))
}

function nearnessOf(vector: i32, centroids: i32, halves: i32, list: i32, width: i32): f32 {
  return product(vector, centroids + list * width * 4, width) - load<f32>(halves + list * 4)
}

/** f32[count] nearness of f32[width] to all lists at `target`. */
function nearnesses(vector: i32, centroids: i32, halves: i32, count: i32, width: i32, target: i32): void {
  let list = 0
  for (; list + 4 <= count; list += 4) {
    v128.store(target + list * 4, nearnessOfFour(vector, centroids, halves, list, width))
  }
  for (; list < count; list++) {
    store<f32>(target + list * 4, nearnessOf(vector, centroids, halves, list, width))
  }
}

/** The list of f32[width]; `scratch` is f32[count]. */
export function nearestList(vector: i32, centroids: i32, halves: i32, count: i32, width: i32, scratch: i32): i32 {
  nearnesses(vector, centroids, halves, count, width, scratch)
  let nearest = 0
  for (let list = 1; list < count; list++) {
    if (load<f32>(scratch + list * 4) > load<f32>(scratch + nearest * 4)) nearest = list
  }
  return nearest
}

/** The `wanted` lists nearest to f32[width], as pairs (nearness, list) at `heap`, nearest first; how many. */
export function probe(
  vector: i32,
  centroids: i32,
  halves: i32,
  count: i32,
  width: i32,
  scratch: i32,
  wanted: i32,
  heap: i32
): i32 {
  nearnesses(vector, centroids, halves, count, width, scratch)
  let size = 0
  for (let list = 0; list < count; list++) {
    const nearness = load<f32>(scratch + list * 4)
    if (size < wanted || nearness > threshold(heap, size, wanted)) size = offer(heap, size, wanted, nearness, list)
  }
  sortBestFirst(heap, size)
  return size
}

/** Adds f32[width] to the sums at `target`. */
export function addTo(target: i32, vector: i32, width: i32): void {
  for (let i = 0; i < width * 4; i += 16) {
    v128.store(target + i, f32x4.add(v128.load(target + i), v128.load(vector + i)))
  }
}
