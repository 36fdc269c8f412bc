/**
 * Places of hits that change after their score: of two statements about one matter the later comes first, by texts and
 * vectors of the first hits; of a fact and the message that it was taken from one stays; a message whose memory was
 * corrected since comes behind the memory that holds.
 */
import { Effect } from "effect"
import { backingSources, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { NamespaceHost } from "../host/NamespaceHost.ts"
import type { Move } from "../ranking/Explanation.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import { cosineScaleOf } from "../ranking/Calibration.ts"
import type { Ranked } from "../ranking/Fusion.ts"
import { areComparable, LATER_FIRST_HITS, laterFirst, type StatedHit } from "../ranking/Currentness.ts"
import type { MemoryVector } from "../store/Commit.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"
import { mainText } from "../text/MemoryText.ts"
import { vectorsAt } from "./readNamespaces.ts"
import type { ExtractedFrom } from "../namespace/NamespaceQuery.ts"

interface PlacedHit {
  readonly memory: MemoryVersion
  readonly ranked: Ranked<PlacedCandidate>
  /** Why it changed its place. */
  readonly move?: Move | undefined
}

interface FirstHit<A> extends StatedHit {
  readonly hit: A
}

/** Question of a search, and what it may see of each namespace. */
export interface Asked {
  readonly text: string
  /** How facts name the user, in lower case, if the question is about them. */
  readonly about?: ReadonlySet<string> | undefined
  readonly filterFor: (namespace: NamespaceKey) => MemoryFilter
}

/**
 * Of the relevance of an older state, what the newer takes over, times how probable it is that it is one: of two
 * answers to a question about the present one is right. Less than 1, since that chance is too high on chats in which
 * little changes.
 */
const SHARE_TAKEN = 0.65
const rounded = (relevance: number): number => Math.round(relevance * 1e4) / 1e4

/** `known`: hits that tell when what was taken from them was said, shown or not. */
export const presentFirst = Effect.fnUntraced(function* <A extends PlacedHit>(
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  hits: ReadonlyArray<A>,
  asked: Asked,
  known: ReadonlyArray<A>
) {
  const saidAt = timesOf(known)
  const first = hits.slice(0, LATER_FIRST_HITS).map((hit) => firstHit(hit, asked, saidAt))
  const compared = first.filter((one) => first.some((other) => areComparable(one, other)))
  if (compared.length === 0) return hits
  const vectors = yield* vectorsAt(
    host,
    namespaces,
    first.map(({ hit }) => hit.ranked.candidate)
  )
  const cosineOf = (one: FirstHit<A>, other: FirstHit<A>): number | undefined =>
    comparableCosine(vectors.get(one.hit.memory.id), vectors.get(other.hit.memory.id))
  const isLater = yield* laterStates(
    host,
    namespaces,
    compared.map(({ hit }) => hit),
    asked.filterFor
  )
  const changed = new Map<string, Pick<PlacedHit, "move"> & { readonly relevance: number }>()
  const relevanceOf = ({ memory, ranked }: A): number => changed.get(memory.id)?.relevance ?? ranked.relevance
  const pairs = { cosineOf, isLater: (one: FirstHit<A>, other: FirstHit<A>) => isLater(one.hit, other.hit) }
  const up = laterFirst(first, asked.text, pairs, ({ hit: newer }, move, { hit: older }, chance) => {
    const taken = SHARE_TAKEN * chance * relevanceOf(older)
    changed.set(newer.memory.id, { move, relevance: Math.max(relevanceOf(newer), taken) })
    changed.set(older.memory.id, { move: "outdated", relevance: relevanceOf(older) - taken })
  })
  return [...up.map(({ hit }) => hit), ...hits.slice(LATER_FIRST_HITS)].map((hit) => {
    const { move, relevance } = changed.get(hit.memory.id) ?? {}
    return relevance === undefined ? hit : { ...hit, move, ranked: { ...hit.ranked, relevance: rounded(relevance) } }
  })
})

const firstHit = <A extends PlacedHit>(hit: A, { about }: Asked, saidAt: ReadonlyMap<string, number>): FirstHit<A> => {
  const { memory, ranked } = hit
  const { candidate, order } = ranked
  const { createdAt, message, passage } = candidate
  const text = mainText(memory)
  const who = message === undefined ? candidate.about : message.speaker.toLowerCase()
  const times = messageKeys(candidate.namespace, memory).flatMap((key) => saidAt.get(key) ?? [])
  const isTaken = message === undefined && backingSources(memory.sources).length > 0
  return {
    hit,
    id: memory.id,
    createdAt,
    saidAt: isTaken ? (times.length === 0 ? undefined : Math.max(...times)) : saidMillis(hit),
    order,
    message,
    text: passage === undefined ? text : text.slice(passage.start, passage.end),
    who: who !== undefined && about?.has(who) === true ? "user" : who
  }
}

/** When a message was sent, or what a caller stored was stored: the time of an event is not that. */
const saidMillis = ({ ranked: { candidate } }: PlacedHit): number =>
  candidate.message === undefined ? candidate.createdAt : (candidate.eventAt ?? candidate.createdAt)

/** By the keys of messages. */
const timesOf = (hits: ReadonlyArray<PlacedHit>): ReadonlyMap<string, number> =>
  new Map(
    hits.flatMap((hit) => {
      const { candidate } = hit.ranked
      if (candidate.message === undefined) return []
      return messageKeys(candidate.namespace, hit.memory).map((key) => [key, saidMillis(hit)] as const)
    })
  )

const comparableCosine = (one: MemoryVector | undefined, other: MemoryVector | undefined): number | undefined => {
  if (one === undefined || other === undefined || one.model !== other.model) return undefined
  const { factor, offset } = cosineScaleOf(one.model)
  return offset + factor * cosineOf(one.values, other.values)
}

/** -1 to 1; 0 if a vector has no length. */
export const cosineOf = (one: Float32Array, other: Float32Array): number => {
  let product = 0
  let oneSquared = 0
  let otherSquared = 0
  for (let at = 0; at < one.length; at++) {
    product += one[at]! * other[at]!
    oneSquared += one[at]! * one[at]!
    otherSquared += other[at]! * other[at]!
  }
  return product / Math.sqrt(oneSquared * otherSquared || 1)
}

interface MessageHit {
  readonly memory: MemoryVersion
  readonly ranked: { readonly candidate: Pick<PlacedCandidate, "namespace"> }
}

/**
 * Which messages tell a later state of what others tell: the memory that was extracted from the one superseded the
 * memory that was extracted from the other, as both fill the same slot (a home, an employer, a date). By messages, older
 * and newer; memories that `filterFor` hides say nothing.
 */
const laterStates = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  messages: ReadonlyArray<MessageHit>,
  filterFor: (namespace: NamespaceKey) => MemoryFilter
) {
  const found = new Map<string, Set<string>>()
  const conversations = Map.groupBy(messages, ({ memory: { subjectId, threadId }, ranked }) =>
    JSON.stringify([ranked.candidate.namespace, subjectId, threadId])
  )
  for (const [{ memory, ranked }, ...others] of conversations.values() as Iterable<
    [MessageHit, ...Array<MessageHit>]
  >) {
    const { namespace } = ranked.candidate
    const key = namespaces.find(({ tag }) => tag === namespace)!
    const keys = [memory, ...others.map((other) => other.memory)].flatMap(({ sources = [] }) =>
      sources.map((one) => one.key)
    )
    const scope = { subjectId: memory.subjectId, threadId: memory.threadId }
    const pairs = yield* host.answer(key, { _tag: "LaterVersions", scope, keys, filter: filterFor(key) })
    for (const [older, later] of pairs) {
      for (const one of messageKeys(namespace, older)) {
        const known = found.get(one) ?? new Set()
        found.set(one, known.union(new Set(messageKeys(namespace, later))))
      }
    }
  }
  return (older: MessageHit, newer: MessageHit): boolean =>
    messageKeys(older.ranked.candidate.namespace, older.memory).some((one) =>
      messageKeys(newer.ranked.candidate.namespace, newer.memory).some((other) => found.get(one)?.has(other))
    )
})

