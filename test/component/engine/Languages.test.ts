/** Words of ten languages: which memories questions find that say a word in another form. */
import { expect, it } from "@effect/vitest"
import { languageCorpora, placesOf } from "../../../bench/retrieval/LanguagePairs.ts"

/** What is found among the first three of thirty, less one. */
const least: Readonly<Record<string, number>> = {
  ar: 25,
  de: 28,
  es: 28,
  fr: 28,
  hi: 29,
  it: 26,
  ja: 29,
  pt: 29,
  ru: 29,
  zh: 26
}

/** The same for the sets that only judge. */
const leastJudged: Readonly<Record<string, number>> = {
  ar: 24,
  de: 29,
  es: 29,
  fr: 28,
  hi: 29,
  it: 29,
  ja: 29,
  pt: 29,
  ru: 29,
  zh: 28
}

const sets = [
  ["languages", least],
  ["languages-judge", leastJudged]
] as const

for (const [set, floors] of sets) {
  for (const corpus of languageCorpora(set)) {
    it(`finds memories in ${corpus.name} by other forms of their words (${set})`, () => {
      const found = placesOf(corpus).filter((place) => place < 3).length
      expect(found).toBeGreaterThanOrEqual(floors[corpus.name]!)
    })
  }
}
