/**
 * Fits the rows of `packages/engine/src/ranking/Calibration.ts`. Answerable questions give the sum of
 * their best evidence turn; questions of another conversation, with the speakers' names exchanged so
 * that they sound at home, give the sum of their best hit, which is wrong by construction. Fitted on
 * one half of the conversations, checked on the other; the printed row is fitted on all.
 * `node bench/retrieval/calibrate.ts --data DIR [--models DIR] [--model ID]...`
 */
import { calibrationOf, lexicalCalibration } from "@muniment/engine/ranking/Calibration"
import type { FusedCalibration } from "@muniment/engine/ranking/Calibration"
import { MATCHING_RELEVANCE_MIN } from "@muniment/engine/ranking/Fusion"
import { denseText } from "@muniment/engine/text/MemoryText"
import { readLocomo } from "./Locomo.ts"
import type { Corpus } from "./Locomo.ts"
import { fitLogistic, probability } from "./Logistic.ts"
import type { Example, Logistic } from "./Logistic.ts"
import { MetricsSum } from "./Metrics.ts"
import { openCorpus } from "./OpenCorpus.ts"
import type { QueryVector, Scored, SlotCandidate } from "./OpenCorpus.ts"
import { dataDirOf, readOptions } from "./Options.ts"
import { absolute } from "./Rankings.ts"
import { vectorsOf } from "../kit/TextVectors.ts"

/** Prior odds at which 0.35 stands for "as likely as not". */
const PRIOR = MATCHING_RELEVANCE_MIN
const FOREIGN_DISTANCE = 3
const WEIGHTS = [0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 1.75, 2, 2.5]
const BINS = 5

interface Asked {
  /** Of the conversation it is asked in. */
  readonly corpus: number
  readonly text: string
  /** Empty for a question of another conversation. */
  readonly evidence: ReadonlySet<number>
}

const main = async (): Promise<void> => {
  const options = readOptions("calibrate.ts")
  const { modelsDir, modelIds } = options
  const corpora = readLocomo(dataDirOf(options, "calibrate.ts"))
  const asked = corpora.flatMap((_, at) => [...own(corpora, at), ...foreign(corpora, at)])
  report("lexical alone", asked, score(corpora, asked, undefined), lexicalCalibration)
  for (const modelId of modelIds) {
    const texts = corpora.flatMap(({ memories }) => memories.map(denseText))
    const passages = [...(await vectorsOf(modelsDir, modelId, "passage", texts))]
    const queries = await vectorsOf(
      modelsDir,
      modelId,
      "query",
      asked.map(({ text }) => text)
    )
    const byCorpus = corpora.map(({ memories }) => passages.splice(0, memories.length))
    const vectors = asked.map(({ corpus }, at) => ({ modelId, vector: queries[at]!, passages: byCorpus[corpus]! }))
    const scored = score(corpora, asked, vectors)
    sweep(asked, scored)
    report(modelId, asked, scored, calibrationOf(modelId))
    report(`${modelId} as an unknown model`, asked, scored, calibrationOf("unknown"))
  }
}

const own = (corpora: ReadonlyArray<Corpus>, at: number): ReadonlyArray<Asked> =>
  corpora[at]!.questions.filter(({ isAdversarial }) => !isAdversarial).map(({ text, evidence }) => ({
    corpus: at,
    text,
    evidence
  }))

const foreign = (corpora: ReadonlyArray<Corpus>, at: number): ReadonlyArray<Asked> => {
  const elsewhere = corpora[(at + FOREIGN_DISTANCE) % corpora.length]!
  const here = corpora[at]!.speakers
  return elsewhere.questions.map((question) => ({
    corpus: at,
    text: elsewhere.speakers.reduce((text, name, which) => text.replaceAll(name, here[which] ?? name), question.text),
    evidence: new Set<number>()
  }))
}

