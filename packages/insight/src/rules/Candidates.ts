/**
 * Findings become candidates of the kinds that were asked for: the built-in ones directly, registered
 * ones as far as their fields can be filled (SchemaFill.ts). The same thing found twice is one
 * candidate with both sources.
 */
import type { JsonObject, Mention } from "@muniment/domain/Memory"
import type { Candidate, CandidateKind, DroppedCandidate } from "../extraction/Extractor.ts"
import { type Finding, slotOf, type SourcedFinding } from "./Finding.ts"
import { ruleConfidence, ruleTopic } from "./lexicon/rules.ts"
import type { KnownEntity } from "./Entities.ts"
import { passesGate } from "./OutputGate.ts"
import type { People } from "./People.ts"
import { rulesLimits } from "./RulesProtocol.ts"
import { filledKinds } from "./SchemaFill.ts"
import type { Word } from "./Words.ts"

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
