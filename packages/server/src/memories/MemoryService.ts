/**
 * What the memory endpoints do, for a given account: reads and changes of its own memories. The one
 * authorisation layer: a namespace is only ever reached through the account that owns it, and a
 * foreign id answers as a missing one does (reliability.md, rules). What depends on a memory being there
 * asks for its price here, after that is known; everything else is priced by its handler.
 */
import { Context, Effect, Layer } from "effect"
import { CurrentCharge, type ChargeFailure, type IdempotencyToken } from "@muniment/domain/api/Middleware"
import {
  Conflict,
  memoryNotFound,
  type InsufficientStorage,
  type InvalidRequest,
  type NotFound,
  type Unavailable
} from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryPatch, MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { IndexExplanation } from "@muniment/domain/SearchResult"
import type { CreateReply } from "@muniment/engine/Commands"
import { MemorySearch, type MemoryHit, type MemoryPage } from "@muniment/engine/MemorySearch"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import type { ListPosition, NamespacePlan } from "@muniment/engine/NamespaceReader"
import type { MemoryVector, NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { KnownKinds } from "./KnownKinds.ts"
import { MemoryIds } from "./MemoryIds.ts"
import { OwnNamespaces } from "./OwnNamespaces.ts"
import { checkMemories, prepareMemories, replacedId, type DirectRequest } from "./MemoryPreparation.ts"
import { QueryEmbedding } from "./QueryEmbedding.ts"

/** Memories of others that the caller may search: a namespace, and the scopes it is seen through. */
export interface SharedTarget {
  readonly key: NamespaceKey
  readonly scopes: ReadonlyArray<MemoryFilter>
}

export interface SearchRequest {
  readonly text: string
  readonly filter: MemoryFilter
  readonly limit?: number | undefined
  readonly minRelevance?: number | undefined
  /** How many are looked at on each half of the search; default `Limits.recallCandidatesMax`. */
  readonly candidates?: number | undefined
  /** False: only what is shared; default true. */
  readonly includesOwn?: boolean | undefined
  readonly shared?: ReadonlyArray<SharedTarget> | undefined
}

/** What was found, and how the vectors of the account's own namespaces were searched. */
export interface SearchOutcome {
  readonly memories: ReadonlyArray<FoundMemory>
  readonly index: ReadonlyArray<IndexExplanation>
}

/** A hit and the tag of the namespace that it lies in. */
export interface FoundMemory {
  readonly hit: MemoryHit
  readonly namespace: string
}

type ReadFailure = Unavailable | InsufficientStorage
type WriteFailure = InvalidRequest | NotFound | ChargeFailure
type Token = IdempotencyToken | undefined

export class MemoryService extends Context.Service<
  MemoryService,
  {
    readonly create: (account: string, request: DirectRequest, token: Token) => Effect.Effect<CreateReply, WriteFailure>
    readonly search: (account: string, request: SearchRequest) => Effect.Effect<SearchOutcome, ReadFailure>
    /** Vectors of what was found, by memory; those that wait for one are left out. */
    readonly vectorsOf: (
      found: ReadonlyArray<FoundMemory>
    ) => Effect.Effect<ReadonlyMap<string, MemoryVector>, ReadFailure>
    readonly list: (
      account: string,
      filter: MemoryFilter,
      after: ListPosition | undefined,
      limit: number
    ) => Effect.Effect<MemoryPage, ReadFailure>
    readonly get: (account: string, id: string) => Effect.Effect<MemoryVersion, NotFound | ChargeFailure>
    readonly patch: (
      account: string,
      id: string,
      patch: MemoryPatch,
      token: Token
    ) => Effect.Effect<MemoryVersion, WriteFailure>
    readonly remove: (account: string, id: string, token: Token) => Effect.Effect<void, WriteFailure>
    /** Number of memories changed; unknown ids are skipped, duplicates count once. */
    readonly patchAll: (
      account: string,
      ids: ReadonlyArray<string>,
      patch: MemoryPatch,
      token: Token
    ) => Effect.Effect<number, WriteFailure>
    readonly removeAll: (
      account: string,
      ids: ReadonlyArray<string>,
      token: Token
    ) => Effect.Effect<number, WriteFailure>
    readonly removeMatching: (account: string, filter: MemoryFilter) => Effect.Effect<number, WriteFailure>
    readonly countExisting: (account: string, ids: ReadonlyArray<string>) => Effect.Effect<number, ReadFailure>
    /** With superseded versions, as a batch delete would remove them. */
    readonly countMatching: (account: string, filter: MemoryFilter) => Effect.Effect<number, ReadFailure>
    /** Latest versions only. */
    readonly countLatest: (account: string, filter: MemoryFilter) => Effect.Effect<number, ReadFailure>
    /** Latest versions that match the text: strongly, or with every word of it. */
    readonly countRelevant: (account: string, text: string, filter: MemoryFilter) => Effect.Effect<number, ReadFailure>
    /** Live memories of each agent; null while its file cannot be read. */
    readonly agents: (
      account: string
    ) => Effect.Effect<ReadonlyArray<{ readonly agentId: string; readonly memories: number | null }>>
  }
>()("muniment/server/MemoryService") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const searcher = yield* MemorySearch
  const directory = yield* NamespaceDirectory
  const own = new OwnNamespaces(directory)
  const kinds = yield* KnownKinds
  const embedding = yield* QueryEmbedding
  const validator = yield* SchemaValidator
  const ids = new MemoryIds()

  const create = Effect.fn("MemoryService.create")(function* (account: string, request: DirectRequest, token: Token) {
    const checked = yield* checkMemories(account, request, kinds).pipe(
      Effect.provideService(SchemaValidator, validator)
    )
    // Before the namespace comes into being: a refused request leaves no agent behind.
    const existing = own.of(account, request.agentId)
    for (const given of checked) {
      const id = replacedId(given)
      if (id === undefined) continue
      const found =
        existing !== undefined && own.ownerOf(account, id) === existing ? yield* find(existing, id) : undefined
      if (found === undefined) return yield* memoryNotFound()
      if (found.kind !== given.memory.kind) return yield* kindMismatch(found.kind)
    }
    yield* (yield* CurrentCharge)({ changes: [request.agentId] })
    const key = yield* own.ensure(account, request.agentId)
    const prepared = yield* prepareMemories(checked, key, request, kinds, ids)
    const vectors = yield* embedding.passages(prepared.map(({ record }) => record))
    return yield* host.ask(key, {
      _tag: "CreateMemories",
      memories: prepared.map((memory, at) => ({ ...memory, vector: vectors[at] })),
      idempotency: token
    })
  })

  const search = Effect.fn("MemoryService.search")(function* (account: string, request: SearchRequest) {
    const { filter, includesOwn = true, shared = [], text } = request
    const scopes = new Map(
      shared
        .filter(({ key }) => filter.agentId === undefined || key.agentId === filter.agentId)
        .map(({ key, scopes: granted }) => [key, granted])
    )
    const ownKeys = includesOwn ? own.visible(account, filter) : []
    const namespaces = [...ownKeys, ...scopes.keys()]
    if (namespaces.length === 0) return { memories: [], index: [] }
    const { hits, plans } = yield* searcher.searchExplained(namespaces, {
      text,
      vectors: yield* embedding.query(text),
      filter,
      limit: request.limit ?? Limits.searchResultsDefault,
      minRelevance: request.minRelevance ?? 0,
      candidates: request.candidates,
      scopeOf: (key) => scopes.get(key)
    })
    return {
      memories: hits.map((hit) => ({ hit, namespace: hit.ranked.candidate.namespace })),
      index: explainIndex(plans, ownKeys)
    }
  })

  const vectorsOf = Effect.fn("MemoryService.vectorsOf")(function* (found: ReadonlyArray<FoundMemory>) {
    const namespaces = [...new Set(found.map(({ namespace }) => namespace))].flatMap(
      (tag) => directory.byTag(tag) ?? []
    )
    return yield* searcher.vectorsOf(
      namespaces,
      found.map(({ hit }) => hit)
    )
  })

  const countRelevant = Effect.fn("MemoryService.countRelevant")(function* (
    account: string,
    text: string,
    filter: MemoryFilter
  ) {
    const namespaces = own.visible(account, filter)
    if (namespaces.length === 0) return 0
    const vectors = yield* embedding.query(text)
    return yield* searcher.countMatching(namespaces, { text, vectors, filter, limit: 0, minRelevance: 0 })
  })

  const find = (key: NamespaceKey, id: string) => host.readRecords(key, (reader, now) => reader.find(id, now))

  const get = Effect.fn("MemoryService.get")(function* (account: string, id: string) {
    const key = own.ownerOf(account, id)
    const memory = key === undefined ? undefined : yield* find(key, id)
    if (memory === undefined) return yield* memoryNotFound()
    yield* (yield* CurrentCharge)()
    return memory
  })

  /** The namespace of a memory that is there, or was until a command with this token was committed. */
  const holderOf = Effect.fnUntraced(function* (account: string, id: string, token: Token) {
    const key = own.ownerOf(account, id)
    if (key === undefined) return yield* memoryNotFound()
    const isThere = (yield* find(key, id)) !== undefined
    const isRepeat = Effect.suspend(() =>
      token === undefined ? Effect.succeed(false) : host.readRecords(key, (reader) => reader.isCommitted(token.key))
    )
    if (!isThere && !(yield* isRepeat)) return yield* memoryNotFound()
    return key
  })

  const patchIn = (key: NamespaceKey, ids: ReadonlyArray<string>, patch: MemoryPatch, token: Token) =>
    Effect.clockWith((clock) =>
      host.ask(key, {
        _tag: "PatchMemories",
        ids,
        patch,
        atMillis: clock.currentTimeMillisUnsafe(),
        idempotency: token
      })
    )

  const patch = Effect.fn("MemoryService.patch")(function* (
    account: string,
    id: string,
    change: MemoryPatch,
    token: Token
  ) {
    const key = yield* holderOf(account, id, token)
    yield* (yield* CurrentCharge)({ changes: [key.agentId] })
    const [memory] = yield* patchIn(key, [id], change, token)
    return memory ?? (yield* memoryNotFound())
  })

  const remove = Effect.fn("MemoryService.remove")(function* (account: string, id: string, token: Token) {
    const key = yield* holderOf(account, id, token)
    yield* (yield* CurrentCharge)({ changes: [key.agentId], isErasure: true })
    const removed = yield* host.ask(key, { _tag: "RemoveMemories", ids: [id], idempotency: token })
    if (removed === 0) return yield* memoryNotFound()
  })

  const patchAll = Effect.fn("MemoryService.patchAll")(function* (
    account: string,
    all: ReadonlyArray<string>,
    change: MemoryPatch,
    token: Token
  ) {
    let patched = 0
    const owners = own.byOwner(account, all)
    yield* (yield* CurrentCharge)({ changes: agentsOf(owners.keys()) })
    for (const [key, ids] of owners) patched += (yield* patchIn(key, ids, change, token)).length
    return patched
  })

  const removeAll = Effect.fn("MemoryService.removeAll")(function* (
    account: string,
    all: ReadonlyArray<string>,
    token: Token
  ) {
    const owners = own.byOwner(account, all)
    yield* (yield* CurrentCharge)({ changes: agentsOf(owners.keys()), isErasure: true })
    let removed = 0
    for (const [key, ids] of owners) {
      removed += yield* host.ask(key, { _tag: "RemoveMemories", ids, idempotency: token })
    }
    return removed
  })

  const removeMatching = Effect.fn("MemoryService.removeMatching")(function* (account: string, filter: MemoryFilter) {
    let removed = 0
    for (const key of own.visible(account, filter)) {
      for (let part: number = Limits.removalsPerCommitMax; part === Limits.removalsPerCommitMax;) {
        part = yield* host.ask(key, { _tag: "RemoveMatching", filter })
        removed += part
      }
    }
    return removed
  })

  const countExisting = Effect.fn("MemoryService.countExisting")(function* (
    account: string,
    all: ReadonlyArray<string>
  ) {
    let found = 0
    for (const [key, ids] of own.byOwner(account, all)) {
      for (const id of ids) {
        if ((yield* host.readRecords(key, (reader, now) => reader.find(id, now))) !== undefined) found++
      }
    }
    return found
  })

  const list = (account: string, filter: MemoryFilter, after: ListPosition | undefined, limit: number) =>
    searcher.list(own.visible(account, filter), filter, after, limit)

  const countLatest = (account: string, filter: MemoryFilter) =>
    Effect.map(list(account, filter, undefined, 0), ({ total }) => total)

  const countMatching = (account: string, filter: MemoryFilter) =>
    countLatest(account, { ...filter, includeSuperseded: true })

  const agents = Effect.fn("MemoryService.agents")(function* (account: string) {
    return yield* Effect.forEach(
      own.visible(account, {}),
      (key) =>
        // A file that is set aside must not hide the others.
        Effect.match(
          host.read(key, (reader, now) => reader.counts(now).live),
          {
            onSuccess: (memories) => ({ agentId: key.agentId, memories }),
            onFailure: () => ({ agentId: key.agentId, memories: null })
          }
        ),
      { concurrency: Limits.namespaceFanOutMax }
    )
  })

  return {
    create,
    search,
    vectorsOf,
    list,
    get,
    patch,
    remove,
    patchAll,
    removeAll,
    removeMatching,
    countExisting,
    countMatching,
    countLatest,
    countRelevant,
    agents
  }
})

/** Costliest first. Of others' namespaces nothing is told: a cost would say how much they hold. */
const explainIndex = (
  plans: ReadonlyArray<NamespacePlan>,
  ownKeys: ReadonlyArray<NamespaceKey>
): ReadonlyArray<IndexExplanation> => {
  const agents = new Map<string, string>(ownKeys.map(({ agentId, tag }) => [tag, agentId]))
  const told = plans.flatMap(({ engine, estimatedMicros, model, namespace, probes, reason }) => {
    const agentId = agents.get(namespace)
    const lists = engine === "quantized" ? { probedLists: probes } : {}
    return agentId === undefined ? [] : [{ agentId, model, engine, reason, ...lists, estimatedMicros }]
  })
  return told.sort((a, b) => b.estimatedMicros - a.estimatedMicros).slice(0, Limits.explainedNamespacesMax)
}

const agentsOf = (keys: Iterable<NamespaceKey>): ReadonlyArray<string> => Array.from(keys, ({ agentId }) => agentId)

const kindMismatch = (kind: string) => new Conflict({ code: "kind_mismatch", error: `the memory is of kind "${kind}"` })
