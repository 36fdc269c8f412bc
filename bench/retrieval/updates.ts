/**
 * Facts that change, told in a chat or stored by a caller: whether the newest value is the first hit of a question about
 * today, and whether an older statement stays first where it is right. With and without `newerFirst`; the cost of it on
 * LoCoMo.
 * `node bench/retrieval/updates.ts [--data DIR] [--models DIR] [--model ID]`
 */
import type { JsonObject } from "@muniment/domain/Memory"
import { laterFirst } from "@muniment/engine/ranking/Currentness"
import { fuse } from "@muniment/engine/ranking/Fusion"
import { questionTraits } from "@muniment/language/question/QuestionTraits"
import { cosineOf } from "@muniment/engine/search/presentFirst"
import { aboutOf } from "@muniment/engine/store/MemoryRow"
import { denseText, mainText } from "@muniment/engine/text/MemoryText"
import { tableText } from "../kit/Report.ts"
import { vectorsOf } from "../kit/TextVectors.ts"
import { scoreAll } from "./Asked.ts"
import { readRetold, type Corpus } from "./Locomo.ts"
import { MetricsSum, RANKING_DEPTH } from "./Metrics.ts"
import { readOptions } from "./Options.ts"
import { defaultModels } from "./suite.ts"
import { readDirectCases, readUpdateCases, updateParts, type UpdateCase } from "./UpdateCases.ts"

interface Ranking {
  readonly corpus: number
  readonly evidence: ReadonlySet<number>
  readonly plain: ReadonlyArray<number>
  readonly newerFirst: ReadonlyArray<number>
}

const options = readOptions("updates.ts")
const modelId = options.modelIds[0] ?? defaultModels[0]!

/** Slots of the best hits of every question, as fused and as the service shows them. */
const rankAll = async (corpora: ReadonlyArray<Corpus>): Promise<ReadonlyArray<Ranking>> => {
  const asked = corpora.flatMap(({ questions }, corpus) =>
    questions.filter(({ isAdversarial }) => !isAdversarial).map(({ evidence, text }) => ({ corpus, evidence, text }))
  )
  const texts = corpora.flatMap(({ memories }) => memories.map(denseText))
  const passages = [...(await vectorsOf(options.modelsDir, modelId, "passage", texts))]
  const vectors = corpora.map(({ memories }) => passages.splice(0, memories.length))
  const scored = await scoreAll(corpora, asked, options.modelsDir, modelId)
  return scored.map(({ corpus, evidence, scored: { candidates, query }, text }) => {
    const { memories } = corpora[corpus]!
    const hits = fuse(candidates, query, { limit: RANKING_DEPTH }).map(({ candidate, order }) => {
      const memory = memories[candidate.slot]!
      const { createdAt, eventAt = createdAt, id, message, slot } = candidate
      const who = message?.speaker ?? aboutOf(memory.data as JsonObject)
      return { slot, id, createdAt, saidAt: eventAt, order, message, who, text: mainText(memory) }
    })
    const plain = hits.map(({ slot }) => slot)
    if (!questionTraits(text, { nowMillis: 0 }).isPresent) return { corpus, evidence, plain, newerFirst: plain }
    const vectorOf = (slot: number): Float32Array => vectors[corpus]![slot]!
    const up = laterFirst(hits, text, { cosineOf: (one, other) => cosineOf(vectorOf(one.slot), vectorOf(other.slot)) })
    return { corpus, evidence, plain, newerFirst: up.map(({ slot }) => slot) }
  })
}

const shownHits = 10

const updatesRow = (
  name: string,
  cases: ReadonlyArray<UpdateCase>,
  rankings: ReadonlyArray<Ranking>,
  slotsOf: (ranking: Ranking) => ReadonlyArray<number>
): ReadonlyArray<string> => {
  const counts = { newest: 0, older: 0, neither: 0, above: 0, wrong: 0, made: 0 }
  for (const ranking of rankings) {
    const { isControl, said } = cases[ranking.corpus]!
    const slots = slotsOf(ranking)
    const top = slots[0]!
    const isRight = ranking.evidence.has(top)
    if (!isControl) {
      counts[isRight ? "newest" : said.includes(top) ? "older" : "neither"]++
      if (slots.slice(0, shownHits).find((slot) => said.includes(slot)) === said.at(-1)) counts.above++
    } else if (!isRight) {
      counts.wrong++
      if (ranking.evidence.has(ranking.plain[0]!)) counts.made++
    }
  }
  return [name, ...Object.values(counts).map(String)]
}

const rows: Array<ReadonlyArray<string>> = []
for (const part of updateParts) {
  const told = [[part, readUpdateCases(part)] as const]
  const stored = part.startsWith("everyday-") ? [[`${part} as facts`, readDirectCases(part)] as const] : []
  for (const [name, cases] of [...told, ...stored]) {
    const rankings = await rankAll(cases.map(({ corpus }) => corpus))
    rows.push(updatesRow(`${name}, without`, cases, rankings, ({ plain }) => plain))
    rows.push(updatesRow(`${name}, newerFirst`, cases, rankings, ({ newerFirst }) => newerFirst))
  }
}
const heads = [
  "40 updates, 20 controls; everyday 20, 10",
  "newest first",
  "older first",
  "neither",
  "newest above older of 10",
  "controls wrong",
  "of them by newerFirst"
]
console.log(tableText(heads, rows))
if (options.dataDir !== undefined) {
  const rankings = await rankAll(readRetold(options.dataDir).map(({ messages }) => messages))
  const figures = (slotsOf: (ranking: Ranking) => ReadonlyArray<number>): ReadonlyArray<string> => {
    const sum = new MetricsSum()
    for (const ranking of rankings) sum.add(slotsOf(ranking), ranking.evidence)
    const { ndcg10, recall10, recall5 } = sum.mean()
    return [recall5, recall10, ndcg10].map((value) => value.toFixed(4))
  }
  console.log(
    tableText(
      ["LoCoMo, messages", "R@5", "R@10", "nDCG@10"],
      [
        ["without", ...figures(({ plain }) => plain)],
        ["newerFirst", ...figures(({ newerFirst }) => newerFirst)]
      ]
    )
  )
}
