/**
 * Preparation of a request's direct memories as records (contract: Memories): kinds resolved, data validated with
 * defaults filled in, uniqueness keys, expiry, content hashes. All or nothing: the first kind of
 * failure found refuses the whole request. Nothing is written here.
 */
import { Clock, Effect, Random } from "effect"
import { durationMillis } from "@muniment/domain/GivenTimes"
import { faultText, InvalidRequest, RateLimited, Unavailable, type ErrorDetail } from "@muniment/domain/Errors"
import { memoryIdOf, type NamespaceTag } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import type { CreateMemories, DirectMemory, JsonObject, MemoryRecord } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { traced } from "@muniment/domain/traced"
import type { PreparedMemory } from "@muniment/engine/namespace/Commands"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import type { ValidatorBusy } from "@muniment/schemas/ValidationLane"
import { canonicalJson, contentHash, sha256Hex } from "@muniment/trust/CanonicalJson"
import { retryAfter } from "../headers.ts"
import { boundMet } from "../boundMet.ts"
import type { KnownKinds } from "./KnownKinds.ts"

/** The expiry that a memory, or a request for all of its memories, asks for. */
interface Expiry {
  readonly ttl?: string
  readonly expiresAt?: number
}

/** Schemas by kind. */
type Schemas = ReadonlyMap<string, MemorySchema>

/** The id of the stored memory to replace; kinds with `uniqueOn` ignore ids. */
export const replacedId = ({ id, kind }: DirectMemory, schemas: Schemas): string | undefined =>
  uniqueOn(kind, schemas).length === 0 ? id : undefined

/** Schemas of the kinds of a request; fails if one is unknown. */
export const schemasOf = Effect.fnUntraced(function* (
  account: string,
  memories: ReadonlyArray<DirectMemory>,
  kinds: KnownKinds["Service"]
) {
  const schemas = yield* kinds.lookup(
    account,
    memories.map(({ kind }) => kind)
  )
  const details = memories.flatMap(({ kind }, index): ReadonlyArray<ErrorDetail> =>
    schemas.has(kind)
      ? []
      : [{ index, path: `/memories/${index}/kind`, message: `"${kind}" is neither registered nor built in` }]
  )
  return details.length > 0 ? yield* refused("unknown_kind", details) : schemas
})

/** The memories with the defaults of their schemas filled in; fails if the data of one is invalid. */
export const validMemories = traced("MemoryPreparation.validate")(function* (
  account: string,
  memories: ReadonlyArray<DirectMemory>,
  schemas: Schemas,
  validator: SchemaValidator["Service"],
  placeOf = (index: number): string => `/memories/${index}/data`
) {
  const items = memories.map(({ kind, data }) => ({ schemaText: schemas.get(kind)!.schema, data }))
  const outcomes = yield* Effect.catchTag(validator.validate(items, account), "ValidatorBusy", validatorBusy)
  const waitSeconds = Math.max(0, ...outcomes.map((outcome) => (outcome.ok ? 0 : (outcome.waitSeconds ?? 0))))
  if (waitSeconds > 0) return yield* notTried(waitSeconds)
  const details = outcomes.flatMap((outcome, index): ReadonlyArray<ErrorDetail> =>
    outcome.ok ? [] : outcome.issues.map((issue) => ({ index, path: issue.path, message: issue.message }))
  )
  const [first] = details
  if (first !== undefined) {
    const error = faultText({ ...first, path: `${placeOf(first.index ?? 0)}${first.path}` })
    return yield* new InvalidRequest({ code: "schema_validation_failed", error, details })
  }
  const valid = memories.map((memory, index): DirectMemory => {
    const outcome = outcomes[index]!
    return outcome.ok ? { ...memory, data: outcome.data as JsonObject } : memory
  })
  yield* requireUniqueFields(valid, schemas)
  return valid
})

