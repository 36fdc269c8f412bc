/**
 * The part of a memory that is quoted: all of a short text, of a longer one the two adjacent sentences that hold most
 * of the question's terms. Nothing is reworded; only resolved dates are added, in brackets.
 */
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { sentencesOf } from "../text/Sentences.ts"
import { plainText } from "./PlainText.ts"

export const QUOTE_LENGTH_MAX = 300
/** Sentences looked at; bounds the cost of a long text. */
const SENTENCES_MAX = 120

/** At most `QUOTE_LENGTH_MAX` UTF-16 units. */
export const quotedSentence = (text: string, terms: ReadonlySet<string>): string => {
  if (text.length <= QUOTE_LENGTH_MAX) return text
  const sentences = sentencesOf(text).slice(0, SENTENCES_MAX)
  const held = sentences.map((sentence) => new Set(tokenize(sentence).filter((term) => terms.has(term))))
  let best = 0
  let most = -1
  for (const [at, own] of held.entries()) {
    const count = own.union(held[at + 1] ?? new Set()).size
    // The pair whose first sentence holds a term says more of it than the pair that ends with it.
    const score = count + (own.size > 0 ? 0.5 : 0)
    if (score > most) [best, most] = [at, score]
  }
  const pair = sentences.slice(best, best + 2).join(" ")
  return plainText(pair.length <= QUOTE_LENGTH_MAX ? pair : sentences[best]!, QUOTE_LENGTH_MAX)
}

/** Ends with a question: what was asked is not what is known. */
export const asksOnly = (text: string): boolean => sentencesOf(text).every((sentence) => /\?["'”’)]?$/u.test(sentence))
