/**
 * Decides whether what a quote says may have changed since: a newer message of the same speaker says the same sort of
 * value about what may be the same thing. Where it cannot be read as the new value (`NewerAnswer.ts`), the older one is
 * no answer to a question about the present either: the hits are shown instead.
 *
 * Any of three signs is enough: the search ranked the newer message first; it states a change and shares a word of what is
 * asked about; it says that something ended or moved and does not name the thing ("they put it up to 15").
 */
import { mayChange } from "@muniment/engine/ranking/AskedMatter"
import { changeSigns } from "@muniment/engine/ranking/ChangeSigns"
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { isInstruction } from "../prompts/InstructionText.ts"
import { hasPart } from "./AnswerPart.ts"
import { statesAgainst } from "./ExclusiveStates.ts"
import type { Quote } from "./Quote.ts"
import type { PartName } from "./PartName.ts"
import { isHedged, isPlainPart, statesPlainly, tellsChange, tellsSwitch, withoutDates } from "./PlainPart.ts"
import type { Question } from "./Question.ts"
import { isWithdrawal, negatorsIn } from "../speech/Mood.ts"
import { writtenOut } from "../speech/WrittenOut.ts"
import { asksOnly } from "./QuotedSentence.ts"
import { asksState } from "./QuoteConditions.ts"
import { slotNouns } from "./SlotValue.ts"
import { countsSaid, saysDifferenceAlone, valuesSaid } from "./SaidValue.ts"
import { byTime, messagesBehind, saidAt, saidRelevance, saidWith, speakerOf } from "./QuoteSource.ts"

/** Hits that are compared with a quote. */
const COMPARED_HITS = 40
/** Of them, those that may change a thing without naming it. */
const FIRST_HITS = 10

/** The newer messages that may have changed it. `quotes`: in the order of the search. */
export const changesOf = (question: Question, quote: Quote, quotes: ReadonlyArray<Quote>): ReadonlyArray<Quote> => {
  const place = quotes.findIndex(({ memory }) => memory === quote.memory)
  const time = saidAt(quote, quotes)
  const speaker = speakerOf(quote, quotes)
  const said = saidWith(quote, quotes)
  return quotes.slice(0, COMPARED_HITS).filter((other, at) => {
    if (other.statement.speaker === undefined || asksOnly(other.text) || byTime(saidAt(other, quotes), time) <= 0)
      return false
    const isOfSpeaker = speakerOf(other, quotes) === speaker
    if (isOfSpeaker && corrects(question, quote, other, quotes)) return true
    if (!question.isOfPresent || isLasting(question)) return false
    const isChange =
      restatesValue(question, quote, other) ||
      (question.part === "date" && namesOtherDay(question, quote, other)) ||
      endsByName(question, other) ||
      (isOfSpeaker &&
        (isRival(question, quote, other, at, place) ||
          endsState(question, quote, other) ||
          endsNamed(quote, other) ||
          unsettlesState(question, quote, other, saidRelevance(quote, quotes)) ||
          endsThat(question, quote, other, quotes) ||
          addsOne(question, quote, other) ||
          unsettles(question, quote, other) ||
          (asksState(question) && sharesMatter(question, other) && saysDifferenceAlone(other.text)) ||
          (sharesMatter(question, other) && changeSigns(other.text).ended > 0)))
    return isChange && mayChange(question.text, said, other.statement.text)
  })
}

export const mayHaveChanged = (question: Question, quote: Quote, quotes: ReadonlyArray<Quote>): boolean =>
  changesOf(question, quote, quotes).length > 0

/** `newer` stands before `older` in the search though it fits the question less, and states its value plainly. */
export const isNewState = (question: Question, older: Quote, newer: Quote, quotes: ReadonlyArray<Quote>): boolean => {
  const { memory, statement, text } = newer
  return (
    question.isOfPresent &&
    !isLasting(question) &&
    statement.speaker !== undefined &&
    memory.relevance < older.memory.relevance &&
    statesPlainly(question.part, text, { topic: question.topic, counted: [] }) &&
    mayChange(question.text, saidWith(older, quotes), statement.text) &&
    tellsOfOtherValue(text) &&
    !namesOther(question, older, newer) &&
    !isOfAnother(question, newer) &&
    // A statement of a change is a new state itself: another one names the thing.
    (!tellsChange(older.text) || sharesMatter(question, newer)) &&
    (movesIt(text) || sharesMatter(question, newer) || sharesMore(question, older, newer)) &&
    !isHedged(text) &&
    // Quoting what gives orders would pass them on.
    !isInstruction(text)
  )
}

