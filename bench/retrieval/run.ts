/**
 * Evidence recall on LoCoMo at turn level: the lexical half, and with every model named the dense
 * half and the fusions. `node bench/retrieval/run.ts --data DIR [--models DIR] [--model ID]...`
 */
import { denseText } from "@muniment/engine/recall/MemoryText"
import { readLocomo } from "./Locomo.ts"
import type { Corpus } from "./Locomo.ts"
import { MetricsSum } from "./Metrics.ts"
import { openCorpus } from "./OpenCorpus.ts"
import type { OpenCorpus, QueryVector } from "./OpenCorpus.ts"
import { readOptions } from "./Options.ts"
import { dense, fused, lexical, minMax, reciprocalRank } from "./Rankings.ts"
import type { Ranking } from "./Rankings.ts"
import { vectorsOf } from "./Vectors.ts"

const main = async (): Promise<void> => {
  const { dataDir, modelsDir, modelIds } = readOptions("run.ts")
  const corpora = readLocomo(dataDir)
  const open = corpora.map(openCorpus)
  console.log(`${"".padEnd(44)}${"all".padEnd(34)}without adversarial`)
  console.log(`${"".padEnd(44)}${" R@5   R@10  nDCG   MRR    n  ".padEnd(34)} R@5   R@10  nDCG   MRR    n`)
  report("lexical alone", open, undefined, { lexical, fused })
  for (const modelId of modelIds) {
    const vectors = await embedAll(modelsDir, modelId, corpora)
    report(modelId, open, vectors, { dense, fused, "min-max .6/.4": minMax, "RRF k 60": reciprocalRank })
  }
}

/** By corpus, then by question. */
type Vectors = ReadonlyArray<ReadonlyArray<QueryVector>>

const embedAll = async (modelsDir: string, modelId: string, corpora: ReadonlyArray<Corpus>): Promise<Vectors> => {
  const texts = corpora.flatMap(({ memories }) => memories.map(denseText))
  const questions = corpora.flatMap((corpus) => corpus.questions.map(({ text }) => text))
  const passages = [...(await vectorsOf(modelsDir, modelId, "passage", texts))]
  const queries = [...(await vectorsOf(modelsDir, modelId, "query", questions))]
  return corpora.map((corpus) => {
    const own = passages.splice(0, corpus.memories.length)
    return queries.splice(0, corpus.questions.length).map((vector) => ({ modelId, vector, passages: own }))
  })
}

const report = (
  label: string,
  open: ReadonlyArray<OpenCorpus>,
  vectors: Vectors | undefined,
  rankings: Readonly<Record<string, Ranking>>
): void => {
  const sums = new Map(Object.keys(rankings).map((name) => [name, [new MetricsSum(), new MetricsSum()] as const]))
  for (const [at, { corpus, ask }] of open.entries()) {
    for (const [number, question] of corpus.questions.entries()) {
      const scored = ask(question.text, vectors?.[at]?.[number])
      for (const [name, ranking] of Object.entries(rankings)) {
        const [all, answerable] = sums.get(name)!
        const ranked = ranking(scored)
        all.add(ranked, question.evidence)
        if (!question.isAdversarial) answerable.add(ranked, question.evidence)
      }
    }
  }
  for (const [name, [all, answerable]] of sums) {
    console.log(`${`${label}: ${name}`.padEnd(44)}${row(all).padEnd(34)}${row(answerable)}`)
  }
}

const row = (sum: MetricsSum): string => {
  const { questions, recall5, recall10, ndcg10, reciprocalRank: mrr } = sum.mean()
  return `${[recall5, recall10, ndcg10, mrr].map((value) => value.toFixed(4)).join(" ")} ${questions}`
}

await main()
