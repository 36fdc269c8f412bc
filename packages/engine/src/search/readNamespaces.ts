/**
 * Reads of several namespaces: a query for each, or the records and vectors of places found before. Large reads
 * yield to other fibers between portions.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { NamespaceHost, ReadError } from "../host/NamespaceHost.ts"
import type { AnswerOf, MemoryPlace, NamespaceQuery, QueryVectors } from "../namespace/NamespaceQuery.ts"
import type { MemoryVector } from "../store/Commit.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"
import { type PlacedCandidate, SearchCandidate } from "../namespace/SearchCandidate.ts"
import { openFrom } from "../vectors/arena/ScoreBounds.ts"

type Host = NamespaceHost["Service"]

/** A place and the tag of its namespace. */
export interface NamespacePlace extends MemoryPlace {
  readonly namespace: string
}

/** Records read and parsed, or vectors copied, in one turn: about 5 ms. */
export const recordsPerTurn = 250

/**
 * Asks all namespaces, `Limits.namespaceFanOutMax` at a time. Leaves out those that cannot be read, and fails
 * only if none can.
 */
export const askAll = <Q extends NamespaceQuery>(
  host: Host,
  namespaces: ReadonlyArray<NamespaceKey>,
  queryFor: (key: NamespaceKey) => Q
): Effect.Effect<ReadonlyArray<AnswerOf<Q>>, ReadError> => {
  const [first] = namespaces
  return first !== undefined && namespaces.length === 1
    ? Effect.map(
        Effect.suspend(() => host.answer(first, queryFor(first))),
        (answer) => [answer]
      )
    : askEach(host, namespaces, queryFor)
}

const askEach = Effect.fnUntraced(function* <Q extends NamespaceQuery>(
  host: Host,
  namespaces: ReadonlyArray<NamespaceKey>,
  queryFor: (key: NamespaceKey) => Q
): Effect.fn.Return<ReadonlyArray<AnswerOf<Q>>, ReadError> {
  const results = yield* Effect.forEach(namespaces, (key) => Effect.result(host.answer(key, queryFor(key))), {
    concurrency: Limits.namespaceFanOutMax
  })
  const failures = results.flatMap((result) => (result._tag === "Failure" ? [result.failure] : []))
  if (failures.length > 0) {
    if (failures.length === namespaces.length) return yield* failures[0]!
    yield* Effect.logWarning("search without some namespaces: they cannot be read", { count: failures.length })
  }
  return results.flatMap((result) => (result._tag === "Success" ? [result.success] : []))
})

/** Records by memory id; leaves out memories that have gone since they were found. */
export const versionsAt = Effect.fnUntraced(function* (
  host: Host,
  namespaces: ReadonlyArray<NamespaceKey>,
  places: ReadonlyArray<NamespacePlace>,
  asOf?: number
) {
  const found = new Map<string, MemoryVersion>()
  for (const { isFirst, key, portion } of portionsOf(namespaces, places)) {
    if (!isFirst || places.length > recordsPerTurn) yield* Effect.yieldNow
    for (const version of yield* host.answer(key, { _tag: "VersionsAt", places: portion, asOf }))
      found.set(version.id, version)
  }
  return found
})

/** Vectors by memory id; leaves out memories that have gone or have no vector yet. */
export const vectorsAt = Effect.fnUntraced(function* (
  host: Host,
  namespaces: ReadonlyArray<NamespaceKey>,
  places: ReadonlyArray<NamespacePlace>
) {
  const found = new Map<string, MemoryVector>()
  for (const { isFirst, key, portion } of portionsOf(namespaces, places)) {
    if (!isFirst || places.length > recordsPerTurn) yield* Effect.yieldNow
    const vectors = yield* host.answer(key, { _tag: "VectorsOf", places: portion })
    for (const [id, vector] of vectors) found.set(id, vector)
  }
  return found
})

/** Cosines of float32 vectors, by namespace and slot; leaves out what has gone or is of another model. */
export const cosinesAt = Effect.fnUntraced(function* (
  host: Host,
  namespaces: ReadonlyArray<NamespaceKey>,
  places: ReadonlyArray<NamespacePlace>,
  vectors: QueryVectors
) {
  const found = new Map<string, ReadonlyMap<number, number>>()
  for (const { key, portion } of portionsOf(namespaces, places)) {
    found.set(key.tag, yield* host.answer(key, { _tag: "ExactCosinesAt", places: portion, vectors }))
  }
  return found
})

/** The places of each namespace, in portions of `recordsPerTurn`. */
const portionsOf = (namespaces: ReadonlyArray<NamespaceKey>, places: ReadonlyArray<NamespacePlace>) => {
  const byNamespace = Map.groupBy(places, ({ namespace }) => namespace)
  return namespaces.flatMap((key) => {
    const here = byNamespace.get(key.tag) ?? []
    const starts = Array.from({ length: Math.ceil(here.length / recordsPerTurn) }, (_, at) => at * recordsPerTurn)
    return starts.map((from) => ({ key, isFirst: from === 0, portion: here.slice(from, from + recordsPerTurn) }))
  })
}

/** Least number of hits that are told apart, also where fewer are wanted: some of the best by meaning rank lower. */
const placesMin = 10

/**
 * The candidates, with exact cosines where those of codes leave one of the `limit` best open: near-duplicates differ by
 * less than the error of their codes. Elsewhere nothing is read.
 *
 * Invariant: what is read depends on the best candidates of all namespaces together, not on who holds them.
 */
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
