/**
 * Hard conditions of a quote: it has the part that is asked for, and is of the person, the thing, the liking and the years
 * that the question names. None of them weighs anything; weights are in `GroundedGate.ts`.
 */
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { hasPart } from "./AnswerPart.ts"
import type { AskedSubject } from "./AskedSubject.ts"
import { clausesOf } from "./Clause.ts"
import { isRelation } from "../rules/People.ts"
import { type HitList, isAssistant } from "./HitList.ts"
import type { Identities } from "./Identities.ts"
import { isUser, type MemoryStatement } from "./MemoryStatement.ts"
import type { Question } from "./Question.ts"
import type { Quote } from "./Quote.ts"
import { saysDifferenceAlone } from "./SaidValue.ts"
import { slotNouns, slotStated } from "./SlotValue.ts"
import { daysWritten, hasWrittenDate, isAhead, spokenDates } from "./SpokenDate.ts"

export const wordsOf = ({ names, terms }: Question): ReadonlySet<string> => new Set([...terms, ...names.flat()])

/** `text`: what is looked at instead of the quote's own. */
export const hasPartAsked = (question: Question, quote: Quote, text: string): boolean =>
  givesReason(question, quote) || hasPartOf(question, quote, text)

const hasPartOf = (question: Question, { statement }: Quote, text: string): boolean =>
  (question.part !== "date" ||
    statement.speaker === undefined ||
    isDatedBy(question, text, statement.speaker.saidOn)) &&
  hasPart(question.part, { ...statement, text, date: dateAsked(statement) }, wordsOf(question))

/** "How come?" "The boiler broke": a reason in any form. */
export const givesReason = ({ part }: Question, { replyTo }: Quote): boolean =>
  part === "reason" && replyTo?.part === "reason"

/** A day that the words fix, a habit, or for "what time" a clock time; of what was done no day that was still to come. */
const isDatedBy = ({ isWhenDone, text: question }: Question, text: string, saidOn: string | undefined): boolean => {
  if (/\b(?:what|which) time\b/i.test(question)) return CLOCK.test(text)
  const spoken = spokenDates(text, saidOn)
  const written = daysWritten(text, saidOn)
  if (!isWhenDone) {
    return spoken.length + written.length > 0 || ORDINAL.test(text) || (!/\bdate\b/i.test(question) && HABIT.test(text))
  }
  const day = saidOn?.slice(0, "2024-01-02".length) ?? ""
  return spoken.some(({ from }) => from <= day) || written.some((days) => days.some((one) => one <= day))
}
const CLOCK = /\d:\d\d|\b\d{1,2} ?[ap]\.?m\b|\bnoon\b|\bmidnight\b|\bat \d{1,2}\b(?!:)/i
const HABIT = /\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:every|each) \p{L}+)\b|\d:\d\d|\b\d{1,2} ?[ap]m\b/iu
const ORDINAL = /\bthe \d{1,2}(?:st|nd|rd|th)\b/i

/** The right speaker or subject, year and liking. */
export const isOfQuestion = (question: Question, quote: Quote, list: HitList): boolean => {
  const { identities } = list
  const isMeant = isOfSlot(question, quote, identities) && (question.names.length > 0 || question.isOfAsker)
  return (
    agreement(question, quote, list) > 0 &&
    (isMeant || isAbout(question, quote, identities)) &&
    isOfLiking(question, quote) &&
    !repliesToOther(question, quote) &&
    !isOfOther(question, quote) &&
    !isContrary(question, quote) &&
    isOfRelative(question, quote, identities) &&
    !isOfTheirs(question, quote) &&
    !isDoneByOther(question, quote, identities) &&
    !(asksState(question) && saysDifferenceAlone(quote.text)) &&
    !(question.isWhenDone && isToCome(quote)) &&
    isOfYears(question, quote)
  )
}

/** A stored statement holds the subject of the question, and any quote the thing whose name or day is asked for. */
const isAbout = ({ focus, isWhenDue, part }: Question, quote: Quote, identities: Identities): boolean =>
  focus.length === 0 ||
  (quote.statement.speaker !== undefined && part !== "name" && !isWhenDue) ||
  focus.some((term) => quote.terms.has(term) || isHeldByName(term, quote, identities))

/** The user by name, a speaker, or a relative by relation. */
export const isHeldByName = (
  term: string,
  { statement, terms }: Quote,
  { byRelation, speakers, user }: Identities
): boolean => {
  const own = ownNames(statement, user)
  const names = byRelation.get(term) ?? new Set<string>()
  return speakers.has(term) || own.has(term) || [...names].some((name) => own.has(name) || terms.has(name))
}