/** All of it is about somebody or something else by name: "my wife moved" is no news of where I live. */
const isOfAnother = ({ slot, subject, terms }: Question, { clauses }: Quote): boolean =>
  subject.kind === "asker" &&
  clauses.every(
    (clause) =>
      /^(?:owned|other)$/.test(clause.subject) &&
      clause.subjectTerms.size > 0 &&
      clause.subjectTerms.isDisjointFrom(new Set([...terms, ...slotNouns(slot)])) &&
      !/\b(?:me|us)\b/i.test(clause.predicate)
  )

/** Reasons, births and the like stay what they were. */
const isLasting = ({ part, terms }: Question): boolean => lasting.has(part) || terms.some((term) => births.has(term))
const lasting: ReadonlySet<PartName> = new Set(["reason", "surname", "breed"])
const births: ReadonlySet<string> = new Set(tokenize("born birth birthday"))

/** Messages between a statement and its correction: the listener's, and one of the speaker's own. */
const CORRECTED_WITHIN = 3
const CORRECTION_WORDS_MAX = 12
/** Fewer words than this beside the value name no matter of their own. */
const MATTER_WORDS_MAX = 3

/**
 * Directly behind the quote its speaker takes it back, or says another value of the same sort and nothing else: "Sorry, 241
 * I mean", "Correction: Bergen", "Just kidding".
 */
const corrects = (question: Question, quote: Quote, other: Quote, quotes: ReadonlyArray<Quote>): boolean => {
  const behind = messagesBehind(quote, other, quotes)
  if (behind === undefined || behind > CORRECTED_WITHIN || other.replyTo !== undefined) return false
  if (isWithdrawal(writtenOut(other.text))) return true
  const words = other.text.split(/\s+/)
  if (words.length > CORRECTION_WORDS_MAX) return false
  const isMarked = MARKED.test(other.text)
  const ownWords = words.filter((word) => tokenize(word).some((stem) => !stopWords.has(stem) && !quote.terms.has(stem)))
  return (
    isMarked ||
    (ownWords.length <= MATTER_WORDS_MAX && statesPlainly(question.part, other.text, { topic: [], counted: [] }))
  )
}
/** What opens a correction, or closes it. */
const MARKED =
  /^(?:(?:oh|oops|ah|um|ok|no),? )*(?:correction|sorry|wait|scrap|scratch|oops|no|nope|actually|make that|not|i meant?|i misspoke|rather)\b|\bi mean(?:t)?[.!]*$/i

/** Another day stands beside the matter, said by any speaker. */
const namesOtherDay = (question: Question, quote: Quote, other: Quote): boolean =>
  other.memory.relevance * OTHER_DAY_WITHIN >= quote.memory.relevance &&
  sharesMatter(question, other) &&
  statesPlainly("date", other.text, { topic: [], counted: [] }) &&
  !valuesSaid(other.text).isSubsetOf(valuesSaid(quote.text))
/** Of a message much less relevant the day is that of something else. */
const OTHER_DAY_WITHIN = 4

