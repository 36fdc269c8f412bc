/**
 * Search by words alone in ten languages: thirty short memories and thirty questions each, which share words in
 * another form (`test/vectors/recall/languages`). Lines with odd numbers may be looked at while rules are written; the
 * even ones judge. A memory that only ties with others counts behind them.
 * `node bench/retrieval/languages.ts [--data DIR]`: with LoCoMo as well, to see what English gains or loses.
 */
import { readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { memoryColumns } from "@muniment/engine/text/MemoryText"
import { tableText } from "../kit/Report.ts"
import { readLocomo, type Corpus } from "./Locomo.ts"
import { openCorpus } from "./OpenCorpus.ts"
import { readOptions } from "./Options.ts"

const folder = join(import.meta.dirname, "..", "..", "test", "vectors", "recall", "languages")

/** Places of the right memories, from 0, by question. */
const placesOf = (corpus: Corpus): ReadonlyArray<number> => {
  const { ask } = openCorpus(corpus)
  return corpus.questions.map(({ evidence, text }) => {
    const scores = ask(text, undefined).candidates.map(({ lexicalScore }) => lexicalScore)
    const best = Math.max(...[...evidence].map((slot) => scores[slot] ?? 0))
    if (best === 0) return Infinity
    return scores.filter((score, slot) => score >= best && !evidence.has(slot)).length
  })
}

const share = (places: ReadonlyArray<number>, within: number): string =>
  `${places.filter((place) => place < within).length} of ${places.length}`

const languageRow = (file: string): ReadonlyArray<string> => {
  const lines = readFileSync(join(folder, file), "utf8").trim().split("\n")
  const pairs = lines.map((line) => line.split("\t"))
  const places = placesOf({
    name: file,
    speakers: [],
    memories: pairs.map(([fact]) => ({ kind: "factual_memory", data: { fact }, tags: [] })),
    questions: pairs.map(([, text = ""], at) => ({ text, evidence: new Set([at]), isAdversarial: false }))
  })
  const seen = places.filter((_, at) => at % 2 === 0)
  const unseen = places.filter((_, at) => at % 2 === 1)
  return [basename(file, ".tsv"), share(seen, 3), share(unseen, 3), share(places, 3), share(places, 1)]
}

const { dataDir } = readOptions("languages.ts")
const files = readdirSync(folder).toSorted()
console.log(tableText(["language", "seen, hit@3", "unseen, hit@3", "hit@3", "hit@1"], files.map(languageRow)))
for (const corpora of dataDir === undefined ? [] : [readLocomo(dataDir)]) {
  const places = corpora.flatMap(placesOf)
  console.log(`\nLoCoMo, ${places.length} questions: hit@3 ${share(places, 3)}, hit@10 ${share(places, 10)}`)
  const texts = corpora.flatMap(({ memories }) => memories)
  const startedAt = performance.now()
  for (const memory of texts) memoryColumns(memory)
  console.log(`${(((performance.now() - startedAt) * 1000) / texts.length).toFixed(1)} us for the columns of a turn`)
}