export type MessageOrFact = Pick<MemoryVersion, "sources" | "subjectId" | "threadId">

/** Keys of the messages that a memory is, or was taken from; a key is unique in its conversation. */
export const messageKeys = (
  namespace: string,
  { sources, subjectId, threadId }: MessageOrFact
): ReadonlyArray<string> =>
  backingSources(sources).map(({ key }) => JSON.stringify([namespace, subjectId, threadId, key]))

interface SourcedHit {
  readonly memory: MessageOrFact
  /** `message` is undefined of other kinds. */
  readonly ranked: { readonly candidate: { readonly namespace: string; readonly message?: object | undefined } }
}

/**
 * Removes repetitions from hits, where there are more than wanted: of a fact and a message that it was taken from, the
 * one that ranks higher stays. A fact counts for all of its messages, and is a repetition where all of them rank before
 * it. Two facts of one message say two things. `hits`: best first, more than `limit` where there are more. Returns at most
 * `limit`.
 */
export const oncePerMessage = <A extends SourcedHit>(hits: ReadonlyArray<A>, limit: number): ReadonlyArray<A> => {
  if (hits.length <= limit) return hits
  const shown = { messages: new Set<string>(), facts: new Set<string>() }
  const repeats = hits.filter(({ memory, ranked: { candidate } }) => {
    const keys = messageKeys(candidate.namespace, memory)
    const isMessage = candidate.message !== undefined
    const before = isMessage ? shown.facts : shown.messages
    if (keys.length > 0 && keys.every((key) => before.has(key))) return true
    for (const key of keys) (isMessage ? shown.messages : shown.facts).add(key)
    return false
  })
  // Where there is nothing else for a place, the best of them keep theirs.
  const left = new Set(repeats.slice(Math.max(0, limit - (hits.length - repeats.length))))
  return hits.filter((hit) => !left.has(hit)).slice(0, limit)
}