/** It says that something is over which the quote names: "Miso died", "we left Bergamo". */
const endsNamed = (quote: Quote, other: Quote): boolean => {
  const names = namesIn(quote)
  return other.clauses.some(
    ({ isOver, terms, text }) =>
      (isOver || changeSigns(text).ended > 0 || IS_BEHIND.test(text)) && !terms.isDisjointFrom(names)
  )
}
/** "Rome is history", "bye Rome": of what has a name nothing else can be meant. */
const IS_BEHIND =
  /(?:\b(?:is|are)|['’]s) (?:now |all |just )?(?:history|behind (?:me|us)|a thing of the past|ancient history|over|done|finished|a memory|in the past)\b|\b(?:good ?bye|bye|farewell|so long)\b/i

/**
 * Of what somebody is or does, or who is their wife: the speaker states another state since. Of a yes or no they may also
 * say "again", or something that the search takes for nearer to the question.
 */
const unsettlesState = (question: Question, quote: Quote, other: Quote, relevance: number): boolean => {
  const { isOfAsker, part, relatives, topic } = question
  const isYesNo = part === "yesNo" && isOfSpeaker(question, quote)
  if (!isYesNo && !(isOfAsker && (part === "person" || part === "name"))) return false
  const against = statesAgainst(relatives.length > 0 ? relatives : topic)
  return other.clauses.some(({ isAsserted, ownerTerms, subject, subjectTerms, terms, text }) => {
    const isOwn = subject === "speaker" || subject === "open"
    const isOfBirth = !terms.isDisjointFrom(births) && !subjectTerms.isDisjointFrom(children)
    const isOfState = ownerTerms.size === 0 && (isOwn || isOfBirth || !subjectTerms.isDisjointFrom(against))
    if (!isAsserted) return false
    if (isOfState && !terms.isDisjointFrom(against) && negatorsIn(writtenOut(text)).length === 0) return true
    const near = /\bagain\b/i.test(text) ? AGAIN_NEAR_MIN : 1
    return isYesNo && isOwn && other.memory.relevance > near * relevance
  })
}
/** Of the relevance of the older one: less has nothing to do with the question. */
const AGAIN_NEAR_MIN = 0.25

/** "That number is no longer in use", "don't use the old number": shortly behind it speaks of what was said. */
const endsThat = ({ part, topic }: Question, quote: Quote, other: Quote, quotes: ReadonlyArray<Quote>): boolean =>
  (messagesBehind(quote, other, quotes) ?? Infinity) <= CORRECTED_WITHIN &&
  other.clauses.some(({ text }) => {
    const isOfContact = (words: string): boolean =>
      part === "contact" && tokenize(words).some((stem) => topic.includes(stem))
    return [...text.matchAll(THAT)].some(
      ([, words = ""], at) => (at === 0 && THAT_FIRST.test(text) && changeSigns(text).ended > 0) || isOfContact(words)
    )
  })
const THAT = /\b(?:that|this|(?:the|my|our) old) (\p{Ll}+)/giu
const THAT_FIRST = /^\W*(?:that|this|(?:the|my|our) old) \p{Ll}/iu

/** One more of what is counted, without its name: "our third was born", "we got another one". */
const addsOne = ({ counted }: Question, quote: Quote, other: Quote): boolean =>
  counted.some((term) => quote.terms.has(term)) &&
  other.clauses.some(
    ({ subject, subjectTerms, terms, text }) =>
      (subject === "speaker" || subject === "open" || /^\W*(?:my|our|the|another)\b/i.test(text)) &&
      (ONE_MORE.test(text) ||
        (counted.some((term) => children.has(term)) &&
          !terms.isDisjointFrom(births) &&
          (subject === "speaker" || !subjectTerms.isDisjointFrom(children))))
  )
const ONE_MORE =
  /\b(?:(?:my|our|an?|the) (?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)|another(?: one)?|(?:one|two|three|a few) more)(?=\W*$| (?:is|was|has|had|will|came|comes|just|now|on|in|at|last|this|today|yesterday|\p{Ll}+ed)\b)/iu
const children: ReadonlySet<string> = new Set(tokenize("child children kid son daughter baby twins"))

const namesIn = ({ text }: Quote): ReadonlySet<string> =>
  new Set([...text.matchAll(/(?<=[\p{L},] )\p{Lu}[\p{L}-]+/gu)].flatMap(([name]) => tokenize(name)))

/** It speaks of the single value by its kind ("between jobs"), or says what became of it ("Acme went bankrupt"). */
const unsettles = (question: Question, quote: Quote, other: Quote): boolean => {
  const { counted, slot } = question
  const names = namesIn(quote)
  return other.clauses.some(({ predicate, subject, subjectTerms, terms, text }) => {
    const { begun, ended } = changeSigns(text)
    if (counted.some((term) => terms.has(term)) && begun + ended > 0) return true
    if (slot === undefined) return false
    const isOwn = isOfSpeaker(question, quote) && (subject === "speaker" || subject === "open")
    if (
      isOwn ||
      (subjectTerms.size > 0 && subjectTerms.isSubsetOf(slotNouns(slot).union(newness))) ||
      (isOfSpeaker(question, quote) && OWN_THING.test(text))
    ) {
      return (
        !terms.isDisjointFrom(slotNouns(slot)) ||
        (isOwn && LIVELIHOODS.has(slot) && (begun + ended > 0 || /\bas an? \p{L}/iu.test(text))) ||
        (PLACES.has(slot) && HOUSING.test(text) && hasNewName(text, names))
      )
    }
    if (PLACES.has(slot) && isOfSpeaker(question, quote) && /\bhome\b/i.test(predicate)) return true
    return !subjectTerms.isDisjointFrom(names) && BECAME.test(predicate)
  })
}
/** The speaker's own value is asked for, not that of a relative. */
const isOfSpeaker = (question: Question, { statement: { speaker } }: Quote): boolean =>
  question.subject.kind === "asker" ||
  isOfOwnSlot(question) ||
  tokenize(speaker?.name ?? "").some((stem) => question.subject.terms.includes(stem))

const newness: ReadonlySet<string> = new Set(tokenize("new old next current"))
const LIVELIHOODS: ReadonlySet<string> = new Set(["workplace", "occupation"])
const PLACES: ReadonlySet<string> = new Set(["home"])
const OWN_THING = /^\W*(?:my|our) (?:new|old|next)\b/i
const HOUSING = /\b(?:home|flat|house|apartment|lease|room|keys|settled|from (?:here|now|there) on)\b/i

/** A name that the quote lacks. */
const hasNewName = (text: string, names: ReadonlySet<string>): boolean =>
  [...text.matchAll(/(?<=[\p{L},] |^)\p{Lu}[\p{L}-]+/gu)].some(
    ([name]) => !stopWords.has(name.toLowerCase()) && !tokenize(name).some((stem) => names.has(stem))
  )

/** Another one says of whom is asked that a state of theirs is over: "Ana left Acme". */
const endsByName = ({ names, slot }: Question, other: Quote): boolean =>
  (LIVELIHOODS.has(slot ?? "") || PLACES.has(slot ?? "")) &&
  other.clauses.some(
    ({ isOver, subjectTerms, text }) =>
      (isOver || changeSigns(text).ended > 0) && names.flat().some((term) => subjectTerms.has(term))
  )
/** A verb that is not of the present, as its subject is one thing. */
const BECAME = /^\s*(?!(?:is|has|does|can|will|and|or|in|at|on)\b)\p{Ll}*[^s\P{L}]\b/u

/** "What is my job?" */
const isOfOwnSlot = ({ isOfAsker, relatives, slot }: Question): boolean =>
  isOfAsker && relatives.length === 0 && slot !== undefined && slotNouns(slot).size > 0

/** The speaker says that a state of theirs is over, and of nothing else that has a name. */
const endsState = (question: Question, quote: Quote, other: Quote): boolean =>
  (question.subject.kind === "asker" || isOfOwnSlot(question)) &&
  !namesOther(question, quote, other) &&
  other.clauses.some(
    ({ isOver, predicate, subject }) => isOver && (subject === "speaker" || /\b(?:me|us)\b/i.test(predicate))
  )

/** Less relevant than this share of the quote's it was lifted by words of change alone. */
const LIFTED_MIN = 0.02

const isRival = (question: Question, quote: Quote, other: Quote, at: number, place: number): boolean => {
  const hasValue = saysValue(question, other)
  const isChange = tellsOfChange(other.text)
  const isLifted =
    other.memory.relevance < quote.memory.relevance && other.memory.relevance > LIFTED_MIN * quote.memory.relevance
  // The search puts a newer message first where it takes it for a later state.
  const isSame = sharesMatter(question, other)
  if (at < place) {
    if (other.memory.relevance < quote.memory.relevance && endsIt(question, quote, other)) return true
    return hasSort(question.part)
      ? hasValue || hasNamedPart(question, other)
      : isChange && (isSame || (isLifted && (sharesMore(question, quote, other) || tellsOfOtherValue(other.text))))
  }
  if (!isChange || !hasValue || valuesIn(other).isSubsetOf(valuesIn(quote))) return false
  if (isSame) return true
  if (movesIt(other.text) && !namesOther(question, quote, other)) return true
  return (
    at < FIRST_HITS && !tellsChange(quote.text) && tellsOfOtherValue(other.text) && !namesOther(question, quote, other)
  )
}

/** Counts the same thing, or names the value of the quote beside another one: "the 22nd instead of the 15th". */
const restatesValue = (question: Question, quote: Quote, other: Quote): boolean => {
  if (!(tellsOfChange(other.text) || movesIt(other.text)) || !saysValue(question, other)) return false
  const counts = countsSaid(quote.text)
  const isCounted = countsSaid(other.text)
    .entries()
    .some(([stem, number]) => counts.has(stem) && counts.get(stem) !== number)
  const asked = valuesSaid(question.terms.join(" "))
  const before = valuesSaid(quote.text).difference(asked)
  const after = valuesSaid(other.text).difference(asked)
  return isCounted || (!before.isDisjointFrom(after) && !after.isSubsetOf(before))
}

/** The sort of value that is asked for, in its plain form or as a number alone. */
const saysValue = ({ part, terms, topic }: Question, { statement, text }: Quote): boolean => {
  if (bareSorts.has(part)) return hasPart(part, { ...statement, text, date: undefined }, new Set(terms))
  return statesPlainly(part, text, { topic, counted: [] }) || (countedSorts.has(part) && /\d/.test(withoutDates(text)))
}

/** A place or a person in any form. */
const hasNamedPart = ({ part, terms }: Question, { statement, text }: Quote): boolean =>
  namedSorts.has(part) && hasPart(part, { ...statement, text, date: undefined, subject: undefined }, new Set(terms))
const namedSorts: ReadonlySet<PartName> = new Set(["place", "person", "name"])

const hasSort = (part: PartName): boolean => isPlainPart(part) || bareSorts.has(part)
/** Sorts without a plain form. */
const bareSorts: ReadonlySet<PartName> = new Set(["contact", "colour", "make"])
const countedSorts: ReadonlySet<PartName> = new Set(["duration", "frequency", "age"])

const tellsOfChange = (text: string): boolean => {
  const { begun, ended, holdsNow, owned, shifted } = changeSigns(text)
  return tellsChange(text) || begun + ended + holdsNow + owned + shifted > 0
}

/** Moves what it does not name: "we pushed it to the 29th", "make that two". */
const movesIt = (text: string): boolean => MOVED_IT.test(text)
const MOVED_IT =
  /\bso (?:it|that|they)(?:['’]?s|['’]re| is| are)\b|\b(?:push|do|doing|mov|chang|mak|made|put|shift|bring|brought|bump|want|set|rais|cut|extend|delay|postpon|need)\p{L}* (?:it|that|them|this|me|us)\b|\b(?:it|that|they)(?:['’](?:s|ll|re)| is| are| will be| takes?| starts?| costs?| needs?)?(?: \p{L}+){0,3} (?:now|instead|then|already|after all|from now on)\b/iu

const valuesIn = ({ text }: Quote): ReadonlySet<string> =>
  new Set(tokenize(text).filter((term) => !stopWords.has(term)))

/** A word of what is asked about, other than who is asked about. */
const sharesMatter = ({ names, topic }: Question, other: Quote): boolean => {
  const named = new Set(names.flat())
  return topic.some((term) => !named.has(term) && other.terms.has(term))
}

/** A word of the older quote that the question lacks. */
const sharesMore = ({ names, terms }: Question, older: Quote, newer: Quote): boolean =>
  !valuesIn(older)
    .difference(new Set([...terms, ...names.flat()]))
    .isDisjointFrom(valuesIn(newer))

/** The state before has ended or moved. */
const tellsOfOtherValue = (text: string): boolean => {
  const { ended, holdsNow, shifted } = changeSigns(text)
  return tellsSwitch(text) || ended + holdsNow + shifted > 0
}

/** It says that the thing of the older quote has ended, in any words for the new one. */
const endsIt = (question: Question, older: Quote, newer: Quote): boolean =>
  changeSigns(newer.text).ended > 0 && sharesMore(question, older, newer)

/** It is about something of the speaker, by its first words or wholly, that neither the question nor the quote names. */
const namesOther = (question: Question, quote: Quote, { text }: Quote): boolean => {
  const known = new Set([...question.terms, ...quote.terms, ...slotNouns(question.slot)])
  const isKnown = ([, word = ""]: ReadonlyArray<string>): boolean => tokenize(word).some((term) => known.has(term))
  const owned = [...text.matchAll(/\b(?:my|our|his|her) (?:(?:old|new) )?(\p{L}+)/giu)]
  const subjects = [...text.matchAll(/(?:^|[.!?] )(?:my|our) (?:(?:old|new) )?(\p{L}+)/giu)]
  return (owned.length > 0 && !owned.some(isKnown)) || !subjects.every(isKnown)
}
