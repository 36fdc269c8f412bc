/**
 * Reads and writes of an account's own memories, for REST and MCP. The only authorisation check for them: a
 * namespace is reached through the account that owns it; another account's id is answered like an
 * unknown one (404). A price is reserved after all other checks, so a refused call is never charged.
 */
import { Context, Effect, Layer } from "effect"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import {
  Conflict,
  InvalidRequest,
  memoryNotFound,
  type InsufficientStorage,
  NotFound,
  type PayloadTooLarge,
  type PreconditionFailed,
  type Unavailable
} from "@muniment/domain/Errors"
import type { GivenFeedback } from "@muniment/domain/Feedback"
import type { Identity } from "@muniment/domain/Identity"
import { namespaceTagOf } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import {
  type CreatedMemories,
  type CreateMemories,
  type LookupMemory,
  type MemoryChange,
  type MemoryPatch,
  type MemoryVersion,
  waitsFor
} from "@muniment/domain/Memory"
import { Prices } from "@muniment/domain/Plans"
import type {
  BatchDelete,
  DeletedMemories,
  MemoryFilter,
  RemovedMemory,
  RemovedVersions
} from "@muniment/domain/Search"
import { traced } from "@muniment/domain/traced"
import {
  type FacetPage,
  type FacetQuery,
  type ListedPage,
  type MemoryPage,
  MemorySearch
} from "@muniment/engine/search/MemorySearch"
import { askedQuestion } from "@muniment/language/question/AskedQuestion"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { ExpectedMemory, RemoveMemories } from "@muniment/engine/namespace/Commands"
import type { FoundHistory } from "@muniment/engine/namespace/NamespaceQuery"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { changeable, isBound, narrowed, requireChange, requirePlace, sees, seesAgent } from "../identity/KeyScopes.ts"
import { KnownKinds } from "./KnownKinds.ts"
import {
  MemoryIds,
  prepareMemories,
  replacedId,
  requireFewTags,
  requireKey,
  schemasOf,
  uniqueFieldsOf,
  uniqueKey,
  validMemories
} from "./MemoryPreparation.ts"
import {
  changeData,
  historyOf,
  holderOf,
  holderOfVersion,
  keepFeedback,
  latestOf,
  restoreVersion,
  versionsBeneath,
  withAllVersions
} from "./DataChange.ts"
import { type IfMatch, memoryEntry, versionMismatch, versionOf } from "./MemoryViews.ts"
import { TextEmbedding } from "./TextEmbedding.ts"

type ReadFailure = Unavailable | InsufficientStorage
type WriteFailure = InvalidRequest | NotFound | PayloadTooLarge | ChargeFailure
type ChangeFailure = WriteFailure | PreconditionFailed

export class MemoryService extends Context.Service<
  MemoryService,
  {
    /** Stores the direct memories of a request, all or none. */
    readonly create: (call: PricedCall, request: CreateMemories) => Effect.Effect<CreatedMemories, WriteFailure>
    readonly get: (call: PricedCall, id: string) => Effect.Effect<MemoryVersion, NotFound | ChargeFailure>
    readonly list: (
      call: PricedCall,
      filter: MemoryFilter,
      page: ListedPage
    ) => Effect.Effect<MemoryPage, ChargeFailure>
    /** The latest memory with the unique fields. */
    readonly lookup: (
      call: PricedCall,
      asked: LookupMemory
    ) => Effect.Effect<MemoryVersion, InvalidRequest | NotFound | ChargeFailure>
    readonly facet: (call: PricedCall, query: FacetQuery) => Effect.Effect<FacetPage, ChargeFailure>
    /** With data, which may be a new version, or of tags and expiry alone. */
    readonly patch: (
      call: PricedCall,
      id: string,
      change: MemoryChange,
      ifMatch?: IfMatch
    ) => Effect.Effect<MemoryVersion, ChangeFailure>
    /** Versions of a memory that the caller sees, newest first: at most `limit`. */
    readonly history: (
      call: PricedCall,
      id: string,
      limit: number
    ) => Effect.Effect<FoundHistory, NotFound | ChargeFailure>
    /** An older version as a new one, the latest; the latest as it is. */
    readonly restore: (call: PricedCall, id: string, ifMatch?: IfMatch) => Effect.Effect<MemoryVersion, ChangeFailure>
    /** Keeps what a caller says of a memory's use; answers the memory. */
    readonly giveFeedback: (
      call: PricedCall,
      id: string,
      given: GivenFeedback
    ) => Effect.Effect<MemoryVersion, WriteFailure>
    /** Number of memories changed; unknown ids are skipped, duplicates count once. */
    readonly patchAll: (
      call: PricedCall,
      ids: ReadonlyArray<string>,
      patch: MemoryPatch
    ) => Effect.Effect<number, WriteFailure>
    /** One version, or with `all` the memory with all its versions. */
    readonly remove: (
      call: PricedCall,
      id: string,
      versions: typeof RemovedVersions.Type,
      ifMatch?: IfMatch
    ) => Effect.Effect<RemovedMemory, ChangeFailure>
    /** Number of memories removed, by ids or by filters; with `dryRun` those that would be. */
    readonly removeBatch: (
      call: PricedCall,
      request: typeof BatchDelete.Type
    ) => Effect.Effect<DeletedMemories, WriteFailure>
    /** Latest versions only. */
    readonly count: (caller: Identity, filter: MemoryFilter) => Effect.Effect<number, ReadFailure>
    /** Latest versions that match the text: strongly, or with every word of it. */
    readonly countRelevant: (caller: Identity, text: string, filter: MemoryFilter) => Effect.Effect<number, ReadFailure>
  }
