/**
 * Cosines of float32 vectors where 8-bit scores leave open which memories are the best by meaning: near-duplicates
 * differ by less than the error of their codes. Elsewhere nothing is read.
 *
 * Invariant: what is read depends on the best candidates of all namespaces together, not on who holds them.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { NamespaceHost } from "../host/NamespaceHost.ts"
import type { QueryVectors } from "../namespace/NamespaceQuery.ts"
import { type PlacedCandidate, SearchCandidate } from "../namespace/SearchCandidate.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"
import { openFrom } from "../vectors/arena/ScoreBounds.ts"
import { cosinesAt } from "./readNamespaces.ts"

/** Of fewer wanted hits too, as many as this are told apart: some of the best by meaning rank lower. */
const placesMin = 10

/** The candidates, with exact cosines where those of codes leave one of the `limit` best open. */
export const scoredAgain = (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  candidates: ReadonlyArray<PlacedCandidate>,
  { limit, vectors }: { readonly limit: number; readonly vectors: QueryVectors }
) => {
  const open = [...vectors].flatMap(([model, vector]) => inQuestion(candidates, model, limit, vector.length))
  if (open.length === 0) return Effect.succeed(candidates)
  return Effect.map(cosinesAt(host, namespaces, open, vectors), (exact) =>
    candidates.map((candidate) => {
      const cosine = exact.get(candidate.namespace)?.get(candidate.unit)
      return cosine === undefined ? candidate : SearchCandidate.withCosine(candidate, cosine)
    })
  )
}

const inQuestion = (
  candidates: ReadonlyArray<PlacedCandidate>,
  model: string,
  limit: number,
  dims: number
): ReadonlyArray<PlacedCandidate> => {
  const place = Math.max(limit, placesMin)
  if (place > Limits.searchCandidatesMax) return []
  const scored = candidates.filter(({ cosine, modelId }) => modelId === model && cosine !== undefined)
  const scores = Float64Array.from(scored, ({ cosine }) => cosine!)
    .sort()
    .reverse()
  const least = openFrom(scores, place, dims)
  if (least === undefined) return []
  return scored.filter(({ cosine }) => cosine! >= least)
}
