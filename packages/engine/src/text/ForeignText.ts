/**
 * Whether a text is plainly not English: for models of English alone, whose vectors say nothing about it. Letters tell
 * other scripts, function words the languages that `Language` knows; a text of which neither is certain counts as English.
 *
 * Invariant: deterministic, linear in the text.
 */
import { foldWord } from "./foldWord.ts"
import { isStopWord, languageOf } from "./Language.ts"
import { stopWords } from "./StopWords.ts"

const letters = /\p{L}/gu
const latinLetters = /\p{Script=Latin}/gu
const words = /[\p{L}\p{M}]+/gu
/** One function word of another language may be part of a name: "del Toro". */
const functionWordsMin = 2

export const isForeign = (text: string): boolean => {
  const all = text.match(letters)?.length ?? 0
  const latin = text.match(latinLetters)?.length ?? 0
  if (2 * latin < all) return true
  const folded = (text.match(words) ?? []).map(foldWord)
  const language = languageOf(text, folded)
  if (language === "english") return false
  return folded.filter((word) => isStopWord(word, language) && !stopWords.has(word)).length >= functionWordsMin
}
