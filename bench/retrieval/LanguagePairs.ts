/**
 * Thirty short memories and thirty questions in each of ten languages, which share words in another form
 * (`test/vectors/recall/languages`), as corpora, and where the right memories rank by words alone. A second set
 * (`languages-judge`) was written after the rules; it only judges, and no rule may be written after it.
 */
import { readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import type { Corpus } from "./Locomo.ts"
import { openCorpus } from "./OpenCorpus.ts"

type LanguageSet = "languages" | "languages-judge"

const recall = join(import.meta.dirname, "..", "..", "test", "vectors", "recall")

/** A corpus for each language, named by its code. */
export const languageCorpora = (set: LanguageSet): ReadonlyArray<Corpus> =>
  readdirSync(join(recall, set))
    .toSorted()
    .map((file) => {
      const lines = readFileSync(join(recall, set, file), "utf8")
        .trim()
        .split("\n")
      const pairs = lines.map((line) => line.split("\t"))
      return {
        name: basename(file, ".tsv"),
        speakers: [],
        memories: pairs.map(([fact]) => ({ kind: "factual_memory", data: { fact }, tags: [] })),
        questions: pairs.map(([, text = ""], at) => ({ text, evidence: new Set([at]), isAdversarial: false }))
      }
    })

/** Places of the right memories, from 0, by question. One that only ties with others counts behind them. */
export const placesOf = (corpus: Corpus): ReadonlyArray<number> => {
  const { ask } = openCorpus(corpus)
  return corpus.questions.map(({ evidence, text }) => {
    const scores = ask(text, undefined).candidates.map(({ lexicalScore }) => lexicalScore)
    const best = Math.max(...[...evidence].map((slot) => scores[slot] ?? 0))
    return best === 0 ? Infinity : scores.filter((score, slot) => score >= best && !evidence.has(slot)).length
  })
}
