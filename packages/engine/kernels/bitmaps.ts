/** Sets of slots: bit i of word w is slot 32 w + i. */
import { sumIntegers } from "./lanes"

/** Intersects the u32[words] at `target` with those at `other`, in place; returns the number of slots left. */
export function intersect(target: i32, other: i32, words: i32): i32 {
  let counts = i32x4.splat(0)
  let at = 0
  for (; at + 4 <= words; at += 4) {
    const both = v128.and(v128.load(target + at * 4), v128.load(other + at * 4))
    v128.store(target + at * 4, both)
    counts = i32x4.add(counts, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(i8x16.popcnt(both))))
  }
  let count = sumIntegers(counts)
  for (; at < words; at++) {
    const both = load<u32>(target + at * 4) & load<u32>(other + at * 4)
    store<u32>(target + at * 4, both)
    count += popcnt(both)
  }
  return count
}

export function isWithin(set: i32, words: i32, slot: i32): bool {
  const word = slot >>> 5
  return word < words && ((load<u32>(set + word * 4) >>> (slot & 31)) & 1) === 1
}
