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

for (const corpus of languageCorpora()) {
  it(`finds memories in ${corpus.name} by other forms of their words`, () => {
    const found = placesOf(corpus).filter((place) => place < 3).length
    expect(found).toBeGreaterThanOrEqual(least[corpus.name]!)
  })
}
