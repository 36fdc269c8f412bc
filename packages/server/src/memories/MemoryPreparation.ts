/**
 * From direct memories of a request to records ready for the mailbox (interface.md sections 5.1, 5.2
 * and 9.1): kinds resolved, data validated with defaults filled in, uniqueness keys, expiry, content
 * hashes. All or nothing: the first kind of failure found refuses the whole request.
 */
import { Clock, Effect } from "effect"
import { durationMillis } from "@muniment/domain/Durations"
import { InvalidRequest, Unavailable, type ErrorDetail } from "@muniment/domain/Errors"
import type { DirectMemory, JsonObject, MemoryRecord } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { canonicalJson, contentHash, sha256Hex } from "@muniment/trust/CanonicalJson"
import type { MemoryIds } from "./MemoryIds.ts"
import type { KnownKinds } from "./KnownKinds.ts"

/** What a memory or a request says about the end of memories. */
export interface Expiry {
  readonly ttl?: string
  readonly expiresAt?: number
}

export interface DirectRequest extends Expiry {
  readonly agentId: string
  readonly subjectId?: string
  readonly threadId?: string
  readonly memories: ReadonlyArray<DirectMemory>
}

/** A record and what it does to an existing one. */
export interface PreparedRecord {
  readonly record: MemoryRecord
  readonly isReplacement: boolean
  readonly setsExpiry: boolean
}

export interface CheckedMemory {
  readonly memory: DirectMemory
  readonly schema: MemorySchema
  readonly data: JsonObject
}

/** The id of the record that a memory replaces; kinds with `uniqueOn` ignore ids (interface.md section 5.2). */
export const replacedId = ({ memory, schema }: CheckedMemory): string | undefined =>
  (schema.uniqueOn ?? []).length === 0 ? memory.id : undefined

/** The memories of a request with their schemas, valid, defaults filled in; nothing is stored yet. */
export const checkMemories = Effect.fn("MemoryPreparation.check")(function* (
  account: string,
  request: DirectRequest,
  kinds: KnownKinds["Service"]
) {
  const schemas = yield* resolveKinds(account, request.memories, kinds)
  const checked = yield* validateData(account, request.memories, schemas)
  yield* requireUniqueFields(checked)
  return checked
})

/** Records for the namespace; ids are new, or those of the records to replace. */
export const prepareMemories = Effect.fn("MemoryPreparation.prepare")(function* (
  checked: ReadonlyArray<CheckedMemory>,
  namespace: NamespaceKey,
  request: DirectRequest,
  kinds: Pick<KnownKinds["Service"], "temporalProperty">,
  ids: MemoryIds
) {
  const nowMillis = yield* Clock.currentTimeMillis
  return yield* Effect.forEach(checked, (given) =>
    Effect.gen(function* () {
      const { memory, schema, data } = given
      const uniqueOn = schema.uniqueOn ?? []
      const replaced = replacedId(given)
      const expiresAt = expiryOf(memory, request, nowMillis)
      const record: MemoryRecord = {
        id: replaced ?? (yield* ids.next(namespace.tag)),
        agentId: request.agentId,
        subjectId: request.subjectId,
        threadId: request.threadId,
        kind: memory.kind,
        data,
        tags: [],
        mentions: [],
        when: eventTime(data, kinds.temporalProperty(schema)),
        confidence: 1,
        contentHash: contentHash({ agentId: request.agentId, data, kind: memory.kind }),
        createdAt: nowMillis,
        updatedAt: nowMillis,
        expiresAt,
        uniqueKey: uniqueOn.length === 0 ? undefined : uniqueKey(request.subjectId, memory.kind, uniqueOn, data),
        origin: "direct"
      }
      return {
        record,
        isReplacement: replaced !== undefined,
        setsExpiry: expiresAt !== undefined
      } satisfies PreparedRecord
    })
  )
})

const resolveKinds = (account: string, memories: ReadonlyArray<DirectMemory>, kinds: KnownKinds["Service"]) =>
  Effect.gen(function* () {
    const schemas = yield* kinds.lookup(
      account,
      memories.map(({ kind }) => kind)
    )
    const details = memories.flatMap(({ kind }, index): ReadonlyArray<ErrorDetail> =>
      schemas.has(kind)
        ? []
        : [{ index, path: `/memories/${index}/kind`, message: `"${kind}" is neither registered nor built in` }]
    )
    return details.length > 0 ? yield* refused("unknown_kind", "a memory has an unknown kind", details) : schemas
  })

const validateData = (
  account: string,
  memories: ReadonlyArray<DirectMemory>,
  schemas: ReadonlyMap<string, MemorySchema>
) =>
  Effect.gen(function* () {
    const validator = yield* SchemaValidator
    const items = memories.map(({ kind, data }) => ({ schemaText: schemas.get(kind)!.schema, data }))
    const outcomes = yield* Effect.catchTag(validator.validate(items, account), "ValidatorBusy", () =>
      Effect.fail(new Unavailable({ code: "overloaded", error: "too many requests wait for validation; try again" }))
    )
    const details = outcomes.flatMap((outcome, index): ReadonlyArray<ErrorDetail> =>
      outcome.ok ? [] : outcome.issues.map((issue) => ({ index, path: issue.path, message: issue.message }))
    )
    if (details.length > 0) {
      return yield* refused("schema_validation_failed", "data does not match the schema of its kind", details)
    }
    return memories.map((memory, index): CheckedMemory => {
      const outcome = outcomes[index]!
      return {
        memory,
        schema: schemas.get(memory.kind)!,
        data: (outcome.ok ? outcome.data : memory.data) as JsonObject
      }
    })
  })

const requireUniqueFields = (checked: ReadonlyArray<CheckedMemory>) => {
  const details = checked.flatMap(({ schema, data }, index): ReadonlyArray<ErrorDetail> =>
    (schema.uniqueOn ?? [])
      .filter((field) => field !== "kind" && !Object.hasOwn(data, field))
      .map((field) => ({
        index,
        path: `/memories/${index}/data/${field}`,
        message: `"${field}" identifies this kind and is missing`
      }))
  )
  return details.length > 0 ? refused("unique_field_missing", "a field of uniqueOn is missing", details) : Effect.void
}

const refused = (code: InvalidRequest["code"], error: string, details: ReadonlyArray<ErrorDetail>) =>
  Effect.fail(new InvalidRequest({ code, error, details }))

/** Any value on the memory beats both of the request; on one level `expiresAt` beats `ttl`. */
export const expiryOf = (memory: Expiry, request: Expiry, nowMillis: number): number | undefined => {
  const level = memory.expiresAt !== undefined || memory.ttl !== undefined ? memory : request
  if (level.expiresAt !== undefined) return level.expiresAt
  return level.ttl === undefined ? undefined : nowMillis + (durationMillis(level.ttl) ?? 0)
}

/** One memory per subject (absent counts as its own value), kind and listed values. */
export const uniqueKey = (
  subjectId: string | undefined,
  kind: string,
  fields: ReadonlyArray<string>,
  data: JsonObject
): string => {
  const named = fields.filter((field) => field !== "kind")
  return sha256Hex(
    canonicalJson({
      subject: subjectId ?? null,
      kind,
      values: Object.fromEntries(named.map((field) => [field, data[field]]))
    })
  )
}

/** ISO 8601 in UTC of the property that says when, if it holds a time. */
export const eventTime = (data: JsonObject, property: string | undefined): string | undefined => {
  const value = property === undefined ? undefined : data[property]
  if (typeof value !== "string") return undefined
  const millis = Date.parse(value)
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString()
}
