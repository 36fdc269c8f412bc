/** Questions put to a corpus, each with every memory of it scored. */
import { denseText } from "@muniment/engine/text/MemoryText"
import type { Corpus } from "./Locomo.ts"
import { openCorpus } from "./OpenCorpus.ts"
import type { Scored } from "./OpenCorpus.ts"
import { vectorsOf } from "../kit/TextVectors.ts"

export interface Asked {
  /** Index of the corpus it is asked in. */
  readonly corpus: number
  readonly text: string
  /** Slots; of an unanswerable question empty. */
  readonly evidence: ReadonlySet<number>
}

export interface AskedScored extends Asked {
  readonly scored: Scored
}

/** Every memory scored for every question; `modelId` undefined: by words alone. */
export const scoreAll = async (
  corpora: ReadonlyArray<Corpus>,
  asked: ReadonlyArray<Asked>,
  modelsDir: string,
  modelId: string | undefined
): Promise<ReadonlyArray<AskedScored>> => {
  const open = corpora.map(openCorpus)
  if (modelId === undefined)
    return asked.map((question) => ({ ...question, scored: open[question.corpus]!.ask(question.text, undefined) }))
  const texts = corpora.flatMap(({ memories }) => memories.map(denseText))
  const passages = [...(await vectorsOf(modelsDir, modelId, "passage", texts))]
  const byCorpus = corpora.map(({ memories }) => passages.splice(0, memories.length))
  const questions = asked.map(({ text }) => text)
  const vectors = await vectorsOf(modelsDir, modelId, "query", questions)
  return asked.map((question, at) => {
    const dense = { modelId, vector: vectors[at]!, passages: byCorpus[question.corpus]! }
    return { ...question, scored: open[question.corpus]!.ask(question.text, dense) }
  })
}
