/**
 * The one loop that drawing a map spends most of its time in, as WebAssembly: dot products of rows with
 * rows, two doubles at a time, which V8 does not do for JavaScript (SIMD: WebAssembly specification 2.0,
 * section 4.4.3). It is assembled here, instruction by instruction, so that no binary is in the tree.
 *
 * Invariant: each sum adds its products in the order of the dimensions, each rounded to a double, so
 * the result has the bits that the plain loop has.
 */

/** Columns of a panel: what eight accumulators of two doubles hold for two rows. */
export const panelColumns = 8
/** Rows that are computed together. */
export const rowsTogether = 2

export interface RowProductKernel {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => number }
  /**
   * Float64[rows][depth] at byte `left` times Float64[panels][depth][panelColumns] at `right` into
   * Float64[rows][panels * panelColumns] at `target`. None is zero; `rows` is even.
   */
  readonly multiply: (left: number, right: number, target: number, rows: number, depth: number, panels: number) => void
}

/** What this file needs of it; the declarations of Node have it not. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: RowProductKernel }
}

type Code = ReadonlyArray<number>

const doubleBytes = 8
const pairBytes = 2 * doubleBytes
const panelBytes = panelColumns * doubleBytes

/** Parameters first, then integers, then pairs of doubles. */
const local = {
  left: 0,
  right: 1,
  target: 2,
  rows: 3,
  depth: 4,
  panels: 5,
  leftStride: 6,
  targetStride: 7,
  rowAt: 8,
  rightAt: 9,
  targetAt: 10,
  rowsLeft: 11,
  leftAt: 12,
  depthLeft: 13,
  factor: 14,
  column: 15,
  sum: 19
} as const
const integerLocals = 8
const pairLocals = 13
const pairsPerPanel = 4

const unsigned = (value: number): Code => (value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)])
const get = (index: number): Code => [0x20, index]
const assign = (index: number, value: Code): Code => [...value, 0x21, index]
/** -64..8191: a byte is signed by its seventh bit. */
const constant = (value: number): Code => [0x41, ...(value < 64 ? [value] : [(value & 127) | 128, value >> 7])]
const add = (left: Code, right: Code): Code => [...left, ...right, 0x6a]
const minus = (left: Code, right: Code): Code => [...left, ...right, 0x6b]
const shifted = (value: Code, bits: number): Code => [...value, ...constant(bits), 0x74]
const advance = (index: number, by: Code): Code => assign(index, add(get(index), by))
const simd = (operation: number): Code => [0xfd, ...unsigned(operation)]
const loadPair = (address: Code, offset: number): Code => [...address, ...simd(0), 3, offset]
const loadTwice = (address: Code): Code => [...address, ...simd(10), 3, 0]
const storePair = (address: Code, offset: number, value: Code): Code => [...address, ...value, ...simd(11), 3, offset]
const zeroPair: Code = [...simd(12), ...Array.from({ length: pairBytes }, () => 0)]
const addPairs = (left: Code, right: Code): Code => [...left, ...right, ...simd(240)]
const multiplyPairs = (left: Code, right: Code): Code => [...left, ...right, ...simd(242)]

/** Repeats the body until the counter, lowered after each round, is zero. */
const until = (counter: number, step: number, body: Code): Code => [
  0x03,
  0x40,
  ...body,
  ...assign(counter, minus(get(counter), constant(step))),
  ...get(counter),
  0x0d,
  0,
  0x0b
]

const each = (count: number, code: (at: number) => Code): Code =>
  Array.from({ length: count }, (_, at) => code(at)).flat()

const rowPlus = (address: Code, row: number, stride: number): Code => (row === 0 ? address : add(address, get(stride)))

const sumAt = (row: number, pair: number): number => local.sum + row * pairsPerPanel + pair

/** sum[row][pair] += left[row] * column[pair], for one dimension. */
const dimension: Code = [
  ...each(pairsPerPanel, (pair) => assign(local.column + pair, loadPair(get(local.rightAt), pair * pairBytes))),
  ...each(rowsTogether, (row) => [
    ...assign(local.factor, loadTwice(rowPlus(get(local.leftAt), row, local.leftStride))),
    ...each(pairsPerPanel, (pair) =>
      assign(
        sumAt(row, pair),
        addPairs(get(sumAt(row, pair)), multiplyPairs(get(local.factor), get(local.column + pair)))
      )
    )
  ]),
  ...advance(local.leftAt, constant(doubleBytes)),
  ...advance(local.rightAt, constant(panelBytes))
]

const rowPair: Code = [
  ...each(rowsTogether * pairsPerPanel, (at) => assign(local.sum + at, zeroPair)),
  ...assign(local.leftAt, get(local.rowAt)),
  ...assign(local.rightAt, get(local.right)),
  ...assign(local.depthLeft, get(local.depth)),
  ...until(local.depthLeft, 1, dimension),
  ...each(rowsTogether, (row) =>
    each(pairsPerPanel, (pair) =>
      storePair(rowPlus(get(local.targetAt), row, local.targetStride), pair * pairBytes, get(sumAt(row, pair)))
    )
  ),
  ...advance(local.rowAt, shifted(get(local.leftStride), 1)),
  ...advance(local.targetAt, shifted(get(local.targetStride), 1))
]

/** The panel is outermost: it stays in the nearest cache while all rows pass. */
const multiplyBody: Code = [
  ...assign(local.leftStride, shifted(get(local.depth), 3)),
  ...assign(local.targetStride, shifted(get(local.panels), 6)),
  ...until(local.panels, 1, [
    ...assign(local.rowAt, get(local.left)),
    ...assign(local.targetAt, get(local.target)),
    ...assign(local.rowsLeft, get(local.rows)),
    ...until(local.rowsLeft, rowsTogether, rowPair),
    ...assign(local.right, get(local.rightAt)),
    ...advance(local.target, constant(panelBytes))
  ])
]

/** The magic word, and version 1. */
const header: Code = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
const section = (id: number, content: Code): Code => [id, ...unsigned(content.length), ...content]
const named = (name: string, kind: number): Code => [name.length, ...Buffer.from(name), kind, 0]

const moduleCode = (): Uint8Array<ArrayBuffer> => {
  const [i32, v128] = [0x7f, 0x7b]
  const body: Code = [2, integerLocals, i32, pairLocals, v128, ...multiplyBody, 0x0b]
  return Uint8Array.from([
    ...header,
    ...section(1, [1, 0x60, 6, i32, i32, i32, i32, i32, i32, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, ...named("memory", 2), ...named("multiply", 0)]),
    ...section(10, [1, ...unsigned(body.length), ...body])
  ])
}

/** A kernel with a memory of its own, one page at first. */
export const makeRowProductKernel = (): RowProductKernel =>
  new WebAssembly.Instance(new WebAssembly.Module(moduleCode())).exports
