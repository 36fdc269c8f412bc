/**
 * Lines of a context that do not depend on its query: who the subject is, standing instructions, preferences, what changed
 * lately, what is planned. In the order in which they are taken: what an agent must not miss first.
 */
import { Effect } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { type ContextSectionName, profileTopics } from "@muniment/domain/Context"
import type { Identity } from "@muniment/domain/Identity"
import { Limits } from "@muniment/domain/Limits"
import { instructionKind } from "@muniment/schemas/BuiltinKinds"
import type { ContextDays, ContextLine, LineGroup } from "./ContextLines.ts"
import { lineOf, type SubjectFact, type SubjectFacts } from "./SubjectFacts.ts"

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
