/**
 * Scalar versions of the kernels in `packages/engine/kernels`: the oracle of their tests. Every float operation is
 * rounded to f32, in the same order.
 */
const { fround } = Math
const lanes = 4

export interface ScalarRow {
  readonly codes: Int8Array
  readonly scale: number
  readonly sum: number
}

export interface ScalarQuery {
  /** -8191 to 8191. */
  readonly codes: Int32Array
  readonly scale: number
}

/** Sums of products in four lanes, then across them. */
const sumInLanes = (count: number, term: (at: number) => number): number => {
  const sums = new Float32Array(lanes)
  for (let at = 0; at < count; at++) sums[at % lanes] = sums[at % lanes]! + term(at)
  return fround(fround(sums[0]! + sums[1]!) + fround(sums[2]! + sums[3]!))
}

const nearest = (value: number): number => {
  const floor = Math.floor(value)
  const rest = value - floor
  if (rest !== 0.5) return Math.round(value)
  return floor % 2 === 0 ? floor : floor + 1
}

const largestOf = (vector: Float32Array): number => vector.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0)

export const rotateScalar = (vector: Float32Array, signs: Float32Array): Float32Array => {
  const width = vector.length
  const rotated = vector.slice()
  const block = 2 ** Math.floor(Math.log2(width))
  const scale = fround(1 / Math.sqrt(block))
  for (let round = 0; round < 4; round++) {
    for (let at = 0; at < width; at++) rotated[at]! *= signs[round * width + at]!
    const from = (round & 1) * (width - block)
    for (let half = 1; half < block; half *= 2) {
      for (let start = from; start < from + block; start += 2 * half) {
        for (let at = start; at < start + half; at++) {
          const [a, b] = [rotated[at]!, rotated[at + half]!]
          rotated[at] = a + b
          rotated[at + half] = a - b
        }
      }
      if (half === 2) for (let at = from; at < from + block; at++) rotated[at]! *= scale
    }
  }
  return rotated
}

export const encodeRowScalar = (rotated: Float32Array): ScalarRow => {
  const largest = largestOf(rotated)
  const step = largest > 0 ? fround(127 / largest) : 0
  const codes = Int8Array.from(rotated, (x) => nearest(fround(x * step)))
  const squares = sumInLanes(rotated.length, (at) => fround(rotated[at]! * rotated[at]!))
  const products = sumInLanes(rotated.length, (at) => fround(rotated[at]! * codes[at]!))
  return {
    codes,
    scale: products > 0 ? fround(squares / products) : 0,
    sum: codes.reduce((total, code) => total + code, 0)
  }
}

export const decodeRowScalar = ({ codes, scale }: ScalarRow): Float32Array =>
  Float32Array.from(codes, (code) => fround(code * scale))

export const encodeQueryScalar = (rotated: Float32Array): ScalarQuery => {
  const largest = largestOf(rotated)
  const step = largest > 0 ? fround(8_191 / largest) : 0
  return {
    codes: Int32Array.from(rotated, (x) => nearest(fround(x * step))),
    scale: fround(largest / 8_191)
  }
}

export const scoreScalar = (row: ScalarRow, query: ScalarQuery): number => {
  let product = 0
  for (const [at, code] of row.codes.entries()) product += code * query.codes[at]!
  return fround(fround(product) * fround(row.scale * query.scale))
}

/** Half of the squared length of a row. */
export const halfSquareScalar = ({ codes, scale }: ScalarRow): number => {
  const square = codes.reduce((sum, code) => sum + code * code, 0)
  return fround(fround(fround(square) * fround(scale * scale)) * 0.5)
}

/** With the high seven bits of the query's codes, the low ones taken to be 64. */
export const scoreRoughlyScalar = (row: ScalarRow, query: ScalarQuery): number => {
  const rough = query.codes.map((code) => ((code + 8_192) >> 7) * 128 + 64 - 8_192)
  return scoreScalar(row, { codes: rough, scale: query.scale })
}

export interface ScalarCode {
  readonly isPositive: ReadonlyArray<boolean>
  readonly factor: number
  readonly offset: number
  readonly error: number
  readonly square: number
}

export const encodeCodeScalar = (row: ScalarRow, centroid: Float32Array): ScalarCode => {
  const decoded = decodeRowScalar(row)
  const width = decoded.length
  const rest = decoded.map((x, at) => fround(x - centroid[at]!))
  const isPositive = Array.from(rest, (x) => x > 0)
  const square = sumInLanes(width, (at) => fround(rest[at]! * rest[at]!))
  const length = sumInLanes(width, (at) => Math.abs(rest[at]!))
  const along = sumInLanes(width, (at) => fround(rest[at]! * centroid[at]!))
  const signs = sumInLanes(width, (at) => (isPositive[at]! ? centroid[at]! : -centroid[at]!))
  const factor = length > 0 ? fround(square / length) : 0
  const spread = Math.max(fround(fround(fround(factor * factor) * width) - square), 0)
  return {
    isPositive,
    factor,
    offset: fround(along - fround(factor * signs)),
    error: fround(Math.sqrt(fround(spread / (width - 1)))),
    square
  }
}

export interface ScalarTables {
  readonly entries: Uint8Array
  readonly step: number
  readonly least: number
}

export const encodeTablesScalar = (rotated: Float32Array): ScalarTables => {
  const groups = rotated.length / 4
  const componentsOf = (group: number) => [0, 1, 2, 3].map((at) => rotated[group * 4 + at]!)
  const rangeOf = (group: number): number => {
    const [a, b, c, d] = componentsOf(group).map(Math.abs) as [number, number, number, number]
    return fround(fround(a + b) + fround(c + d))
  }
  const ranges = Array.from({ length: groups }, (_value, group) => rangeOf(group))
  const widest = Math.max(0, ...ranges)
  const perUnit = widest > 0 ? fround(63 / fround(2 * widest)) : 0
  const entries = new Uint8Array(groups * 16)
  for (let group = 0; group < groups; group++) {
    const [a, b, c, d] = componentsOf(group) as [number, number, number, number]
    for (let entry = 0; entry < 16; entry++) {
      const first = fround((entry & 1 ? a : -a) + (entry & 2 ? b : -b))
      const second = fround((entry & 4 ? c : -c) + (entry & 8 ? d : -d))
      entries[group * 16 + entry] = nearest(fround(fround(fround(first + ranges[group]!) + second) * perUnit))
    }
  }
  const total = ranges.reduce((sum, range) => fround(sum + range), 0)
  return { entries, step: perUnit > 0 ? fround(1 / perUnit) : 0, least: -total }
}

/** The upper end of the estimate of x·q. */
export const boundScalar = (
  { error, factor, isPositive, offset }: ScalarCode,
  { entries, least, step }: ScalarTables,
  centroidScore: number,
  errorScale: number
): number => {
  let sum = 0
  for (let group = 0; group < isPositive.length / 4; group++) {
    const nibble = [0, 1, 2, 3].reduce((bits, at) => bits | (isPositive[group * 4 + at]! ? 1 << at : 0), 0)
    sum += entries[group * 16 + nibble]!
  }
  const signsByQuery = fround(fround(sum * step) + least)
  return fround(
    fround(fround(factor * signsByQuery) + fround(offset + fround(centroidScore))) + fround(error * fround(errorScale))
  )
}
