/**
 * Lines of a context that bear on its query: messages with their surroundings, by conversation and day, and facts that the
 * sections before do not have. In the order in which they are taken: by rank, the turns around the best hits behind these.
 */
import { Effect } from "effect"
import { type ContextItem, type ContextSectionName, profileTopics } from "@muniment/domain/Context"
import { conversationMessageKind, type MemoryVersion } from "@muniment/domain/Memory"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryHit } from "@muniment/engine/search/MemorySearch"
import { speakersDay, speakersTime } from "@muniment/language/calendar/SpokenDates"
import { plainDates } from "@muniment/language/calendar/ResolvedDates"
import { clippedText } from "@muniment/language/text/VisibleText"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { Identity } from "@muniment/domain/Identity"
import { instructionKind } from "@muniment/schemas/BuiltinKinds"
import type { FoundHits, PlacedMemory } from "../search/CallerSearch.ts"
import { type ContextDays, type ContextLine, type LineGroup, oneEntry } from "./ContextLines.ts"
import { lineOf, type SubjectFact, type SubjectFacts } from "./SubjectFacts.ts"

/** Best hits whose neighbours are taken, each on both sides, once this many hits are. */
const aroundHits = 5
const eachSide = 2

interface FoundOptions {
  readonly days: ContextDays
  readonly timeZone: string | undefined
  /** Name of the user in the subject's conversations. */
  readonly userName: string
  /** Ids of memories, and texts of messages, that the prompt has already. */
  readonly isKnown: (memory: MemoryVersion) => boolean
  /** Kinds of own memories that are for agents. */
  readonly kinds: ReadonlySet<string>
  /** Times of saying of own facts, by id; milliseconds. */
  readonly saidTimes: (memories: ReadonlyArray<MemoryVersion>) => Effect.Effect<ReadonlyMap<string, number>>
}

/** Each entry is taken as a whole or not. */
export const foundLines = Effect.fnUntraced(function* (found: FoundHits, options: FoundOptions) {
  const isForAgents = (hit: MemoryHit) =>
    isMessage(hit.memory) || options.kinds.has(hit.memory.kind) || found.grantorOf(placeOf(hit).namespace) !== undefined
  // The correction of a message says right what the message said.
  const hits = found.hits.filter(
    (hit) => hit.correctedBy === undefined && !options.isKnown(hit.memory) && isForAgents(hit)
  )
  const messages = hits.filter(({ memory }) => isMessage(memory))
  const turns = yield* found.around(messages.slice(0, aroundHits), eachSide)
  const facts = hits.filter((hit) => !isMessage(hit.memory) && found.grantorOf(placeOf(hit).namespace) === undefined)
  const saidAt = yield* options.saidTimes(facts.map(({ memory }) => memory))
  const conversations = new Set(messages.map((hit) => conversationOf(placeOf(hit))))
  const messageLine = messageLines(options, conversations.size > 1, found.grantorOf)
  const ofHits: Array<ReadonlyArray<ContextLine>> = []
  const beside: Array<ReadonlyArray<ContextLine>> = []
  for (const hit of hits) {
    const place = placeOf(hit)
    ofHits.push([isMessage(hit.memory) ? messageLine(place, hit) : knownLine(place, options, saidAt, found.grantorOf)])
    const { after = [], before = [] } = turns.get(hit.memory.id) ?? {}
    for (const memory of [...before, ...after]) {
      if (!options.isKnown(memory)) beside.push([messageLine({ ...place, memory }, undefined)])
    }
  }
  return [...ofHits.slice(0, aroundHits), ...beside, ...ofHits.slice(aroundHits)]
})

const isMessage = ({ kind }: MemoryVersion): boolean => kind === conversationMessageKind
const placeOf = ({ memory, ranked }: MemoryHit): PlacedMemory => ({ memory, namespace: ranked.candidate.namespace })

const conversationOf = ({ memory: { subjectId, threadId }, namespace }: PlacedMemory): string =>
  JSON.stringify([namespace, subjectId, threadId])

