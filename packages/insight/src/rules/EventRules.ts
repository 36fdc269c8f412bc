/**
 * Events: what happens on a day, in a month or year that the sentence names. A habit is none, nor a state that began on
 * a day; a time that stays open (`some day`, `next spring`) makes none.
 */
import {
  attributeName,
  capitalised,
  type Finding,
  headOf,
  inThirdPerson,
  type RuleFamily,
  type Scene,
  sentenceOf,
  subjectOf
} from "./Finding.ts"
import type { EventDate } from "@muniment/language/calendar/EventDates"
import { comings, habits, happenings, judged, lasting, occasions, parties, plans, whole } from "./lexicon/events.ts"
import { anywhere, expanded, pattern } from "./Pattern.ts"
import type { People } from "./People.ts"
import { withoutAside } from "./FactRules.ts"
import { wordsOf } from "./Words.ts"

const occasion = `(?:${occasions.join("|")})`
const occasionPattern = anywhere(`\\b${occasion}\\b`)
const habit = anywhere(`\\b(?:${habits})\\b`)
const lastingPattern = pattern(lasting)
const plan = new RegExp(`^(?:${expanded(plans)})`)
const recurring = /(?:birthday|birth|anniversary|name day)$/i
const moving = pattern("(?:{have} )?{movedDate} (?:{det}) .* to")
const comingsPattern = pattern(comings)
const movedTo = pattern("(?:(?:is|are|was|has|have|got|had|been|being|will|be|now) )+{movedDate}")

