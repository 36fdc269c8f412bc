/** The part of a memory that is quoted, with what is known of it. Nothing is reworded. */
import { stopWords } from "@muniment/language/text/Language"
import { tokenize } from "@muniment/language/text/Tokenizer"
import { sentencesOf } from "@muniment/language/speech/WrittenOut"
import { type Clause, clausesOf } from "@muniment/language/speech/Clause"
import { type MemoryStatement, readStatement } from "./MemoryStatement.ts"
import { plainText } from "@muniment/language/text/VisibleText"
import type { Question } from "@muniment/language/question/Question"
import type { Evidence } from "./WrittenAnswer.ts"

export interface Quote {
  readonly memory: Evidence
  readonly statement: MemoryStatement
  readonly text: string
  /** Stems of the quote, of the subject, and of words that match without being said. */
  readonly terms: ReadonlySet<string>
  /** Clauses of a message, in its own words. */
  readonly clauses: ReadonlyArray<Clause>
}

/** Hits that are read, and characters of them together: bound the cost of a question. */
const EVIDENCE_MAX = 100
const EVIDENCE_LENGTH_MAX = 24_000

/** In the order of the evidence, best first. */
export const readQuotes = (asked: Question, evidence: ReadonlyArray<Evidence>): ReadonlyArray<Quote> => {
  const words = new Set([...asked.terms, ...asked.names.flat()])
  let length = 0
  return evidence.slice(0, EVIDENCE_MAX).flatMap((memory) => {
    const statement = readStatement(memory)
    if (statement.text === "" || length + statement.text.length > EVIDENCE_LENGTH_MAX) return []
    length += statement.text.length
    const text = quotedSentence(statement.text, words)
    const read = withWholeWords(text, words)
    const terms = new Set(tokenize(`${read} ${statement.subject ?? ""} ${statement.unsaid}`))
    return [{ memory, statement, text, terms, clauses: statement.speaker === undefined ? [] : clausesOf(read) }]
  })
}

/** A compound of which the question has a part alone is another word: a brother-in-law is no brother. */
const withWholeWords = (text: string, asked: ReadonlySet<string>): string =>
  text.replaceAll(/\p{L}+(?:-\p{L}+)+/gu, (compound) => {
    const stems = tokenize(compound).filter((stem) => !stopWords.has(stem))
    const isOther = stems.some((stem) => asked.has(stem)) && !stems.every((stem) => asked.has(stem))
    return isOther ? compound.replaceAll("-", "") : compound
  })

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

/** Least share of a memory's words that the message has from which it was extracted. */
const SOURCE_SHARE_MIN = 0.7

/** The quoted message from which a memory was extracted: by its key, else by its words. */
const sourceOf = (quote: Quote, quotes: ReadonlyArray<Quote>): Quote | undefined => {
  if (quote.statement.speaker !== undefined) return quote
  const keys = quote.memory.sources
  // It was corrected since.
  if (keys?.length === 0) return undefined
  const known = quotes.find(
    ({ memory, statement }) => statement.speaker !== undefined && memory.sources?.some((key) => keys?.includes(key))
  )
  if (known !== undefined) return known
  const own = new Set([...quote.terms].filter((term) => !/^\d|^(?:user|utc)$/.test(term)))
  const shareIn = ({ terms }: Quote): number => own.intersection(terms).size / Math.max(1, own.size)
  const messages = quotes.filter(({ statement }) => statement.speaker !== undefined)
  const [best] = messages.toSorted((left, right) => shareIn(right) - shareIn(left))
  return best !== undefined && shareIn(best) >= SOURCE_SHARE_MIN ? best : undefined
}

/** When it was said, and where in its conversation: messages of one request, or of one moment, are in order all the same. */
export interface SaidAt {
  readonly millis: number
  readonly position: number
}

/** Time of saying: that of its message for an extracted memory, else of storing. */
export const saidAt = (quote: Quote, quotes: ReadonlyArray<Quote>): SaidAt => {
  const source = sourceOf(quote, quotes)
  return {
    millis: Date.parse(source?.statement.speaker?.saidOn ?? "") || quote.memory.createdAt,
    position: source?.memory.turn?.position ?? 0
  }
}

/** Positive where `one` is the later. */
export const byTime = (one: SaidAt, other: SaidAt): number => one.millis - other.millis || one.position - other.position

/** How many messages behind the one that the quote is, or was taken from; undefined: in no order. */
export const messagesBehind = (quote: Quote, other: Quote, quotes: ReadonlyArray<Quote>): number | undefined => {
  const [before, after] = [sourceOf(quote, quotes)?.memory.turn, other.memory.turn]
  return before === undefined || after === undefined || before.conversation !== after.conversation
    ? undefined
    : after.position - before.position
}

/** All that was said where it was said; of what was stored directly its own text. */
export const saidWith = (quote: Quote, quotes: ReadonlyArray<Quote>): string =>
  (sourceOf(quote, quotes) ?? quote).statement.text

/** Empty where no message is known. Speakers without a name are one for each owner of memories. */
export const speakerOf = (quote: Quote, quotes: ReadonlyArray<Quote>): string => {
  const source = sourceOf(quote, quotes)
  const speaker = source?.statement.speaker
  return speaker === undefined ? "" : `${speaker.role} ${speaker.name ?? source?.memory.owner ?? ""}`
}
