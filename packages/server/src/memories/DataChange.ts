/**
 * New data for one memory (contract: Memories): validated as when it is stored; of a kind with versions a new version, of
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
import { Prices } from "@muniment/domain/Prices"
import { versionTag } from "@muniment/engine/namespace/versionTag"
import type { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { contentHash } from "@muniment/trust/CanonicalJson"
import type { KnownKinds } from "./KnownKinds.ts"
import type { MemoryIds } from "./MemoryIds.ts"
import { contentKey, eventTime, schemasOf, uniqueKey, validMemories } from "./MemoryPreparation.ts"
import type { TextEmbedding } from "./TextEmbedding.ts"
import { type IfMatch, versionMismatch } from "./IfMatch.ts"

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly kinds: KnownKinds["Service"]
  readonly embedding: TextEmbedding["Service"]
  readonly validator: SchemaValidator["Service"]
  readonly ids: MemoryIds
}

interface Asked {
  readonly key: NamespaceKey
  readonly id: string
  readonly change: MemoryChange & { readonly data: JsonObject }
  readonly ifMatch: IfMatch
}

/** Each is by another writer who came first. */
const attemptsMax = 8

export const changeData = traced("MemoryService.changeData")(function* (parts: Parts, call: PricedCall, asked: Asked) {
  const { key, ifMatch } = asked
  let isReserved = false
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const found = yield* parts.host.answer(key, { _tag: "Find", id: asked.id })
    if (found === undefined) return yield* memoryNotFound()
    const current = versionTag(found, found.isLatest)
    const prepared = yield* prepare(parts, call, asked, found)
    if (!isReserved) yield* call.reserve({ changes: [key.agentId], price: Prices.createMemories })
    isReserved = true
    const stored = yield* parts.embedding.storing(key, [prepared.record], "briefly", (vectors) =>
      parts.host.ask(key, {
        _tag: "StoreMemories",
        memories: [{ ...prepared, vector: vectors[0] }],
        idempotency: call.token,
        expected: { id: asked.id, versions: ifMatch ?? [current] }
      })
    )
    const [memory] = [...stored.created, ...stored.updated]
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
  // What was extracted and nothing has replaced changes in place.
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
    ...(isVersion && { id: yield* ids.next(key.tag), createdAt: nowMillis, changedAt: undefined })
  }
  return { record, isReplacement: !isVersion, setsExpiry: true, setsTags: true }
})

const otherKey = Effect.suspend(() =>
  Effect.fail(
    new InvalidRequest({
      code: "invalid_request",
      error: "the data has other values of `uniqueOn`: that is another memory, store it as one"
    })
  )
)