>()("muniment/server/MemoryService") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const parts = yield* makeParts
      return {
        create: (call, request) => create(parts, call, request),
        get: (call, id) => get(parts, call, id),
        list: (call, filter, page) =>
          Effect.andThen(call.reserve({ agent: filter.agentId }), list(parts, call.caller, filter, page)),
        lookup: (call, asked) => lookup(parts, call, asked),
        facet: (call, query) =>
          Effect.andThen(call.reserve({ agent: query.filter.agentId }), facet(parts, call.caller, query)),
        patch: (call, id, change, ifMatch) => patchOne(parts, call, id, change, ifMatch),
        history: (call, id, limit) => historyOf(parts, call, id, limit),
        restore: (call, id, ifMatch) =>
          Effect.flatMap(holderOfVersion(parts, call, id, ifMatch), (key) =>
            restoreVersion(parts, call, { key, id, ifMatch })
          ),
        giveFeedback: (call, id, given) =>
          Effect.flatMap(holderOf(parts, call, id), (held) => keepFeedback(parts, call, held, { id, given })),
        patchAll: (call, ids, patch) => patchAll(parts, call, ids, patch),
        remove: (call, id, versions, ifMatch) => removeOne(parts, call, id, versions, ifMatch),
        removeBatch: (call, request) => removeBatch(parts, call, request),
        count: (caller, filter) => count(parts, caller, filter),
        countRelevant: (caller, text, filter) => countRelevant(parts, caller, text, filter)
      }
    })
  )
}

const makeParts = Effect.all({
  host: NamespaceHost,
  searcher: MemorySearch,
  directory: NamespaceDirectory,
  kinds: KnownKinds,
  embedding: TextEmbedding,
  validator: SchemaValidator,
  ids: Effect.sync(() => new MemoryIds())
})

type Parts = Effect.Success<typeof makeParts>

const create = traced("MemoryService.create")(function* (parts: Parts, call: PricedCall, request: CreateMemories) {
  const { directory, embedding, host, ids, kinds, validator } = parts
  yield* requirePlace(call.caller, request)
  const account = call.caller.account.id
  const given = request.memories ?? []
  yield* requireFewTags(given, request)
  const schemas = yield* schemasOf(account, given, kinds)
  const memories = yield* validMemories(account, given, schemas, validator)
  for (const [index, memory] of memories.entries()) {
    const id = replacedId(memory, schemas)
    if (id !== undefined) yield* requireReplaceable(parts, call.caller, request, { index, id, kind: memory.kind })
  }
  yield* call.reserve({ changes: [request.agentId] })
  // Only now: a refused request creates no namespace.
  const key = yield* directory.ensure(account, request.agentId)
  const prepared = yield* prepareMemories(memories, schemas, key, request, kinds, ids)
  const records = prepared.map(({ record }) => record)
  const { created, duplicates, updated } = yield* embedding.storing(
    key,
    records,
    waitsFor(request, "vectors") ? "vectors" : "briefly",
    (vectors) =>
      host.ask(key, {
        _tag: "StoreMemories",
        memories: prepared.map((memory, at) => ({ ...memory, vector: vectors[at] })),
        skipsDuplicates: request.onDuplicate === "return",
        idempotency: call.token
      })
  )
  const written = { created: created.map(memoryEntry), updated: updated.map(memoryEntry) }
  if (request.onDuplicate !== "return") return written
  // The first of equal memories in one request is created, and listed there.
  const others = new Set(duplicates.map(({ id }) => id)).difference(new Set(created.map(({ id }) => id)))
  const existing = yield* Effect.forEach(others, (id) => find(parts, key, id))
  return { ...written, existing: existing.filter((memory) => memory !== undefined).map(memoryEntry) }
})

