/**
 * Answers without a model: quotes one to three statements of the memories that support the question best, or says that
 * nothing is known. Nothing is concluded or reworded, so an answer cannot say what no memory says.
 *
 * Runs on the event loop: a few milliseconds at the bounds named in `Passage.ts`. Deterministic.
 */
import { castOf, type Passage, readPassages } from "./Passage.ts"
import { readQuestion, type Question } from "./Question.ts"
import { findSupport, type Support } from "./Support.ts"
import { withoutReplaced } from "./Updates.ts"
import { type Evidence, unanswered, type WrittenAnswer } from "./WrittenAnswer.ts"

export const STATEMENTS_MAX = 3
export const ANSWER_LENGTH_MAX = 600

/** Least support of the best statement; below it nothing is known. Measured: README.md, Decisions on answers. */
const SUPPORT_MIN = 0.41
const COVERAGE_MIN = 0.35
/** Least support of a further statement, relative to the best one. */
const FURTHER_SHARE_MIN = 0.85
/** Two statements with a larger share of common words count as the same. */
const SAME_MIN = 0.75

export const extractiveAnswer = (question: string, evidence: ReadonlyArray<Evidence>): WrittenAnswer => {
  const asked = readQuestion(question)
  const passages = readPassages(evidence)
  const supports = withoutReplaced(findSupport(asked, passages, castOf(passages)), asked.isOfPast)
  const [best] = supports
  if (best === undefined || best.score < SUPPORT_MIN || best.coverage < COVERAGE_MIN) return unanswered("extractive")
  const chosen = choose(asked, best, supports)
  return {
    answer: chosen.map(({ passage }) => saidFor(asked, passage)).join(" "),
    citations: chosen.map(({ passage }) => passage.memory.id),
    grounded: true,
    method: "extractive"
  }
}

/** For "when": appends the date that the memory has outside of its text. */
const saidFor = ({ type }: Question, { statement: { text, date } }: Passage): string =>
  type === "date" && date !== undefined ? `${text.replace(/\.$/, "")} (${date}).` : text

const choose = (question: Question, best: Support, supports: ReadonlyArray<Support>): ReadonlyArray<Support> => {
  const chosen = [best]
  let length = best.passage.statement.text.length
  for (const support of supports.slice(1)) {
    if (chosen.length === STATEMENTS_MAX) break
    const { passage, score } = support
    const isGoodEnough = score >= SUPPORT_MIN && score >= best.score * FURTHER_SHARE_MIN
    const isNew = chosen.every((other) => other.passage.memory.id !== passage.memory.id && !isSame(other, support))
    const isFitting = length + 1 + passage.statement.text.length <= ANSWER_LENGTH_MAX
    if (!isGoodEnough || !isNew || !isFitting) continue
    // "Who", "where" and "when" usually have one answer: a further statement must cover as much as the first.
    if (singular.has(question.type) && support.covered.size < best.covered.size) continue
    chosen.push(support)
    length += 1 + passage.statement.text.length
  }
  return chosen
}

const singular: ReadonlySet<Question["type"]> = new Set(["person", "place", "date", "quantity", "frequency"])

const isSame = (left: Support, right: Support): boolean => {
  const [smaller, larger] = [left.passage.terms, right.passage.terms].sort((one, other) => one.size - other.size)
  const common = [...smaller!].filter((term) => larger!.has(term)).length
  return common >= SAME_MIN * larger!.size
}
