/**
 * New data for one memory, or that of an older version (contract: Memories): validated as when it is stored; of a kind with versions a new version, of
 * others in place. Tags and expiry that the change does not name are those of the memory.
 *
 * Invariant: it builds on the memory as it is when it is committed, or on none: what changed since it was read is read
 * again.
 */
import { Clock, Effect } from "effect"
import { InvalidRequest, memoryNotFound, Unavailable } from "@muniment/domain/Errors"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import {
  correctedSources,
  type JsonObject,
  type MemoryChange,
  type MemoryRecord,
  type MemoryVersion
} from "@muniment/domain/Memory"
import { traced } from "@muniment/domain/traced"
import { Prices } from "@muniment/domain/Plans"
import type { Identity } from "@muniment/domain/Identity"
import { type GivenFeedback, withFeedback } from "@muniment/domain/Feedback"
import { Limits } from "@muniment/domain/Limits"
import { versionTag } from "@muniment/engine/namespace/versionTag"
import type { NamespaceHost, ReadError } from "@muniment/engine/host/NamespaceHost"
import type { PreparedMemory } from "@muniment/engine/namespace/Commands"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { contentHash } from "@muniment/trust/CanonicalJson"
import type { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import type { KnownKinds } from "./KnownKinds.ts"
import { contentKey, eventTime, type MemoryIds, schemasOf, uniqueKey, validMemories } from "./MemoryPreparation.ts"
import type { TextEmbedding } from "./TextEmbedding.ts"
import { type IfMatch, versionMismatch, versionOf } from "./MemoryViews.ts"
import { requireChange, sees, seesAgent } from "../identity/KeyScopes.ts"

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly kinds: KnownKinds["Service"]
  readonly embedding: TextEmbedding["Service"]
  readonly validator: SchemaValidator["Service"]
  readonly ids: MemoryIds
}

interface Named {
  readonly key: NamespaceKey
  readonly id: string
  readonly ifMatch: IfMatch
}

interface Asked extends Named {
  readonly change: MemoryChange & { readonly data: JsonObject }
}

type Prepared = Omit<PreparedMemory, "vector">

/** Each is by another writer who came first. */
const attemptsMax = 8

export const changeData = traced("MemoryService.changeData")(function* (parts: Parts, call: PricedCall, asked: Asked) {
  return yield* stored(parts, call, asked, (found) => prepare(parts, call, asked, found))
})

/** An older version as a new one, which is the latest then; the latest as it is. */
export const restoreVersion = traced("MemoryService.restoreVersion")(function* (
  parts: Parts,
  call: PricedCall,
  named: Named
) {
  return yield* stored(parts, call, named, (found) => restored(parts, call, named, found))
})

const stored = Effect.fnUntraced(function* <E>(
  parts: Parts,
  call: PricedCall,
  named: Named,
  prepared: (found: MemoryVersion) => Effect.Effect<Prepared | undefined, E>
) {
  const { key, ifMatch } = named
  let isReserved = false
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const found = yield* parts.host.answer(key, { _tag: "Find", id: named.id })
    if (found === undefined) return yield* memoryNotFound()
    const current = versionTag(found, found.isLatest)
    const next = yield* prepared(found)
    if (next === undefined) return found
    if (!isReserved) yield* call.reserve({ changes: [key.agentId], price: Prices.createMemories })
    isReserved = true
    const answer = yield* parts.embedding.storing(key, [next.record], "briefly", (vectors) =>
      parts.host.ask(key, {
        _tag: "StoreMemories",
        memories: [{ ...next, vector: vectors[0] }],
        idempotency: call.token,
        expected: { id: named.id, versions: ifMatch ?? [current] }
      })
    )
    const [memory] = [...answer.created, ...answer.updated]
    if (memory !== undefined) return memory
    if (ifMatch !== undefined) return yield* versionMismatch
  }
  return yield* new Unavailable({ code: "overloaded", error: "others change this memory all the time: try again" })
})

