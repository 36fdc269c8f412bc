/**
 * Findings become candidates of the kinds that were asked for: the built-in ones directly, registered
 * ones as far as their fields can be filled (SchemaFill.ts). The same thing found twice is one
 * candidate with both sources.
 */
import type { JsonObject, Mention } from "@muniment/domain/Memory"
import { negatorsIn } from "@muniment/language/speech/Mood"
import type { Candidate, CandidateKind, DroppedCandidate } from "../extraction/Extractor.ts"
import { type Finding, slotOf, type SourcedFinding } from "./Finding.ts"
import { ruleConfidence, ruleTopic } from "./lexicon/rules.ts"
import type { KnownEntity } from "./Entities.ts"
import type { People } from "./People.ts"
import { rulesLimits } from "./RulesProtocol.ts"
import { filledKinds } from "./SchemaFill.ts"
import { type Word, wordsOf } from "./Words.ts"
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

export interface Outcome {
  readonly candidates: ReadonlyArray<Candidate>
  readonly dropped: ReadonlyArray<DroppedCandidate>
}

const builtinOf = {
  fact: "factual_memory",
  preference: "preference_memory",
  event: "temporal_event",
  instruction: "instruction_memory"
} as const

export const isBuiltin = (kind: string): boolean => Object.values<string>(builtinOf).includes(kind)

export const candidatesOf = (
  findings: ReadonlyArray<SourcedFinding>,
  entities: ReadonlyArray<KnownEntity>,
  kinds: ReadonlyArray<CandidateKind>
): Outcome => {
  const asked = kinds.slice(0, rulesLimits.kindsMax)
  const names = new Set(asked.map(({ name }) => name))
  const builtin = findings
    .filter(({ finding, people }) => !isWithdrawn(finding, people))
    .filter(({ finding }) => names.has(builtinOf[finding.type]) && passesGate(finding))
    .map(builtinCandidate)
  const registered = asked.filter(({ name }) => !isBuiltin(name))
  const filled = filledKinds(entities, registered)
  return { candidates: merged([...builtin, ...filled.candidates]), dropped: filled.dropped }
}

const builtinCandidate = ({ finding, people, source, words }: SourcedFinding): Candidate => {
  const subject = currentName(finding.subject, people)
  const when = finding.eventDate
  const slot = slotOf({ ...finding, subject }, people)
  return {
    kind: builtinOf[finding.type],
    data: dataOf(finding, subject),
    confidence: ruleConfidence(finding.rule),
    ...(when === undefined ? {} : { when }),
    mentions: mentionsOf(finding, words),
    tags: tagsOf(finding),
    ...(slot === undefined ? {} : { slot }),
    sources: [source]
  }
}

/** A name that was corrected later in the conversation. */
const isWithdrawn = ({ rule, text }: Finding, people: People): boolean =>
  (rule === "name" || rule === "nameFragment" || rule === "shortAnswer") &&
  [...people.wrongNames].some((name) => text.endsWith(` is ${name}`) || text.endsWith(` called ${name}`))

/** A user who gave a name later is the same user. */
const currentName = (subject: string, people: People): string => (subject === "user" ? people.speaker : subject)

const dataOf = (finding: Finding, subject: string): JsonObject => {
  if (finding.type === "instruction") return { text: finding.text }
  if (finding.type === "fact") return { subject, fact: finding.text, source: "user" }
  if (finding.type === "preference") {
    const { domain, preferenceType = "likes", text } = finding
    return { subject, preferenceType, preference: text, ...(domain === undefined ? {} : { domain }) }
  }
  const { endDate, eventDate, location, participants, text } = finding
  return {
    event: text,
    subject,
    ...(eventDate === undefined ? {} : { eventDate }),
    ...(endDate === undefined ? {} : { endDate }),
    ...(location === undefined ? {} : { location }),
    ...(participants === undefined ? {} : { participants: [...participants] })
  }
}

const merged = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<Candidate> => {
  const byContent = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const key = `${candidate.kind} ${JSON.stringify(candidate.data).toLowerCase()}`
    const known = byContent.get(key)
    const sources = known === undefined ? candidate.sources : [...new Set([...known.sources, ...candidate.sources])]
    byContent.set(key, { ...(known ?? candidate), sources })
  }
  return [...byContent.values()]
}

const mentionTypes: ReadonlyArray<readonly [string, string]> = [
  ["Place", "place"],
  ["City", "place"],
  ["Country", "place"],
  ["Organization", "organization"],
  ["Person", "person"]
]
const mentionsMax = 8

/** Names in the finding, by the tagger's type; neighbours of one type are one name. */
const mentionsOf = (finding: Finding, words: ReadonlyArray<Word>): ReadonlyArray<Mention> => {
  const found: Array<{ name: string; type: string; end: number }> = []
  words.forEach(({ after, tags, text }, index) => {
    const type = /^\p{Lu}/u.test(text) && text !== "I" ? mentionTypes.find(([tag]) => tags.has(tag))?.[1] : undefined
    if (type === undefined || tags.has("Pronoun") || (tags.has("Possessive") && /^(?:My|Our|His|Her)$/.test(text)))
      return
    const last = found.at(-1)
    const name = text.replace(/'s?$/, "")
    if (last !== undefined && last.end === index && last.type === type) {
      last.name = `${last.name} ${name}`
      last.end = /[,;]/.test(after) ? -1 : index + 1
    } else found.push({ name, type, end: /[,;]/.test(after) ? -1 : index + 1 })
  })
  const text = `${finding.text} ${finding.subject} ${finding.location ?? ""} ${finding.participants?.join(" ") ?? ""}`
  const unique = new Map(
    found.filter(({ name }) => text.includes(name)).map(({ name, type }) => [name, { name, type }])
  )
  return [...unique.values()].slice(0, mentionsMax)
}

const tagsOf = (finding: Finding): ReadonlyArray<string> => {
  const topic = finding.domain !== undefined && finding.domain.length <= 32 ? finding.domain : ruleTopic(finding.rule)
  return topic === undefined ? [] : [topic]
}

/**
 * Which findings become memories: what a reader who sees the memory alone finds true and useful. A pronoun as an object, a
 * second clause, a cut-off verb or a passing state does not pass, nor an event without a day of its own. What is kept out
 * is not lost: messages are stored as they were said.
 */
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
