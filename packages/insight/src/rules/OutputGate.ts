/**
 * Which findings become memories: what a reader who sees the memory alone finds true and useful. A pronoun as an object, a
 * second clause, a cut-off verb or a passing state does not pass, nor an event without a day of its own. What is kept out
 * is not lost: messages are stored as they were said.
 */
import {
  activities,
  auxiliaries,
  bareWords,
  emptyObjects,
  generals,
  openEnds,
  participles,
  passing,
  pointers,
  subordinators
} from "./lexicon/gate.ts"
import type { Finding } from "./Finding.ts"
import { negatorsIn } from "@muniment/language/speech/Mood"
import { wordsOf, type Word } from "./Words.ts"

const wordsMax = 16
const preferenceWordsMax = 8
const instructionWordsMax = 30

/** Whether the finding, of a message of the user, is kept. */
export const passesGate = (finding: Finding): boolean => {
  const words = wordsOf(finding.text)
  if (finding.rule === "cancellation") return words.length <= wordsMax
  if (finding.type === "instruction") return words.length <= instructionWordsMax
  if (words.length > wordsMax || words.some(isPointer)) return false
  if (isDoubtful(finding)) return false
  if (openEnds.has(words.at(-1)?.lower ?? "")) return false
  if (
    /[;!?]|:\D|(?<!\b(?:Dr|Mr|Mrs|Ms|Prof|St|\p{Lu}))\.\s\p{Lu}|\s-\s|QUOTATION/u.test(finding.text) ||
    unfinished.test(finding.text) ||
    relative.test(finding.text)
  )
    return false
  if (finding.type === "preference") return isTaste(finding, words)
  // As written: the tagger takes the `'s` of an owner for an `is`.
  if ((finding.text.match(/(?<!')\b(?:am|is|are|was|were)\b/g)?.length ?? 0) > 1 || !isOneClause(words)) return false
  return finding.type === "event" ? isDated(finding, words) : isWhole(words)
}

/**
 * A denial is kept where it is one plain word of a fact; what all but denies (`hardly`, `neither`, `almost`) says too
 * little, and a taste or an event has no place for it.
 */
const isDoubtful = ({ text, type }: Finding): boolean => {
  const negators = negatorsIn(text)
  return (
    negators.length > (type === "fact" ? 1 : 0) ||
    !negators.every((word) => /^(?:not|never|no|no longer|without)$/.test(word))
  )
}

/** `how` only in `knows how to`. */
const isPointer = ({ lower }: Word, at: number, words: ReadonlyArray<Word>): boolean =>
  pointers.has(lower) && !(lower === "how" && words[at + 1]?.lower === "to")

/** `Ann sold Ann's for parts`, `is the oldest`, `is the driver`, `on 2026-05-04 and fri`. */
const unfinished =
  /(?<!\b(?:is|was|are|were) (?:the user|\p{Lu}\S*))['’]s(?: (?:for|to|at|in|on|with|from|by|and)\b|$)|\bthe \p{Ll}+est$|\bis the \p{Ll}+$|\d-\d\d (?:and|or) /u

/** Counted from a day that the memory does not hold. */
const relative =
  /\b(?:(?:next|last|this|past|coming) (?:spring|summer|autumn|fall|winter|year|month|week|weekend)|the following \w+day|up for .* on \w+day)\b/i

const isOwn = /^(?:the user|\p{Lu}\S+)'s /u

const isTaste = ({ domain, preferenceType, text }: Finding, words: ReadonlyArray<Word>): boolean => {
  if (preferenceType !== "likes" && preferenceType !== "dislikes" && preferenceType !== "prefers") return false
  const [first] = words
  if (first === undefined || words.length > preferenceWordsMax) return false
  if (words.some(({ lower }) => emptyObjects.has(lower)) || words.some(({ after }) => after.includes(","))) return false
  const second = words[1]
  if (
    first.lower === "the" &&
    !isOwn.test(text) &&
    !/^\p{Lu}/u.test(second?.text ?? "") &&
    !generals.has(second?.lower ?? "")
  )
    return false
  if (
    (isOwn.test(text) && domain !== "food" && domain !== "drink") ||
    (words.length === 1 && bareWords.has(first.lower))
  )
    return false
  if (words.length === 1 && first.lower.endsWith("ing") && !activities.has(first.lower)) return false
  return !words.some(({ lower }) => auxiliaries.has(lower) || subordinators.has(lower))
}

/** `The user's exam` is whole; `The user started` is not. */
const isDated = ({ eventDate, text }: Finding, words: ReadonlyArray<Word>): boolean =>
  (eventDate !== undefined || /\b(?:19|20)\d\d\b/.test(text)) &&
  !/[:,]\s*$|,.*,|,,|\bnow$/.test(text) &&
  (own(words).length > 3 || words.at(-1)?.tags.has("Verb") !== true)

/** Without auxiliaries. */
const own = (words: ReadonlyArray<Word>): ReadonlyArray<Word> =>
  words.filter(({ lower }) => !/^(?:has|have|had|is|are|was|were|will|be|been|just)$/.test(lower))

/** Something follows the verb, and it is no state that passes. */
const isWhole = (words: ReadonlyArray<Word>): boolean =>
  words.length > 2 && !words.some(({ lower }) => passing.has(lower))

/** One subject, one finite verb. */
const isOneClause = (words: ReadonlyArray<Word>): boolean => {
  const users = words.filter((word, at) => word.lower === "user" && words[at - 1]?.lower === "the")
  if (users.length > 1) return false
  const verb = words.findIndex(isFinite)
  return !words.some((word, at) => at > verb && (subordinators.has(word.lower) || (at > verb + 3 && isFinite(word))))
}

const isFinite = ({ lower, tags }: Word): boolean =>
  auxiliaries.has(lower) ||
  (tags.has("Verb") &&
    !participles.has(lower) &&
    (tags.has("PastTense") || tags.has("PresentTense")) &&
    !tags.has("Gerund") &&
    !tags.has("Infinitive"))
