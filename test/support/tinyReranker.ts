/**
 * A cross-encoder made by hand: 40 words, and one weight each, of which it sums those of the text. It has the files and
 * the inputs of a real one, so that everything but its knowledge is exercised. The same bytes every time.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

/** Writes the folder, which ranks texts by the sum of their words' weights; other words count nothing. */
export const writeTinyReranker = (folder: string, weights: Readonly<Record<string, number>>): void => {
  const words = Object.keys(weights)
  const vocabulary = [...special, ...words]
  mkdirSync(join(folder, "onnx"), { recursive: true })
  const json = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value))
  json("config.json", { model_type: "bert", architectures: ["BertForSequenceClassification"], num_labels: 1 })
  json("tokenizer_config.json", {
    tokenizer_class: "BertTokenizer",
    do_lower_case: true,
    model_max_length: 512,
    ...Object.fromEntries(special.map((token) => [`${token.slice(1, -1).toLowerCase()}_token`, token]))
  })
  json("tokenizer.json", tokenizer(vocabulary))
  const table = vocabulary.map((word) => weights[word] ?? 0)
  writeFileSync(join(folder, "onnx", "model.onnx"), network(table))
}

const tokenizer = (vocabulary: ReadonlyArray<string>) => {
  const idOf = (token: string) => vocabulary.indexOf(token)
  const token = (id: string, type: number) => ({ SpecialToken: { id, type_id: type } })
  const [first, second] = ["A", "B"].map((id, type) => ({ Sequence: { id, type_id: type } }))
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: special.map((content) => ({
      id: idOf(content),
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true
    })),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [token("[CLS]", 0), first, token("[SEP]", 0)],
      pair: [token("[CLS]", 0), first, token("[SEP]", 0), second, token("[SEP]", 1)],
      special_tokens: Object.fromEntries(["[CLS]", "[SEP]"].map((id) => [id, { id, ids: [idOf(id)], tokens: [id] }]))
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id]))
    }
  }
}

/** ONNX's protocol buffers: logits[pair] = sum of weights[id] over the tokens of the second text. */
const network = (weights: ReadonlyArray<number>): Uint8Array => {
  const [int64, float] = [7, 1]
  const input = (name: string) => message(11, value(name, int64, ["pairs", "tokens"]))
  const graph = bytes(
    message(1, node("Gather", ["weights", "input_ids"], "own")),
    message(1, node("Cast", ["token_type_ids"], "second", cast(float))),
    message(1, node("Mul", ["own", "second"], "counted")),
    message(1, node("ReduceSum", ["counted", "axes"], "logits")),
    text(2, "sum"),
    message(5, tensor("weights", float, Float32Array.from(weights))),
    message(5, tensor("axes", int64, BigInt64Array.of(1n))),
    ...["input_ids", "attention_mask", "token_type_ids"].map(input),
    message(12, value("logits", float, ["pairs", 1]))
  )
  return bytes(number(1, 8), message(7, graph), message(8, bytes(text(1, ""), number(2, 13))))
}

const node = (
  operator: string,
  inputs: ReadonlyArray<string>,
  output: string,
  ...attributes: ReadonlyArray<Uint8Array>
) =>
  bytes(
    ...inputs.map((name) => text(1, name)),
    text(2, output),
    text(4, operator),
    ...attributes.map((attribute) => message(5, attribute))
  )

/** The attribute `to`, a whole number. */
const cast = (type: number) => bytes(text(1, "to"), number(3, type), number(20, 2))

const tensor = (name: string, type: number, data: Float32Array | BigInt64Array) =>
  bytes(
    number(1, data.length),
    number(2, type),
    text(8, name),
    message(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  )

const value = (name: string, type: number, shape: ReadonlyArray<string | number>) => {
  const dims = shape.map((dim) => message(1, typeof dim === "number" ? number(1, dim) : text(2, dim)))
  return bytes(text(1, name), message(2, message(1, bytes(number(1, type), message(2, bytes(...dims))))))
}

const message = (field: number, content: Uint8Array): Uint8Array =>
  bytes(varint((field << 3) | 2), varint(content.length), content)
const text = (field: number, content: string) => message(field, new TextEncoder().encode(content))
const number = (field: number, content: number) => bytes(varint(field << 3), varint(content))

const varint = (content: number): Uint8Array => {
  const parts: Array<number> = []
  for (let left = content; ; left >>>= 7) {
    if (left < 0x80) return Uint8Array.from([...parts, left])
    parts.push((left & 0x7f) | 0x80)
  }
}

const bytes = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => new Uint8Array(Buffer.concat(parts))
