/**
 * Facts about a subject, apart from messages: the latest memories as sentences, each with the day since when it is
 * known and its topic. For the context of a prompt and for profiles.
 *
 * Invariants: only memories of kinds that are for agents, not those that programs keep for themselves; only what the caller
 * sees; nothing that a grant opens.
 */
import { Effect } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { Identity } from "@muniment/domain/Identity"
import { conversationMessageKind, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { ProfileTopic } from "@muniment/domain/Context"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { namesOf, type People, type Person, nobody } from "@muniment/language/people/People"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import { isUser } from "@muniment/language/people/Relations"
import { instructionKind, isFactKind } from "@muniment/schemas/BuiltinKinds"
import { narrowed, sees, seesAgent, visibleParts } from "../identity/KeyScopes.ts"
import { hasTool } from "../memories/KnownKinds.ts"
import { makeSaidTimes } from "../search/SourceMessages.ts"

/** Owner of the memories; without a subject those that have none, and the people of the only subject. */
export interface SubjectScope {
  readonly agentId?: string | undefined
  readonly subjectId?: string | undefined
  /** Milliseconds: what was stored and latest then. */
  readonly asOf?: number | undefined
}

export interface SubjectFact {
  readonly memory: MemoryVersion
  /** One line, without a full stop. */
  readonly text: string
  /** Another person or thing than the subject, by name. */
  readonly about: string | undefined
  /** Undefined: a preference, an instruction or an event, which have places of their own. */
  readonly topic: ProfileTopic | undefined
  /** When the last message was sent that told it, else when it was stored; milliseconds. */
  readonly sinceMillis: number
}

interface KnownFacts {
  /** Newest first, each text once. */
  readonly facts: ReadonlyArray<SubjectFact>
  readonly names: ReadonlyArray<string>
  /** People whom its memories name, and their relations. */
  readonly others: ReadonlyArray<Person>
  /** Memories that are no messages. */
  readonly total: number
}

export type SubjectFacts = Effect.Success<typeof makeSubjectFacts>

export const makeSubjectFacts = Effect.gen(function* () {
  const parts = yield* makeParts
  return {
    /** The newest `limit` of them. */
    newest: (caller: Identity, scope: SubjectScope, limit: number) => newest(parts, caller, scope, limit),
    /** With standing instructions and events from `nowMillis` on, however old they are. `people`: if known already. */
    forContext: (caller: Identity, scope: SubjectScope, nowMillis: number, people?: People) =>
      forContext(parts, caller, scope, nowMillis, people),
    /** Which kinds of these memories are for agents. */
    kindsForAgents: (caller: Identity, memories: ReadonlyArray<MemoryVersion>) =>
      kindsForAgents(parts, caller, memories),
    names: (caller: Identity, scope: SubjectScope) =>
      Effect.map(parts.people(caller, scope), ({ user }) => (user === undefined ? [] : namesOf(user))),
    /** Versions that a memory has replaced, newest first. */
    before: (caller: Identity, memory: MemoryVersion, max: number) => before(parts, caller, memory, max),
    /** Time of the last message that told a memory, by id; milliseconds. Absent: no message is known. */
    saidTimes: (caller: Identity, memories: ReadonlyArray<MemoryVersion>) =>
      parts.saidTimes(caller.account.id, memories)
  }
})

/**
 * People that a caller's memories name, by agent and subject: the user's name and aliases, and others with what they
 * are to whom. The one place that decides who the user is; a search, readings by models and answers take it from here.
 *
 * Finds the people of the caller's own agents. Fails as a search does.
 */
const makePeople = Effect.gen(function* () {
  const directory = yield* NamespaceDirectory
  const searcher = yield* MemorySearch
  return Effect.fn("People.of")(function* (caller: Identity, { agentId, asOf, subjectId }: SubjectScope) {
    const own = directory.list(caller.account.id, agentId).filter((key) => seesAgent(caller, key.agentId))
    const parts = visibleParts(caller)
    if (own.length === 0) return nobody
    return yield* searcher.people(own, { filter: { asOf, subjectId }, scopeOf: () => parts })
  })
})

const makeParts = Effect.all({
  host: NamespaceHost,
  searcher: MemorySearch,
  directory: NamespaceDirectory,
  registry: SchemaRegistry,
  people: makePeople,
  saidTimes: makeSaidTimes
})

type Parts = Effect.Success<typeof makeParts>

const newest = Effect.fnUntraced(function* (parts: Parts, caller: Identity, scope: SubjectScope, limit: number) {
  const page = yield* listed(parts, caller, scope, {}, limit)
  return { ...(yield* factsOf(parts, caller, scope, page.memories)), total: page.total }
})

const forContext = Effect.fnUntraced(function* (
  parts: Parts,
  caller: Identity,
  scope: SubjectScope,
  nowMillis: number,
  people: People | undefined
) {
  const recent = yield* listed(parts, caller, scope, {}, Limits.contextFactsMax)
  const isAll = recent.total === recent.memories.length
  const standing = { kind: instructionKind }
  const coming = { eventFrom: nowMillis - dayMillis }
  const others = isAll
    ? []
    : [
        ...(yield* listed(parts, caller, scope, standing, Limits.contextFactsMax)).memories,
        ...(yield* listed(parts, caller, scope, coming, Limits.contextFactsMax)).memories
      ]
  const known = new Set(recent.memories.map(({ id }) => id))
  const all = [...recent.memories, ...others.filter(({ id }) => !known.has(id) && known.add(id))]
  return { ...(yield* factsOf(parts, caller, scope, all, people)), total: recent.total }
})

const namespacesOf = ({ directory }: Parts, caller: Identity, { agentId }: Pick<SubjectScope, "agentId">) =>
  directory.list(caller.account.id, agentId).filter((key) => seesAgent(caller, key.agentId))

const listed = (parts: Parts, caller: Identity, scope: SubjectScope, more: MemoryFilter, limit: number) => {
  const hasNoSubject = scope.subjectId === undefined
  const filter = { ...scope, hasNoSubject, include: "extracted", ...more } as const
  return parts.searcher.list(namespacesOf(parts, caller, scope), narrowed(caller, filter), { after: undefined, limit })
}

const factsOf = Effect.fnUntraced(function* (
  parts: Parts,
  caller: Identity,
  scope: SubjectScope,
  memories: ReadonlyArray<MemoryVersion>,
  people?: People
) {
  const kinds = yield* kindsForAgents(parts, caller, memories)
  const told = memories.filter(({ kind }) => kinds.has(kind))
  const { others, user } = people ?? (yield* parts.people(caller, scope))
  const names = user === undefined ? [] : namesOf(user)
  const lines = new Map<string, MemoryVersion>()
  for (const memory of told) {
    const text = lineOf(memory)
    if (text !== "" && !lines.has(text)) lines.set(text, memory)
  }
  const times = yield* parts.saidTimes(caller.account.id, [...lines.values()])
  const facts = Array.from(lines, ([text, memory]): SubjectFact => {
    const about = othersName(memory, names)
    const sinceMillis = times.get(memory.id) ?? memory.createdAt
    return { memory, text, about, topic: topicOfFact(memory, text, about), sinceMillis }
  })
  return { facts, names, others } satisfies Omit<KnownFacts, "total">
})

/** Kinds of the memories that are built in, or registered and for agents. */
const kindsForAgents = Effect.fnUntraced(function* (
  { registry }: Parts,
  caller: Identity,
  memories: ReadonlyArray<MemoryVersion>
) {
  const kinds = new Set(memories.map(({ kind }) => kind))
  const isBuiltin = (kind: string) => isFactKind(kind) && kind !== conversationMessageKind
  if ([...kinds].every(isBuiltin)) return kinds
  const registered = new Set((yield* registry.list(caller.account.id)).filter(hasTool).map(({ name }) => name))
  return new Set([...kinds].filter((kind) => isBuiltin(kind) || registered.has(kind)))
})

/** The memory as a sentence without its full stop. */
export const lineOf = (memory: MemoryVersion): string => {
  const { createdAt, data, id, kind, when } = memory
  const { text } = readStatement({ id, kind, data, when, createdAt, relevance: 1, passage: undefined })
  return text.replace(/(?<=[^.])\.$/, "")
}

const subjectIn = ({ data }: MemoryVersion): string | undefined =>
  typeof data["subject"] === "string" && data["subject"].trim() !== "" ? data["subject"].trim() : undefined

/** Subject of a fact, if it is not the subject itself. */
const othersName = (memory: MemoryVersion, names: ReadonlyArray<string>): string | undefined => {
  const subject = subjectIn(memory)
  if (subject === undefined || isUser(subject)) return undefined
  if (!isFactKind(memory.kind)) return undefined
  const isOwn = names.some(
    (name) => name === subject || name.split(" ")[0] === subject || subject.split(" ")[0] === name
  )
  return isOwn ? undefined : subject
}

const topicOfFact = ({ kind }: MemoryVersion, text: string, about: string | undefined): ProfileTopic | undefined => {
  if (kind === instructionKind || kind === "preference_memory" || kind === "temporal_event") return undefined
  // A record of a registered kind has what it is about as a field.
  return about === undefined || kind !== "factual_memory" ? topicOf(text) : "people"
}

const before = Effect.fnUntraced(function* (
  { directory, host }: Parts,
  caller: Identity,
  memory: MemoryVersion,
  max: number
) {
  const key = directory.find(caller.account.id, memory.agentId)
  const older: Array<MemoryVersion> = []
  if (key === undefined) return older
  for (let id = memory.supersedes; id !== undefined && older.length < max;) {
    const version: MemoryVersion | undefined = yield* host.answer(key, { _tag: "Find", id })
    if (version !== undefined && sees(caller, version)) older.push(version)
    id = version?.supersedes
  }
  return older
})

const wordSet = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

const topicWords: ReadonlyArray<readonly [topic: ProfileTopic, words: ReadonlySet<string>]> = [
  [
    "people",
    wordSet(`
      wife husband partner girlfriend boyfriend fiance fiancee spouse married engaged divorced sister sisters brother
      brothers twin mother mum mom father dad parents son sons daughter daughters child children kid kids baby grandmother
      grandma grandfather grandad grandpa aunt uncle cousin niece nephew friend friends neighbour neighbor flatmate roommate
      colleague boss landlord cat cats dog dogs pet pets puppy kitten rabbit horse parrot hamster
    `)
  ],
  [
    "identity",
    wordSet(`
      name named called nickname surname birthday born age aged old pronouns nationality citizen heritage speaks language
      languages religion phone email address contact
    `)
  ],
  [
    "health",
    wordSet(`
      allergic allergy allergies intolerant intolerance coeliac celiac diabetic diabetes asthma migraine migraines pregnant
      medication medicine dose doctor dentist therapist therapy surgery operation injury injured illness disease condition
      diet vegan vegetarian pescatarian glasses blood diagnosed recovering
    `)
  ],
  [
    "home",
    wordSet(`
      lives live living lived moved moving home house flat apartment rents rent renting mortgage bedroom neighbourhood
      neighborhood address hometown commute commutes timezone
    `)
  ],
  [
    "work",
    wordSet(`
      works work working worked job employer employed company profession occupation career role position title manager
      engineer developer teacher nurse studies study studying studied student university college school degree major thesis
      course salary office shift shifts business startup retired freelance team
    `)
  ],
  [
    "interests",
    wordSet(`
      hobby hobbies interests interest plays play playing sings choir guitar piano violin drums runs running cycles cycling
      bike swims swimming hikes hiking climbs climbing reads reading paints painting knits gardening chess football tennis
      yoga training marathon club band collects photography cooks baking favorite favourite likes loves enjoys
    `)
  ]
]

/**
 * The topic of a profile under which a fact stands, by its words: the first list that has one of them. What no list knows
 * is `other`. English; facts in other languages are `other` unless they are about somebody else.
 */
const topicOf = (text: string): ProfileTopic => {
  const words = new Set(text.toLowerCase().match(/\p{L}+/gu))
  return topicWords.find(([, list]) => !words.isDisjointFrom(list))?.[0] ?? "other"
}
