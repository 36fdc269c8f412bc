/**
 * Subjects of memories and their profiles (contract: Context): the subjects that a caller sees, and the profile
 * of one. For REST and MCP. A subject that the caller does not see has the profile of an unknown one: an empty one.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import { profileTopics, type SubjectPage, type SubjectProfile } from "@muniment/domain/Context"
import type { Identity } from "@muniment/domain/Identity"
import { Limits } from "@muniment/domain/Limits"
import { backingSources } from "@muniment/domain/Memory"
import { traced } from "@muniment/domain/traced"
import { instructionKind } from "@muniment/schemas/BuiltinKinds"
import { MemoryService } from "../memories/MemoryService.ts"
import { conflictsIn } from "./Conflicts.ts"
import { type ContextDays, contextDays } from "./ContextLines.ts"
import { eventDay } from "./FoundLines.ts"
import { lineOf, makeSubjectFacts, type SubjectFact, type SubjectFacts } from "./SubjectFacts.ts"

interface SubjectsAsked {
  readonly agentId: string | undefined
  readonly contains: string | undefined
  readonly countsConflicts: boolean
  readonly limit: number
  /** The last subject of the page before. */
  readonly after: string | undefined
}

interface ProfileAsked {
  readonly subjectId: string
  readonly agentId: string | undefined
  readonly timeZone: string | undefined
  /** Milliseconds; undefined: now. */
  readonly asOf: number | undefined
}

interface FoundSubjects extends Omit<SubjectPage, "nextCursor"> {
  /** The last subject, if there are more. */
  readonly next: string | undefined
}

export class Subjects extends Context.Service<
  Subjects,
  {
    readonly list: (call: PricedCall, asked: SubjectsAsked) => Effect.Effect<FoundSubjects, ChargeFailure>
    readonly profile: (call: PricedCall, asked: ProfileAsked) => Effect.Effect<SubjectProfile, ChargeFailure>
  }
>()("muniment/server/Subjects") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const memories = yield* MemoryService
      const facts = yield* makeSubjectFacts
      return {
        list: (call, asked) => list(memories, facts, call, asked),
        profile: (call, asked) => profile(facts, call, asked)
      }
    })
  )
}

const list = traced("Subjects.list")(function* (
  memories: MemoryService["Service"],
  facts: SubjectFacts,
  call: PricedCall,
  { after, agentId, contains, countsConflicts, limit }: SubjectsAsked
) {
  const query = { facet: "subjects", filter: { agentId }, contains, after, order: "name", limit: limit + 1 } as const
  const { values } = yield* memories.facet(call, query)
  const page = values.slice(0, limit)
  const known = (subjectId: string) => {
    const scope = { agentId, subjectId }
    return countsConflicts
      ? Effect.map(facts.newest(call.caller, scope, Limits.profileMemoriesMax), (found) => ({
          names: found.names,
          conflicts: conflictsIn(found.facts).length
        }))
      : Effect.map(facts.names(call.caller, scope), (names) => ({ names }))
  }
  const subjects = yield* Effect.forEach(page, ({ memories: count, newestAt, value: subjectId }) =>
    Effect.map(known(subjectId), (told) => ({ subjectId, ...told, memories: count, newestAt }))
  )
  return { subjects, next: values.length > limit ? page.at(-1)?.value : undefined }
})

const profile = traced("Subjects.profile")(function* (
  facts: SubjectFacts,
  call: PricedCall,
  { agentId, asOf, subjectId, timeZone }: ProfileAsked
) {
  yield* call.reserve({ agent: agentId })
  const days = contextDays(yield* Clock.currentTimeMillis, timeZone)
  const known = yield* facts.newest(call.caller, { agentId, subjectId, asOf }, Limits.profileMemoriesMax)
  const byTopic = Map.groupBy(known.facts, topicIn)
  const topics = yield* Effect.forEach(profileHeadings, (topic) =>
    Effect.map(
      Effect.forEach(byTopic.get(topic) ?? [], (fact) => profileFact(facts, call.caller, fact, days)),
      (shown) => ({ topic, facts: shown })
    )
  )
  return {
    subjectId,
    names: known.names,
    people: known.others.map(({ aliases, name, relations }) => ({
      name,
      aliases,
      relations: relations.map(({ of, relation }) => ({ relation, ...(of !== undefined && { of }) }))
    })),
    topics: topics.filter((one) => one.facts.length > 0),
    conflicts: conflictsIn(known.facts).map(({ attribute, facts: [newest, ...others] }) => ({
      attribute,
      ...(newest?.about !== undefined && { about: newest.about }),
      facts: [newest, ...others].flatMap((fact) => fact?.memory.id ?? [])
    })),
    total: known.total,
    isComplete: known.total <= Limits.profileMemoriesMax
  }
})

const profileHeadings = [...profileTopics, "instructions", "preferences", "events"] as const

const topicIn = ({ memory: { kind }, topic }: SubjectFact): (typeof profileHeadings)[number] =>
  topic ?? (kind === instructionKind ? "instructions" : kind === "temporal_event" ? "events" : "preferences")

/** Versions that a profile shows of a fact. */
const versionsMax = 10

const profileFact = Effect.fnUntraced(function* (
  facts: SubjectFacts,
  caller: Identity,
  fact: SubjectFact,
  days: ContextDays
) {
  const { about, memory, sinceMillis, text } = fact
  const { agentId, id, kind, sources } = memory
  const older = yield* facts.before(caller, memory, versionsMax)
  const saidAt = yield* facts.saidTimes(caller, older)
  const versions = older.map((version) => ({
    id: version.id,
    text: lineOf(version),
    since: days.of(saidAt.get(version.id) ?? version.createdAt)
  }))
  return {
    id,
    agentId,
    kind,
    text,
    ...(about !== undefined && { about }),
    since: days.of(sinceMillis),
    ...(kind === "temporal_event" && { on: eventDay(fact) }),
    sourceMessageIds: backingSources(sources).flatMap((source) => source.id ?? []),
    versions
  }
})