const prepare = Effect.fnUntraced(function* (
  { ids, kinds, validator }: Parts,
  { caller }: PricedCall,
  { change, key }: Asked,
  found: MemoryVersion
) {
  const { isLatest: _isLatest, supersededBy: _supersededBy, supersedes: _supersedes, ...old } = found
  const account = caller.account.id
  const given = [{ kind: old.kind, data: change.data }]
  const schemas = yield* schemasOf(account, given, kinds)
  const [valid] = yield* validMemories(account, given, schemas, validator, () => "/data")
  const { data } = valid!
  const schema = schemas.get(old.kind)!
  const { uniqueOn = [] } = schema
  if (uniqueOn.length > 0 && uniqueKey(old.subjectId, old.kind, uniqueOn, data) !== old.uniqueKey)
    return yield* otherKey
  const nowMillis = yield* Clock.currentTimeMillis
  // An extracted memory that nothing has replaced changes in place.
  const isAlone = found.isLatest && old.uniqueKey === contentKey(old.subjectId, old.kind, old.data)
  const isVersion = old.uniqueKey !== undefined && !isAlone
  const newHash = contentHash({ agentId: key.agentId, data, kind: old.kind })
  const record: MemoryRecord = {
    ...old,
    data,
    mentions: [],
    when: eventTime(data, kinds.temporalProperty(schema)),
    confidence: 1,
    contentHash: newHash,
    sources: correctedSources(old, newHash),
    tags: change.tags === undefined ? old.tags : [...new Set(change.tags)],
    metadata: change.metadata === undefined ? old.metadata : (change.metadata ?? undefined),
    expiresAt: change.expiresAt === undefined ? old.expiresAt : (change.expiresAt ?? undefined),
    updatedAt: nowMillis,
    revision: { how: "corrected", ...byOf(caller) },
    ...(isVersion && { id: yield* ids.next(key.tag), createdAt: nowMillis, changedAt: undefined, feedback: undefined })
  }
  return { record, isReplacement: !isVersion, setsExpiry: true, setsTags: true }
})

const restored = Effect.fnUntraced(function* (
  { ids }: Parts,
  { caller }: PricedCall,
  { id, ifMatch, key }: Named,
  found: MemoryVersion
) {
  if (ifMatch !== undefined && !ifMatch.includes(versionTag(found, found.isLatest))) return yield* versionMismatch
  const { isLatest, supersededBy: _supersededBy, supersedes: _supersedes, ...old } = found
  if (isLatest) return undefined
  const nowMillis = yield* Clock.currentTimeMillis
  const record: MemoryRecord = {
    ...old,
    id: yield* ids.next(key.tag),
    createdAt: nowMillis,
    updatedAt: nowMillis,
    changedAt: undefined,
    feedback: undefined,
    revision: { how: "restored", of: id, ...byOf(caller) }
  }
  return { record, isReplacement: false, setsExpiry: true, setsTags: true } satisfies Prepared
})

const otherKey = Effect.suspend(() =>
  Effect.fail(
    new InvalidRequest({
      code: "invalid_request",
      error: "the data has other values of `uniqueOn`: that is another memory, store it as one"
    })
  )
)

/** Author kept with a version or feedback: the operator, a key or a wallet. */
export const byOf = ({ isOperator, keyId, walletAddress }: Identity): { readonly by?: string } => {
  const by = isOperator === true ? "operator" : (keyId ?? walletAddress)
  return by === undefined ? {} : { by }
}

interface Held {
  readonly key: NamespaceKey
  readonly found: MemoryVersion | undefined
}

interface AskedFeedback {
  readonly id: string
  readonly given: GivenFeedback
}

/** Feedback on a memory (contract: Memories, Feedback), kept with it in one commit. */
export const keepFeedback = traced("MemoryService.giveFeedback")(function* (
  { host }: { readonly host: NamespaceHost["Service"] },
  call: PricedCall,
  { found, key }: Held,
  { given: { query, useful }, id }: AskedFeedback
) {
  const at = yield* Clock.currentTimeMillis
  const feedback = { useful, ...(query !== undefined && { query: query.trim() }), at, ...byOf(call.caller) }
  if (withFeedback(found?.feedback, feedback) === undefined) return yield* tooMuch
  yield* call.reserve({ changes: [key.agentId] })
  const memory = yield* host.ask(key, { _tag: "GiveFeedback", id, feedback, idempotency: call.token })
  return memory ?? (yield* tooMuch)
})

const tooMuch = Effect.suspend(() =>
  Effect.fail(
    new InvalidRequest({
      code: "limit_exceeded",
      error: `a memory keeps feedback on ${Limits.feedbackPerMemoryMax} queries: nothing was kept; feedback on one of them is replaced`
    })
  )
)

/**
 * Version chains of memories with unique fields, for histories and deletions (contract: Memories): which versions belong
 * together, and which one becomes the latest again when others are removed. A chain is followed by its links, so it may be of any
 * length, and is never held as a whole in one command.
 */
