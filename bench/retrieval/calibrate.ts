/**
 * Fits the constants of `packages/engine/src/ranking/Calibration.ts` that say how probable it is that a hit is
 * evidence, by ridge-regularised logistic regression over the first ten hits that the service ranks today: on one half of
 * LoCoMo's conversations, checked on the other half, then printed for all. Messages and facts apart, with the model
 * and by words alone.
 * `node bench/retrieval/calibrate.ts --data DIR [--models DIR] [--model ID]`
 */
import { calibrationOf, standoutUnknown, traitNames } from "@muniment/engine/ranking/Calibration"
import type { Evidence } from "@muniment/engine/ranking/Evidence"
import { fuse } from "@muniment/engine/ranking/Fusion"
import { askedOf, scoreAll } from "./Asked.ts"
import { fitLogistic, probability, type Example } from "./Logistic.ts"
import { readRetold } from "./Locomo.ts"
import { dataDirOf, readOptions } from "./Options.ts"
import { binNames, reliabilityOf, type Hit } from "./Reliability.ts"
import { defaultModels } from "./suite.ts"
import { tableText } from "../kit/Report.ts"

const hitsPerQuestion = 10

interface Observed extends Example {
  readonly corpus: number
  readonly hit: Omit<Hit, "said">
}

const main = async (): Promise<void> => {
  const options = readOptions("calibrate.ts")
  const modelId = options.modelIds[0] ?? defaultModels[0]!
  const retold = readRetold(dataDirOf(options, "calibrate.ts"))
  const kinds = { messages: retold.map(({ messages }) => messages), facts: retold.map(({ facts }) => facts) }
  for (const [kind, corpora] of Object.entries(kinds)) {
    const asked = askedOf(corpora)
    for (const model of [modelId, undefined]) {
      const scored = await scoreAll(corpora, asked, options.modelsDir, model)
      const { score } = calibrationOf(kind === "messages", model !== undefined)
      const observed = scored.flatMap(({ corpus, evidence, scored: { candidates, query } }, question) =>
        fuse(candidates, query, { limit: hitsPerQuestion }).map(({ candidate, evidence: values, order }) => ({
          corpus,
          values,
          score: (order - score.intercept) / score.slope,
          hit: { question, isAnswerable: evidence.size > 0, isEvidence: evidence.has(candidate.slot) }
        }))
      )
      console.log(`\n${kind}, ${model ?? "words alone"}`)
      const byScore = observed.map(({ score: sum, ...one }) => ({ ...one, features: [1, sum] }))
      const byEvidence = observed.map(({ values, ...one }) => ({ ...one, features: Object.values(featuresOf(values)) }))
      const rows = [
        ...report("score", ["intercept", "slope"], byScore),
        ...report("evidence", Object.keys(featuresOf(observed[0]!.values)), byEvidence)
      ]
      console.log(tableText(["fitted on 1 3 5 7 9, seen on 2 4 6 8 10", ...binNames, "ECE"], rows))
    }
  }
}

const featuresOf = (values: Evidence): Readonly<Record<string, number>> => ({
  intercept: 1,
  cosine: values.cosine,
  coverage: (values.words * values.bound) / 3,
  words: values.words,
  bound: values.bound,
  matched: values.matched,
  standout: Math.max(0, values.standout ?? standoutUnknown),
  size: values.size,
  self: values.self,
  ...Object.fromEntries(traitNames.map((name) => [name, values[name]]))
})

const report = (
  label: string,
  names: ReadonlyArray<string>,
  observed: ReadonlyArray<Omit<Observed, "isPositive">>
): ReadonlyArray<ReadonlyArray<string>> => {
  const examples = observed.map((one) => ({ ...one, isPositive: one.hit.isEvidence }))
  const half = fitLogistic(examples.filter(({ corpus }) => corpus % 2 === 0))
  const all = fitLogistic(examples)
  console.log(`${label}: ${names.map((name, at) => `${name} ${all[at]!.toFixed(2)}`).join(", ")}`)
  const held = examples.filter(({ corpus }) => corpus % 2 === 1)
  const { bins, error } = reliabilityOf(
    held.map(({ features, hit }) => ({ ...hit, said: probability(half, features) }))
  )
  return [
    [label, ...bins.map(([said, seen, hits]) => `${said.toFixed(2)}:${seen.toFixed(2)} (${hits})`), error.toFixed(3)]
  ]
}

await main()
