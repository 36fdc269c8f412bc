/**
 * Rows: rotated vectors as int8 codes, and their exact integer inner products with a query.
 *
 * A row is i8[width] codes, f32 scale, i32 sum of the codes. The scale makes the row's product with its own vector right,
 * which removes the part of the error that lies along the vector. A query is 14-bit codes, shifted to be positive and
 * split into u7 high and low halves, because the widest product of a CPU takes u7 by i8 (relaxed-simd,
 * `i32x4.relaxed_dot_i8x16_i7x16_add_s`, exact in that range). Integer sums do not depend on their order, so every
 * machine and engine gets the same score.
 */
import { sumIntegers, sumLanes } from "./lanes"
import { offer, threshold } from "./heap"

/** Bytes after the codes: scale and sum. */
export const rowTailBytes: i32 = 8
export const rowsPerBlockShift: i32 = 5
const rowsPerBlockMask: i32 = 31

const codeMax: f32 = 127
const queryMax: f32 = 8191
const queryShift: i32 = 8192
const lowMean: i32 = 64

function largestOf(at: i32, width: i32): f32 {
  let largest = f32x4.splat(0)
  for (let i = 0; i < width; i += 4) largest = f32x4.pmax(largest, f32x4.abs(v128.load(at + i * 4)))
  return max(
    max(f32x4.extract_lane(largest, 0), f32x4.extract_lane(largest, 1)),
    max(f32x4.extract_lane(largest, 2), f32x4.extract_lane(largest, 3))
  )
}

/** Four components, rounded to whole steps. */
function stepsAt(at: i32, step: v128): v128 {
  return f32x4.nearest(f32x4.mul(v128.load(at), step))
}

/** Encodes a rotated f32[width] as the row at `row`. */
export function encodeRow(rotated: i32, row: i32, width: i32): void {
  const largest = largestOf(rotated, width)
  const step = f32x4.splat(largest > 0 ? codeMax / largest : 0)
  let squares = f32x4.splat(0)
  let products = f32x4.splat(0)
  let sums = i16x8.splat(0)
  for (let i = 0; i < width; i += 16) {
    const from = rotated + i * 4
    const a = stepsAt(from, step)
    const b = stepsAt(from + 16, step)
    const c = stepsAt(from + 32, step)
    const d = stepsAt(from + 48, step)
    squares = f32x4.add(squares, f32x4.mul(v128.load(from), v128.load(from)))
    squares = f32x4.add(squares, f32x4.mul(v128.load(from, 16), v128.load(from, 16)))
    squares = f32x4.add(squares, f32x4.mul(v128.load(from, 32), v128.load(from, 32)))
    squares = f32x4.add(squares, f32x4.mul(v128.load(from, 48), v128.load(from, 48)))
    products = f32x4.add(products, f32x4.mul(v128.load(from), a))
    products = f32x4.add(products, f32x4.mul(v128.load(from, 16), b))
    products = f32x4.add(products, f32x4.mul(v128.load(from, 32), c))
    products = f32x4.add(products, f32x4.mul(v128.load(from, 48), d))
    const codes = i8x16.narrow_i16x8_s(
      i16x8.narrow_i32x4_s(i32x4.relaxed_trunc_f32x4_s(a), i32x4.relaxed_trunc_f32x4_s(b)),
      i16x8.narrow_i32x4_s(i32x4.relaxed_trunc_f32x4_s(c), i32x4.relaxed_trunc_f32x4_s(d))
    )
    sums = i16x8.add(sums, i16x8.extadd_pairwise_i8x16_s(codes))
    v128.store(row + i, codes)
  }
  const product = sumLanes(products)
  const sum = i32x4.extadd_pairwise_i16x8_s(sums)
  store<f32>(row + width, product > 0 ? sumLanes(squares) / product : 0)
  store<i32>(row + width, sumIntegers(sum), 4)
}

/** Decodes a row to a rotated f32[width] at `target`. */
export function decodeRow(row: i32, target: i32, width: i32): void {
  const scale = f32x4.splat(load<f32>(row + width))
  for (let i = 0; i < width; i += 8) {
    const codes = v128.load_ext<i8>(row + i)
    v128.store(target + i * 4, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(codes)), scale))
    v128.store(target + i * 4 + 16, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(codes)), scale))
  }
}

/** Encodes a rotated f32[width] as u7[width] high halves, u7[width] low halves, f32 scale at `query`. */
export function encodeQuery(rotated: i32, query: i32, width: i32): void {
  const largest = largestOf(rotated, width)
  const step = f32x4.splat(largest > 0 ? queryMax / largest : 0)
  const shift = i16x8.splat(<i16>queryShift)
  const lowBits = i16x8.splat(127)
  for (let i = 0; i < width; i += 16) {
    const from = rotated + i * 4
    const a = i32x4.relaxed_trunc_f32x4_s(stepsAt(from, step))
    const b = i32x4.relaxed_trunc_f32x4_s(stepsAt(from + 16, step))
    const c = i32x4.relaxed_trunc_f32x4_s(stepsAt(from + 32, step))
    const d = i32x4.relaxed_trunc_f32x4_s(stepsAt(from + 48, step))
    const first = i16x8.add(i16x8.narrow_i32x4_s(a, b), shift)
    const second = i16x8.add(i16x8.narrow_i32x4_s(c, d), shift)
    v128.store(query + i, i8x16.narrow_i16x8_u(i16x8.shr_u(first, 7), i16x8.shr_u(second, 7)))
    v128.store(query + width + i, i8x16.narrow_i16x8_u(v128.and(first, lowBits), v128.and(second, lowBits)))
  }
  store<f32>(query + 2 * width, largest / queryMax)
}

