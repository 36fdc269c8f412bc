/**
 * Whether the citations of an answer that a model wrote have what it asserts: its predicates, and its denials. The words of
 * the question are the asker's own; of a question for yes or no they are the very claim, and back nothing.
 */
import { queryTerms } from "@muniment/engine/text/Tokenizer"
import { negatorsIn } from "../speech/Mood.ts"
import { writtenOut } from "../speech/WrittenOut.ts"
import { partAsked } from "./AnswerPart.ts"
import { sentencesOf } from "./QuotedSentence.ts"

/** `answer`: without its dates. `cited`: the texts of its citations. */
export const isClaimCarried = (answer: string, cited: ReadonlyArray<string>, question: string): boolean => {
  const told = cited.flatMap(sentencesOf).flatMap(partsOf).map(readPart)
  const known = new Set([...told.flatMap(({ terms }) => [...terms]), ...people])
  const isYesNo = partAsked(question.toLowerCase()) === "yesNo"
  if (!isYesNo) for (const term of queryTerms(question)) known.add(term)
  return sentencesOf(answer)
    .map((sentence) => sentence.replace(/^(?:yes|no)\b[,.;:!]?\s*/i, ""))
    .flatMap(partsOf)
    .map(readPart)
    .every((part) => isCarried(part, known) && isDeniedAlike(part, told))
}

/** Who is spoken of without a name, and prepositions of times that were taken out. */
const people: ReadonlySet<string> = new Set(queryTerms("user assistant speaker since until till ago"))

interface Part {
  readonly terms: ReadonlySet<string>
  readonly isDenied: boolean
}

/** Predicates that are joined stand each by itself. */
const partsOf = (sentence: string): ReadonlyArray<string> => sentence.split(/[,;:]\s+|\s+(?:and|but)\s+/i)

const readPart = (text: string): Part => ({
  terms: new Set(queryTerms(text).filter((term) => !/^\d/.test(term))),
  isDenied: negatorsIn(writtenOut(text)).length > 0
})

/** From so many words on, one may be the model's. */
const FREE_FROM = 5

const isCarried = ({ terms }: Part, known: ReadonlySet<string>): boolean =>
  terms.difference(known).size <= (terms.size < FREE_FROM ? 0 : 1)

/** Of what the citations say in most of its words, something is denied as it is, or stated as it is. */
const isDeniedAlike = ({ isDenied, terms }: Part, told: ReadonlyArray<Part>): boolean => {
  const shared = told.map((one) => one.terms.intersection(terms).size)
  const most = Math.max(0, ...shared)
  if (most === 0) return !isDenied
  return told.some((one, at) => shared[at] === most && one.isDenied === isDenied)
}