const knownLine = (
  placed: PlacedMemory,
  { days }: FoundOptions,
  saidAt: ReadonlyMap<string, number>,
  grantorOf: FoundHits["grantorOf"]
): ContextLine => {
  const { memory } = placed
  const grantor = grantorOf(placed.namespace)
  const text = lineOf(memory)
  const day = days.of(saidAt.get(memory.id) ?? memory.createdAt)
  return {
    key: memory.id,
    placed,
    section: "found",
    group: { key: "", title: "Also known:", order: -1 },
    order: Date.parse(day),
    text: `- ${text} (since ${days.shown(day)}${sharedBy(grantor)})`,
    isNumbered: true,
    item: { id: memory.id, kind: memory.kind, text, since: day, ...(grantor !== undefined && { grantor }) }
  }
}

const sharedBy = (grantor: string | undefined): string => (grantor === undefined ? "" : `, shared by ${grantor}`)

const messageLines = (
  { days, timeZone, userName }: FoundOptions,
  areSeveral: boolean,
  grantorOf: FoundHits["grantorOf"]
) => {
  const numbers = new Map<string, number>()
  return (placed: PlacedMemory, hit: MemoryHit | undefined): ContextLine => {
    const { createdAt, data, id, kind, position = 0, threadId, when } = placed.memory
    const grantor = grantorOf(placed.namespace)
    const conversation = conversationOf(placed)
    const number = numbers.get(conversation) ?? numbers.size + 1
    numbers.set(conversation, number)
    const said = saidOn(data["sentAt"], timeZone) ?? when ?? new Date(createdAt).toISOString()
    const day = days.said(said)
    const text = partOf(String(data["text"] ?? ""), hit)
    const dates = datesIn(text, said)
    const speaker = speakerOf(data, grantor === undefined ? userName : "User")
    const item: ContextItem = {
      id,
      kind,
      text,
      speaker,
      saidOn: day,
      ...(threadId !== undefined && { threadId }),
      ...(dates.length > 0 && { dates }),
      ...(hit === undefined && { isAround: true as const }),
      ...(grantor !== undefined && { grantor })
    }
    const of = areSeveral ? `Conversation ${number}${sharedBy(grantor)}, ` : ""
    return {
      key: id,
      placed,
      section: "found",
      group: {
        key: `${conversation} ${day}`,
        title: `### ${of}${days.withWeekday(day)}`,
        order: number * 1e9 + Date.parse(day) / 1e6
      },
      order: position,
      text: `${speaker}: ${oneEntry(text)}${dates.length > 0 ? ` (${dates.join("; ")})` : ""}`,
      isNumbered: false,
      item
    }
  }
}

const saidOn = (sentAt: unknown, timeZone: string | undefined): string | undefined =>
  typeof sentAt === "string" ? speakersTime(sentAt, timeZone) : undefined

/** Days that relative words mean, counted from the day of saying, other than that day itself. */
const datesIn = (text: string, said: string): ReadonlyArray<string> =>
  plainDates(text, said)
    .filter(({ from }) => from !== speakersDay(said))
    .map(({ resolved, text: words }) => `${words} = ${resolved}`)

/** The found part of a long message; the beginning of a turn beside it. */
const partOf = (text: string, hit: MemoryHit | undefined): string => {
  const passage = hit?.ranked.candidate.passage
  if (passage !== undefined) return text.slice(passage.start, passage.end).trim()
  return clippedText(text, Limits.passageLengthMax)
}

const speakerOf = (data: MemoryVersion["data"], userName: string): string => {
  const { name, role } = data
  const given = typeof name === "string" ? name.replaceAll(/\s+/g, " ").replace(/^[ /]+/, "") : ""
  if (given !== "") return given
  return role === "user" ? userName : role === "assistant" ? "Assistant" : "Tool"
}

/**
 * Lines of a context that do not depend on its query: who the subject is, standing instructions, preferences, what changed
 * lately, what is planned. In the order in which they are taken: what an agent must not miss first.
 */

/** Most changes, and most plans, that are listed. */
const listedMax = 5

const topicTitles = {
  identity: "Identity:",
  home: "Home:",
  work: "Work and study:",
  people: "People and animals around them:",
  health: "Health and diet:",
  interests: "Interests:",
  other: "Other:"
} as const

