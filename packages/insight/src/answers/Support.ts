/**
 * How far a passage supports an answer, 0..1: how much of the question's words it holds (rare ones
 * count more), and the search's relevance. No support at all: another person, nothing new, or the part
 * that is asked for is not there. Weights and thresholds: README.md, decisions.
 */
import { relatedTerms } from "./Concepts.ts"
import { hasAnswerPart } from "./AnswerParts.ts"
import type { Cast, Passage } from "./Passage.ts"
import type { Question } from "./Question.ts"
import { stopWords } from "@muniment/engine/recall/StopWords"

export interface Support {
  readonly passage: Passage
  readonly score: number
  /** Weighted share of the question's words that it holds. */
  readonly coverage: number
  /** Question words that it holds, by themselves or by a relative. */
  readonly covered: ReadonlySet<string>
}

const COVERAGE_SHARE = 0.7
/** Says what was, and the question asks what is; or the other way round. */
const WRONG_TENSE = 0.8
/** About somebody else, who is only named in it. */
const OTHER_SUBJECT = 0.8
const NAMED_BY_RELATION = 0.9
const SAME_BEGINNING = 0.75
const BEGINNING_LENGTH = 5
const ENDING_LENGTH_MAX = 4

/** Every passage that supports an answer at all, best first; ties newer first. */
export const findSupport = (
  question: Question,
  passages: ReadonlyArray<Passage>,
  cast: Cast
): ReadonlyArray<Support> => {
  const names = new Set(question.names.flat())
  const matches = passages.map((passage) => {
    const isMeant = isByRelation(question, passage, cast)
    return question.terms.map((term) =>
      Math.max(matchOf(term, passage, cast), isMeant && names.has(term) ? NAMED_BY_RELATION : 0)
    )
  })
  const weights = question.terms.map((_, at) => {
    const holders = matches.filter((row) => row[at]! > 0).length
    return Math.log(1 + (passages.length + 1) / (holders + 1))
  })
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const asked = new Set([...question.terms, ...names])
  return passages
    .flatMap((passage, at): ReadonlyArray<Support> => {
      if (!isAboutIt(question, passage, cast) || !hasNews(question, passage, asked)) return []
      if (!hasAnswerPart(question.type, passage.statement, asked)) return []
      const row = matches[at]!
      const coverage = total === 0 ? 0 : row.reduce((sum, match, term) => sum + match * weights[term]!, 0) / total
      const covered = new Set(question.terms.filter((_, term) => row[term]! > 0))
      const known = COVERAGE_SHARE * coverage + (1 - COVERAGE_SHARE) * passage.memory.relevance
      return [{ passage, score: known * penalty(question, passage, cast), coverage, covered }]
    })
    .sort((left, right) => right.score - left.score || right.passage.memory.createdAt - left.passage.memory.createdAt)
}

/** 1: the word itself; less: a relative of it; 0: none. */
const matchOf = (term: string, { terms }: Passage, cast: Cast): number => {
  if (terms.has(term) || (cast.asker.has(term) && terms.has("user"))) return 1
  for (const name of cast.byRelation.get(term) ?? []) if (terms.has(name)) return NAMED_BY_RELATION
  const related = relatedTerms(term)
  let best = 0
  for (const held of terms) {
    const relation = related.get(held) ?? (haveSameBeginning(term, held) ? SAME_BEGINNING : 0)
    if (relation > best) best = relation
  }
  return best
}

/** "allergi" and "allerg": what the stemmer leaves of one family. */
const haveSameBeginning = (term: string, held: string): boolean => {
  if (!term.startsWith(held.slice(0, BEGINNING_LENGTH)) || held.length < BEGINNING_LENGTH) return false
  let same = BEGINNING_LENGTH
  while (same < term.length && same < held.length && term[same] === held[same]) same += 1
  return same * 2 > Math.max(term.length, held.length) && Math.max(term.length, held.length) - same <= ENDING_LENGTH_MAX
}

/** "Alice's sister" names Alice and is about Anna. */
const isByRelation = (question: Question, { terms }: Passage, { byRelation }: Cast): boolean =>
  question.terms.some((term) => [...(byRelation.get(term) ?? [])].some((name) => terms.has(name)))

const isAboutIt = (question: Question, passage: Passage, cast: Cast): boolean => {
  const holds = (term: string): boolean => passage.terms.has(term) || (cast.asker.has(term) && isOfAsker(passage, cast))
  const isMeant = isByRelation(question, passage, cast)
  if (!isMeant && !question.names.every((name) => name.filter(holds).length * 2 >= name.length)) return false
  const { focus, liking } = question
  if (focus.length > 0 && !focus.some((term) => holds(term) || matchOf(term, passage, cast) > 0)) return false
  if (liking !== undefined && !isOfLiking(liking, passage)) return false
  // Of the asker: his own memory, or one of whom the question names ("my sister", "my trip with Bob").
  return (
    !question.isOfAsker ||
    isOfAsker(passage, cast) ||
    question.names.flat().some(holds) ||
    isMeant ||
    question.terms.some((term) => passage.subject.has(term))
  )
}

/** A preference has a sign; other memories may speak of likings in any way. */
const isOfLiking = (liking: "likes" | "dislikes", { memory }: Passage): boolean => {
  const type = memory.kind === "preference_memory" ? memory.data["preferenceType"] : undefined
  return typeof type !== "string" || (type === "dislikes" || type === "avoids") === (liking === "dislikes")
}

const isOfAsker = ({ subject, terms }: Passage, { asker }: Cast): boolean =>
  subject.size === 0 || [...asker].some((name) => subject.has(name) || terms.has(name))

/** Repeating the question answers nothing, unless it asks whether. */
const hasNews = (question: Question, { terms, subject, statement }: Passage, asked: ReadonlySet<string>): boolean => {
  if (question.type === "yesNo" || (question.type === "date" && statement.date !== undefined)) return true
  const isNew = (term: string): boolean => !asked.has(term) && !stopWords.has(term)
  return [...terms].some((term) => isNew(term) && !subject.has(term)) || [...subject].some(isNew)
}

const penalty = (question: Question, passage: Passage, cast: Cast): number => {
  const tense = passage.isOfPast && !question.isOfPast ? WRONG_TENSE : 1
  const isOther =
    passage.subject.size > 0 &&
    question.names.length > 0 &&
    question.type !== "person" &&
    !question.names.flat().some((name) => passage.subject.has(name)) &&
    !(isOfAsker(passage, cast) && question.names.flat().some((name) => cast.asker.has(name)))
  return isOther ? tense * OTHER_SUBJECT : tense
}
