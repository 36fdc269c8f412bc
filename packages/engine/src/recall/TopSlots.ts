/**
 * The best k of many scored slots, by a bounded heap whose root is the worst kept: O(n log k), and
 * nearly O(n) because most slots lose against the root at once.
 */

/** Best first; equal scores are ordered by `before(a, b) < 0`. */
export const topSlots = (
  slots: ReadonlyArray<number>,
  scores: Float64Array,
  limit: number,
  before: (left: number, right: number) => number
): ReadonlyArray<number> => {
  const better = (left: number, right: number): boolean => {
    const difference = scores[left]! - scores[right]!
    return difference !== 0 ? difference > 0 : before(left, right) < 0
  }
  const heap: Array<number> = []
  let worst = -Infinity
  for (const slot of slots) {
    // Nearly every slot ends here, so it comes before any call.
    if (scores[slot]! < worst) continue
    if (heap.length < limit) {
      heap.push(slot)
      siftUp(heap, better)
    } else if (limit > 0 && better(slot, heap[0]!)) {
      heap[0] = slot
      siftDown(heap, better)
    }
    if (heap.length === limit && limit > 0) worst = scores[heap[0]!]!
  }
  return heap.sort((left, right) => (better(left, right) ? -1 : 1))
}

type Better = (left: number, right: number) => boolean

const siftUp = (heap: Array<number>, better: Better): void => {
  let child = heap.length - 1
  while (child > 0) {
    const parent = (child - 1) >> 1
    if (!better(heap[parent]!, heap[child]!)) return
    swap(heap, parent, child)
    child = parent
  }
}

const siftDown = (heap: Array<number>, better: Better): void => {
  let parent = 0
  while (true) {
    let worst = parent
    for (const child of [2 * parent + 1, 2 * parent + 2]) {
      if (child < heap.length && better(heap[worst]!, heap[child]!)) worst = child
    }
    if (worst === parent) return
    swap(heap, parent, worst)
    parent = worst
  }
}

const swap = (heap: Array<number>, left: number, right: number): void => {
  const held = heap[left]!
  heap[left] = heap[right]!
  heap[right] = held
}
