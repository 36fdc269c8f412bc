/**
 * The service's lexical score and fusion with every weight as a parameter, over corpora kept as term counts, so that a
 * thousand settings can be tried. With the shipped weights it has to rank as the service does; `tune.ts` checks that
 * first.
 */
import { B, COLUMN_WEIGHTS, K1, weighQuery } from "@muniment/engine/ranking/Bm25"
import { calibrationOf, cosineScaleOf } from "@muniment/engine/ranking/Calibration"
import { COLUMNS, columnsLength, memoryColumns } from "@muniment/engine/text/MemoryText"
import { queryTerms } from "@muniment/engine/text/Tokenizer"
import type { Corpus } from "./Locomo.ts"
import { MetricsSum } from "./Metrics.ts"
import type { Metrics } from "./Metrics.ts"
import { openCorpus } from "./OpenCorpus.ts"
import type { QueryVector } from "./OpenCorpus.ts"
import { bestSlots } from "./Rankings.ts"

export interface Weights {
  readonly subject: number
  readonly neighbours: number
  readonly when: number
  readonly k1: number
  readonly b: number
  readonly cosine: number
}

export const shippedWeights = (modelId: string): Weights => ({
  subject: COLUMN_WEIGHTS.subject,
  neighbours: COLUMN_WEIGHTS.neighbours,
  when: COLUMN_WEIGHTS.when,
  k1: K1,
  b: B,
  cosine: calibrationOf(false, true).score.cosine * cosineScaleOf(modelId).factor
})

interface Postings {
  readonly slots: Uint32Array
  /** Occurrences by slot, within a slot in the order of `COLUMNS`. */
  readonly counts: Uint32Array
}

interface AskedQuestion {
  readonly evidence: ReadonlySet<number>
  readonly isAdversarial: boolean
  readonly idf: ReadonlyArray<number>
  /** By term of the query. */
  readonly postings: ReadonlyArray<Postings>
  readonly cosines: Float32Array
}

export interface TunableCorpus {
  /** Tokens of each memory over the average. */
  readonly relativeLengths: Float64Array
  readonly questions: ReadonlyArray<AskedQuestion>
}

export const tunableCorpus = (corpus: Corpus, vectors: ReadonlyArray<QueryVector>): TunableCorpus => {
  const index = new Map<string, Map<number, Array<number>>>()
  const lengths = corpus.memories.map((memory, slot) => {
    const columns = memoryColumns(memory)
    for (const [column, name] of COLUMNS.entries()) {
      for (const term of columns[name]) {
        const slots = index.get(term) ?? new Map<number, Array<number>>()
        const counts = slots.get(slot) ?? COLUMNS.map(() => 0)
        counts[column]!++
        index.set(term, slots.set(slot, counts))
      }
    }
    return columnsLength(columns)
  })
  const totalLength = lengths.reduce((sum, length) => sum + length, 0)
  const { ask } = openCorpus(corpus)
  const questions = corpus.questions.map(({ text, evidence, isAdversarial }, at): AskedQuestion => {
    const terms = queryTerms(text)
    const postings = terms.map((term): Postings => {
      const found = index.get(term) ?? new Map<number, Array<number>>()
      return { slots: Uint32Array.from(found.keys()), counts: Uint32Array.from([...found.values()].flat()) }
    })
    const documentFrequencies = postings.map(({ slots }) => slots.length)
    const { idf } = weighQuery(terms, { documents: lengths.length, totalLength, documentFrequencies })
    const cosines = Float32Array.from(ask(text, vectors[at]).candidates, ({ cosine }) => cosine ?? 0)
    return { evidence, isAdversarial, idf, postings, cosines }
  })
  const averageLength = totalLength / lengths.length
  return { relativeLengths: Float64Array.from(lengths, (length) => length / averageLength), questions }
}

/** All questions of the corpora, ranked with these weights. */
export const qualityOf = (
  corpora: ReadonlyArray<TunableCorpus>,
  weights: Weights
): { readonly all: Metrics; readonly withoutAdversarial: Metrics } => {
  const all = new MetricsSum()
  const withoutAdversarial = new MetricsSum()
  for (const { relativeLengths, questions } of corpora) {
    for (const question of questions) {
      const ranked = bestSlots(scoresOf(question, relativeLengths, weights))
      all.add(ranked, question.evidence)
      if (!question.isAdversarial) withoutAdversarial.add(ranked, question.evidence)
    }
  }
  return { all: all.mean(), withoutAdversarial: withoutAdversarial.mean() }
}

const scoresOf = (question: AskedQuestion, relativeLengths: Float64Array, weights: Weights): Float64Array => {
  const { k1, b } = weights
  const columnWeights = { ...COLUMN_WEIGHTS, ...weights }
  const byColumn = COLUMNS.map((column) => columnWeights[column])
  const bound = question.idf.reduce((sum, idf) => sum + idf * (k1 + 1), 0)
  const scores = Float64Array.from(question.cosines, (cosine) => weights.cosine * cosine)
  for (const [term, { slots, counts }] of question.postings.entries()) {
    const idf = (question.idf[term]! * (k1 + 1)) / bound
    for (let at = 0; at < slots.length; at++) {
      let frequency = 0
      for (let column = 0; column < byColumn.length; column++) {
        frequency += byColumn[column]! * counts[at * byColumn.length + column]!
      }
      const penalty = k1 * (1 - b + b * relativeLengths[slots[at]!]!)
      scores[slots[at]!]! += (idf * frequency) / (frequency + penalty)
    }
  }
  return scores
}
