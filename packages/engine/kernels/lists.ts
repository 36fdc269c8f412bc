/**
 * Coarse quantizer of the inverted lists (IVF, Jégou et al., PAMI 2011). Centroids are rows, with |c|² / 2 beside them.
 *
 * A vector x belongs to the list of its nearest centroid, hence the greatest c·x - |c|² / 2. A query q probes lists in
 * descending order of c·q, around which their members' scores lie. Both products are exact integers, as those of rows,
 * so they do not depend on the order of summation.
 */
import { sumIntegers } from "./lanes"
import { offer, sortBestFirst, threshold } from "./heap"
import { rowTailBytes, scoreRoughly, scoreRow } from "./rows"

/** |c|² / 2 of each row at `centroids`, as f32[count] at `target`. */
export function halfSquares(centroids: i32, count: i32, width: i32, target: i32): void {
  for (let list = 0; list < count; list++) {
    const row = centroids + list * (width + rowTailBytes)
    let squares = i32x4.splat(0)
    for (let i = 0; i < width; i += 8) {
      const codes = v128.load_ext<i8>(row + i)
      squares = i32x4.add(squares, i32x4.dot_i16x8_s(codes, codes))
    }
    const square = sumIntegers(squares)
    const scale = load<f32>(row + width)
    store<f32>(target + list * 4, <f32>square * (scale * scale) * 0.5)
  }
}

/** c·x - |c|² / 2, approximately. */
function nearnessOf(query: i32, centroids: i32, halves: i32, list: i32, width: i32): f32 {
  return scoreRoughly(centroids + list * (width + rowTailBytes), query, width) - load<f32>(halves + list * 4)
}

/** IVF assignment of a vector that is encoded as a query. Of two lists that are about as near, either. */
export function nearestList(query: i32, centroids: i32, halves: i32, count: i32, width: i32): i32 {
  let nearest = 0
  let greatest = nearnessOf(query, centroids, halves, 0, width)
  for (let list = 1; list < count; list++) {
    const nearness = nearnessOf(query, centroids, halves, list, width)
    if (nearness > greatest) {
      greatest = nearness
      nearest = list
    }
  }
  return nearest
}

/** The `wanted` lists with the greatest c·q, as pairs (c·q, list) at `heap`, descending; returns their number. */
export function probe(query: i32, centroids: i32, count: i32, width: i32, wanted: i32, heap: i32): i32 {
  let size = 0
  for (let list = 0; list < count; list++) {
    const score = scoreRow(centroids + list * (width + rowTailBytes), query, width)
    if (size < wanted || score > threshold(heap, size, wanted)) size = offer(heap, size, wanted, score, list)
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
