/**
 * Search by words alone in ten languages. Odd lines of the sets may be looked at while rules are written; the even ones
 * judge, as does the second table: sets that were written after the rules.
 * `node bench/retrieval/languages.ts [--data DIR]`: with LoCoMo as well, to see what English gains or loses.
 */
import { memoryColumns } from "@muniment/engine/text/MemoryText"
import { tableText } from "../kit/Report.ts"
import { languageCorpora, placesOf } from "./LanguagePairs.ts"
import { readLocomo } from "./Locomo.ts"
import { readOptions } from "./Options.ts"

const share = (places: ReadonlyArray<number>, within: number): string =>
  `${places.filter((place) => place < within).length} of ${places.length}`

const rows = languageCorpora("languages").map((corpus) => {
  const places = placesOf(corpus)
  const seen = places.filter((_, at) => at % 2 === 0)
  const unseen = places.filter((_, at) => at % 2 === 1)
  return [corpus.name, share(seen, 3), share(unseen, 3), share(places, 3), share(places, 1)]
})
console.log(tableText(["language", "seen, hit@3", "unseen, hit@3", "hit@3", "hit@1"], rows))
const judged = languageCorpora("languages-judge").map((corpus) => {
  const places = placesOf(corpus)
  return [corpus.name, share(places, 3), share(places, 1)]
})
console.log(`\n${tableText(["language, for judging only", "hit@3", "hit@1"], judged)}`)
const { dataDir } = readOptions("languages.ts")
if (dataDir !== undefined) {
  const corpora = readLocomo(dataDir)
  const places = corpora.flatMap(placesOf)
  console.log(`\nLoCoMo, ${places.length} questions: hit@3 ${share(places, 3)}, hit@10 ${share(places, 10)}`)
  const texts = corpora.flatMap(({ memories }) => memories)
  const startedAt = performance.now()
  for (const memory of texts) memoryColumns(memory)
  console.log(`${(((performance.now() - startedAt) * 1000) / texts.length).toFixed(1)} us for the columns of a turn`)
}
