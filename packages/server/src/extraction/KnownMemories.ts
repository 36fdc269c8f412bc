/**
 * Memories of a namespace on the matters of some texts, for a model that reads them: live memories of the request's
 * subject but messages, the nearest of each text first. Without a subject several people may speak: then what was learned
 * in the same thread, and what a caller stored for none. Not those that end before what is written now: their words would
 * outlive them.
 */
import { Clock, Effect } from "effect"
import { backingSources, type MemoryRecord, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { NamespaceHost, type ReadError } from "@muniment/engine/host/NamespaceHost"
import { coversLife } from "@muniment/engine/namespace/Draft"
import type { ShownMemory } from "@muniment/engine/namespace/Commands"
import { namesOf } from "@muniment/language/people/People"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import type { ConversationScope } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import type { KnownMemory } from "@muniment/insight/extraction/Extractor"
import { isFactKind } from "@muniment/schemas/BuiltinKinds"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import { saidTimes } from "../search/SourceMessages.ts"

const knownMax = 24
/** Least number of memories looked up for each text. */
const perTextMin = 4
const queryLengthMax = 400
/** Memories whose subjects are named. */
const namedMax = 60

interface KnownScope extends ConversationScope {
  readonly expiresAt: number | undefined
  /** Memories of a later moment are shown, and not replaced; milliseconds, undefined: all are open. */
  readonly saidMillis: number | undefined
}

/** Ids of those that were said, or changed by a caller, after that time, milliseconds. */
export const saidLater = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  namespace: NamespaceKey,
  memories: ReadonlyArray<MemoryVersion>,
  endMillis: number | undefined
) {
  if (endMillis === undefined) return new Set<string>()
  const times = yield* saidTimes(host, namespace, memories)
  const later = memories.filter(({ id, updatedAt }) => (times.get(id) ?? updatedAt) > endMillis)
  return new Set(later.map(({ id }) => id))
})

/** Memories that a reading of the conversation may know. */
const filterFor = ({ subjectId, threadId }: ConversationScope): MemoryFilter => {
  if (subjectId !== undefined) return { subjectId, include: "extracted" }
  const threads = threadId === undefined ? [] : [{ threadId }]
  return { hasNoSubject: true, include: "extracted", anyOf: [...threads, { hasNoThread: true }] }
}

/** A conversation without a thread is one of its own. */
const isOf = ({ subjectId, threadId }: ConversationScope, memory: MemoryVersion): boolean =>
  subjectId !== undefined || memory.threadId === threadId || memory.origin !== "extraction"

/** Without known memories the messages are read all the same. */
const orUnknown = <A, R>(known: Effect.Effect<ReadonlyArray<A>, ReadError, R>) =>
  Effect.catch(known, ({ _tag, code }) =>
    Effect.as(
      Effect.logWarning(
        "a model reads messages without what is known of them: npm run muniment -- doctor says whether the agent's file is set aside",
        {
          reason: `${_tag} ${code}`
        }
      ),
      []
    )
  )

export type KnownMemories = Effect.Success<typeof makeKnownMemories>

export const makeKnownMemories = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const searcher = yield* MemorySearch
  const embedding = yield* TextEmbedding
  const nearest = Effect.fn("KnownMemories.nearest")(function* (
    namespace: NamespaceKey,
    scope: KnownScope,
    given: ReadonlyArray<string>
  ) {
    const nowMillis = yield* Clock.currentTimeMillis
    const filter = filterFor(scope)
    const limit = Math.max(perTextMin, Math.ceil(knownMax / Math.max(1, given.length)))
    const texts = given.map((text) => text.slice(0, queryLengthMax))
    // The embedder takes several texts at once.
    const vectors = yield* Effect.forEach(texts, embedding.query, { concurrency: "unbounded" })
    const found = yield* Effect.forEach(texts, (text, at) =>
      Effect.map(
        searcher.search([namespace], {
          text,
          vectors: vectors[at]!,
          isMeaningful: embedding.understands(text),
          filter,
          limit,
          minRelevance: 0
        }),
        ({ hits }) => hits.map(({ memory }) => memory).filter((memory) => isOf(scope, memory))
      )
    )
    const ranked = Array.from({ length: limit }, (_, rank) => found.flatMap((hits) => hits[rank] ?? [])).flat()
    const near = [...new Map(ranked.map((memory) => [memory.id, memory])).values()]
      .filter(({ expiresAt }) => coversLife(expiresAt, scope.expiresAt, nowMillis))
      .slice(0, knownMax)
    const later = yield* saidLater(host, namespace, near, scope.saidMillis)
    return near.map((memory): KnownMemory & ShownMemory => {
      const { contentHash, id, kind, origin, sources, uniqueKey } = memory
      // Memories that a caller stored or corrected stay, and a sentence takes no record's place.
      const isOpen =
        origin === "extraction" &&
        isFactKind(kind) &&
        uniqueKey !== undefined &&
        backingSources(sources).length > 0 &&
        !later.has(id)
      return { id, ...statementOf(memory), isOpen, contentHash }
    })
  }, orUnknown)
  const peopleOf = (namespace: NamespaceKey, { subjectId, threadId }: ConversationScope) => {
    const thread = threadId === undefined ? { hasNoThread: true } : { threadId }
    const filter = subjectId === undefined ? { hasNoSubject: true, ...thread } : { subjectId }
    return searcher.people([namespace], { filter })
  }
  /** The user's name: a subject is one person, and what they told in another thread is theirs here. */
  const user = Effect.fn("KnownMemories.user")(function* (namespace: NamespaceKey, scope: ConversationScope) {
    return scope.subjectId === undefined ? undefined : (yield* peopleOf(namespace, scope)).user?.name
  })
  /** Relatives and the like by name, and the subjects of the latest memories; none of them the user. */
  const names = Effect.fn("KnownMemories.names")(function* (namespace: NamespaceKey, scope: ConversationScope) {
    const people = yield* peopleOf(namespace, scope)
    const page = { limit: namedMax, after: undefined }
    const { memories } = yield* searcher.list([namespace], filterFor(scope), page)
    const subjects = memories
      .filter((memory) => isOf(scope, memory))
      .flatMap(({ data }) => (typeof data["subject"] === "string" ? data["subject"] : []))
    const related = people.others.filter(({ relations }) => relations.length > 0).map(({ name }) => name)
    const own = new Set(people.user === undefined ? [] : namesOf(people.user))
    const others = new Set([...related, ...subjects]).difference(own)
    return [...others].filter((name) => !/^(?:the )?user$/i.test(name))
  }, orUnknown)
  return { nearest, names, user }
})

/** A memory as one sentence, with its subject. */
export const statementOf = ({ data, kind, when }: Pick<MemoryRecord, "data" | "kind" | "when">) => {
  const { subject = "", text } = readStatement({ id: "", kind, data, when, createdAt: 0, relevance: 0 })
  return { about: subject, text }
}