/** Of what the asker calls "my", it states another one's: "Anna's dentist", "her dentist". */
const isOfOther = ({ names, owned }: Question, { text }: Quote): boolean => {
  if (owned.length === 0 || names.length > 0) return false
  const ownersOf = (stem: string): ReadonlyArray<string> =>
    [...text.matchAll(OWNED)].flatMap(([, owner = "", words = ""]) => (tokenize(words).includes(stem) ? [owner] : []))
  return owned.some((stem) => {
    const owners = ownersOf(stem)
    return owners.length > 0 && owners.every((owner) => OTHER.test(owner))
  })
}

/** "How long has he played it?" "Since 2020" says nothing of who plays. */
const repliesToOther = ({ part, topic }: Question, { replyTo, text }: Quote): boolean => {
  if (replyTo?.part === undefined || replyTo.part === part) return false
  const own = new Set(tokenize(text))
  return !topic.some((term) => own.has(term))
}

/**
 * A stored statement says that somebody else does what is asked of a person, to whom it is done: "the user is flying to see
 * the user's mother". What one does with them, they do.
 */
const isDoneByOther = (
  { names, subject: asked }: Question,
  { statement }: Quote,
  { byRelation }: Identities
): boolean => {
  if (statement.speaker !== undefined || statement.isRecord || asked.kind !== "person" || !asksDeed(asked)) return false
  const isName = asked.terms.some((term) => names.flat().includes(term))
  const relation = asked.rest.match(/[\p{L}-]+/gu)?.find(isRelation)
  // Without a tagger the verb may count among the subject's words.
  const head = isName ? asked.terms : relation === undefined ? asked.terms.slice(0, 1) : tokenize(relation)
  const meant = new Set(head.flatMap((term) => [term, ...(byRelation.get(term) ?? [])]))
  const isMeant = (words: string): boolean => tokenize(words).some((stem) => meant.has(stem))
  if (!isMeant(statement.text) || isMeant(statement.subject ?? "") || statement.participants.some(isMeant)) return false
  if ([...statement.text.matchAll(BESIDE)].some(([, words = ""]) => isMeant(words))) return false
  return clausesOf(statement.text).every(({ subjectTerms }) => subjectTerms.isDisjointFrom(meant))
}
const asksDeed = ({ auxiliary, rest }: AskedSubject): boolean =>
  /^(?:am|is|are|was|were)$/.test(auxiliary) ? /(?<! (?:a|an|the)) \p{L}+ing\b/u.test(rest) : auxiliary !== ""
