/**
 * One-bit codes: the signs of a row's difference to its list's centroid, 32 rows a block, laid out so that a
 * table look-up in registers sums four components of 16 rows at once (RaBitQ, arXiv 2405.12497; FastScan,
 * Andre et al., VLDB 2015). They only decide which rows are scored.
 *
 * A block is u8[width / 4][16] (low nibble: rows 0 to 15; high nibble: rows 16 to 31), then f32[32] factors,
 * f32[32] offsets, f32[32] errors, u32[32] slots. With s the signs, q the query, c the centroid:
 * x·q is estimated as factor * s·q + offset + c·q, and the error of that is about error * |q - c|. The offset of
 * a free lane is minus infinity.
 */
import { isWithin } from "./bitmaps"
import { sumLanes } from "./lanes"
import { offer, threshold } from "./heap"
import { decodeRow, rowAddress, scoreRow } from "./rows"

const lanes: i32 = 32
const entryMax: f32 = 63

function factorsOf(block: i32, width: i32): i32 {
  return block + width * 4
}

function setNibble(block: i32, group: i32, lane: i32, nibble: u32): void {
  const at = block + group * 16 + (lane & 15)
  const old = load<u8>(at)
  store<u8>(at, lane < 16 ? (old & 240) | <u8>nibble : (old & 15) | <u8>(nibble << 4))
}

/** Writes the code of `slot` into a lane; the square of its distance to the centroid. `scratch` is f32[width]. */
export function encodeCode(table: i32, slot: i32, centroid: i32, block: i32, lane: i32, width: i32, scratch: i32): f32 {
  decodeRow(rowAddress(table, slot, width), scratch, width)
  let squares = f32x4.splat(0)
  let lengths = f32x4.splat(0)
  let alongCentroid = f32x4.splat(0)
  let signsAlong = f32x4.splat(0)
  const zero = f32x4.splat(0)
  const signBit = i32x4.splat(0x80000000)
  for (let group = 0; group < width / 4; group++) {
    const centre = v128.load(centroid + group * 16)
    const rest = f32x4.sub(v128.load(scratch + group * 16), centre)
    const isPositive = f32x4.gt(rest, zero)
    squares = f32x4.add(squares, f32x4.mul(rest, rest))
    lengths = f32x4.add(lengths, f32x4.abs(rest))
    alongCentroid = f32x4.add(alongCentroid, f32x4.mul(rest, centre))
    signsAlong = f32x4.add(signsAlong, v128.xor(centre, v128.andnot(signBit, isPositive)))
    setNibble(block, group, lane, i32x4.bitmask(isPositive))
  }
  const square = sumLanes(squares)
  const length = sumLanes(lengths)
  const factor = length > 0 ? square / length : 0
  const offset = sumLanes(alongCentroid) - factor * sumLanes(signsAlong)
  const spread = max(factor * factor * <f32>width - square, 0)
  const factors = factorsOf(block, width)
  store<f32>(factors + lane * 4, factor)
  store<f32>(factors + lane * 4, offset, 128)
  store<f32>(factors + lane * 4, sqrt(spread / <f32>(width - 1)), 256)
  store<i32>(factors + lane * 4, slot, 384)
  return square
}

/** Frees a lane and leaves nothing of the row in it. */
export function clearCode(block: i32, lane: i32, width: i32): void {
  for (let group = 0; group < width / 4; group++) setNibble(block, group, lane, 0)
  const factors = factorsOf(block, width)
  store<f32>(factors + lane * 4, 0)
  store<f32>(factors + lane * 4, -Infinity, 128)
  store<f32>(factors + lane * 4, 0, 256)
  store<u32>(factors + lane * 4, 0, 384)
}

