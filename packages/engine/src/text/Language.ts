/**
 * The language of a text in Latin script, by its function words and letters, and the stop words of a query. English is
 * the answer without evidence. A wrong answer costs little: a document is stemmed by its language, and a query looks
 * for the stems of every language (`LanguageStems`).
 *
 * Invariant: deterministic, linear in the text. Other scripts need no answer: their words tell the stemmer.
 */
import { foldWord } from "./foldWord.ts"
import { functionWords } from "./FunctionWords.ts"
import { stopWords } from "./StopWords.ts"

export const latinLanguages = ["german", "spanish", "french", "italian", "portuguese"] as const
export type LatinLanguage = (typeof latinLanguages)[number]
export type TextLanguage = LatinLanguage | "english"

type Language = keyof typeof functionWords

const foldedWords = (language: Language): ReadonlySet<string> =>
  new Set(functionWords[language].split(/[ -]/).map(foldWord))

const wordsByLanguage = Object.fromEntries(
  (Object.keys(functionWords) as ReadonlyArray<Language>).map((language) => [language, foldedWords(language)])
) as Readonly<Record<Language, ReadonlySet<string>>>

const ENGLISH: number = latinLanguages.length

/** Function words of other languages that are content words of English. */
const englishToo = new Set(
  "also bin car come den die fa fait hat kin la las los man mit par per plus son sole sur tout war".split(" ")
)

/** By folded word: what one occurrence says for each of `latinLanguages`, then English. A shared word is shared out. */
const evidence: ReadonlyMap<string, Float64Array> = (() => {
  const english = stopWords.union(englishToo)
  const sets = [...latinLanguages.map((language) => wordsByLanguage[language]), english]
  return new Map(
    [...new Set(sets.flatMap((set) => [...set]))].map((word) => {
      const owners = sets.filter((set) => set.has(word)).length
      return [word, Float64Array.from(sets, (set) => (set.has(word) ? 1 / owners : 0))]
    })
  )
})()

/** Letters and ends of words that are common in one language and rare in the others; they decide between relatives. */
const spellings: Readonly<Record<LatinLanguage, RegExp>> = {
  german: /[äöüß]|sch|cht|ck|(?:ung|heit|keit|ten|tet)(?!\p{L})/gu,
  spanish: /[ñ¿¡]|(?:ción|dad|ll[oa]s?|[aeiou]jo|ue\p{L}+|ie\p{L}+[oa])(?!\p{L})/gu,
  french:
    /[œèêçâîû]|eau|(?<!\p{L})[ldnsjcm]['’](?=[aeiouyhéèê])|(?:[aeou]ux|ait|ent|ez|eurs?|euse|ette|ique|oi[rtx]?|ois|és?|ées?)(?!\p{L})/gu,
  italian:
    /[àìòù](?!\p{L})|gli|zz|cch|(?:[^qg]u?(?:re|tti?|tto|tta|zione|iamo|lla|llo|nno)|[aeo][cdglmnrtv]i|[^aeiou]e)(?!\p{L})/gu,
  portuguese: /[ãõ]|lh|nh|ç|(?:ou|eu|em|am|ões|ção|ei|agem|im|eiro|eira)(?!\p{L})/gu
}
const SPELLING_WEIGHT = 0.25
/** Least evidence for a language other than English. */
const EVIDENCE_MIN = 0.5
/** Words of a text that are read to find its language, and characters to find its spelling. */
const WORDS_MAX = 256
const SPELLED_MAX = 1_024

/** `words`: of the text, folded. */
export const languageOf = (text: string, words: ReadonlyArray<string>): TextLanguage => {
  const sums = new Float64Array(ENGLISH + 1)
  const read = Math.min(words.length, WORDS_MAX)
  for (let word = 0; word < read; word++) {
    const said = evidence.get(words[word]!)
    if (said !== undefined) for (let at = 0; at <= ENGLISH; at++) sums[at]! += said[at]!
  }
  const english = sums[ENGLISH]!
  if (!sums.some((sum) => sum > english)) return "english"
  const spelled = text.slice(0, SPELLED_MAX).toLowerCase().normalize("NFC")
  for (const [at, language] of latinLanguages.entries()) {
    if (sums[at]! > 0) sums[at]! += SPELLING_WEIGHT * (spelled.match(spellings[language])?.length ?? 0)
  }
  const best = latinLanguages.reduce((found, _, at) => (sums[at]! > sums[found]! ? at : found), 0)
  return sums[best]! > english && sums[best]! >= EVIDENCE_MIN ? latinLanguages[best]! : "english"
}

/** Whether a folded word of a query in `language` is a stop word; in other scripts, whatever the language. */
export const isStopWord = (word: string, language: TextLanguage): boolean =>
  stopWords.has(word) || (language !== "english" && wordsByLanguage[language].has(word)) || otherScripts.has(word)

const otherScripts: ReadonlySet<string> = new Set(
  (["russian", "arabic", "hindi", "chinese", "japanese"] as const).flatMap((language) => [...wordsByLanguage[language]])
)
