/**
 * Support of a passage for an answer, 0..1: weighted share of the question's words (rare ones count more), and the
 * relevance of the search. Zero if it is about another person, says nothing new, or lacks the part that is asked for.
 * Weights and thresholds: README.md, Answers.
 */
import { relatedTerms } from "./Concepts.ts"
import { hasAnswerPart } from "./AnswerParts.ts"
import type { Cast, Passage } from "./Passage.ts"
import type { Question } from "./Question.ts"
import { stopWords } from "@muniment/engine/text/StopWords"

export interface Support {
  readonly passage: Passage
  readonly score: number
  /** Weighted share of the question's words in the passage. */
  readonly coverage: number
  /** Words of the question that it holds, themselves or as a related word. */
  readonly covered: ReadonlySet<string>
}

const COVERAGE_SHARE = 0.7
/** Tense differs: a passage about the past for a question about the present, or the reverse. */
const WRONG_TENSE = 0.8
/** The person asked about is mentioned, but is not the subject. */
const OTHER_SUBJECT = 0.8
const NAMED_BY_RELATION = 0.9
const SAME_BEGINNING = 0.75
const BEGINNING_LENGTH = 5
const ENDING_LENGTH_MAX = 4

/** Passages with support above zero, best first; equal ones newer first. */
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

/** 1: the word itself; less: a related word; 0: neither. */
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

/** "allergi" and "allerg": different stems of one word family. */
const haveSameBeginning = (term: string, held: string): boolean => {
  if (!term.startsWith(held.slice(0, BEGINNING_LENGTH)) || held.length < BEGINNING_LENGTH) return false
  let same = BEGINNING_LENGTH
  while (same < term.length && same < held.length && term[same] === held[same]) same += 1
  return same * 2 > Math.max(term.length, held.length) && Math.max(term.length, held.length) - same <= ENDING_LENGTH_MAX
}

/** "Alice's sister" mentions Alice, but its subject is Anna. */
const isByRelation = (question: Question, { terms }: Passage, { byRelation }: Cast): boolean =>
  question.terms.some((term) => [...(byRelation.get(term) ?? [])].some((name) => terms.has(name)))

const isAboutIt = (question: Question, passage: Passage, cast: Cast): boolean => {
  const holds = (term: string): boolean => passage.terms.has(term) || (cast.asker.has(term) && isOfAsker(passage, cast))
  const isMeant = isByRelation(question, passage, cast)
  if (!isMeant && !question.names.every((name) => name.filter(holds).length * 2 >= name.length)) return false
  const { focus, liking } = question
  if (focus.length > 0 && !focus.some((term) => holds(term) || matchOf(term, passage, cast) > 0)) return false
  if (liking !== undefined && !isOfLiking(liking, passage)) return false
  // About the asker: a memory about the asker, or about a person whom the question names ("my trip with Bob").
  return (
    !question.isOfAsker ||
    isOfAsker(passage, cast) ||
    question.names.flat().some(holds) ||
    isMeant ||
    question.terms.some((term) => passage.subject.has(term))
  )
}

/** Compares the sign of a preference; other memories pass. */
const isOfLiking = (liking: "likes" | "dislikes", { memory }: Passage): boolean => {
  const type = memory.kind === "preference_memory" ? memory.data["preferenceType"] : undefined
  return typeof type !== "string" || (type === "dislikes" || type === "avoids") === (liking === "dislikes")
}

const isOfAsker = ({ subject, terms }: Passage, { asker }: Cast): boolean =>
  subject.size === 0 || [...asker].some((name) => subject.has(name) || terms.has(name))

/** A passage that only repeats the question answers nothing, except a yes-no question. */
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