/** Complete but for their vectors. Ids are new, or those of the memories to replace. */
export const prepareMemories = traced("MemoryPreparation.prepare")(function* (
  memories: ReadonlyArray<DirectMemory>,
  schemas: Schemas,
  namespace: NamespaceKey,
  request: CreateMemories,
  kinds: Pick<KnownKinds["Service"], "temporalProperty">,
  ids: MemoryIds
) {
  const nowMillis = yield* Clock.currentTimeMillis
  return yield* Effect.forEach(memories, (memory) =>
    Effect.gen(function* () {
      const { data, kind } = memory
      const replaced = replacedId(memory, schemas)
      const expiresAt = expiryOf(memory, request, nowMillis)
      const tags = tagsOf(memory, request)
      const record: MemoryRecord = {
        id: replaced ?? (yield* ids.next(namespace.tag)),
        agentId: request.agentId,
        subjectId: request.subjectId,
        threadId: request.threadId,
        kind,
        data,
        tags: tags ?? [],
        metadata: metadataOf(memory, request),
        mentions: [],
        when: eventTime(data, kinds.temporalProperty(schemas.get(kind)!)),
        confidence: 1,
        contentHash: contentHash({ agentId: request.agentId, data, kind }),
        createdAt: nowMillis,
        updatedAt: nowMillis,
        expiresAt,
        uniqueKey: uniqueKey(request.subjectId, kind, uniqueOn(kind, schemas), data),
        origin: "direct"
      }
      return {
        record,
        isReplacement: replaced !== undefined,
        setsExpiry: expiresAt !== undefined,
        setsTags: tags !== undefined
      } satisfies Omit<PreparedMemory, "vector">
    })
  )
})

const whyBusy = {
  queue: "the queue of the schema validator is full",
  starved: "the schema validator got no processor time"
} as const

export const validatorBusy = Effect.fnUntraced(function* ({ reason }: ValidatorBusy) {
  const why = whyBusy[reason]
  return yield* new Unavailable({
    code: "overloaded",
    error: `${why}; nothing was stored; retry with a delay`,
    details: yield* boundMet(`validation_${reason}`, `${why}; try again in a second`)
  })
})

/** The data may be right: its schema overran its time before. */
const notTried = Effect.fnUntraced(function* (seconds: number) {
  const why = `a schema took too long before and is not tried for another ${seconds} s; make it simpler`
  yield* retryAfter(seconds)
  const details = yield* boundMet("schema_quarantine", why)
  return yield* new RateLimited({ code: "rate_limited", error: why, details })
})

const uniqueOn = (kind: string, schemas: Schemas): ReadonlyArray<string> => schemas.get(kind)?.uniqueOn ?? []

/** Fields of `uniqueOn` that the data lacks. */
export const missingUniqueFields = (
  uniqueOn: ReadonlyArray<string> | undefined,
  data: JsonObject
): ReadonlyArray<string> => (uniqueOn ?? []).filter((field) => field !== "kind" && !Object.hasOwn(data, field))

/** `uniqueOn` of a kind that has one. */
export const uniqueFieldsOf = Effect.fnUntraced(function* (
  account: string,
  kind: string,
  kinds: KnownKinds["Service"]
) {
  const schema = (yield* kinds.lookup(account, [kind])).get(kind)
  if (schema === undefined) {
    const message = `"${kind}" is neither registered nor built in`
    return yield* refused("unknown_kind", [{ path: "/kind", message }])
  }
  const { uniqueOn: fields = [] } = schema
  if (fields.length > 0) return fields
  return yield* refused("invalid_request", [{ path: "/kind", message: `"${kind}" has no uniqueOn` }])
})

/** A value for each field. */
export const requireKey = (fields: ReadonlyArray<string>, key: JsonObject): Effect.Effect<void, InvalidRequest> => {
  const details = missingUniqueFields(fields, key).map((field) => ({
    path: `/key/${field}`,
    message: `"${field}" identifies this kind and is missing`
  }))
  return details.length > 0 ? refused("unique_field_missing", details) : Effect.void
}

const requireUniqueFields = (memories: ReadonlyArray<DirectMemory>, schemas: Schemas) => {
  const details = memories.flatMap(({ data, kind }, index): ReadonlyArray<ErrorDetail> =>
    missingUniqueFields(uniqueOn(kind, schemas), data).map((field) => ({
      index,
      path: `/memories/${index}/data/${field}`,
      message: `"${field}" identifies this kind and is missing`
    }))
  )
  return details.length > 0 ? refused("unique_field_missing", details) : Effect.void
}

