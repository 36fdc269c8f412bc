/** Puts a newer message about the matter first, by texts and vectors of the first hits. */
import { Effect } from "effect"
import { backingSources, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { NamespaceHost } from "../host/NamespaceHost.ts"
import type { Move } from "../ranking/Explanation.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import { cosineScaleOf } from "../ranking/Calibration.ts"
import type { Ranked } from "../ranking/Fusion.ts"
import { areComparable, NEWER_FIRST_HITS, newerUp, type DatedHit } from "../ranking/NewerFirst.ts"
import type { MemoryVector } from "../store/Commit.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"
import { messageOf } from "../text/MessageText.ts"
import { laterStates } from "./laterStates.ts"
import { vectorsAt } from "./readNamespaces.ts"

interface PlacedHit {
  readonly memory: MemoryVersion
  readonly ranked: Ranked<PlacedCandidate>
  /** Why it changed its place. */
  readonly move?: Move | undefined
}

interface FirstHit<A> extends DatedHit {
  readonly hit: A
}

/** What a search asks, and what it may see of each namespace. */
export interface Asked {
  readonly text: string
  readonly filterFor: (namespace: NamespaceKey) => MemoryFilter
}

/**
 * Of the relevance of an older state, what the newer takes over, times how probable it is that it is one: of two
 * answers to a question about the present one is right. Less than 1, since that chance is too high on chats in which
 * little changes.
 */
const SHARE_TAKEN = 0.65
const rounded = (relevance: number): number => Math.round(relevance * 1e4) / 1e4

export const presentFirst = Effect.fnUntraced(function* <A extends PlacedHit>(
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  hits: ReadonlyArray<A>,
  asked: Asked
) {
  const first = hits.slice(0, NEWER_FIRST_HITS).map(firstHit)
  const compared = first.filter((one) => first.some((other) => other !== one && areComparable(one, other)))
  if (compared.length === 0) return hits
  const vectors = yield* vectorsAt(
    host,
    namespaces,
    compared.map(({ hit }) => hit.ranked.candidate)
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
  const up = newerUp(first, asked.text, pairs, ({ hit: newer }, move, { hit: older }, chance) => {
    const taken = SHARE_TAKEN * chance * relevanceOf(older)
    changed.set(newer.memory.id, { move, relevance: Math.max(relevanceOf(newer), taken) })
    changed.set(older.memory.id, { move: "outdated", relevance: relevanceOf(older) - taken })
  })
  return [...up.map(({ hit }) => hit), ...hits.slice(NEWER_FIRST_HITS)].map((hit) => {
    const { move, relevance } = changed.get(hit.memory.id) ?? {}
    return relevance === undefined ? hit : { ...hit, move, ranked: { ...hit.ranked, relevance: rounded(relevance) } }
  })
})

const firstHit = <A extends PlacedHit>(hit: A): FirstHit<A> => {
  const { createdAt, eventAt, message, passage } = hit.ranked.candidate
  const text = messageOf(hit.memory)?.text ?? ""
  return {
    hit,
    createdAt,
    eventAt,
    relevance: hit.ranked.relevance,
    message,
    text: passage === undefined ? text : text.slice(passage.start, passage.end),
    sources: backingSources(hit.memory.sources).map(({ key }) => key)
  }
}

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