/** Look-up tables of f32[width], rotated: u6[width / 4][16] at `tables`, then f32 step and f32 least sum, i32 rows scored; then room for a block's sums. */
export function encodeTables(rotated: i32, tables: i32, width: i32): void {
  let widest: f32 = 0
  let total: f32 = 0
  for (let group = 0; group < width / 4; group++) {
    const reach = sumLanes(f32x4.abs(v128.load(rotated + group * 16)))
    total += reach
    widest = max(widest, reach)
  }
  const perUnit = widest > 0 ? entryMax / (2 * widest) : 0
  const scale = f32x4.splat(perUnit)
  for (let group = 0; group < width / 4; group++) {
    const a = load<f32>(rotated + group * 16)
    const b = load<f32>(rotated + group * 16, 4)
    const c = load<f32>(rotated + group * 16, 8)
    const d = load<f32>(rotated + group * 16, 12)
    const base = f32x4.add(f32x4(-a - b, a - b, b - a, a + b), f32x4.splat(abs(a) + abs(b) + (abs(c) + abs(d))))
    const e0 = i32x4.relaxed_trunc_f32x4_s(f32x4.nearest(f32x4.mul(f32x4.add(base, f32x4.splat(-c - d)), scale)))
    const e1 = i32x4.relaxed_trunc_f32x4_s(f32x4.nearest(f32x4.mul(f32x4.add(base, f32x4.splat(c - d)), scale)))
    const e2 = i32x4.relaxed_trunc_f32x4_s(f32x4.nearest(f32x4.mul(f32x4.add(base, f32x4.splat(d - c)), scale)))
    const e3 = i32x4.relaxed_trunc_f32x4_s(f32x4.nearest(f32x4.mul(f32x4.add(base, f32x4.splat(c + d)), scale)))
    v128.store(tables + group * 16, i8x16.narrow_i16x8_u(i16x8.narrow_i32x4_s(e0, e1), i16x8.narrow_i32x4_s(e2, e3)))
  }
  store<f32>(tables + width * 4, perUnit > 0 ? 1 / perUnit : 0)
  store<f32>(tables + width * 4, -total, 4)
  store<i32>(tables + width * 4, 0, 8)
}

/** s·q in steps of the tables for each row of a block: u16[32] at `sums`. */
function sumEntries(block: i32, tables: i32, width: i32, sums: i32): void {
  const nibble = i8x16.splat(15)
  let evenLow = i16x8.splat(0)
  let oddLow = i16x8.splat(0)
  let evenHigh = i16x8.splat(0)
  let oddHigh = i16x8.splat(0)
  for (let i = 0; i < width * 4; i += 64) {
    const codes = block + i
    const entries = tables + i
    const codes0 = v128.load(codes)
    const codes1 = v128.load(codes, 16)
    const codes2 = v128.load(codes, 32)
    const codes3 = v128.load(codes, 48)
    const entries0 = v128.load(entries)
    const entries1 = v128.load(entries, 16)
    const entries2 = v128.load(entries, 32)
    const entries3 = v128.load(entries, 48)
    // Four entries of six bits fit eight.
    const low = i8x16.add(
      i8x16.add(
        i8x16.relaxed_swizzle(entries0, v128.and(codes0, nibble)),
        i8x16.relaxed_swizzle(entries1, v128.and(codes1, nibble))
      ),
      i8x16.add(
        i8x16.relaxed_swizzle(entries2, v128.and(codes2, nibble)),
        i8x16.relaxed_swizzle(entries3, v128.and(codes3, nibble))
      )
    )
    const high = i8x16.add(
      i8x16.add(
        i8x16.relaxed_swizzle(entries0, v128.and(i16x8.shr_u(codes0, 4), nibble)),
        i8x16.relaxed_swizzle(entries1, v128.and(i16x8.shr_u(codes1, 4), nibble))
      ),
      i8x16.add(
        i8x16.relaxed_swizzle(entries2, v128.and(i16x8.shr_u(codes2, 4), nibble)),
        i8x16.relaxed_swizzle(entries3, v128.and(i16x8.shr_u(codes3, 4), nibble))
      )
    )
    evenLow = i16x8.add(evenLow, low)
    oddLow = i16x8.add(oddLow, i16x8.shr_u(low, 8))
    evenHigh = i16x8.add(evenHigh, high)
    oddHigh = i16x8.add(oddHigh, i16x8.shr_u(high, 8))
  }
  // The even sums carry the odd ones 256 times; subtracted, they are what they should be.
  evenLow = i16x8.sub(evenLow, i16x8.shl(oddLow, 8))
  evenHigh = i16x8.sub(evenHigh, i16x8.shl(oddHigh, 8))
  v128.store(sums, v128.shuffle<i16>(evenLow, oddLow, 0, 8, 1, 9, 2, 10, 3, 11))
  v128.store(sums, v128.shuffle<i16>(evenLow, oddLow, 4, 12, 5, 13, 6, 14, 7, 15), 16)
  v128.store(sums, v128.shuffle<i16>(evenHigh, oddHigh, 0, 8, 1, 9, 2, 10, 3, 11), 32)
  v128.store(sums, v128.shuffle<i16>(evenHigh, oddHigh, 4, 12, 5, 13, 6, 14, 7, 15), 48)
}

