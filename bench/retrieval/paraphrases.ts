/**
 * Thirty facts stored as direct memories, and questions that share no content word with them: where the right fact
 * ranks, and its relevance against the best wrong one. Our own set, seen while the form of the relevance was chosen;
 * its constants are fitted on LoCoMo.
 * `node bench/retrieval/paraphrases.ts [--models DIR] [--model ID]`
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fuse } from "@muniment/engine/ranking/Fusion"
import { tableText } from "../kit/Report.ts"
import { scoreAll } from "./Asked.ts"
import type { Corpus } from "./Locomo.ts"
import { readOptions } from "./Options.ts"
import { defaultModels } from "./suite.ts"

interface Fact {
  readonly subject: string
  readonly fact: string
}

interface Paraphrases {
  readonly pairs: ReadonlyArray<Fact & { readonly question: string }>
  readonly others: ReadonlyArray<Fact>
}

const file = join(import.meta.dirname, "..", "..", "test", "vectors", "recall", "paraphrases.json")
const { others, pairs }: Paraphrases = JSON.parse(readFileSync(file, "utf8"))
const options = readOptions("paraphrases.ts")
const corpus: Corpus = {
  name: "paraphrases",
  speakers: [],
  memories: [...pairs, ...others].map(({ fact, subject }) => ({
    kind: "factual_memory",
    data: { subject, fact },
    tags: []
  })),
  questions: []
}
const asked = pairs.map(({ question }, at) => ({ corpus: 0, text: question, evidence: new Set([at]) }))
const scored = await scoreAll([corpus], asked, options.modelsDir, options.modelIds[0] ?? defaultModels[0]!)
const rows = scored.map(({ scored: { candidates, query }, text }, right) => {
  const hits = fuse(candidates, query, { limit: candidates.length })
  const place = hits.findIndex(({ candidate }) => candidate.slot === right)
  const wrong = hits.filter(({ candidate }) => candidate.slot !== right).map(({ relevance }) => relevance)
  return { text, place: place + 1, right: hits[place]?.relevance ?? 0, wrong: Math.max(...wrong) }
})
const mean = (values: ReadonlyArray<number>): string =>
  (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(3)
const within = (places: number): string => `${rows.filter(({ place }) => place <= places).length} of ${rows.length}`
console.log(
  tableText(
    ["question", "place", "relevance", "best wrong one"],
    rows.map(({ place, right, text, wrong }) => [text, String(place), right.toFixed(3), wrong.toFixed(3)])
  )
)
console.log(`\nfirst: ${within(1)}; among three: ${within(3)}; among ten: ${within(10)}`)
console.log(
  `mean relevance: right ${mean(rows.map(({ right }) => right))}, best wrong ${mean(rows.map(({ wrong }) => wrong))}`
)
console.log(`right above the best wrong one: ${rows.filter(({ right, wrong }) => right > wrong).length}`)
console.log(
  `at 0.35 and above: right ${rows.filter(({ right }) => right >= 0.35).length}, best wrong ${rows.filter(({ wrong }) => wrong >= 0.35).length}`
)
