/**
 * Writes networks as ONNX files: the few messages of its protocol buffers that are needed (onnx.proto3), with the numbers
 * of their fields. The same input gives the same bytes.
 */

/** Numbers of `TensorProto.DataType`. */
export const onnxTypes = { float: 1, uint8: 2, int64: 7, float16: 10 } as const
type OnnxType = (typeof onnxTypes)[keyof typeof onnxTypes]

export type OnnxAttribute = number | string | ReadonlyArray<number>

export interface OnnxNode {
  readonly operator: string
  readonly inputs: ReadonlyArray<string>
  readonly output: string
  /** Whole numbers, lists of them, or texts. */
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>
  /** Domain of the node's operator; empty: ONNX's own. */
  readonly domain?: string
}

export interface OnnxTensor {
  readonly name: string
  readonly type: OnnxType
  readonly shape: ReadonlyArray<number>
  readonly data: Float32Array | BigInt64Array | Uint8Array | Uint16Array
}

interface OnnxGraph {
  readonly nodes: ReadonlyArray<OnnxNode>
  readonly tensors: ReadonlyArray<OnnxTensor>
  /** A text in a shape names a size that is not fixed. */
  readonly inputs: ReadonlyArray<OnnxValue>
  readonly outputs: ReadonlyArray<OnnxValue>
  readonly opsets: Readonly<Record<string, number>>
}

interface OnnxValue {
  readonly name: string
  readonly type: OnnxType
  readonly shape: ReadonlyArray<number | string>
}

const formatVersion = 8

export const onnxFile = ({ inputs, nodes, opsets, outputs, tensors }: OnnxGraph): Uint8Array<ArrayBuffer> => {
  const graph = joined(
    ...nodes.map((node) => message(1, nodeOf(node))),
    text(2, "network"),
    ...tensors.map((tensor) => message(5, tensorOf(tensor))),
    ...inputs.map((value) => message(11, valueOf(value))),
    ...outputs.map((value) => message(12, valueOf(value)))
  )
  const imports = Object.entries(opsets).map(([domain, version]) =>
    message(8, joined(text(1, domain), number(2, version)))
  )
  return joined(number(1, formatVersion), message(7, graph), ...imports)
}

const nodeOf = ({ attributes = {}, domain, inputs, operator, output }: OnnxNode): Uint8Array =>
  joined(
    ...inputs.map((name) => text(1, name)),
    text(2, output),
    text(4, operator),
    ...Object.entries(attributes).map(([name, value]) => message(5, attributeOf(name, value))),
    ...(domain === undefined ? [] : [text(7, domain)])
  )

/** Types of attributes: 2 for a whole number, 3 for a text, 7 for a list of whole numbers. */
const attributeOf = (name: string, value: OnnxAttribute): Uint8Array => {
  if (typeof value === "number") return joined(text(1, name), number(3, value), number(20, 2))
  if (typeof value === "string") return joined(text(1, name), text(4, value), number(20, 3))
  return joined(text(1, name), ...value.map((one) => number(8, one)), number(20, 7))
}

const tensorOf = ({ data, name, shape, type }: OnnxTensor): Uint8Array =>
  joined(
    ...shape.map((size) => number(1, size)),
    number(2, type),
    text(8, name),
    message(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  )

const valueOf = ({ name, shape, type }: OnnxValue): Uint8Array => {
  const sizes = shape.map((size) => message(1, typeof size === "number" ? number(1, size) : text(2, size)))
  return joined(text(1, name), message(2, message(1, joined(number(1, type), message(2, joined(...sizes))))))
}

const message = (field: number, content: Uint8Array): Uint8Array =>
  joined(varint(field * 8 + 2), varint(content.length), content)
const text = (field: number, content: string): Uint8Array => message(field, new TextEncoder().encode(content))
const number = (field: number, content: number): Uint8Array => joined(varint(field * 8), varint(content))

/** Seven bits a byte, the lowest first. */
const varint = (content: number): Uint8Array => {
  const parts: Array<number> = []
  let left = BigInt(content)
  for (; left > 127n; left >>= 7n) parts.push(Number(left & 127n) | 128)
  return Uint8Array.from([...parts, Number(left)])
}

const joined = (...parts: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