type Find = (id: string) => Effect.Effect<MemoryVersion | undefined, ReadError>

/** Ids of all versions of these memories, oldest first, so that no older one is the latest while others go. */
export const withAllVersions = Effect.fnUntraced(function* (find: Find, ids: ReadonlyArray<string>) {
  const all = new Set<string>()
  for (const id of ids) {
    if (all.has(id)) continue
    const named = yield* find(id)
    if (named === undefined) continue
    const older = (yield* linked(find, named, "supersedes")).toReversed()
    const newer = yield* linked(find, named, "supersededBy")
    for (const one of [...older, id, ...newer]) all.add(one)
  }
  return [...all]
})

/** Ids behind a version in one direction, the nearest first. */
const linked = Effect.fnUntraced(function* (find: Find, from: MemoryVersion, direction: "supersedes" | "supersededBy") {
  const ids: Array<string> = []
  for (let next = from[direction]; next !== undefined;) {
    const id: string = next
    ids.push(id)
    next = (yield* find(id))?.[direction]
  }
  return ids
})

/** Versions beneath memories that are to be removed, which may become the latest again. */
export const versionsBeneath = Effect.fnUntraced(function* (find: Find, ids: ReadonlyArray<string>) {
  const removed = new Set(ids)
  const beneath = new Set<string>()
  for (const id of removed) {
    let version = yield* find(id)
    if (version?.isLatest !== true) continue
    while (version !== undefined && removed.has(version.id)) {
      version = version.supersedes === undefined ? undefined : yield* find(version.supersedes)
    }
    if (version !== undefined) beneath.add(version.id)
  }
  return [...beneath]
})

/** Ids that are the latest version now. */
export const latestOf = (find: Find, ids: ReadonlyArray<string>) =>
  Effect.map(Effect.forEach(ids, find), (found) => found.flatMap((one) => (one?.isLatest === true ? [one.id] : [])))

interface Owners {
  readonly directory: NamespaceDirectory["Service"]
  readonly host: NamespaceHost["Service"]
}

/** Versions of a memory that the caller sees, newest first: at most `limit`. They have one agent and one subject. */
export const historyOf = Effect.fn("VersionChains.historyOf")(function* (
  { directory, host }: Owners,
  call: PricedCall,
  id: string,
  limit: number
) {
  const key = directory.holding(call.caller.account.id, id)
  if (key === undefined) return yield* memoryNotFound()
  const found = yield* host.answer(key, { _tag: "History", id, limit })
  if (!found.versions.some((version) => sees(call.caller, version))) return yield* memoryNotFound()
  yield* call.reserve({ agent: key.agentId })
  return found
})

interface ChainParts {
  readonly directory: NamespaceDirectory["Service"]
  readonly host: NamespaceHost["Service"]
}

/**
 * The namespace that holds a memory which the caller may change. Asked before the price is reserved, so that a call that
 * would be refused costs nothing; the actor decides again when the change is committed.
 *
 * With the memory; undefined: it was there until a commit with the token of this call.
 */
export const holderOf = Effect.fnUntraced(function* (parts: ChainParts, call: PricedCall, id: string) {
  const { caller } = call
  yield* requireChange(caller)
  const key = parts.directory.holding(caller.account.id, id)
  if (key === undefined || !seesAgent(caller, key.agentId)) return yield* memoryNotFound()
  const found = yield* parts.host.answer(key, { _tag: "Find", id })
  if (found === undefined ? !(yield* isRepeat(parts, call, key)) : !sees(caller, found)) return yield* memoryNotFound()
  return { key, found }
})

/** The same of a memory that is there in a version of `ifMatch`, or was until a commit with the token of this call. */
export const holderOfVersion = Effect.fnUntraced(function* (
  parts: ChainParts,
  call: PricedCall,
  id: string,
  ifMatch: IfMatch
) {
  const { found, key } = yield* holderOf(parts, call, id)
  const isOther = found !== undefined && ifMatch !== undefined && !ifMatch.includes(versionOf(found))
  if (isOther && !(yield* isRepeat(parts, call, key))) return yield* versionMismatch
  return key
})

const isRepeat = ({ host }: ChainParts, { token }: PricedCall, key: NamespaceKey) =>
  token === undefined ? Effect.succeed(false) : host.answer(key, { _tag: "IsCommitted", idempotencyKey: token.key })