const BESIDE = /\b(?:with|and) ((?:[\p{L}'’-]+ ?){1,4})/giu

/** "How much is the rent?", not "how much did it go up?" */
export const asksState = ({ part, subject, text }: Question): boolean =>
  part === "amount" && /^(?:is|are|was|were|do|does|)$/.test(subject.auxiliary) && !COMPARES.test(text)
const COMPARES = /\b(?:by|up|down|more|less|extra|than|differen\p{L}+)\b/iu

/** A stored statement of "Ann's dad" is none of Ann. */
const isOfTheirs = ({ subject }: Question, { statement }: Quote): boolean => {
  const [, owner, held] = /^(.+)['’]s (.+)$/su.exec(statement.subject ?? "") ?? []
  if (owner === undefined || held === undefined || subject.kind !== "person") return false
  const [owners, helds] = [tokenize(owner), tokenize(held)]
  return subject.terms.every((term) => owners.includes(term) && !helds.includes(term))
}

/** "My sister's job" is not the speaker's own: she is meant by relation or name. */
const isOfRelative = ({ relatives }: Question, quote: Quote, identities: Identities): boolean =>
  relatives.every((term) => quote.terms.has(term) || isHeldByName(term, quote, identities))

/** "My new camera" is not "my old camera". */
const isContrary = ({ terms: asked }: Question, { terms }: Quote): boolean =>
  contraries.some(
    ([one, other]) =>
      (asked.includes(one) && terms.has(other) && !terms.has(one)) ||
      (asked.includes(other) && terms.has(one) && !terms.has(other))
  )

const contraries = [["new", "old"]] as const

const OWNED = /(\p{L}+['’]s|\b(?:my|our|his|her|their|your|the|an?))((?: [\p{L}-]+){1,2})/giu

const OTHER = /^(?!it|that|there|here|what|who|he|she|user)\p{L}+['’]s$|^(?:his|her|their|your)$/iu

/** All dates in its words were still to come. */
const isToCome = ({ statement, text }: Quote): boolean => {
  const saidOn = statement.speaker?.saidOn
  const dates = spokenDates(text, saidOn)
  return dates.length > 0 && dates.every((date) => isAhead(date, saidOn)) && !hasWrittenDate(text)
}

/** A year that is named is said, or the date of the memory. */
const isOfYears = ({ years }: Question, { statement, text }: Quote): boolean => {
  if (years.length === 0) return true
  const date = dateOf(statement) ?? ""
  const told = [text, date, ...spokenDates(text, date).map(({ resolved }) => resolved)].join(" ")
  return years.some((year) => told.includes(year))
}

/** Compares the sign of a preference; other memories pass. */
const isOfLiking = ({ liking }: Question, { memory }: Quote): boolean => {
  const type = memory.kind === "preference_memory" ? memory.data["preferenceType"] : undefined
  return (
    liking === undefined ||
    typeof type !== "string" ||
    (type === "dislikes" || type === "avoids") === (liking === "dislikes")
  )
}

/** A message always has a date: its own. */
export const dateOf = ({ date, speaker }: MemoryStatement): string | undefined => speaker?.saidOn ?? date

/** What a message states has its day in the words: the day on which it was said is no date of it. */
const dateAsked = (statement: MemoryStatement): string | undefined =>
  statement.speaker === undefined ? statement.date : undefined

/** 1: about the person who is named or asks; .5: no person is named, or the quote names them; 0: about another one. */
export const agreement = (
  question: Question,
  { statement, terms }: Quote,
  { identities, isAlone }: HitList
): number => {
  const { byRelation, speakers, user } = identities
  const own = ownNames(statement, user)
  const isTold = isAlone && statement.speaker !== undefined
  // "My sister": Anna, once a memory says so; then the words must be hers or name her.
  const relatives = question.terms.flatMap((term) => [...(byRelation.get(term) ?? [])])
  if (relatives.length > 0 && statement.speaker === undefined) {
    return relatives.some((stem) => own.has(stem)) ? 1 : relatives.some((stem) => terms.has(stem)) ? 0.5 : 0
  }
  // What an assistant says is advice, and no fact of the one it talks to.
  const isNamed = question.names.some((name) => name.some((stem) => own.has(stem)))
  if (statement.speaker !== undefined && isAssistant(statement.speaker) && !question.isOfAssistant && !isNamed) return 0
  // A speaker's name needs no capital.
  const names = [...question.names, ...question.terms.filter((term) => speakers.has(term)).map((term) => [term])]
  if (names.length > 0) {
    if (names.some((name) => name.some((stem) => own.has(stem)))) return 1
    const isOfSpeaker = names.some((name) => name.some((stem) => speakers.has(stem)))
    return !isOfSpeaker && names.some((name) => name.some((stem) => terms.has(stem))) ? (isTold ? 1 : 0.5) : 0
  }
  if (!question.isOfAsker) return isTold ? 1 : 0.5
  const isMeant = question.terms.some((term) => own.has(term))
  return own.has("user") || statement.speaker?.role === "user" || isMeant ? 1 : 0
}

/** Stems of all names of the one whose words or whose memory it is; `user` for the user. */
export const ownNames = (
  { isRecord, speaker, subject }: MemoryStatement,
  user: ReadonlySet<string>
): ReadonlySet<string> => {
  const named = tokenize(subject ?? "")
  const isOfUser =
    speaker === undefined
      ? isRecord || subject === undefined || isUser(subject) || named.some((stem) => user.has(stem))
      : speaker.role === "user" && (speaker.name === undefined || named.some((stem) => user.has(stem)))
  return new Set(isOfUser ? [...named, ...user, "user"] : named)
}

/** Of the one who is asked about: "Ann's job" is Ann's, but "Where does Ann's boss live?" is about the boss. */
export const isOfSlot = ({ focus, slot }: Question, quote: Quote, identities: Identities): boolean => {
  if (slot === undefined || slotStated(quote.memory, quote.statement, quote.text) !== slot) return false
  return (
    focus.length === 0 ||
    focus.some((term) => slotNouns(slot).has(term) || slot.includes(term) || isHeldByName(term, quote, identities))
  )
}