export const eventRules: RuleFamily = (scene) => {
  const { predicate, subject } = scene.clause
  const dates = scene.dates.filter(({ absolute, start }) => start !== undefined || /\b(?:19|20)\d\d\b/.test(absolute))
  if (dates.length === 0 || habit.test(predicate)) return undefined
  // Two days, or a part of a month: which day it is stays open.
  const days = new Set(dates.flatMap(({ start }) => start ?? []))
  if ((days.size > 1 && !/\bback\b/.test(predicate)) || partOf.test(predicate)) return undefined
  if (subject.type === "attribute") {
    if (recurring.test(subject.noun)) return undefined
    if (!occasionPattern.test(subject.noun) && !comingsPattern.test(predicate)) return undefined
    const text = `${headOf(scene)}${attributeEvent(predicate, dates)}`
    return [{ ...eventOf(scene, dates, text, "datedEvent"), attribute: `date ${attributeName(subject.noun)}` }]
  }
  if (/\b(?:not|never|no longer)\b/.test(predicate) || lastingPattern.test(predicate)) return undefined
  // The verb is of the past, the day is not.
  if (moving.test(predicate)) return []
  const act = predicate.replace(plan, "")
  const words = withoutDates(act, scene.dates)
    .toLowerCase()
    .split(/[^\p{L}'-]+/u)
  const verb = words.find((word) => !/^(?:am|is|are|was|were|be|been|have|has|had|got|just|also)$/.test(word)) ?? ""
  const hasOccasion = /^(?:have|has|had|got|booked|am|is|are) (?!\p{Lu})/u.test(predicate) && occasionPattern.test(act)
  const isOuting =
    /^(?:have |has |am |is )?(?:took|take|takes|taking|comes?|coming|came) .*\b(?:to|on|out|over|home)\b /.test(act)
  if (!hasOccasion && !isOuting && !happenings.has(verb)) return undefined
  // `met up`, `started`: a verb without its object.
  const rest = words.filter(
    (word) =>
      word !== "" &&
      !/^(?:am|is|are|was|were|have|has|had|in|on|at|by|up|back|out|the|just|now|already|also)$/.test(word)
  )
  if (subject.type === "speaker" && rest.length < 2 && !hasOccasion && !whole.has(verb)) return []
  if (!occasionPattern.test(act) && words.some((word) => judged.has(word))) return []
  const told = eventOf(
    scene,
    dates,
    eventText(scene, dates),
    scene.clause.tense === "past" ? "pastEvent" : "datedEvent"
  )
  const thing = appointment.exec(tidied(withoutDates(act, dates)))?.[1]
  return [thing === undefined ? told : { ...told, attribute: `date ${attributeName(thing)}` }]
}

const partOf = /\b(?:end|beginning|start|middle) of\b/i

const appointment = /^(?:have|has|have got|has got|got|booked|have booked) (?:an?|my|the|another) (.{3,60})$/

const occasionWordsMax = 16

/** `Physio starts next Monday`, `Intro call with Ana on 3 May at 11`: no person, but a day to come. */
export const occasionIn = (
  text: string,
  dates: ReadonlyArray<EventDate>,
  people: People,
  conversationDate: string
): ReadonlyArray<Finding> | undefined => {
  const known = dates.filter(({ start }) => start !== undefined)
  const isAhead = known.some(({ start = "" }) => start.slice(0, 10) >= conversationDate)
  const [statement = ""] = text.split(/, (?=(?:I|we|they|he|she|it|(?!my|with)\p{Ll}+ \p{Ll}+) )/u)
  if (
    !isAhead ||
    /^(?:I|[Ww]e)\b/.test(statement) ||
    habit.test(statement) ||
    statement.split(" ").length > occasionWordsMax
  )
    return undefined
  if (!happening.test(statement) && !fragment.test(statement)) return undefined
  // `The council starts the roadworks`, `The garage where I work opens`.
  if (
    otherParty.test(statement) ||
    /^the (?:[^,]*\b(?:I|we|who|where)\b|(?:kids|children|twins|couple)\b|[^,]* (?:has|have|had) (?:an?|the|her|his|their)\b)/i.test(
      statement
    )
  )
    return undefined
  const spoken = known.filter((date) => statement.includes(date.text))
  // `Saturday dinner is now on Sunday`
  const own = / (?:is|are) now /.test(statement) ? spoken.slice(-1) : spoken
  // `Blood test on Monday and the dentist on Friday`: two of them.
  if (new Set(own.map(({ start }) => start)).size > 1) return undefined
  // `Friday night's game was nice`: nothing that is to come.
  if (own.some(({ text: day }) => statement.includes(`${day}'s`)) || /\b(?:was|were)\b/.test(statement))
    return undefined
  const clause = { subject: { type: "speaker" }, predicate: statement, words: [], tense: "future" } as const
  const scene: Scene = { clause, people, dates: own, isAsked: false }
  const event = tidied(withoutDates(statement.replace(/,? (?:ugh|yay|lol|phew)[.!]*$/i, ""), own))
    .replace(/ (?:is|are|will be|starts?|begins?)(?: now| actually)?(?:,.*)?$/, "")
    .replace(/^there (?:is|are) /i, "")
  const noun = event
    .replace(movedAtEnd, "")
    .replace(/,(?! with\b).*$| (?:is|are) (?:booked|scheduled|planned|set|confirmed)$/g, "")
  if (!happening.test(statement) && isMore(noun)) return undefined
  const told = eventOf(scene, own, capitalised(inThirdPerson(noun, people)), "eventFragment")
  return own.length === 0
    ? undefined
    : [{ ...told, attribute: `date ${attributeName(noun.replace(/^(?:the|my|our|there is|an?) /i, ""))}` }]
}

/** `Festival in Milwaukee wants us`: more than the name of what is on that day. */
const isMore = (noun: string): boolean =>
  / (?:is|are) (?:the|an?|my|our|not)\b/.test(noun) ||
  wordsOf(noun).some(
    ({ lower, tags }) =>
      (tags.has("PresentTense") || tags.has("PastTense")) &&
      !tags.has("Infinitive") &&
      !tags.has("Copula") &&
      !occasionPattern.test(lower)
  )

const otherParty = anywhere(
  `^(?:the|an?) (?:[\\w'-]+ ){0,2}?(?:${parties}) (?:${comings}|starts?|has|have|had|will|is|are)\\b`
)

const movedAtEnd = new RegExp(` ${expanded("(?:(?:is|are|was|has|have|got|been|will|be|now) )*{movedDate}")}$`)

/** `exam next Tuesday at 9`: the occasion stands first. */
const fragment = anywhere(`^(?:(?:the|an?|there is an?|my|our) )?(?:[\\w'-]+ ){0,3}?${occasion}\\b`)

/** Cheap, before the tagger: could this be an occasion without a person? */
export const namesOccasion = (text: string): boolean =>
  fragment.test(text) && /\d|day\b|tomorrow|tonight|next|week/i.test(text)

/** What things do on a day: `The cast comes off on 15 December`. */
const happening = anywhere(`^(?:the|my|our|[A-Z]\\w+) (?:[\\w'-]+ ){0,4}?(?:${comings})\\b`)

const withoutDates = (text: string, dates: ReadonlyArray<EventDate>): string =>
  dates.reduce((rest, date) => rest.replace(date.text, " "), text)

/** A month or a year has no field: it stays. */
const withoutDays = (text: string, dates: ReadonlyArray<EventDate>): string =>
  withoutDates(
    text,
    dates.filter(({ start }) => start !== undefined)
  )

/** The sentence without its days, which stand in fields of their own. */
const eventText = (scene: Scene, dates: ReadonlyArray<EventDate>): string =>
  sentenceOf(scene, tidied(withoutDays(withoutAside(scene.clause.predicate), dates)))

const attributeEvent = (predicate: string, dates: ReadonlyArray<EventDate>): string => {
  const rest = tidied(withoutDays(predicate, dates))
  return /^(?:is|are|was|will be)$/.test(rest) || movedTo.test(rest) ? "" : ` ${rest}`
}

const tidied = (text: string): string =>
  text
    .replace(/\b(?:on|by|from|until|till|to|at|starting|for)\s+(?=[,.]|$)/g, " ")
    .replace(/\s+/g, " ")
    .replace(/[\s,;.!-]+$/, "")
    .replace(/\b(?:on|by|from|until|to|at|this|the|starting|(?:and|then) \w+ back)$/, "")
    .replace(/\s+([,.])/g, "$1")
    .trim()

const placeName =
  /\b(?:in|at|near) ((?:(?:the )?room \w{1,4}|(?:the )?\p{Lu}[\p{L}'&.-]*(?: (?:\p{Lu}|of |de |the (?=\p{Lu}))[\p{L}'&.-]*){0,4}))/u
const company =
  /\bwith ((?:my|our|the)? ?[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*(?:(?:,| and|, and) (?:my |our )?[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*){0,4})/u
const relations = /\b(?:my|our) |\p{Lu}/u

const eventOf = (scene: Scene, dates: ReadonlyArray<EventDate>, event: string, rule: Finding["rule"]): Finding => {
  const first = dates.find(({ start }) => start !== undefined)
  const { predicate } = scene.clause
  const undated = withoutDates(predicate, dates)
  const location = placeName.exec(undated)?.[1]
  const participants = participantsOf(undated, scene)
  const finding = {
    rule,
    type: "event",
    subject: subjectOf(scene),
    text: event,
    ...(first?.start === undefined ? {} : { eventDate: first.start }),
    ...(first?.end === undefined ? {} : { endDate: first.end }),
    ...(location === undefined ? {} : { location }),
    ...(participants.length === 0 ? {} : { participants })
  } as const
  const fields = {
    event,
    title: titleOf(scene, undated),
    ...timeOf(predicate),
    ...(first?.start === undefined ? {} : { date: first.start, start: first.start }),
    ...(first?.end === undefined ? {} : { end: first.end }),
    ...(location === undefined ? {} : { location }),
    ...(participants.length === 0 ? {} : { attendees: participants, participants })
  }
  return { ...finding, entity: { type: "event", id: event, fields } }
}

/** As written: `15:30`, `3 pm`, `at 11`. */
const timeOf = (text: string): { readonly time: string } | undefined => {
  const time =
    /\b(?:at |from )?(\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\b|noon|midnight)|\bat (\d{1,2})(?=[,.;]|$| (?:with|in|on|and|her|his)\b)/i.exec(
      text
    )
  const value = time?.[1] ?? time?.[2]
  return value === undefined ? undefined : { time: value }
}

/** The occasion's own words (`dentist appointment`), as a title would have it. */
const titleOf = (scene: Scene, undated: string): string => {
  const text = scene.clause.subject.type === "attribute" ? scene.clause.subject.noun : undated
  const found = anywhere(`((?:[\\w'-]+ ){0,2})\\b(${occasion})\\b`).exec(text)
  if (found === null) return tidied(inThirdPerson(undated.replace(plan, ""), scene.people))
  const lead = (found[1] ?? "").replace(/^.*\b(?:an?|the|my|our|have|has|booked|got|for|is|another|to)\b ?/i, "")
  return `${lead}${found[2]}`.trim()
}

const participantsOf = (text: string, scene: Scene): ReadonlyArray<string> => {
  const named = company.exec(text)?.[1]
  if (named === undefined || !relations.test(named)) return []
  return named
    .split(/,? and |, /)
    .map((name) => name.trim())
    .filter((name) => relations.test(name))
    .map((name) => personText(name, scene))
}

const personText = (name: string, scene: Scene): string => {
  const owned = /^(?:my|our) ([\p{L} -]+?)(?: (\p{Lu}[\p{L}'-]+))?$/u.exec(name)
  if (owned === null) return name
  return (
    owned[2] ??
    scene.people.related(owned[1] ?? "")?.name ??
    inThirdPerson(name, scene.people).replace(/^The user/, "the user")
  )
}
