/**
 * Check of an answer that a model wrote: a memory that it cites meets the conditions of a quote, and what it says is
 * the newest state among the memories that were found.
 *
 * Invariant: an answer with a value that a newer message may have changed passes only if it cites that message and says
 * something of it that the older one lacks.
 */
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { changesOf } from "./ChangedSince.ts"
import { hitListOf } from "./HitList.ts"
import { type Question, readQuestion } from "./Question.ts"
import { type Quote, readQuotes } from "./Quote.ts"
import { hasPartAsked, isOfQuestion } from "./QuoteConditions.ts"
import { asksOnly } from "./QuotedSentence.ts"
import { byTime, saidAt } from "./QuoteSource.ts"
import { spokenDates } from "./SpokenDate.ts"
import type { Evidence } from "./WrittenAnswer.ts"

/** `evidence`: all that the model was shown, best first. */
export const isAskedFor = (
  question: string,
  answer: string,
  cited: ReadonlyArray<Evidence>,
  evidence: ReadonlyArray<Evidence>
): boolean => {
  const asked = readQuestion(question)
  const quotes = readQuotes(asked, evidence)
  const list = hitListOf(quotes)
  const meant = quotes.filter(
    (quote) =>
      cited.includes(quote.memory) &&
      !asksOnly(quote.text) &&
      isOfQuestion(asked, quote, list) &&
      hasPartAsked(asked, quote, `${answer} ${quote.text}`)
  )
  return meant.length > 0 && isOfNewest(asked, answer, meant, { cited, quotes })
}

interface Shown {
  readonly cited: ReadonlyArray<Evidence>
  readonly quotes: ReadonlyArray<Quote>
}

const isOfNewest = (
  asked: Question,
  answer: string,
  meant: ReadonlyArray<Quote>,
  { cited, quotes }: Shown
): boolean => {
  const changed = meant.map((quote) => ({ quote, changes: changesOf(asked, quote, quotes) }))
  const [newest] = changed
    .flatMap(({ quote, changes }) => [quote, ...changes])
    .toSorted((left, right) => byTime(saidAt(right, quotes), saidAt(left, quotes)))
  if (newest === undefined || !cited.includes(newest.memory)) return false
  const said = new Set(tokenize(answer))
  return changed.every(({ quote, changes }) => !changes.includes(newest) || saysMore(said, newest, quote, asked))
}

const saysMore = (said: ReadonlySet<string>, newer: Quote, older: Quote, { terms }: Question): boolean => {
  const days = spokenDates(newer.text, newer.statement.speaker?.saidOn).map(({ resolved }) => resolved)
  const known = older.terms.union(new Set(terms))
  return newer.terms
    .union(new Set(tokenize(days.join(" "))))
    .values()
    .some((term) => said.has(term) && !known.has(term))
}
