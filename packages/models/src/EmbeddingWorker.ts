/**
 * Entry of the embedding thread: loads models with transformers.js from the local disk only and turns texts into
 * normalised vectors. A run blocks its thread (20 ms for a long text), so it has its own. Pooling is done here and
 * not by a pipeline, so that one flat buffer is filled and transferred.
 */
import { AutoModel, AutoTokenizer, env } from "@huggingface/transformers"
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"
import type { EmbedRequest, LoadRequest, ThreadReply, ThreadRequest, ThreadSettings } from "./EmbeddingThread.ts"

interface Encoder {
  readonly settings: LoadRequest
  readonly tokenizer: Awaited<ReturnType<typeof AutoTokenizer.from_pretrained>>
  readonly model: Awaited<ReturnType<typeof AutoModel.from_pretrained>>
}

const settings = settingsOf<ThreadSettings>()

env.allowRemoteModels = false
env.allowLocalModels = true
env.localModelPath = settings.modelsDir
env.useFSCache = false

const encoders = new Map<string, Encoder>()

const answer = async (request: ThreadRequest): Promise<ThreadReply> => {
  if (request.type === "embed") return { type: "embedded", vectors: await embed(request) }
  encoders.set(request.modelId, await load(request))
  return { type: "loaded" }
}

const load = async (request: LoadRequest): Promise<Encoder> => ({
  settings: request,
  tokenizer: await AutoTokenizer.from_pretrained(request.modelId),
  model: await AutoModel.from_pretrained(request.modelId, {
    dtype: "q8",
    session_options: { intraOpNumThreads: settings.intraOpThreads, interOpNumThreads: 1 }
  })
})

/** Float32Array[texts * dims], in the order of the texts. */
const embed = async (request: EmbedRequest): Promise<Float32Array<ArrayBuffer>> => {
  const encoder = encoders.get(request.modelId)
  if (encoder === undefined) throw new Error(`${request.modelId} is not loaded`)
  const { dims, textsPerRunMax } = encoder.settings
  const vectors = new Float32Array(request.texts.length * dims)
  for (let start = 0; start < request.texts.length; start += textsPerRunMax) {
    const texts = request.texts.slice(start, start + textsPerRunMax)
    await embedRun(encoder, texts, vectors.subarray(start * dims, (start + texts.length) * dims))
  }
  return vectors
}

const embedRun = async (encoder: Encoder, texts: ReadonlyArray<string>, vectors: Float32Array): Promise<void> => {
  const { dims, pooling, tokensPerTextMax } = encoder.settings
  const inputs = encoder.tokenizer([...texts], {
    padding: true,
    truncation: true,
    max_length: tokensPerTextMax
  })
  const output = await encoder.model(inputs)
  const states: Float32Array = output.last_hidden_state.data
  const mask = inputs.attention_mask.data
  const tokens = mask.length / texts.length
  if (states.length !== texts.length * tokens * dims) {
    throw new Error(`the network gave ${states.length} numbers for ${texts.length} texts of ${tokens} tokens`)
  }
  for (let text = 0; text < texts.length; text++) {
    const vector = vectors.subarray(text * dims, (text + 1) * dims)
    const pooled = pooling === "cls" ? 1 : tokens
    for (let token = 0; token < pooled; token++) {
      const position = text * tokens + token
      if (mask[position] === 0n) continue
      for (let dim = 0; dim < dims; dim++) vector[dim]! += states[position * dims + dim]!
    }
    normalise(vector)
  }
}

/** To length 1; the division of the mean by the token count is therefore left out. */
const normalise = (vector: Float32Array): void => {
  let squares = 0
  for (const value of vector) squares += value * value
  const length = Math.sqrt(squares)
  if (!(length > 0)) throw new Error("the network gave a vector of length 0")
  for (let dim = 0; dim < vector.length; dim++) vector[dim]! /= length
}

serve(answer, {
  transfer: (reply) => (reply.type === "embedded" ? [reply.vectors.buffer] : []),
  onClose: async () => {
    for (const { model } of encoders.values()) await model.dispose()
  }
})