/** How many codes of one list are of slots in `allowed`. */
export function countAllowed(blocks: i32, count: i32, allowed: i32, allowedWords: i32, width: i32): i32 {
  let found = 0
  for (let at = 0; at < count; at++) {
    const factors = factorsOf(load<i32>(blocks + at * 4), width)
    for (let lane = 0; lane < lanes; lane++) {
      // A free lane has a slot too.
      const isUsed = load<f32>(factors + lane * 4, 128) > -Infinity
      if (isUsed && isWithin(allowed, allowedWords, load<i32>(factors + lane * 4, 384))) found++
    }
  }
  return found
}

/**
 * Scores the rows of one list that may be among the k best, whose bits are set in `allowed` (0: all); the heap's
 * new size. Behind the tables it counts the rows that it has scored. `blocks` is u32[count] addresses; `centre` is c·q, `spread` is |q - c| times the errors to allow for.
 */
export function scanCodes(
  blocks: i32,
  count: i32,
  tables: i32,
  centre: f32,
  spread: f32,
  table: i32,
  allowed: i32,
  allowedWords: i32,
  query: i32,
  width: i32,
  heap: i32,
  size: i32,
  k: i32
): i32 {
  const steps = f32x4.splat(load<f32>(tables + width * 4))
  const least = f32x4.splat(load<f32>(tables + width * 4, 4))
  const sums = tables + width * 4 + 16
  const centres = f32x4.splat(centre)
  const spreads = f32x4.splat(spread)
  let wanted = threshold(heap, size, k)
  let scored = load<i32>(tables + width * 4, 8)
  for (let at = 0; at < count; at++) {
    const block = load<i32>(blocks + at * 4)
    sumEntries(block, tables, width, sums)
    for (let lane = 0; lane < lanes; lane += 4) {
      const factors = factorsOf(block, width) + lane * 4
      const signsAlong = f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(v128.load_ext<u16>(sums + lane * 2)), steps), least)
      const offset = f32x4.add(v128.load(factors, 128), centres)
      const estimate = f32x4.add(f32x4.mul(v128.load(factors), signsAlong), offset)
      const bound = f32x4.add(estimate, f32x4.mul(v128.load(factors, 256), spreads))
      for (let hits = i32x4.bitmask(f32x4.ge(bound, f32x4.splat(wanted))); hits !== 0; hits &= hits - 1) {
        const slot = load<i32>(factors + ctz(hits) * 4, 384)
        if (allowed !== 0 && !isWithin(allowed, allowedWords, slot)) continue
        const score = scoreRow(rowAddress(table, slot, width), query, width)
        scored++
        if (score >= wanted) {
          size = offer(heap, size, k, score, slot)
          wanted = threshold(heap, size, k)
        }
      }
    }
  }
  store<i32>(tables + width * 4, scored, 8)
  return size
}
