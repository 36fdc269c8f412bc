/**
 * One quote, and what is known of it. A reply is read together with the question before it in the conversation: "Where
 * do we track bugs?" "In the Linear board" says where bugs are tracked.
 */
import { queryTerms, tokenize } from "@muniment/engine/text/Tokenizer"
import { stopWords } from "@muniment/engine/text/StopWords"
import { isRelation } from "../rules/People.ts"
import { type Clause, clausesOf } from "./Clause.ts"
import { partAsked } from "./AnswerPart.ts"
import { type MemoryStatement, readStatement } from "./MemoryStatement.ts"
import type { PartName } from "./PartName.ts"
import type { Question } from "./Question.ts"
import { sentencesOf } from "../text/Sentences.ts"
import { asksOnly, quotedSentence } from "./QuotedSentence.ts"
import type { Evidence } from "./WrittenAnswer.ts"

export interface Quote {
  readonly memory: Evidence
  readonly statement: MemoryStatement
  readonly text: string
  /** Stems of the quote, of the question that it replies to, of the subject, and of words that match without being said. */
  readonly terms: ReadonlySet<string>
  readonly sentences: ReadonlyArray<QuotedClause>
  /** Of a message, in its own words. */
  readonly clauses: ReadonlyArray<Clause>
  /** Of the memory, or of the question that it replies to where that one fits better. */
  readonly relevance: number
  /** The question of somebody else that it replies to, if that was found too. */
  readonly replyTo: RepliedQuestion | undefined
}

interface QuotedClause {
  readonly text: string
  readonly terms: ReadonlySet<string>
}

export interface RepliedQuestion {
  readonly memory: Evidence
  readonly statement: MemoryStatement
  readonly text: string
  /** Of a short one ("how come?") also those of what was said before it. */
  readonly terms: ReadonlySet<string>
  /** What it asks for. */
  readonly part: PartName
  readonly relevance: number
}

/** Hits that are read, and characters of them together: bound the cost of a question. */
const EVIDENCE_MAX = 100
const EVIDENCE_LENGTH_MAX = 24_000

/** In the order of the evidence, best first. */
export const readQuotes = (asked: Question, evidence: ReadonlyArray<Evidence>): ReadonlyArray<Quote> => {
  const words = new Set([...asked.terms, ...asked.names.flat()])
  let length = 0
  const read = evidence.slice(0, EVIDENCE_MAX).flatMap((memory) => {
    const statement = readStatement(memory)
    if (statement.text === "" || length + statement.text.length > EVIDENCE_LENGTH_MAX) return []
    length += statement.text.length
    return [{ memory, statement, text: quotedSentence(statement.text, words) }]
  })
  const byTurn = new Map(read.flatMap((one) => (one.memory.turn ? [[turnKey(one.memory.turn, 0), one] as const] : [])))
  return read.map((one) => {
    const { turn } = one.memory
    const before = turn && byTurn.get(turnKey(turn, -1))
    return quoteOf(asked, one, before && repliedQuestion(one, before, turn && byTurn.get(turnKey(turn, -2))))
  })
}

type ReadMemory = Pick<Quote, "memory" | "statement" | "text">

const turnKey = ({ conversation, position }: NonNullable<Evidence["turn"]>, offset: number): string =>
  `${position + offset} ${conversation}`

const quoteOf = (
  asked: Question,
  { memory, statement, text }: ReadMemory,
  replyTo: RepliedQuestion | undefined
): Quote => {
  const own = sentencesOf(text).map((one) => ({ text: one, terms: new Set(tokenize(withWholeWords(asked, one))) }))
  const sentences = replyTo === undefined ? own : [replyTo, ...own]
  const unsaid = new Set(tokenize(`${statement.subject ?? ""} ${statement.unsaid}`))
  const terms = sentences.reduce((all, one) => all.union(one.terms), unsaid)
  const relevance = Math.max(memory.relevance, replyTo?.relevance ?? 0)
  const clauses = statement.speaker === undefined ? [] : clausesOf(withWholeWords(asked, text))
  return { memory, statement, text, terms, sentences, clauses, relevance, replyTo }
}

/**
 * A compound of which the question has a part alone is one word, and another one: a brother-in-law is no brother. Where no
 * relative and no yes or no is asked for, its parts may tell: "my X-ray".
 */
const withWholeWords = ({ part, text: question }: Question, text: string): string => {
  if (!text.includes("-")) return text
  const asked = new Set(tokenize(question))
  return text.replaceAll(COMPOUND, (compound) => {
    const stems = tokenize(compound).filter((stem) => !stopWords.has(stem))
    const isWhole = part === "yesNo" || compound.split("-").some(isRelation)
    const isOther = stems.some((stem) => asked.has(stem)) && !stems.every((stem) => asked.has(stem))
    return isWhole && isOther ? compound.replaceAll("-", "") : compound
  })
}
const COMPOUND = /\p{L}+(?:-\p{L}+)+/gu

/** Longer messages that end with a question tell something else before. */
const QUESTION_LENGTH_MAX = 160

/** With fewer words of its own it asks about what was said before. */
const OWN_TERMS_MIN = 3

const repliedQuestion = (
  reply: ReadMemory,
  { memory, statement, text }: ReadMemory,
  before: ReadMemory | undefined
): RepliedQuestion | undefined => {
  if (isSameSpeaker(reply.statement, statement) || asksOnly(reply.text) || text.length > QUESTION_LENGTH_MAX) {
    return undefined
  }
  const last = sentencesOf(text).at(-1) ?? ""
  if (!/\?["'”’)]?$/u.test(last) && (/[.!]["'”’)]?$/u.test(last) || !ASKS.test(last))) return undefined
  const own = new Set(queryTerms(last))
  const about = own.size < OWN_TERMS_MIN ? before : undefined
  return {
    memory,
    statement,
    text: last.endsWith("?") ? last : `${last}?`,
    terms: new Set(tokenize(last)).union(new Set(tokenize(about?.text ?? ""))),
    part: partAsked(last.toLowerCase()),
    relevance: Math.max(memory.relevance, about?.memory.relevance ?? 0)
  }
}

/** Terse questions without a mark. */
const ASKS =
  /^(?:(?:so|and|but|ok|wait|hey|lol),? )*(?:who|whose|what|whats|where|when|why|how|which|since when|do|does|did|is|are|was|were|can|will|have|has)\b/i

const isSameSpeaker = ({ speaker: one }: MemoryStatement, { speaker: other }: MemoryStatement): boolean =>
  one === undefined || other === undefined || (one.role === other.role && one.name === other.name)