/** A memory of this agent and subject that a new one of `kind` may replace; else a sentence that says where it is. */
const requireReplaceable = Effect.fnUntraced(function* (
  parts: Parts,
  caller: Identity,
  { agentId, subjectId }: CreateMemories,
  { id, index, kind }: { readonly id: string; readonly index: number; readonly kind: string }
) {
  const key = parts.directory.holding(caller.account.id, id)
  const held = key === undefined ? undefined : yield* find(parts, key, id)
  const found = held !== undefined && sees(caller, held) ? held : undefined
  if (found?.agentId !== agentId || found.subjectId !== subjectId) {
    const error = `/memories/${index}/id: ${whyNotHere(id, found)}`
    return yield* new NotFound({ code: "memory_not_found", error })
  }
  if (found.kind !== kind) return yield* kindMismatch(found.kind, kind)
})

const whyNotHere = (id: string, found: MemoryVersion | undefined): string => {
  if (found !== undefined) {
    const { agentId, subjectId } = found
    const subject = subjectId === undefined ? "without a subject" : `and the subject "${subjectId}"`
    return `this memory belongs to the agent "${agentId}" ${subject}: name both as it has them to update it`
  }
  return namespaceTagOf(id) === undefined
    ? "this is no id of a memory: the service gives each memory its id when it is stored; leave `id` out to store a new one"
    : "no such memory; leave `id` out to store a new one, which the service gives its id"
}

const find = ({ host }: Parts, key: NamespaceKey, id: string) => host.answer(key, { _tag: "Find", id })
const findIn = (parts: Parts, key: NamespaceKey) => (id: string) => find(parts, key, id)

const get = traced("MemoryService.get")(function* (parts: Parts, call: PricedCall, id: string) {
  const key = parts.directory.holding(call.caller.account.id, id)
  const memory = key === undefined ? undefined : yield* find(parts, key, id)
  if (memory === undefined || !sees(call.caller, memory)) return yield* memoryNotFound()
  yield* call.reserve({ agent: memory.agentId })
  return memory
})

const lookup = traced("MemoryService.lookup")(function* (
  { directory, host, kinds }: Parts,
  call: PricedCall,
  { agentId, key, kind, subjectId }: LookupMemory
) {
  const account = call.caller.account.id
  const uniqueOn = yield* uniqueFieldsOf(account, kind, kinds)
  yield* requireKey(uniqueOn, key)
  const namespace = directory.find(account, agentId)
  const wanted = uniqueKey(subjectId, kind, uniqueOn, key)
  const memory =
    namespace === undefined || wanted === undefined
      ? undefined
      : yield* host.answer(namespace, { _tag: "LatestOf", uniqueKey: wanted })
  if (memory === undefined || !sees(call.caller, memory)) return yield* memoryNotFound()
  yield* call.reserve({ agent: agentId })
  return memory
})

const patchIn = (
  { host }: Parts,
  key: NamespaceKey,
  ids: ReadonlyArray<string>,
  patch: MemoryPatch,
  { token }: PricedCall,
  expected?: ExpectedMemory
) =>
  Effect.clockWith((clock) =>
    host.ask(key, {
      _tag: "PatchMemories",
      ids,
      patch,
      atMillis: clock.currentTimeMillisUnsafe(),
      expected,
      idempotency: token
    })
  )