const score = (
  corpora: ReadonlyArray<Corpus>,
  asked: ReadonlyArray<Asked>,
  vectors: ReadonlyArray<QueryVector> | undefined
): ReadonlyArray<Scored> => {
  const open = corpora.map(openCorpus)
  return asked.map(({ corpus, text }, at) => {
    const { candidates, query } = open[corpus]!.ask(text, vectors?.[at])
    return { candidates, query }
  })
}

const sweep = (asked: ReadonlyArray<Asked>, scored: ReadonlyArray<Scored>): void => {
  for (const weight of WEIGHTS) {
    const sum = new MetricsSum()
    const ranking = absolute(weight)
    for (const [at, { evidence }] of asked.entries()) if (evidence.size > 0) sum.add(ranking(scored[at]!), evidence)
    console.log(`  cosine weight ${weight}: R@10 ${sum.mean().recall10.toFixed(4)} (without adversarial)`)
  }
}

const report = (
  label: string,
  asked: ReadonlyArray<Asked>,
  scored: ReadonlyArray<Scored>,
  { cosineWeight }: FusedCalibration
): void => {
  const answerable = asked.filter(({ evidence }) => evidence.size > 0).length
  const examples = asked.map((question, at) => {
    const isPositive = question.evidence.size > 0
    return {
      corpus: question.corpus,
      value: bestSum(scored[at]!, question.evidence, cosineWeight),
      best: bestSum(scored[at]!, new Set(), cosineWeight),
      isPositive,
      weight: isPositive ? PRIOR / answerable : (1 - PRIOR) / (asked.length - answerable)
    }
  })
  const half = fitLogistic(examples.filter(({ corpus }) => corpus % 2 === 0))
  const held = examples.filter(({ corpus }) => corpus % 2 === 1)
  const all = fitLogistic(examples)
  console.log(
    `${label}: { cosineWeight: ${cosineWeight}, slope: ${all.slope.toFixed(2)}, intercept: ${all.intercept.toFixed(2)} }`
  )
  console.log(`  half: slope ${half.slope.toFixed(2)}, intercept ${half.intercept.toFixed(2)}; on the other half:`)
  console.log(`  reliability said:seen ${reliability(held, half)}`)
  const share = (of: ReadonlyArray<number>): string =>
    (of.filter((value) => probability(half, value) >= MATCHING_RELEVANCE_MIN).length / of.length).toFixed(3)
  const positives = held.filter(({ isPositive }) => isPositive)
  const negatives = held.filter(({ isPositive }) => !isPositive)
  console.log(
    `  at ${MATCHING_RELEVANCE_MIN}: evidence ${share(positives.map(({ value }) => value))}, best hit of an answerable ` +
      `question ${share(positives.map(({ best }) => best))}, best hit of a foreign one ${share(negatives.map(({ best }) => best))}`
  )
}

/** The greatest sum among `slots`, or among all candidates when there are none. */
const bestSum = ({ candidates, query }: Scored, slots: ReadonlySet<number>, cosineWeight: number): number => {
  const sumOf = ({ lexicalScore, cosine }: SlotCandidate): number =>
    (query.scoreBound > 0 ? lexicalScore / query.scoreBound : 0) + cosineWeight * (cosine ?? 0)
  const among = slots.size === 0 ? candidates : candidates.filter(({ slot }) => slots.has(slot))
  return Math.max(...among.map(sumOf))
}

const reliability = (examples: ReadonlyArray<Example>, logistic: Logistic): string =>
  Array.from({ length: BINS }, (_, bin) => {
    const inside = examples.filter(
      ({ value }) => Math.min(BINS - 1, Math.floor(BINS * probability(logistic, value))) === bin
    )
    const weight = inside.reduce((sum, example) => sum + example.weight, 0)
    const said = inside.reduce((sum, example) => sum + example.weight * probability(logistic, example.value), 0)
    const seen = inside.reduce((sum, example) => sum + (example.isPositive ? example.weight : 0), 0)
    return `${(said / weight).toFixed(2)}:${(seen / weight).toFixed(2)} (${inside.length})`
  }).join("  ")

await main()
