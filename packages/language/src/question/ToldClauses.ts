/**
 * Which clauses of a quoted message are about the one a question asks about: of what somebody says, only what they say
 * of themselves answers a question about them; of others only what names them. What is supposed, reported or over does not.
 */
import { oneOf, phrases } from "../text/OneOf.ts"
import { tokenize } from "../text/Tokenizer.ts"
import { negatorsIn } from "../speech/Mood.ts"
import { writtenOut } from "../speech/WrittenOut.ts"
import type { Clause } from "../speech/Clause.ts"
import type { Identities } from "../people/Identities.ts"
import type { AskedSubject, Question } from "./Question.ts"

export interface ToldBy {
  /** Whether the message is of the one asked about. */
  readonly isOwn: boolean
  readonly identities: Identities
  /** Or of the one whose "job" is asked for. */
  readonly isOwner: boolean
  /** It states the single value that is asked for. */
  readonly statesSlot: boolean
}

/** In order; empty where the message tells nothing of whom the question asks. */
export const toldClauses = (question: Question, clauses: ReadonlyArray<Clause>, told: ToldBy): ReadonlyArray<Clause> =>
  clauses.filter(
    (clause, at) =>
      question.isOfAssistant ||
      ((clause.isAsserted || isAllowed(question, clause)) &&
        !(clause.isOver && question.isOfPresent && question.part !== "reason") &&
        (clause.isOver || !question.isOfPast || told.statesSlot || timed.has(question.part)) &&
        !isDenied(question, clause) &&
        !isIntended(question, clause) &&
        !EVASIVE.test(clause.text) &&
        isTold(question, clause, clauses.slice(0, at), told))
  )

/** "How long may I": what may be is what was asked. */
const isAllowed = ({ text: question }: Question, { text }: Clause): boolean =>
  /\bmay\b/.test(question) && /\bmay\b/.test(text)

/** Their answers tell by themselves when something was. */
const timed: ReadonlySet<string> = new Set(["date", "reason", "yesNo"])

/** "I'm not moving that week" says nothing of when; why somebody does not do it, it may. */
const isDenied = ({ isNegative, part }: Question, { text }: Clause): boolean =>
  part !== "yesNo" && part !== "reason" && !isNegative && negatorsIn(writtenOut(text)).length > 0

/** Replies that name no value. */
const EVASIVE = oneOf(
  phrases(String.raw`
    depends(?: on .+)? / varies / (?:any|some)(?:thing|where|one|body)(?: really| at all| else)? / whatever
    all of (?:it|them) / guess
  `),
  { before: "^(?:(?:well|hm+|um+|oh|honestly|really|just|it|that|i guess),? ?)*", after: "[.!…]*$", flags: "i" }
)

/** "I applied to work there": what is asked for hangs on another verb. */
const isIntended = ({ subject: { auxiliary }, text: question, topic }: Question, { text }: Clause): boolean =>
  auxiliary !== "will" &&
  [...text.matchAll(INFINITIVE)].some(
    ([, verb = ""]) =>
      tokenize(verb).some((stem) => topic.includes(stem)) && !new RegExp(`\\bto ${verb}\\b`, "i").test(question)
  )
/** What one has to do, or is going to, is as good as done. */
const INFINITIVE =
  /(?<!\b(?:have|has|had|having|need|needs|needed|get|gets|got|going|used|able|agreed|decided|planned|not|and|or))\s+to (\p{Ll}+)/giu