const patchOne = traced("MemoryService.patch")(function* (
  parts: Parts,
  call: PricedCall,
  id: string,
  { data, ...patch }: MemoryChange,
  ifMatch: IfMatch
) {
  const key = yield* holderOfVersion(parts, call, id, ifMatch)
  if (data !== undefined) return yield* changeData(parts, call, { key, id, change: { ...patch, data }, ifMatch })
  yield* call.reserve({ changes: [key.agentId] })
  const [memory] = yield* patchIn(parts, key, [id], patch, call, expectedOf(id, ifMatch))
  return memory ?? (yield* unchanged(parts, key, id, ifMatch))
})

const expectedOf = (id: string, versions: IfMatch): ExpectedMemory | undefined => versions && { id, versions }

/** Why a command changed nothing: the memory is gone, or another version. */
const unchanged = Effect.fnUntraced(function* (parts: Parts, key: NamespaceKey, id: string, ifMatch: IfMatch) {
  if (ifMatch !== undefined && (yield* find(parts, key, id)) !== undefined) return yield* versionMismatch
  return yield* memoryNotFound()
})

const patchAll = traced("MemoryService.patchAll")(function* (
  parts: Parts,
  call: PricedCall,
  ids: ReadonlyArray<string>,
  patch: MemoryPatch
) {
  const owned = yield* changeableIds(parts, call, ids)
  yield* call.reserve({ changes: agentsOf(owned.keys()) })
  let patched = 0
  for (const [key, here] of owned) patched += (yield* patchIn(parts, key, here, patch, call)).length
  return patched
})

const removeOne = traced("MemoryService.remove")(function* (
  parts: Parts,
  call: PricedCall,
  id: string,
  versions: typeof RemovedVersions.Type,
  ifMatch: IfMatch
) {
  const key = yield* holderOfVersion(parts, call, id, ifMatch)
  yield* call.reserve({ changes: [key.agentId], isErasure: true })
  const expected = expectedOf(id, ifMatch)
  const find = findIn(parts, key)
  const beneath = versions === "all" ? [] : yield* versionsBeneath(find, [id])
  const others = versions === "all" ? (yield* withAllVersions(find, [id])).filter((one) => one !== id) : []
  // The memory that was named goes last, with the token: a repetition finds what is left.
  const removed = yield* removeInParts(parts, key, [...others, id], { expected, idempotency: call.token })
  if (removed === 0) return yield* unchanged(parts, key, id, ifMatch)
  const [revived] = yield* latestOf(find, beneath)
  return { ...(versions === "all" && { deleted: removed }), ...(revived !== undefined && { revived }) }
})

/** Removes `ids` in order, a bounded number at once; the last ones only if the memory is as expected. */
const removeInParts = Effect.fnUntraced(function* (
  { host }: Parts,
  key: NamespaceKey,
  ids: ReadonlyArray<string>,
  { expected, idempotency }: Pick<RemoveMemories, "expected" | "idempotency">
) {
  const most = Limits.removalsPerCommitMax
  const first = ids.length <= most ? 0 : ids.length - most
  let removed = 0
  if (first > 0 && expected !== undefined) {
    const found = yield* host.answer(key, { _tag: "Find", id: expected.id })
    if (found === undefined || !expected.versions.includes(versionOf(found))) return 0
  }
  for (let at = 0; at < first; at += most) {
    const part = ids.slice(at, Math.min(at + most, first))
    removed += yield* host.ask(key, { _tag: "RemoveMemories", ids: part, idempotency: undefined })
  }
  return removed + (yield* host.ask(key, { _tag: "RemoveMemories", ids: ids.slice(first), expected, idempotency }))
})