/** A row's score: its inner product with the query, rounded to f32. */
export function scoreRow(row: i32, query: i32, width: i32): f32 {
  let high0 = i32x4.splat(0)
  let high1 = i32x4.splat(0)
  let low0 = i32x4.splat(0)
  let low1 = i32x4.splat(0)
  const lows = query + width
  for (let i = 0; i < width; i += 32) {
    const codes0 = v128.load(row + i)
    const codes1 = v128.load(row + i, 16)
    high0 = i32x4.relaxed_dot_i8x16_i7x16_add_s(codes0, v128.load(query + i), high0)
    high1 = i32x4.relaxed_dot_i8x16_i7x16_add_s(codes1, v128.load(query + i, 16), high1)
    low0 = i32x4.relaxed_dot_i8x16_i7x16_add_s(codes0, v128.load(lows + i), low0)
    low1 = i32x4.relaxed_dot_i8x16_i7x16_add_s(codes1, v128.load(lows + i, 16), low1)
  }
  const sums = i32x4.add(i32x4.shl(i32x4.add(high0, high1), 7), i32x4.add(low0, low1))
  const shifted = sumIntegers(sums)
  const product = shifted - queryShift * load<i32>(row + width, 4)
  return <f32>product * (load<f32>(row + width) * load<f32>(query + 2 * width))
}

/** Approximate `scoreRow` in half the time: reads the high halves only and takes `lowMean` for the low ones. */
export function scoreRoughly(row: i32, query: i32, width: i32): f32 {
  let a = i32x4.splat(0)
  let b = i32x4.splat(0)
  for (let i = 0; i < width; i += 32) {
    a = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(row + i), v128.load(query + i), a)
    b = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(row + i, 16), v128.load(query + i, 16), b)
  }
  const sums = i32x4.add(a, b)
  const high = sumIntegers(sums)
  const product = (high << 7) - (queryShift - lowMean) * load<i32>(row + width, 4)
  return <f32>product * (load<f32>(row + width) * load<f32>(query + 2 * width))
}

/** Address of a slot's row; `table` is u32 addresses of blocks of 32 rows. */
export function rowAddress(table: i32, slot: i32, width: i32): i32 {
  return load<i32>(table + (slot >> rowsPerBlockShift) * 4) + (slot & rowsPerBlockMask) * (width + rowTailBytes)
}

/** Exact scan of the slots whose bits are set in u32[words]; returns the heap's new size. */
export function scanRows(
  table: i32,
  bitmap: i32,
  words: i32,
  query: i32,
  width: i32,
  heap: i32,
  size: i32,
  k: i32
): i32 {
  let least = threshold(heap, size, k)
  for (let word = 0; word < words; word++) {
    // Skips four empty words: with a narrow filter most are.
    if ((word & 3) === 0 && word + 4 <= words && !v128.any_true(v128.load(bitmap + word * 4))) {
      word += 3
      continue
    }
    for (let bits = load<u32>(bitmap + word * 4); bits !== 0; bits &= bits - 1) {
      const slot = (word << 5) + ctz(bits)
      const score = scoreRow(rowAddress(table, slot, width), query, width)
      if (score >= least) {
        size = offer(heap, size, k, score, slot)
        least = threshold(heap, size, k)
      }
    }
  }
  return size
}

/** Scores of the slots in u32[count], as f32[count] at `target`. */
export function scoreSlots(table: i32, slots: i32, count: i32, query: i32, width: i32, target: i32): void {
  for (let i = 0; i < count; i++) {
    store<f32>(target + i * 4, scoreRow(rowAddress(table, load<i32>(slots + i * 4), width), query, width))
  }
}

/**
 * Norm of the residual of a unit vector x: of x - y, where y is its row decoded. The scale makes x.y = x.x = 1, so the
 * square of the residual's norm is y.y - 1, which is of integers and the scale alone.
 */
export function residualOf(row: i32, width: i32): f32 {
  let squares = i32x4.splat(0)
  for (let i = 0; i < width; i += 8) {
    const codes = v128.load_ext<i8>(row + i)
    squares = i32x4.add(squares, i32x4.dot_i16x8_s(codes, codes))
  }
  const scale = <f64>load<f32>(row + width)
  return <f32>Math.sqrt(Math.max(0, scale * scale * <f64>sumIntegers(squares) - 1))
}

/** Largest residual of `count` adjacent rows. */
export function largestResidual(row: i32, count: i32, width: i32): f32 {
  let largest: f32 = 0
  for (let i = 0; i < count; i++) largest = max(largest, residualOf(row + i * (width + rowTailBytes), width))
  return largest
}

/** Residuals of the slots in u32[count], as f32[count] at `target`. */
export function residuals(table: i32, slots: i32, count: i32, width: i32, target: i32): void {
  for (let i = 0; i < count; i++) {
    store<f32>(target + i * 4, residualOf(rowAddress(table, load<i32>(slots + i * 4), width), width))
  }
}
