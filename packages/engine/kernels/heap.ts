/**
 * The k best (score, slot) pairs of a scan: a binary heap with the worst pair at its root.
 *
 * A pair is f32 score, u32 slot. The order is total (higher score, then higher slot), so the result does not depend on
 * the order in which rows are visited.
 */

const pairBytes: i32 = 8

/** Below every score of a row, above the estimate of a free lane (minus infinity). */
export const noThreshold: f32 = -f32.MAX_VALUE

function scoreAt(heap: i32, at: i32): f32 {
  return load<f32>(heap + at * pairBytes)
}

function slotAt(heap: i32, at: i32): u32 {
  return load<u32>(heap + at * pairBytes, 4)
}

function place(heap: i32, at: i32, score: f32, slot: u32): void {
  store<f32>(heap + at * pairBytes, score)
  store<u32>(heap + at * pairBytes, slot, 4)
}

function isWorse(score: f32, slot: u32, thanScore: f32, thanSlot: u32): bool {
  return score < thanScore || (score === thanScore && slot < thanSlot)
}

function siftDown(heap: i32, size: i32, score: f32, slot: u32): void {
  let at = 0
  while (true) {
    let child = 2 * at + 1
    if (child >= size) break
    if (
      child + 1 < size &&
      isWorse(scoreAt(heap, child + 1), slotAt(heap, child + 1), scoreAt(heap, child), slotAt(heap, child))
    ) {
      child++
    }
    if (!isWorse(scoreAt(heap, child), slotAt(heap, child), score, slot)) break
    place(heap, at, scoreAt(heap, child), slotAt(heap, child))
    at = child
  }
  place(heap, at, score, slot)
}

/** The score that a pair needs to enter the heap. */
export function threshold(heap: i32, size: i32, k: i32): f32 {
  return size < k ? noThreshold : scoreAt(heap, 0)
}

/** Adds the pair if it is among the k best so far; returns the new size. */
export function offer(heap: i32, size: i32, k: i32, score: f32, slot: u32): i32 {
  if (size < k) {
    let at = size
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isWorse(score, slot, scoreAt(heap, parent), slotAt(heap, parent))) break
      place(heap, at, scoreAt(heap, parent), slotAt(heap, parent))
      at = parent
    }
    place(heap, at, score, slot)
    return size + 1
  }
  if (isWorse(scoreAt(heap, 0), slotAt(heap, 0), score, slot)) siftDown(heap, size, score, slot)
  return size
}

/** Sorts the pairs in place, descending; destroys the heap. */
export function sortBestFirst(heap: i32, size: i32): void {
  for (let last = size - 1; last > 0; last--) {
    const score = scoreAt(heap, last)
    const slot = slotAt(heap, last)
    place(heap, last, scoreAt(heap, 0), slotAt(heap, 0))
    siftDown(heap, last, score, slot)
  }
}