export const profileLines = Effect.fnUntraced(function* (
  source: SubjectFacts,
  caller: Identity,
  facts: ReadonlyArray<SubjectFact>,
  days: ContextDays
) {
  const standing = facts.filter(({ memory }) => memory.kind === instructionKind)
  const plans = facts.filter((fact) => isPlan(fact, days)).toSorted((left, right) => whenOf(left) - whenOf(right))
  const rest = facts.filter(({ memory }) => memory.kind !== instructionKind && memory.kind !== "temporal_event")
  const core = rest.filter(({ topic }) => topic !== undefined && coreTopics.has(topic)).slice(0, coreMax)
  const others = rest.filter((fact) => !core.includes(fact))
  return [
    ...standing.map((fact) => factLine(fact, days, "instructions", alone)),
    ...core.map((fact) => factLine(fact, days, "profile", groupOf(fact))),
    ...plans.slice(0, listedMax).map((fact) => planLine(fact, days)),
    ...(yield* changeLines(source, caller, rest, new Set(core), days)),
    ...others.map((fact) => factLine(fact, days, fact.topic === undefined ? "preferences" : "profile", groupOf(fact)))
  ]
})

/** Topics that matter longest and are asked for most. */
const coreTopics: ReadonlySet<string> = new Set(["identity", "home", "work", "health"])
const coreMax = 12

const alone: LineGroup = { key: "", title: "", order: 0 }

const groupOf = ({ topic }: SubjectFact): LineGroup =>
  topic === undefined ? alone : { key: topic, title: topicTitles[topic], order: profileTopics.indexOf(topic) }

/** Oldest first, so that what is learned is added behind what stands there. */
const factLine = (
  { memory, sinceMillis, text, topic }: SubjectFact,
  days: ContextDays,
  section: ContextSectionName,
  group: LineGroup
): ContextLine => {
  const since = days.of(sinceMillis)
  return {
    key: memory.id,
    section,
    group,
    order: sinceMillis,
    text: `- ${text} (since ${days.shown(since)})`,
    isNumbered: true,
    item: { id: memory.id, kind: memory.kind, text, ...(topic !== undefined && { topic }), since }
  }
}

const whenOf = ({ memory: { when = "" } }: SubjectFact): number => Date.parse(when)

/** An event of today or later; without a time of day it is that day everywhere. */
const isPlan = (fact: SubjectFact, { today }: ContextDays): boolean =>
  fact.memory.kind === "temporal_event" && eventDay(fact) >= today

export const eventDay = ({ memory: { data, when = "" } }: SubjectFact): string =>
  (typeof data["eventDate"] === "string" ? data["eventDate"] : when).slice(0, "2026-01-31".length)

const planLine = (fact: SubjectFact, days: ContextDays): ContextLine => {
  const { memory } = fact
  const on = eventDay(fact)
  // The day stands before it.
  const { eventDate: _day, ...data } = memory.data
  const text = lineOf({ ...memory, data, when: undefined })
  return {
    key: memory.id,
    section: "plans",
    group: alone,
    order: whenOf(fact),
    text: `- ${days.withWeekday(on)}: ${text}`,
    isNumbered: true,
    item: { id: memory.id, kind: memory.kind, text, since: days.of(fact.sinceMillis), on }
  }
}

/** Facts that took the place of another one lately, newest first; of those that are `told` what held before. */
const changeLines = Effect.fnUntraced(function* (
  source: SubjectFacts,
  caller: Identity,
  facts: ReadonlyArray<SubjectFact>,
  told: ReadonlySet<SubjectFact>,
  days: ContextDays
) {
  const lately = days.nowMillis - Limits.contextChangeDays * dayMillis
  const changed = facts.filter(
    ({ memory, sinceMillis }) =>
      memory.supersedes !== undefined && sinceMillis >= lately && days.of(sinceMillis) <= days.today
  )
  const lines: Array<ContextLine> = []
  for (const fact of changed.slice(0, listedMax)) {
    const { memory, sinceMillis, text } = fact
    const [older] = yield* source.before(caller, memory, 1)
    const before = older === undefined ? "" : lineOf(older)
    if (before === "" || before === text) continue
    const since = days.of(sinceMillis)
    lines.push({
      // The change stands beside the fact that it led to.
      key: `change ${memory.id}`,
      section: "changes",
      group: alone,
      order: -sinceMillis,
      text: told.has(fact)
        ? `- Before ${days.shown(since)}: ${before}`
        : `- ${days.shown(since)}: ${text}; before: ${before}`,
      isNumbered: true,
      item: { id: memory.id, kind: memory.kind, text, since, before }
    })
  }
  return lines
})
