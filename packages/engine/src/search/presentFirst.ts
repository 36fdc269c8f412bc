/** Puts a newer message about the matter first, by texts and vectors of the first hits. */
import { Effect } from "effect"
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { NamespaceHost } from "../host/NamespaceHost.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import { cosineScaleOf } from "../ranking/Calibration.ts"
import type { Ranked } from "../ranking/Fusion.ts"
import { areComparable, NEWER_FIRST_HITS, newerUp, type DatedHit } from "../ranking/NewerFirst.ts"
import type { MemoryVector } from "../store/Commit.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"
import { messageOf } from "../text/MessageText.ts"
import { vectorsAt } from "./readNamespaces.ts"

interface PlacedHit {
  readonly memory: MemoryVersion
  readonly ranked: Ranked<PlacedCandidate>
}

interface FirstHit<A> extends DatedHit {
  readonly hit: A
}

export const presentFirst = Effect.fnUntraced(function* <A extends PlacedHit>(
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  hits: ReadonlyArray<A>,
  question: string
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
  return newerUp(first, question, cosineOf)
    .map(({ hit }) => hit)
    .concat(hits.slice(NEWER_FIRST_HITS))
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
    sources: (hit.memory.sources ?? []).map(({ key }) => key)
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
