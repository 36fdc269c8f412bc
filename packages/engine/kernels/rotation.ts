/**
 * A fixed pseudo-random rotation, which makes quantization errors point in no preferred direction, as RaBitQ requires
 * (arXiv 2405.12497): four rounds of sign flips and a fast Walsh-Hadamard transform (as in the FJLT of Ailon and
 * Chazelle, without its projection), over the first and the last power of two of components in turn.
 *
 * `width` is a multiple of 64. Additions and multiplications in a fixed order: the same bits on every machine.
 */

const rounds: i32 = 4

/** The largest power of two that is at most `width`. */
function blockOf(width: i32): i32 {
  return 1 << (31 - clz(width))
}

/** Walsh-Hadamard transform of f32[block] in place, scaled to preserve lengths. */
function transform(at: i32, block: i32): void {
  const scale = f32x4.splat(<f32>(1.0 / Math.sqrt(<f64>block)))
  const oddSigns = i32x4(0, 0x80000000, 0, 0x80000000)
  const highSigns = i32x4(0, 0, 0x80000000, 0x80000000)
  for (let i = 0; i < block; i += 4) {
    let v = v128.load(at + i * 4)
    const evens = v128.shuffle<i32>(v, v, 0, 0, 2, 2)
    const odds = v128.shuffle<i32>(v, v, 1, 1, 3, 3)
    v = f32x4.add(evens, v128.xor(odds, oddSigns))
    const low = v128.shuffle<i32>(v, v, 0, 1, 0, 1)
    const high = v128.shuffle<i32>(v, v, 2, 3, 2, 3)
    v128.store(at + i * 4, f32x4.mul(f32x4.add(low, v128.xor(high, highSigns)), scale))
  }
  // Two stages in one pass; a last single stage where their number is odd.
  let half = 4
  for (; half * 2 < block; half <<= 2) {
    const bytes = half * 4
    for (let from = at; from < at + block * 4; from += 4 * bytes) {
      for (let i = from; i < from + bytes; i += 16) {
        const a = v128.load(i)
        const b = v128.load(i + bytes)
        const c = v128.load(i + 2 * bytes)
        const d = v128.load(i + 3 * bytes)
        const sumLow = f32x4.add(a, b)
        const differenceLow = f32x4.sub(a, b)
        const sumHigh = f32x4.add(c, d)
        const differenceHigh = f32x4.sub(c, d)
        v128.store(i, f32x4.add(sumLow, sumHigh))
        v128.store(i + bytes, f32x4.add(differenceLow, differenceHigh))
        v128.store(i + 2 * bytes, f32x4.sub(sumLow, sumHigh))
        v128.store(i + 3 * bytes, f32x4.sub(differenceLow, differenceHigh))
      }
    }
  }
  if (half < block) {
    const bytes = half * 4
    for (let i = at; i < at + bytes; i += 16) {
      const a = v128.load(i)
      const b = v128.load(i + bytes)
      v128.store(i, f32x4.add(a, b))
      v128.store(i + bytes, f32x4.sub(a, b))
    }
  }
}

function flip(at: i32, signs: i32, width: i32): void {
  for (let i = 0; i < width; i += 4) {
    v128.store(at + i * 4, f32x4.mul(v128.load(at + i * 4), v128.load(signs + i * 4)))
  }
}

/** Rotates f32[width] in place; `signs` is f32[4][width] of 1 and -1. */
export function rotate(at: i32, signs: i32, width: i32): void {
  const block = blockOf(width)
  for (let round = 0; round < rounds; round++) {
    flip(at, signs + round * width * 4, width)
    transform(at + (round & 1) * (width - block) * 4, block)
  }
}

/** Undoes `rotate`. */
export function unrotate(at: i32, signs: i32, width: i32): void {
  const block = blockOf(width)
  for (let round = rounds - 1; round >= 0; round--) {
    transform(at + (round & 1) * (width - block) * 4, block)
    flip(at, signs + round * width * 4, width)
  }
}
