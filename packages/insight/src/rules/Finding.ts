/**
 * Finding: the result of a rule in one clause, before it becomes a candidate of some kind. Scene: the input
 * of a rule. A finding says which rule made it, since confidence is a property of rules (`lexicon/rules.ts`).
 */
import type { Clause } from "./Clauses.ts"
import type { EventDate } from "@muniment/language/calendar/EventDates"
import type { People, Person } from "./People.ts"
import type { Word } from "./Words.ts"
import type { RuleName } from "./lexicon/rules.ts"
import type { Slot } from "../extraction/Extractor.ts"

export type PreferenceType = "likes" | "dislikes" | "prefers"

/** Something that fields are known of, for kinds that the user registered. */
export interface Entity {
  readonly type: "speaker" | "person" | "pet" | "event"
  readonly id: string
  readonly fields: Readonly<Record<string, string | ReadonlyArray<string>>>
}

export interface Finding {
  readonly rule: RuleName
  readonly type: "fact" | "preference" | "event" | "instruction"
  readonly subject: string
  /** The fact as a sentence, the preference, the event, what the user wants. */
  readonly text: string
  readonly preferenceType?: PreferenceType
  readonly domain?: string
  readonly eventDate?: string
  readonly endDate?: string
  readonly location?: string
  readonly participants?: ReadonlyArray<string>
  readonly entity?: Entity
  /** Attribute of which this is the one value (`slotOf`). */
  readonly attribute?: string
}

/** A finding with the message it was taken from and the words around it. */
export interface SourcedFinding {
  readonly finding: Finding
  readonly source: number
  readonly words: ReadonlyArray<Word>
  readonly sentence: string
  /** Those whom its speaker knows. */
  readonly people: People
}

export interface Scene {
  readonly clause: Clause
  readonly people: People
  readonly dates: ReadonlyArray<EventDate>
  /** The user is known to be spoken of: `remember that ...`. */
  readonly isAsked: boolean
}

/** Findings of the first rule that knows the clause; undefined when it is none of this family's. */
export type RuleFamily = (scene: Scene) => ReadonlyArray<Finding> | undefined

/** Whom the clause is about, as `subject`. */
export const subjectOf = ({ clause: { subject }, people }: Scene): string => {
  const owner = ownerOf(subject)
  return owner === undefined ? people.speaker : people.subject(owner)
}

/** The person spoken of, or whose attribute it is; undefined for the speaker. */
export const ownerOf = (subject: Clause["subject"]): Person | undefined =>
  subject.type === "person" ? subject.person : subject.type === "attribute" ? subject.owner : undefined

export const headOf = ({ clause: { subject }, people }: Scene): string => {
  const owner = ownerOf(subject)
  const name = owner === undefined ? people.speakerHead : capitalised(people.label(owner))
  return subject.type === "attribute" ? `${name}'s ${subject.noun}` : name
}

/** The clause as a sentence in the third person, dates made absolute. */
export const sentenceOf = (scene: Scene, predicate: string = scene.clause.predicate): string => {
  const isPlural =
    (scene.clause.subject.type === "person" && scene.clause.subject.person.isPlural) ||
    (scene.clause.subject.type === "attribute" && /^are|^were/.test(predicate))
  const isAttribute = scene.clause.subject.type === "attribute"
  // Birthdays come back every year: the next one is not the date.
  const returns = isAttribute && /birth|anniversary|name day/i.test(scene.clause.subject.noun)
  const dated = returns ? predicate : withAbsoluteDates(predicate, scene.dates)
  const told = inThirdPerson(dated, scene.people)
  return `${headOf(scene)} ${isAttribute ? told : conjugated(told, isPlural)}`
}

const withAbsoluteDates = (text: string, dates: ReadonlyArray<EventDate>): string =>
  dates.reduce((result, date) => result.replace(date.text, date.absolute), text)

export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const factOf = (scene: Scene, rule: RuleName, entity?: Entity): Finding => ({
  rule,
  type: "fact",
  subject: subjectOf(scene),
  text: sentenceOf(scene),
  ...(entity === undefined ? {} : { entity })
})

/** Fields of the speaker, with the name that the request gives them. */
export const speakerEntity = ({ speakerId, speakerName }: People, fields: Entity["fields"]): Entity => ({
  type: "speaker",
  id: speakerId,
  fields: speakerId === "speaker" || speakerName === undefined ? fields : { name: speakerName, ...fields }
})

