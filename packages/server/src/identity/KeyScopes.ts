/**
 * The one place that decides what scoped keys see and change (contract: Identity). Every service that reads or changes
 * memories asks here.
 *
 * Invariants: a caller without a scope is not restricted; a memory outside of the scope is answered like an unknown one;
 * a change that names an agent or a subject outside, or that concerns the whole account, is refused with `key_scope`;
 * a bound key opens no grants and reads neither books nor payments.
 */
import { Effect } from "effect"
import { Caller } from "@muniment/domain/api/Middleware"
import { Forbidden } from "@muniment/domain/Errors"
import type { Identity, KeyScope } from "@muniment/domain/Identity"
import type { MemoryFilter } from "@muniment/domain/Search"

/** Place of a memory. */
interface Place {
  readonly agentId: string
  readonly subjectId?: string | undefined
}

/** Whether the caller sees the agents of its account, or a part of them. */
export const isBound = ({ scope }: Identity): boolean => scope?.agents !== undefined || scope?.subjects !== undefined

export const seesAgent = ({ scope }: Identity, agentId: string): boolean => scope?.agents?.includes(agentId) ?? true

export const sees = (caller: Identity, { agentId, subjectId }: Place): boolean =>
  seesAgent(caller, agentId) &&
  (caller.scope?.subjects === undefined || (subjectId !== undefined && caller.scope.subjects.includes(subjectId)))

/** Filters of which a memory must pass one, beside all others; undefined: no restriction. */
export const visibleParts = ({ scope }: Identity): ReadonlyArray<MemoryFilter> | undefined =>
  scope?.subjects?.map((subjectId) => ({ subjectId }))

/** The filter with the restriction of the caller. */
export const narrowed = (caller: Identity, filter: MemoryFilter): MemoryFilter => {
  const anyOf = visibleParts(caller)
  return anyOf === undefined ? filter : { ...filter, anyOf }
}

/** Filters that together select what the caller may change of what the filter selects. */
export const changeable = (caller: Identity, filter: MemoryFilter): ReadonlyArray<MemoryFilter> => {
  const { scope } = caller
  if (scope?.subjects === undefined || filter.subjectId !== undefined) return [filter]
  return scope.subjects.map((subjectId) => ({ ...filter, subjectId }))
}

/** A change of memories; what it does not name is narrowed, not refused. */
export const requireChange = (caller: Identity, named: Partial<Place> = {}): Effect.Effect<void, Forbidden> => {
  const { scope } = caller
  if (scope === undefined) return Effect.void
  if (scope.readOnly === true) return refuse("this key only reads")
  if (named.agentId !== undefined && !seesAgent(caller, named.agentId))
    return refuse("this key is bound to other agents")
  if (named.subjectId !== undefined && scope.subjects?.includes(named.subjectId) === false) {
    return refuse("this key is bound to other subjects")
  }
  return Effect.void
}

/** New memories: their place has to be inside. */
export const requirePlace = (caller: Identity, place: Place): Effect.Effect<void, Forbidden> =>
  Effect.andThen(
    requireChange(caller, place),
    sees(caller, place) ? Effect.void : refuse("this key is bound to subjects: name one of them as subjectId")
  )

/** A change of what the whole account shares: schemas, grants. */
export const requireWholeAccount = (caller: Identity): Effect.Effect<void, Forbidden> =>
  Effect.andThen(requireUnbound(caller), requireChange(caller))

/** For operations on the whole account: its books and payments, claims about its memories. */
export const requireUnbound = ({ scope }: Identity): Effect.Effect<void, Forbidden> => {
  const bounds = (["agents", "subjects"] as const).filter((name) => scope?.[name] !== undefined)
  return bounds.length === 0
    ? Effect.void
    : refuse(`this key is bound to ${bounds.join(" and ")}, and this is the whole account's`)
}

/** The caller, who reads what concerns the whole account. */
export const unboundCaller = Effect.tap(Caller, requireUnbound)

/** Whether all that a key with the scope `inner` may do, one with the scope `outer` may do too. */
const isWithin = (inner: KeyScope, outer: KeyScope | undefined): boolean =>
  outer === undefined ||
  ((outer.readOnly !== true || inner.readOnly === true) &&
    isPartOf(inner.agents, outer.agents) &&
    isPartOf(inner.subjects, outer.subjects))

const isPartOf = (part: ReadonlyArray<string> | undefined, whole: ReadonlyArray<string> | undefined): boolean =>
  whole === undefined || (part?.every((name) => whole.includes(name)) ?? false)

/** Whether a key lives no longer than that of the caller. */
const endsWithin = (expiresAt: number | undefined, { keyExpiresAt }: Identity): boolean =>
  keyExpiresAt === undefined || (expiresAt ?? Infinity) <= keyExpiresAt

/** Whether the caller sees a key of its account and may revoke it: one that does no more and lives no longer. */
export const seesKey = (caller: Identity, key: KeyScope & { readonly expiresAt?: number | undefined }): boolean =>
  isWithin(key, caller.scope) && endsWithin(key.expiresAt, caller)

/** Restricted keys have kept answers of their own: another key's may hold what they must not see, such as a wider key. */
export const keptAnswersOf = ({ keyExpiresAt, keyId, scope }: Identity): string =>
  scope === undefined && keyExpiresAt === undefined ? "" : ` ${keyId}`

/** A new key may not do more, or live longer, than the one that makes it. */
export const requireNarrower = (
  caller: Identity,
  made: { readonly scope: KeyScope | undefined; readonly expiresAt: number | undefined }
): Effect.Effect<void, Forbidden> => {
  const { scope } = caller
  if (scope?.readOnly === true) return refuse("this key only reads")
  if (!isWithin(made.scope ?? {}, scope)) {
    return refuse("this key is bound to agents or subjects: name some of them for the new key")
  }
  return endsWithin(made.expiresAt, caller)
    ? Effect.void
    : refuse("this key ends: give the new key an `expiresIn` that ends no later")
}

const refuse = (error: string): Effect.Effect<never, Forbidden> =>
  Effect.fail(new Forbidden({ code: "key_scope", error }))
