/**
 * What a namespace knows of the matters of some texts, for a model that reads them: live memories of the request's
 * subject but messages, the nearest of each text first. Not those that end before what is written now: their words would
 * outlive them.
 */
import { Clock, Effect } from "effect"
import { backingSources, type MemoryRecord, type MemoryVersion } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { coversLife } from "@muniment/engine/namespace/coversLife"
import type { ShownMemory } from "@muniment/engine/namespace/Commands"
import { namesOf } from "@muniment/engine/people/People"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import type { KnownMemory } from "@muniment/insight/extraction/Extractor"
import { isFactKind } from "@muniment/schemas/BuiltinKinds"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import { saidMillis } from "../search/SaidTimes.ts"

const knownMax = 24
/** Of each text at least. */
const perTextMin = 4
const queryLengthMax = 400
/** Memories whose subjects are named. */
const namedMax = 60

interface KnownScope {
  readonly subjectId: string | undefined
  readonly expiresAt: number | undefined
  /** What was said later is shown, and not replaced; milliseconds, undefined: all is open. */
  readonly saidMillis: number | undefined
}

/** Whether it was said, or changed by a caller, after that time, milliseconds. */
export const isLater = (
  host: NamespaceHost["Service"],
  namespace: NamespaceKey,
  memory: MemoryVersion,
  endMillis: number | undefined
) =>
  endMillis === undefined
    ? Effect.succeed(false)
    : Effect.map(saidMillis(host, namespace, memory), (millis = memory.updatedAt) => millis > endMillis)

export type KnownMemories = Effect.Success<typeof makeKnownMemories>

export const makeKnownMemories = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const searcher = yield* MemorySearch
  const embedding = yield* TextEmbedding
  const nearest = Effect.fn("KnownMemories.nearest")(function* (
    namespace: NamespaceKey,
    { expiresAt, saidMillis: endMillis, subjectId }: KnownScope,
    texts: ReadonlyArray<string>
  ) {
    const nowMillis = yield* Clock.currentTimeMillis
    const filter = { subjectId, hasNoSubject: subjectId === undefined, include: "extracted" } as const
    const limit = Math.max(perTextMin, Math.ceil(knownMax / Math.max(1, texts.length)))
    const found = yield* Effect.forEach(texts, (whole) =>
      Effect.gen(function* () {
        const text = whole.slice(0, queryLengthMax)
        const vectors = yield* embedding.query(text)
        const query = {
          text,
          vectors,
          isMeaningful: embedding.understands(text),
          filter,
          limit,
          minRelevance: 0
        }
        return (yield* searcher.search([namespace], query)).hits
      })
    )
    const known = new Map<string, KnownMemory & ShownMemory>()
    for (let rank = 0; rank < limit; rank++) {
      for (const hits of found) {
        const memory = hits[rank]?.memory
        if (memory === undefined || known.size === knownMax) continue
        if (!coversLife(memory.expiresAt, expiresAt, nowMillis)) continue
        const { contentHash, id, origin, sources, uniqueKey } = memory
        // What a caller stored or corrected stays, and a sentence takes no record's place.
        const isOpen =
          origin === "extraction" &&
          isFactKind(memory.kind) &&
          uniqueKey !== undefined &&
          backingSources(sources).length > 0 &&
          !(yield* isLater(host, namespace, memory, endMillis))
        known.set(id, { id, ...statementOf(memory), isOpen, contentHash })
      }
    }
    return [...known.values()]
  })
  const peopleOf = (namespace: NamespaceKey, subjectId: string | undefined) =>
    searcher.people([namespace], { filter: { subjectId, hasNoSubject: subjectId === undefined } })
  /** The user's name: a subject is one person, and what they told in another thread is theirs here. */
  const user = Effect.fn("KnownMemories.user")(function* (namespace: NamespaceKey, subjectId: string | undefined) {
    return subjectId === undefined ? undefined : (yield* peopleOf(namespace, subjectId)).user?.name
  })
  /** Relatives and the like by name, and the subjects of the latest memories; none of them the user. */
  const names = Effect.fn("KnownMemories.names")(function* (namespace: NamespaceKey, subjectId: string | undefined) {
    const people = yield* peopleOf(namespace, subjectId)
    const filter = { subjectId, hasNoSubject: subjectId === undefined, include: "extracted" } as const
    const { memories } = yield* searcher.list([namespace], filter, { limit: namedMax, after: undefined })
    const subjects = memories.flatMap(({ data }) => (typeof data["subject"] === "string" ? data["subject"] : []))
    const related = people.others.filter(({ relations }) => relations.length > 0).map(({ name }) => name)
    const own = new Set(people.user === undefined ? [] : namesOf(people.user))
    const others = new Set([...related, ...subjects]).difference(own)
    return [...others].filter((name) => !/^(?:the )?user$/i.test(name))
  })
  return { nearest, names, user }
})

/** Whom a memory is about, and what it says, as one sentence. */
export const statementOf = ({ data, kind, when }: Pick<MemoryRecord, "data" | "kind" | "when">) => {
  const { subject = "", text } = readStatement({ id: "", kind, data, when, createdAt: 0, relevance: 0 })
  return { about: subject, text }
}