const removeBatch = traced("MemoryService.removeBatch")(function* (
  parts: Parts,
  call: PricedCall,
  { dryRun = false, filters, ids, versions = "one" }: typeof BatchDelete.Type
) {
  const { caller } = call
  yield* requireChange(caller, filters)
  if (ids !== undefined && filters === undefined) {
    return dryRun
      ? { deleted: yield* countExisting(parts, call, ids, versions), dryRun }
      : yield* removeAll(parts, call, ids, versions)
  }
  if (filters !== undefined && ids === undefined) {
    yield* call.reserve({ agent: filters.agentId, ...(dryRun && { price: Prices.getMemory }) })
    const chains = splitsChains(filters) ? yield* chainsOf(parts, caller, filters, versions) : []
    const others = chains.reduce((sum, { ids: ofChain }) => sum + ofChain.length, 0)
    // Counts as the deletion does: superseded versions too.
    if (dryRun) {
      const matching = yield* count(parts, caller, { ...filters, includeSuperseded: true })
      return { deleted: matching + (versions === "all" ? others : 0), dryRun }
    }
    let deleted = 0
    const idempotency = undefined
    if (versions === "all") {
      for (const chain of chains) deleted += yield* removeInParts(parts, chain.key, chain.ids, { idempotency })
    }
    deleted += yield* removeMatching(parts, caller, filters)
    return { deleted, ...revivedIn(versions === "all" ? [] : yield* revivedOf(parts, chains)) }
  }
  return yield* new InvalidRequest({
    code: ids === undefined ? "invalid_request" : "invalid_filters",
    error: "give either `ids` or `filters`, not both"
  })
})

const removeAll = Effect.fnUntraced(function* (
  parts: Parts,
  call: PricedCall,
  ids: ReadonlyArray<string>,
  versions: typeof RemovedVersions.Type
) {
  const owned = yield* changeableIds(parts, call, ids)
  yield* call.reserve({ changes: agentsOf(owned.keys()), isErasure: true })
  let deleted = 0
  const beneath: Array<OfNamespace> = []
  for (const [key, here] of owned) {
    const find = findIn(parts, key)
    if (versions === "one") beneath.push({ key, ids: yield* versionsBeneath(find, here) })
    const all = versions === "all" ? (yield* withAllVersions(find, here)).filter((id) => !here.includes(id)) : []
    deleted += yield* removeInParts(parts, key, [...all, ...here], { idempotency: call.token })
  }
  return { deleted, ...revivedIn(yield* revivedOf(parts, beneath)) }
})

interface OfNamespace {
  readonly key: NamespaceKey
  readonly ids: ReadonlyArray<string>
}

const revivedOf = ({ host }: Parts, beneath: ReadonlyArray<OfNamespace>) =>
  Effect.map(
    Effect.forEach(beneath, ({ ids, key }) => latestOf((id) => host.answer(key, { _tag: "Find", id }), ids)),
    (all) => all.flat()
  )

const revivedIn = (revived: ReadonlyArray<string>) => (revived.length > 0 ? { revived } : {})

/** Whether such filters may match one version of a memory and not another: all have the agent, subject and kind. */
const splitsChains = ({ tags, threadId, where }: MemoryFilter): boolean =>
  tags !== undefined || threadId !== undefined || where !== undefined

/** Other versions of the memories that match, or without `all` those that may become the latest. */
const chainsOf = Effect.fnUntraced(function* (
  parts: Parts,
  caller: Identity,
  filter: MemoryFilter,
  versions: typeof RemovedVersions.Type
) {
  const matching = (yield* allMatching(parts, caller, filter)).flatMap(({ id, supersededBy, supersedes }) =>
    (supersedes ?? supersededBy) ? [id] : []
  )
  const chains: Array<OfNamespace> = []
  for (const [key, here] of byNamespace(parts, caller, matching)) {
    const find = findIn(parts, key)
    const ids = versions === "all" ? yield* withAllVersions(find, here) : yield* versionsBeneath(find, here)
    chains.push({ key, ids: ids.filter((id) => !here.includes(id)) })
  }
  return chains
})

/** Memories that match, with all versions. */
const allMatching = Effect.fnUntraced(function* (parts: Parts, caller: Identity, filter: MemoryFilter) {
  const matching: Array<Pick<MemoryVersion, "id" | "supersededBy" | "supersedes">> = []
  const every = { ...filter, includeSuperseded: true }
  for (let after: ListedPage["after"]; ;) {
    const page = yield* list(parts, caller, every, { after, limit: Limits.listPageMax })
    matching.push(...page.memories.map(({ id, supersededBy, supersedes }) => ({ id, supersededBy, supersedes })))
    if (page.next === undefined) return matching
    after = page.next
  }
})

