/**
 * A search as a caller means it: in his own memories, in those shared with him, or in both
 * (specification section 4.1, interface.md section 7.2). All queries of one call share its grants and
 * its source attestations.
 */
import { Context, Effect, Layer } from "effect"
import type { Identity } from "@muniment/domain/Account"
import type { SourceAttestation } from "@muniment/domain/Attestation"
import { CurrentCharge, type ChargeFailure } from "@muniment/domain/api/Middleware"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { RecalledMemory } from "@muniment/domain/Memory"
import type { Scope } from "@muniment/domain/Search"
import type { IndexExplanation } from "@muniment/domain/SearchResult"
import { AttestationService, type SharedSource } from "../attestations/AttestationService.ts"
import { MemoryService, type FoundMemory, type SearchRequest } from "../memories/MemoryService.ts"
import { recalledMemory } from "../memories/MemoryViews.ts"
import { SharedAccess, type SharedNamespace } from "./SharedAccess.ts"

export interface RecallRequest {
  readonly queries: ReadonlyArray<SearchRequest>
  readonly scope: typeof Scope.Type
  /** The `X-Grants` header as it came. */
  readonly grants: string | undefined
  readonly explain: boolean
}

/** What was found, before it is shown. */
export interface Recalled {
  /** One list for each query. */
  readonly results: ReadonlyArray<ReadonlyArray<FoundMemory>>
  /** How the caller's own vectors were searched, for each query. */
  readonly index: ReadonlyArray<ReadonlyArray<IndexExplanation>>
  /** Whose memories they are, by namespace; the caller's own are not in it. */
  readonly owners: ReadonlyMap<string, SharedNamespace>
}

export interface RecallAnswer {
  /** One list for each query. */
  readonly results: ReadonlyArray<ReadonlyArray<RecalledMemory>>
  /** By grantor; undefined when nothing shared was found. */
  readonly sourceAttestations: Readonly<Record<string, SourceAttestation>> | undefined
}

export class MemoryRecall extends Context.Service<
  MemoryRecall,
  {
    /** Finds and shows. */
    readonly recall: (
      caller: Identity,
      request: RecallRequest
    ) => Effect.Effect<RecallAnswer, InvalidRequest | ChargeFailure>
    readonly find: (caller: Identity, request: RecallRequest) => Effect.Effect<Recalled, InvalidRequest | ChargeFailure>
    /** As callers see it; the service vouches for what is shown and for nothing else. */
    readonly show: (recalled: Pick<Recalled, "results" | "owners">, explain: boolean) => Effect.Effect<RecallAnswer>
  }
>()("muniment/server/MemoryRecall") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const memories = yield* MemoryService
      const access = yield* SharedAccess
      const attestations = yield* AttestationService

      /** `own` does not even look at the grants. */
      const sharedWith = Effect.fnUntraced(function* (caller: Identity, { grants, scope }: RecallRequest) {
        if (scope === "own") return []
        const opened = yield* access.opened(caller, grants)
        if (scope === "shared" && opened.grantCount === 0) {
          return yield* new InvalidRequest({
            code: "grants_required",
            error: "scope `shared` needs grants in the X-Grants header"
          })
        }
        return opened.namespaces
      })

      const find = Effect.fn("MemoryRecall.find")(function* (caller: Identity, request: RecallRequest) {
        const shared = yield* sharedWith(caller, request)
        yield* (yield* CurrentCharge)()
        const includesOwn = request.scope !== "shared"
        const outcomes = yield* Effect.forEach(
          request.queries,
          (query) => memories.search(caller.account.id, { ...query, includesOwn, shared }),
          { concurrency: "unbounded" }
        )
        return {
          results: outcomes.map((outcome) => outcome.memories),
          index: outcomes.map((outcome) => outcome.index),
          owners: new Map(shared.map((namespace) => [namespace.key.tag, namespace]))
        }
      })

      const show = Effect.fn("MemoryRecall.show")(function* (
        { owners, results }: Pick<Recalled, "results" | "owners">,
        explain: boolean
      ) {
        const sources = sourcesOf(results.flat(), owners)
        return {
          results: results.map((found) =>
            found.map((memory, at) =>
              recalledMemory(memory.hit, at + 1, explain, owners.get(memory.namespace)?.grantor)
            )
          ),
          sourceAttestations: sources.length === 0 ? undefined : yield* attestations.vouchFor(sources)
        }
      })

      const recall = Effect.fn("MemoryRecall.recall")(function* (caller: Identity, request: RecallRequest) {
        return yield* show(yield* find(caller, request), request.explain)
      })

      return { recall, find, show }
    })
  )
}

/** The shared memories that were found, by grantor, each once and in the order of the results. */
const sourcesOf = (
  found: ReadonlyArray<FoundMemory>,
  owners: ReadonlyMap<string, SharedNamespace>
): ReadonlyArray<SharedSource> => {
  const hashes = new Map<string, { readonly account: string; readonly byId: Map<string, string> }>()
  for (const { hit, namespace } of found) {
    const owner = owners.get(namespace)
    if (owner === undefined) continue
    const { account, grantor } = owner
    let source = hashes.get(grantor)
    if (source === undefined) hashes.set(grantor, (source = { account, byId: new Map() }))
    source.byId.set(hit.memory.id, hit.memory.contentHash)
  }
  return [...hashes].map(([grantor, { account, byId }]) => ({ grantor, account, contentHashes: [...byId.values()] }))
}
