/**
 * Chooses the weights of recall on one half of LoCoMo's conversations and judges them on the other,
 * both ways, and on our own turns, which no weight was chosen on; beside the weights that ship and
 * those of before. A weight is only worth keeping if the half that it was not chosen on gains too.
 * `node bench/retrieval/tune.ts --data DIR [--models DIR] [--model ID]`
 */
import { EmbeddingUnavailable } from "@muniment/models/EmbeddingUnavailable"
import { tableText } from "../kit/Report.ts"
import { readLocomo } from "./Locomo.ts"
import type { Corpus } from "./Locomo.ts"
import { dataDirOf, readOptions } from "./Options.ts"
import { readOwnTurns } from "./OwnTurns.ts"
import { defaultModels } from "./suite.ts"
import { qualityOf, shippedWeights, tunableCorpus } from "./TunableScorer.ts"
import type { TunableCorpus, Weights } from "./TunableScorer.ts"
import { embedCorpora, measureTurns } from "./TurnQuality.ts"

/** Of the first release of recall, chosen on all conversations at once. */
const formerWeights: Weights = { subject: 2, neighbours: 0.4, when: 0.3, k1: 1.2, b: 0.75, cosine: 1.75 }
/** Factors that a weight is tried with, coarse first. */
const steps = [1.5, 1.25]
const roundsPerStep = 2
/** The ranking of the shipped weights has to be the service's own up to ties. */
const agreementMax = 0.001

const main = async (): Promise<void> => {
  const options = readOptions("tune.ts")
  const modelId = options.modelIds[0] ?? defaultModels[0]!
  const locomo = readLocomo(dataDirOf(options, "tune.ts"))
  const prepared = await prepare(options.modelsDir, modelId, [...locomo, readOwnTurns()])
  const own = prepared.slice(-1)
  const halves = [0, 1].map((half) => prepared.slice(0, -1).filter((_, at) => at % 2 === half))
  const shipped = shippedWeights(modelId)
  await verify(options.modelsDir, modelId, locomo, qualityOf(halves.flat(), shipped).all.recall10)
  const settings: Array<readonly [string, Weights]> = [
    ["former", formerWeights],
    ["shipped", shipped],
    ...halves.map((half, at): readonly [string, Weights] => [`chosen on half ${at + 1}`, choose(half, formerWeights)])
  ]
  const figuresOf = (corpora: ReadonlyArray<TunableCorpus>, weights: Weights): string => {
    const { all, withoutAdversarial } = qualityOf(corpora, weights)
    return [all.recall10, withoutAdversarial.recall10, all.ndcg10].map((value) => value.toFixed(3)).join(" / ")
  }
  const rows = settings.map(([name, weights]) => [
    name,
    Object.values(weights)
      .map((weight) => String(Number(weight.toPrecision(2))))
      .join(" "),
    ...[...halves, own].map((corpora) => figuresOf(corpora, weights))
  ])
  console.log(`${modelId}; R@10 / R@10 without adversarial / nDCG@10\n`)
  console.log(tableText(["weights", Object.keys(shipped).join(" "), "half 1", "half 2", "our own turns"], rows))
}

const prepare = async (
  modelsDir: string,
  modelId: string,
  corpora: ReadonlyArray<Corpus>
): Promise<ReadonlyArray<TunableCorpus>> => {
  const prepared: Array<TunableCorpus> = []
  // Separate calls, so that the vectors cached by the suite are used.
  for (const some of [corpora.slice(0, -1), corpora.slice(-1)]) {
    const vectors = await embedCorpora(modelsDir, modelId, some)
    if (vectors instanceof EmbeddingUnavailable) throw vectors
    prepared.push(...some.map((corpus, at) => tunableCorpus(corpus, vectors[at]!)))
  }
  return prepared
}

const verify = async (modelsDir: string, modelId: string, corpora: ReadonlyArray<Corpus>, found: number) => {
  const { rows } = await measureTurns(corpora, modelsDir, [modelId])
  const service = rows.find(({ ranking }) => ranking === "fused")?.all.recall10 ?? Number.NaN
  if (!(Math.abs(service - found) <= agreementMax)) {
    throw new Error(`the scorer ranks unlike the service: R@10 ${found.toFixed(4)} and ${service.toFixed(4)}`)
  }
}

/** Coordinate ascent: each weight in turn a step up or down, as long as the corpora gain. */
const choose = (corpora: ReadonlyArray<TunableCorpus>, from: Weights): Weights => {
  const gainOf = (weights: Weights): number => {
    const { recall10, ndcg10 } = qualityOf(corpora, weights).all
    return recall10 + ndcg10 / 4
  }
  let best = from
  let gain = gainOf(best)
  const names = ["subject", "neighbours", "when", "k1", "b", "cosine"] as const
  for (const step of steps.flatMap((step) => Array.from({ length: roundsPerStep }, () => step))) {
    for (const name of names) {
      for (const factor of [step, 1 / step]) {
        for (;;) {
          const next = { ...best, [name]: best[name] * factor }
          const nextGain = next.b > 1 ? gain : gainOf(next)
          if (nextGain <= gain) break
          best = next
          gain = nextGain
        }
      }
    }
  }
  return best
}

await main()