const removeMatching = Effect.fnUntraced(function* (parts: Parts, caller: Identity, filter: MemoryFilter) {
  let removed = 0
  // Data is read outside of the actor: what matches when it is read goes.
  if (filter.where !== undefined) {
    const ids = (yield* allMatching(parts, caller, filter)).map(({ id }) => id)
    for (const [key, here] of byNamespace(parts, caller, ids))
      removed += yield* removeInParts(parts, key, here, { expected: undefined, idempotency: undefined })
    return removed
  }
  for (const key of visibleIn(parts, caller, filter)) {
    for (const part of changeable(caller, filter)) {
      removed += yield* parts.host.removeAll(key, { _tag: "RemoveMatching", filter: part })
    }
  }
  return removed
})

const countExisting = Effect.fnUntraced(function* (
  parts: Parts,
  call: PricedCall,
  ids: ReadonlyArray<string>,
  versions: typeof RemovedVersions.Type
) {
  yield* call.reserve({ price: Prices.getMemory })
  let found = 0
  for (const [key, here] of yield* changeableIds(parts, call, ids)) {
    const all = versions === "all" ? yield* withAllVersions(findIn(parts, key), here) : here
    for (const id of all) if ((yield* find(parts, key, id)) !== undefined) found++
  }
  return found
})

/** Namespaces of the filter that the caller sees. */
const visibleIn = ({ directory }: Parts, caller: Identity, { agentId }: MemoryFilter) =>
  directory.list(caller.account.id, agentId).filter((key) => seesAgent(caller, key.agentId))

const list = (parts: Parts, caller: Identity, filter: MemoryFilter, page: ListedPage) =>
  parts.searcher.list(visibleIn(parts, caller, filter), narrowed(caller, filter), page)

const facet = (parts: Parts, caller: Identity, query: FacetQuery) =>
  parts.searcher.facet(visibleIn(parts, caller, query.filter), { ...query, filter: narrowed(caller, query.filter) })

const count = (parts: Parts, caller: Identity, filter: MemoryFilter) =>
  Effect.map(list(parts, caller, filter, { after: undefined, limit: 0 }), ({ total }) => total)

const countRelevant = traced("MemoryService.countRelevant")(function* (
  parts: Parts,
  caller: Identity,
  text: string,
  filter: MemoryFilter
) {
  const { embedding, searcher } = parts
  const namespaces = visibleIn(parts, caller, filter)
  if (namespaces.length === 0) return 0
  const visible = narrowed(caller, filter)
  const people = yield* searcher.people(namespaces, { filter: visible, scopeOf: () => visible.anyOf })
  const asked = askedQuestion(text, people)
  const vectors = yield* embedding.query(asked.text)
  return yield* searcher.countMatching(namespaces, {
    text: asked.text,
    asked,
    vectors,
    isMeaningful: embedding.understands(text),
    filter: visible,
    limit: 0,
    minRelevance: 0
  })
})

/** Ids that the caller may change. */
const changeableIds = Effect.fnUntraced(function* (parts: Parts, call: PricedCall, ids: ReadonlyArray<string>) {
  const { caller } = call
  yield* requireChange(caller)
  const owned = byNamespace(parts, caller, ids)
  if (!isBound(caller)) return owned
  const changeable = new Map<NamespaceKey, ReadonlyArray<string>>()
  for (const [key, here] of owned) {
    const seen: Array<string> = []
    for (const id of here) {
      const memory = yield* find(parts, key, id)
      if (memory !== undefined && sees(caller, memory)) seen.push(id)
    }
    if (seen.length > 0) changeable.set(key, seen)
  }
  return changeable
})

/** Ids by their namespace, each once; unknown ones and those of other accounts are left out. */
const byNamespace = (
  { directory }: Parts,
  caller: Identity,
  ids: ReadonlyArray<string>
): ReadonlyMap<NamespaceKey, ReadonlyArray<string>> => {
  const groups = Map.groupBy(new Set(ids), (id) => directory.holding(caller.account.id, id))
  return new Map(Array.from(groups).flatMap(([key, here]) => (key === undefined ? [] : [[key, here] as const])))
}

const agentsOf = (keys: Iterable<NamespaceKey>): ReadonlyArray<string> => Array.from(keys, ({ agentId }) => agentId)

const kindMismatch = (stored: string, given: string) =>
  new Conflict({
    code: "kind_mismatch",
    error: `a replacement must keep its kind: memory has "${stored}", request has "${given}"`
  })
