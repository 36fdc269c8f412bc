/** Puts the later of two statements about one matter first, by texts and vectors of the first hits. */
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
import { laterStates, messageKeys } from "./laterStates.ts"
import { vectorsAt } from "./readNamespaces.ts"

interface PlacedHit {
  readonly memory: MemoryVersion
  readonly ranked: Ranked<PlacedCandidate>
  /** Why it changed its place. */
  readonly move?: Move | undefined
}

interface FirstHit<A> extends StatedHit {
  readonly hit: A
}

/** What a search asks, and what it may see of each namespace. */
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
