/**
 * Evidence recall over corpora of turns: by words, and with a model by meaning and fused, beside other fusions. Every
 * ranking of a table sees the same questions.
 */
import { EmbeddingUnavailable } from "@muniment/models/EmbeddingThread"
import { denseText } from "@muniment/engine/text/MemoryText"
import type { Corpus } from "./Locomo.ts"
import { MetricsSum } from "./Metrics.ts"
import type { Metrics } from "./Metrics.ts"
import { openCorpus } from "./OpenCorpus.ts"
import type { OpenCorpus, QueryVector } from "./OpenCorpus.ts"
import { dense, fused, lexical, minMax, reciprocalRank } from "./Rankings.ts"
import type { Ranking } from "./Rankings.ts"
import { vectorsOf } from "../kit/TextVectors.ts"

export interface RankingQuality {
  /** Undefined: words alone. */
  readonly modelId: string | undefined
  readonly ranking: string
  readonly all: Metrics
  readonly withoutAdversarial: Metrics
}

export interface ModelMissing {
  readonly modelId: string
  readonly reason: string
}

export interface TurnQuality {
  readonly rows: ReadonlyArray<RankingQuality>
  readonly missing: ReadonlyArray<ModelMissing>
}

const byModel: Readonly<Record<string, Ranking>> = {
  "meaning alone": dense,
  fused,
  "min-max .6/.4": minMax,
  "RRF k 60": reciprocalRank
}

export const measureTurns = async (
  corpora: ReadonlyArray<Corpus>,
  modelsDir: string,
  modelIds: ReadonlyArray<string>
): Promise<TurnQuality> => {
  const open = corpora.map(openCorpus)
  const rows = [...judge(open, undefined, undefined, { "words alone": lexical })]
  const missing: Array<ModelMissing> = []
  for (const modelId of modelIds) {
    const vectors = await embedCorpora(modelsDir, modelId, corpora)
    if (vectors instanceof EmbeddingUnavailable) missing.push({ modelId, reason: vectors.reason })
    else rows.push(...judge(open, modelId, vectors, byModel))
  }
  return { rows, missing }
}

/** By corpus, then by question. */
export type CorpusVectors = ReadonlyArray<ReadonlyArray<QueryVector>>

export const embedCorpora = async (
  modelsDir: string,
  modelId: string,
  corpora: ReadonlyArray<Corpus>
): Promise<CorpusVectors | EmbeddingUnavailable> => {
  try {
    const texts = corpora.flatMap(({ memories }) => memories.map(denseText))
    const questions = corpora.flatMap((corpus) => corpus.questions.map(({ text }) => text))
    const passages = [...(await vectorsOf(modelsDir, modelId, "passage", texts))]
    const queries = [...(await vectorsOf(modelsDir, modelId, "query", questions))]
    return corpora.map((corpus) => {
      const own = passages.splice(0, corpus.memories.length)
      return queries.splice(0, corpus.questions.length).map((vector) => ({ modelId, vector, passages: own }))
    })
  } catch (cause) {
    if (cause instanceof EmbeddingUnavailable) return cause
    throw cause
  }
}

const judge = (
  open: ReadonlyArray<OpenCorpus>,
  modelId: string | undefined,
  vectors: CorpusVectors | undefined,
  rankings: Readonly<Record<string, Ranking>>
): ReadonlyArray<RankingQuality> => {
  const sums = Object.entries(rankings).map(([ranking, rank]) => ({
    ranking,
    rank,
    all: new MetricsSum(),
    withoutAdversarial: new MetricsSum()
  }))
  for (const [at, { corpus, ask }] of open.entries()) {
    for (const [number, question] of corpus.questions.entries()) {
      const scored = ask(question.text, vectors?.[at]?.[number])
      for (const { rank, all, withoutAdversarial } of sums) {
        const ranked = rank(scored)
        all.add(ranked, question.evidence)
        if (!question.isAdversarial) withoutAdversarial.add(ranked, question.evidence)
      }
    }
  }
  return sums.map(({ ranking, all, withoutAdversarial }) => ({
    modelId,
    ranking,
    all: all.mean(),
    withoutAdversarial: withoutAdversarial.mean()
  }))
}
