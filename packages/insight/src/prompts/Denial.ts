/** Whether a sentence denies what a text states in the same words, or states what it denies. */
import { queryTerms, tokenize } from "@muniment/engine/text/Tokenizer"
import { negatorsIn } from "../speech/Mood.ts"
import { writtenOut } from "../speech/WrittenOut.ts"
import { sentencesOf } from "../text/Sentences.ts"

/** A clause of the texts has nearly all its words, and denies where it states, or the other way round; none agrees with it. */
export const isDenied = (sentence: string, texts: ReadonlyArray<string>): boolean => {
  const own = partOf(sentence)
  if (own.terms.size < 2) return false
  const told = texts
    .flatMap(sentencesOf)
    .flatMap(clausesIn)
    .map(partOf)
    .filter(({ terms }) => terms.intersection(own.terms).size >= SHARE_MIN * own.terms.size)
  return told.length > 0 && told.every((part) => part.isDenied !== own.isDenied)
}
const SHARE_MIN = 0.8
const denials: ReadonlySet<string> = new Set(tokenize("not never no none nobody nothing neither nor without cannot"))

export const clausesIn = (sentence: string): ReadonlyArray<string> =>
  sentence.split(/[,;:]\s+|\s*[()]\s*|\s+(?:and|but)\s+/i)

const partOf = (text: string) => ({
  terms: new Set(queryTerms(text).filter((term) => !denials.has(term))),
  isDenied: negatorsIn(writtenOut(text)).length > 0
})