const isTold = (
  { names, subject: asked, terms: words, topic }: Question,
  clause: Clause,
  before: ReadonlyArray<Clause>,
  told: ToldBy
): boolean => {
  const { identities, isOwn } = told
  // "Kim's boss Jo" is Jo; "my sister's exam" is not "my exam", nor "my brother's girlfriend" my brother.
  const isOfOther = (): boolean => {
    const known = new Set([...words, ...names.flat()])
    const heads = clause.subjectTerms.difference(clause.ownerTerms)
    if ([...heads].some((term) => FORMER.has(term) && !known.has(term))) return true
    const isNamed = names.flat().some((term) => clause.terms.has(term) && heads.has(term))
    // Of a pronoun the owner is the subject of the clause before, and may be meant.
    const isOfPronoun = clause.ownerTerms.isDisjointFrom(clause.terms) && !/^\W*(?:his|her|their)\b/i.test(clause.text)
    const isHeld = !heads.isDisjointFrom(known) || isOfPronoun
    const isTheirs = clause.ownerTerms.isSubsetOf(known) && isHeld
    return clause.ownerTerms.size > 0 && !isNamed && !isTheirs
  }
  const meets = (terms: ReadonlyArray<string>): boolean =>
    terms.some((term) => clause.subjectTerms.has(term) || isNamed(term, clause, identities))
  const verb = verbOf(asked)
  const isSpeakers =
    (clause.subject === "speaker" && !(clause.isImplied && isThirdPerson(verb, clause))) ||
    meets(topic.filter((term) => !tokenize(verb).includes(term))) ||
    /\b(?:me|us)\b/i.test(clause.predicate)
  const holds = (terms: ReadonlySet<string> | undefined): boolean =>
    asked.terms.some((term) => terms?.has(term) === true)
  const nearby = before.filter(({ sentence }) => sentence >= clause.sentence - 1)
  if (told.statesSlot && told.isOwner && clause.subject === "speaker") return true
  switch (asked.kind) {
    case "open":
      return true
    case "asker":
      return isOwn && isSpeakers && !isOfOther()
    case "person":
      if (isOfOther()) return false
      // "My rent", "my sister": what is asked of them is who or how much they are, and the clause names them.
      return (
        meets(asked.terms) ||
        (isOwn && isSpeakers) ||
        (isIdentity(asked, topic) &&
          (/^(?:speaker|open)$/.test(clause.subject) ? holds(clause.terms) : isOwned(asked, clause)))
      )
    case "thing":
      // All of its words: another house tells nothing of "the terrace house".
      return (
        meets(asked.terms) ||
        (clause.subject !== "other" &&
          asked.terms.every((term) => [...nearby, clause].some(({ terms }) => terms.has(term))))
      )
  }
}

/** What the asker is or does: in "do I still play" the play. */
const verbOf = ({ kind, rest }: AskedSubject): string =>
  (kind === "asker" ? rest.match(/[\p{L}-]+/gu)?.find((word) => !ADVERB.test(word)) : undefined) ?? ""
const ADVERB = /^(?:now|just|also|still|already|never|always|often|ever|even|not|\p{L}+ly)$/u

/** "kim lives in Bonn", "likes jazz": without a subject that is said, the form of the verb tells that it is not the speaker. */
const isThirdPerson = (verb: string, { text }: Clause): boolean =>
  verb !== "" && new RegExp(`(?<!\\p{L})${verb.replace(/(?<=[^aeou])y$/u, "ie")}e?s(?!\\p{L})`, "iu").test(text)

/** Make of a person or a thing another one: "my ex husband". */
const FORMER: ReadonlySet<string> = new Set(tokenize("ex former late future"))

/** "Dr Weber is my dentist": the noun stands behind "my". */
const isOwned = ({ terms }: AskedSubject, { text }: Clause): boolean =>
  [...text.matchAll(/\b(?:my|our)((?: [\p{L}-]+){1,2})(?!['’]s)/giu)].some(([, words = ""]) =>
    tokenize(words).some((stem) => terms.includes(stem))
  )

const isNamed = (term: string, { subjectTerms }: Clause, { byRelation }: Identities): boolean =>
  [...(byRelation.get(term) ?? [])].some((name) => subjectTerms.has(name))

/** Nothing is asked of it but the part: "how much is my rent", "who is my dentist". */
const isIdentity = ({ auxiliary, terms }: AskedSubject, topic: ReadonlyArray<string>): boolean =>
  /^(?:is|are|was|were|am)$/.test(auxiliary) && topic.every((term) => terms.includes(term))
