/** Puts the newer of two messages about the same matter first, by the vectors of the first hits. */
import { Effect } from "effect"
import type { NamespaceHost } from "../host/NamespaceHost.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import { cosineScaleOf } from "../ranking/Calibration.ts"
import type { Ranked } from "../ranking/Fusion.ts"
import { areComparable, NEWER_FIRST_HITS, newerUp, SAME_MATTER_COSINE_MIN } from "../ranking/NewerFirst.ts"
import type { MemoryVector } from "../store/Commit.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"
import { vectorsAt } from "./readNamespaces.ts"

export const presentFirst = Effect.fnUntraced(function* <C extends PlacedCandidate>(
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  ranking: ReadonlyArray<Ranked<C>>
) {
  const first = ranking.slice(0, NEWER_FIRST_HITS).map(({ candidate }) => candidate)
  const compared = first.filter((one) => first.some((other) => other !== one && areComparable(one, other)))
  if (compared.length === 0) return ranking
  const vectors = yield* vectorsAt(host, namespaces, compared)
  const rankedOf = new Map(ranking.map((ranked) => [ranked.candidate, ranked]))
  return newerUp(first, (one, other) => isSameMatter(vectors.get(one.id), vectors.get(other.id)))
    .map((candidate) => rankedOf.get(candidate)!)
    .concat(ranking.slice(NEWER_FIRST_HITS))
})

const isSameMatter = (one: MemoryVector | undefined, other: MemoryVector | undefined): boolean => {
  if (one === undefined || other === undefined || one.model !== other.model) return false
  const { factor, offset } = cosineScaleOf(one.model)
  return offset + factor * cosineOf(one.values, other.values) >= SAME_MATTER_COSINE_MIN
}

const cosineOf = (one: Float32Array, other: Float32Array): number => {
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