interface PlacedMemory {
  readonly memory: MemoryVersion
  /** Tag of its namespace. */
  readonly namespace: string
}

interface CorrectedHit {
  readonly memory: MemoryVersion
  readonly ranked: { readonly candidate: Pick<PlacedCandidate, "message" | "namespace"> }
  readonly correctedBy?: string | undefined
}

/** Memories taken from a message that are looked at. */
const TAKEN_MAX = 100

/**
 * Names the messages whose memory a caller has corrected since, or put aside by restoring an older version, and puts them
 * behind the memory that holds: the message still says what was wrong.
 */
export const correctedFirst = Effect.fnUntraced(function* <A extends CorrectedHit>(
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  hits: ReadonlyArray<A>,
  filterFor: (namespace: NamespaceKey) => MemoryFilter
) {
  const messages = hits.flatMap(({ memory, ranked: { candidate } }) =>
    candidate.message === undefined ? [] : [{ memory, namespace: candidate.namespace }]
  )
  const corrections = yield* correctionsOf(host, namespaces, messages, filterFor)
  return corrections.size === 0 ? hits : ordered(hits, corrections)
})

/**
 * By id of a message, the memory taken from it that a caller has corrected since, or the restored one in its place. What
 * `filterFor` narrows to a part, as a grant does, is not looked through: a correction may lie beside that part.
 */
export const correctionsOf = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  messages: ReadonlyArray<PlacedMemory>,
  filterFor: (namespace: NamespaceKey) => MemoryFilter
) {
  const corrections = new Map<string, string>()
  for (const [first, ...others] of Map.groupBy(messages, conversationOf).values() as Iterable<
    [PlacedMemory, ...Array<PlacedMemory>]
  >) {
    const key = namespaces.find(({ tag }) => tag === first.namespace)
    if (key === undefined) continue
    const { anyOf, asOf } = filterFor(key)
    if (anyOf !== undefined) continue
    const { subjectId, threadId } = first.memory
    const here = [first, ...others]
    const keys = here.flatMap(keysOf)
    const scope = { subjectId, threadId }
    const taken = yield* host.answer(key, {
      _tag: "ExtractedFrom",
      scope,
      keys,
      limit: TAKEN_MAX * keys.length,
      asOf
    })
    const putAside = yield* putAsideBy(host, key, { scope, keys, asOf })
    const correctedBy = new Map([
      ...putAside,
      ...taken.flatMap(({ id, sources = [] }) =>
        sources.flatMap((source) => (source.isCorrected === true ? [[source.key, id] as const] : []))
      )
    ])
    for (const message of here) {
      const by = keysOf(message).flatMap((one) => correctedBy.get(one) ?? [])[0]
      if (by !== undefined) corrections.set(message.memory.id, by)
    }
  }
  return corrections as ReadonlyMap<string, string>
})

/**
 * By key of a message, the restored version that is the latest: it put aside the version taken from that message, which is
 * newer than the one that was restored. A message that also backs the restored version is none.
 */
const putAsideBy = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  key: NamespaceKey,
  { asOf, keys, scope }: Pick<ExtractedFrom, "asOf" | "keys" | "scope">
) {
  const pairs = yield* host.answer(key, { _tag: "LaterVersions", scope, keys, filter: { asOf } })
  const found: Array<readonly [key: string, id: string]> = []
  for (const [older, { id, revision, sources }] of pairs) {
    if (revision?.how !== "restored" || revision.of === undefined) continue
    const original = yield* host.answer(key, { _tag: "Find", id: revision.of })
    if (original === undefined || older.createdAt <= original.createdAt) continue
    const backing = new Set(backingSources(sources).map((source) => source.key))
    for (const source of backingSources(older.sources)) if (!backing.has(source.key)) found.push([source.key, id])
  }
  return found
})

const keysOf = ({ memory }: PlacedMemory): ReadonlyArray<string> => memory.sources?.map((source) => source.key) ?? []

const conversationOf = ({ memory: { subjectId, threadId }, namespace }: PlacedMemory): string =>
  JSON.stringify([namespace, subjectId, threadId])

/** A correction takes the place of the first of its messages before it. */
const ordered = <A extends CorrectedHit>(
  hits: ReadonlyArray<A>,
  corrections: ReadonlyMap<string, string>
): ReadonlyArray<A> => {
  const byId = new Map(hits.map((hit) => [hit.memory.id, hit]))
  const shown = new Set<A>()
  for (const hit of hits) {
    const correction = byId.get(corrections.get(hit.memory.id) ?? "")
    if (correction !== undefined) shown.add(correction)
    shown.add(hit)
  }
  return [...shown].map((hit) => {
    const correctedBy = corrections.get(hit.memory.id)
    return correctedBy === undefined ? hit : { ...hit, correctedBy }
  })
}
