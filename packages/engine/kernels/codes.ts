/**
 * 1-bit codes (RaBitQ, arXiv 2405.12497): the signs s of a row's residual x - c to its list's centroid c, in blocks of 32
 * rows laid out for table look-ups in registers (FastScan, André et al., VLDB 2015). They choose the rows to re-rank.
 *
 * A block is u8[width / 4][16] signs (low nibble: rows 0 to 15; high nibble: rows 16 to 31), then f32[32] factors,
 * f32[32] offsets, f32[32] errors, u32[32] slots. With the query q, x·q is estimated as
 *   factor * s·q + offset + c·q,   with a standard error of   error * |q - c|.
 * The offset of a free lane is minus infinity.
 */
import { isWithin } from "./bitmaps"
import { sumLanes } from "./lanes"
import { offer, threshold } from "./heap"
import { decodeRow, rowAddress, scoreRow } from "./rows"

const lanes: i32 = 32
const entryMax: f32 = 63
/** Byte offsets from a block's factors. */
const offsetsAt: usize = 128
const errorsAt: usize = 256
const slotsAt: usize = 384
/** Byte offsets from the end of the tables' entries; the step comes first. */
const leastSumAt: usize = 4
const rerankedAt: usize = 8
const sumsAt: i32 = 16

/** Address of a block's factors; the other arrays follow. */
function factorsOf(block: i32, width: i32): i32 {
  return block + width * 4
}

function setNibble(block: i32, group: i32, lane: i32, nibble: u32): void {
  const at = block + group * 16 + (lane & 15)
  const old = load<u8>(at)
  store<u8>(at, lane < 16 ? (old & 240) | <u8>nibble : (old & 15) | <u8>(nibble << 4))
}

/**
 * RaBitQ encoding: writes the code of a slot's residual into a lane; returns the squared norm of the residual.
 * `scratch` is f32[width].
 */
export function encodeCode(table: i32, slot: i32, centroid: i32, block: i32, lane: i32, width: i32, scratch: i32): f32 {
  decodeRow(rowAddress(table, slot, width), scratch, width)
  let squares = f32x4.splat(0)
  let absolutes = f32x4.splat(0)
  let residualByCentroid = f32x4.splat(0)
  let signsByCentroid = f32x4.splat(0)
  const zero = f32x4.splat(0)
  const signBit = i32x4.splat(0x80000000)
  for (let group = 0; group < width / 4; group++) {
    const center = v128.load(centroid + group * 16)
    const residual = f32x4.sub(v128.load(scratch + group * 16), center)
    const isPositive = f32x4.gt(residual, zero)
    squares = f32x4.add(squares, f32x4.mul(residual, residual))
    absolutes = f32x4.add(absolutes, f32x4.abs(residual))
    residualByCentroid = f32x4.add(residualByCentroid, f32x4.mul(residual, center))
    signsByCentroid = f32x4.add(signsByCentroid, v128.xor(center, v128.andnot(signBit, isPositive)))
    setNibble(block, group, lane, i32x4.bitmask(isPositive))
  }
  const square = sumLanes(squares)
  const absolute = sumLanes(absolutes)
  const factor = absolute > 0 ? square / absolute : 0
  const offset = sumLanes(residualByCentroid) - factor * sumLanes(signsByCentroid)
  const variance = max(factor * factor * <f32>width - square, 0)
  const factors = factorsOf(block, width)
  store<f32>(factors + lane * 4, factor)
  store<f32>(factors + lane * 4, offset, offsetsAt)
  store<f32>(factors + lane * 4, sqrt(variance / <f32>(width - 1)), errorsAt)
  store<i32>(factors + lane * 4, slot, slotsAt)
  return square
}

/** Frees a lane and erases its code. */
export function clearCode(block: i32, lane: i32, width: i32): void {
  for (let group = 0; group < width / 4; group++) setNibble(block, group, lane, 0)
  const factors = factorsOf(block, width)
  store<f32>(factors + lane * 4, 0)
  store<f32>(factors + lane * 4, -Infinity, offsetsAt)
  store<f32>(factors + lane * 4, 0, errorsAt)
  store<u32>(factors + lane * 4, 0, slotsAt)
}

/**
 * FastScan tables of a query: for each four components the 16 sums that their signs can give, quantized to 6 bits. At
 * `tables`: u6[width / 4][16], then f32 step, f32 least sum, i32 rows re-ranked (0), and room for a block's sums.
 */