/** Fields of the person that the clause is about. */
export const entityOf = (scene: Scene, fields: Entity["fields"]): Entity => {
  const owner = ownerOf(scene.clause.subject)
  if (owner === undefined) return speakerEntity(scene.people, fields)
  const id = scene.people.label(owner)
  const named = owner.name === undefined ? fields : { name: owner.name, ...fields }
  if (owner.isPet) return { type: "pet", id, fields: { species: owner.relation ?? "", ...named } }
  const related = owner.relation === undefined ? named : { relation: owner.relation, ...named }
  return { type: "person", id, fields: related }
}

/** `the spicy noodles` as the name of an attribute: its words without articles, singular. */
export const attributeName = (text: string): string =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "" && !/^(?:an?|the|my|our|some)$/.test(word))
    .map((word) => word.replace(/(?<=\p{L}{3})s$/u, ""))
    .join(" ")

/** A finding of no attribute has what it said for one, so that its correction replaces it. */
export const asSaid = ({ eventDate = "", text }: Finding): string => `said ${text} ${eventDate}`.trim()

export const slotOf = (finding: Finding, people: People): Slot => {
  const { attribute = asSaid(finding), entity, subject } = finding
  const speaker = people.speakerName
  const isSpeaker = subject === "user" || subject === speaker || entity?.type === "speaker"
  const former = [...people.wrongNames].at(-1)
  return {
    attribute: attribute.toLowerCase(),
    ...(isSpeaker ? {} : { person: subject }),
    ...(speaker === undefined ? {} : { speaker }),
    ...(former === undefined ? {} : { formerName: former })
  }
}

/** `text` with `I`, `me`, `my`, `we`, `our` replaced by the speaker. */
export const inThirdPerson = (text: string, people: People): string => {
  const inside = people.speakerInside
  return text
    .replace(/\b(?:on|by) (?:my|our) own\b/gi, "alone")
    .replace(/\b(?:my|our)\b(?: own\b)?/gi, `${inside}'s`)
    .replace(/\b(?:mine|ours)\b/gi, `${inside}'s`)
    .replace(/\b(?:myself|ourselves)\b/gi, "themselves")
    .replace(/\b(?:I|we) am\b/g, `${inside} is`)
    .replace(/\bwe are\b/g, `${inside} is`)
    .replace(/\b(?:I|me|us|we|We)\b/g, inside)
}

/** `live in Rome` -> `lives in Rome`, for one person; past forms and modals stay. */
export const conjugated = (predicate: string, isPlural: boolean): string => {
  const lead =
    /^(?:(?:no longer|never|always|rarely|often|usually|hardly ever|seldom|sometimes|hardly|only|still|also) )+/i.exec(
      predicate
    )?.[0] ?? ""
  const [first = "", ...rest] = predicate.slice(lead.length).split(" ")
  const mark = /[,;]$/.exec(first)?.[0] ?? ""
  const lower = first.slice(0, first.length - mark.length).toLowerCase()
  const form = isPlural ? (irregularPlurals[lower] ?? lower) : (irregulars[lower] ?? thirdForm(lower, rest))
  return `${lead}${[`${form}${mark}`, ...rest].join(" ")}`
}

const irregulars: Readonly<Record<string, string>> = {
  am: "is",
  are: "is",
  were: "was",
  have: "has",
  do: "does",
  go: "goes",
  be: "is"
}
const irregularPlurals: Readonly<Record<string, string>> = { am: "are" }

/** Past forms without -ed, and words that never take -s. */
const fixedForms: ReadonlySet<string> = new Set(
  (
    "is was has does did had will would can could may might must shall should not never been got went moved left quit " +
    "bought sold met married lost won broke began became came ran grew gave took made built wrote drove flew spent " +
    "taught told thought found felt kept knew led paid said saw sent sat stood swam threw woke wore hurt cut put read " +
    "let hit ate drank chose fell forgot held laid lent rode sang slept spoke used switched stopped started"
  ).split(" ")
)

const thirdForm = (verb: string, rest: ReadonlyArray<string>): string => {
  if (fixedForms.has(verb)) {
    const isPresentRead = verb === "read" && !/\b(?:yesterday|last|ago)\b/.test(rest.join(" "))
    return isPresentRead ? "reads" : verb
  }
  if (/(?:ed|[^s]s)$/.test(verb) && !/^(?:need|feed|breed|speed|focus)$/.test(verb)) return verb
  if (/(?:s|x|z|ch|sh)$/.test(verb)) return `${verb}es`
  return /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}ies` : `${verb}s`
}
