/**
 * Entry of the re-ranking thread: a cross-encoder by transformers.js, loaded at the first request. It reads a query and a
 * text together and says how well the text answers.
 */
import { AutoModelForSequenceClassification, AutoTokenizer, env } from "@huggingface/transformers"
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"
import type { RerankReply, RerankRequest, RerankSettings } from "./RerankThread.ts"

/** Pairs of a run: more would be padded to the longest of all. */
const pairsPerRunMax = 8
const tokensPerPairMax = 512

const { intraOpThreads, place } = settingsOf<RerankSettings>()

env.allowLocalModels = place._tag === "Files"
env.allowRemoteModels = place._tag === "Hub"
if (place._tag === "Files") env.localModelPath = place.parent
else env.cacheDir = place.cache

const load = async () => {
  const id = place._tag === "Files" ? place.folder : place.name
  const files =
    place._tag === "Files"
      ? ({ subfolder: place.subfolder, model_file_name: place.network, dtype: "fp32" } as const)
      : ({ dtype: "q8" } as const)
  return {
    tokenizer: await AutoTokenizer.from_pretrained(id),
    model: await AutoModelForSequenceClassification.from_pretrained(id, {
      ...files,
      session_options: { intraOpNumThreads: intraOpThreads, interOpNumThreads: 1 }
    })
  }
}

let loading: ReturnType<typeof load> | undefined

const answer = async ({ query, texts }: RerankRequest): Promise<RerankReply> => {
  loading ??= load().catch((cause: unknown) => {
    loading = undefined
    throw cause
  })
  const { model, tokenizer } = await loading
  const scores = new Float32Array(texts.length)
  for (let start = 0; start < texts.length; start += pairsPerRunMax) {
    const run = texts.slice(start, start + pairsPerRunMax)
    const inputs = tokenizer(
      run.map(() => query),
      { text_pair: run, padding: true, truncation: true, max_length: tokensPerPairMax }
    )
    const { logits } = await model(inputs)
    scores.set(scoresOf(logits.data, run.length), start)
  }
  return scores
}

/** One number a pair, or those of "does not answer" and "answers", of which the difference counts. */
const scoresOf = (logits: Float32Array, pairs: number): Float32Array => {
  const classes = logits.length / pairs
  if (classes !== 1 && classes !== 2) throw new Error(`the network gave ${logits.length} numbers for ${pairs} pairs`)
  return Float32Array.from({ length: pairs }, (_, at) =>
    classes === 1 ? logits[at]! : logits[2 * at + 1]! - logits[2 * at]!
  )
}

serve(answer, {
  transfer: (scores) => [scores.buffer],
  onClose: async () => {
    if (loading !== undefined) await (await loading).model.dispose()
  }
})