export function encodeTables(rotated: i32, tables: i32, width: i32): void {
  let widest: f32 = 0
  let total: f32 = 0
  for (let group = 0; group < width / 4; group++) {
    const range = sumLanes(f32x4.abs(v128.load(rotated + group * 16)))
    total += range
    widest = max(widest, range)
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
  store<f32>(tables + width * 4, -total, leastSumAt)
  store<i32>(tables + width * 4, 0, rerankedAt)
}

/** FastScan: s·q of each row of a block, in steps of the tables, as u16[32] at `sums`. */
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
    // Four entries of 6 bits add up to at most 8 bits.
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
  // Each 16-bit lane of the even sums also added 256 times the odd sum.
  evenLow = i16x8.sub(evenLow, i16x8.shl(oddLow, 8))
  evenHigh = i16x8.sub(evenHigh, i16x8.shl(oddHigh, 8))
  v128.store(sums, v128.shuffle<i16>(evenLow, oddLow, 0, 8, 1, 9, 2, 10, 3, 11))
  v128.store(sums, v128.shuffle<i16>(evenLow, oddLow, 4, 12, 5, 13, 6, 14, 7, 15), 16)
  v128.store(sums, v128.shuffle<i16>(evenHigh, oddHigh, 0, 8, 1, 9, 2, 10, 3, 11), 32)
  v128.store(sums, v128.shuffle<i16>(evenHigh, oddHigh, 4, 12, 5, 13, 6, 14, 7, 15), 48)
}

/** Number of codes in a list whose slots are in `allowed`. */
export function countAllowed(blocks: i32, count: i32, allowed: i32, allowedWords: i32, width: i32): i32 {
  let found = 0
  for (let at = 0; at < count; at++) {
    const factors = factorsOf(load<i32>(blocks + at * 4), width)
    for (let lane = 0; lane < lanes; lane++) {
      // A free lane has a slot number too.
      const isUsed = load<f32>(factors + lane * 4, offsetsAt) > -Infinity
      if (isUsed && isWithin(allowed, allowedWords, load<i32>(factors + lane * 4, slotsAt))) found++
    }
  }
  return found
}

/**
 * Scans one list: re-ranks the rows whose estimate plus error bound reaches the k-th best score, and counts them behind
 * the tables. Returns the heap's new size. `blocks` is u32[count] addresses; `allowed` is a set of slots, 0 for all;
 * `centroidScore` is c·q; `errorScale` is |q - c| times the standard errors allowed.
 */
export function scanCodes(
  blocks: i32,
  count: i32,
  tables: i32,
  centroidScore: f32,
  errorScale: f32,
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
  const leastSum = f32x4.splat(load<f32>(tables + width * 4, leastSumAt))
  const sums = tables + width * 4 + sumsAt
  const centroidScores = f32x4.splat(centroidScore)
  const errorScales = f32x4.splat(errorScale)
  let least = threshold(heap, size, k)
  let reranked = load<i32>(tables + width * 4, rerankedAt)
  for (let at = 0; at < count; at++) {
    const block = load<i32>(blocks + at * 4)
    sumEntries(block, tables, width, sums)
    for (let lane = 0; lane < lanes; lane += 4) {
      const factors = factorsOf(block, width) + lane * 4
      const signsByQuery = f32x4.add(
        f32x4.mul(f32x4.convert_i32x4_s(v128.load_ext<u16>(sums + lane * 2)), steps),
        leastSum
      )
      const offset = f32x4.add(v128.load(factors, offsetsAt), centroidScores)
      const estimate = f32x4.add(f32x4.mul(v128.load(factors), signsByQuery), offset)
      const bound = f32x4.add(estimate, f32x4.mul(v128.load(factors, errorsAt), errorScales))
      for (let hits = i32x4.bitmask(f32x4.ge(bound, f32x4.splat(least))); hits !== 0; hits &= hits - 1) {
        const slot = load<i32>(factors + ctz(hits) * 4, slotsAt)
        if (allowed !== 0 && !isWithin(allowed, allowedWords, slot)) continue
        const score = scoreRow(rowAddress(table, slot, width), query, width)
        reranked++
        if (score >= least) {
          size = offer(heap, size, k, score, slot)
          least = threshold(heap, size, k)
        }
      }
    }
  }
  store<i32>(tables + width * 4, reranked, rerankedAt)
  return size
}