const refused = (code: InvalidRequest["code"], details: ReadonlyArray<ErrorDetail>) =>
  Effect.fail(new InvalidRequest({ code, error: faultText(details[0]!), details }))

interface Tagged {
  readonly tags?: ReadonlyArray<string>
}

/** Tags of a memory and of its request, each once; undefined where neither names any. */
const tagsOf = (memory: Tagged, request: Tagged): ReadonlyArray<string> | undefined =>
  memory.tags === undefined && request.tags === undefined
    ? undefined
    : [...new Set([...(memory.tags ?? []), ...(request.tags ?? [])])]

const metadataOf = (memory: Noted, request: Noted): JsonObject | undefined =>
  memory.metadata === undefined && request.metadata === undefined
    ? undefined
    : { ...request.metadata, ...memory.metadata }

interface Noted {
  readonly metadata?: JsonObject
}

/** A memory has a bounded number of tags, wherever they come from. */
export const requireFewTags = (memories: ReadonlyArray<Tagged>, request: Tagged) => {
  const details = memories.flatMap((memory, index): ReadonlyArray<ErrorDetail> =>
    (tagsOf(memory, request) ?? []).length > Limits.tagsPerMemoryMax
      ? [
          {
            index,
            path: `/memories/${index}/tags`,
            message: `expected at most ${Limits.tagsPerMemoryMax} entries, with those of the request`
          }
        ]
      : []
  )
  return details.length > 0 ? refused("invalid_tag", details) : Effect.void
}

/** Any value on the memory beats both of the request; on one level `expiresAt` beats `ttl`. */
export const expiryOf = (memory: Expiry, request: Expiry, nowMillis: number): number | undefined => {
  const level = memory.expiresAt !== undefined || memory.ttl !== undefined ? memory : request
  if (level.expiresAt !== undefined) return level.expiresAt
  return level.ttl === undefined ? undefined : nowMillis + (durationMillis(level.ttl) ?? 0)
}

/** One memory per subject (absent is a value of its own), kind and values of `fields`; undefined without fields. */
export const uniqueKey = (
  subjectId: string | undefined,
  kind: string,
  fields: ReadonlyArray<string>,
  data: JsonObject
): string | undefined => {
  if (fields.length === 0) return undefined
  const named = fields.filter((field) => field !== "kind")
  return sha256Hex(
    canonicalJson({
      subject: subjectId ?? null,
      kind,
      values: Object.fromEntries(named.map((field) => [field, data[field]]))
    })
  )
}

/** Key of an extracted memory of a built-in kind that is no version of another one: one for each content. */
export const contentKey = (subjectId: string | undefined, kind: string, data: JsonObject): string =>
  sha256Hex(canonicalJson({ subject: subjectId ?? null, kind, data }))

/** Time in `property`, ISO 8601 in UTC; undefined if it holds none. */
export const eventTime = (data: JsonObject, property: string | undefined): string | undefined => {
  const value = property === undefined ? undefined : data[property]
  if (typeof value !== "string") return undefined
  const millis = Date.parse(value)
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString()
}

/** The counter of a new millisecond starts in the lower half, so that it can grow. */
const counterStartMax = 1 << 25
const counterMax = (1 << 26) - 1

/**
 * Makes memory ids. Invariant: ids of one process never repeat and sort in the order of their creation, also within
 * a millisecond and when the clock steps back (RFC 9562 section 6.2, method 1).
 */
export class MemoryIds {
  #lastMillis = 0
  #counter = 0

  next(tag: NamespaceTag): Effect.Effect<string> {
    return Effect.map(
      Effect.all([Clock.currentTimeMillis, Random.nextIntBetween(0, counterStartMax)]),
      ([now, start]) => {
        if (now > this.#lastMillis) {
          this.#lastMillis = now
          this.#counter = start
        } else if (this.#counter < counterMax) this.#counter++
        else {
          this.#lastMillis++
          this.#counter = start
        }
        return memoryIdOf(this.#lastMillis, this.#counter, tag)
      }
    )
  }
}
