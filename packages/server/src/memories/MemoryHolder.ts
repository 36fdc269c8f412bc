/**
 * The namespace that holds a memory which the caller may change. Asked before the price is reserved, so that a call that
 * would be refused costs nothing; the actor decides again when the change is committed.
 */
import { Effect } from "effect"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import { memoryNotFound } from "@muniment/domain/Errors"
import type { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import type { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { requireChange, sees, seesAgent } from "../identity/KeyScopes.ts"
import { type IfMatch, versionMismatch, versionOf } from "./IfMatch.ts"

interface Parts {
  readonly directory: NamespaceDirectory["Service"]
  readonly host: NamespaceHost["Service"]
}

/** With the memory; undefined: it was there until a commit with the token of this call. */
export const holderOf = Effect.fnUntraced(function* (parts: Parts, call: PricedCall, id: string) {
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
  parts: Parts,
  call: PricedCall,
  id: string,
  ifMatch: IfMatch
) {
  const { found, key } = yield* holderOf(parts, call, id)
  const isOther = found !== undefined && ifMatch !== undefined && !ifMatch.includes(versionOf(found))
  if (isOther && !(yield* isRepeat(parts, call, key))) return yield* versionMismatch
  return key
})

const isRepeat = ({ host }: Parts, { token }: PricedCall, key: NamespaceKey) =>
  token === undefined ? Effect.succeed(false) : host.answer(key, { _tag: "IsCommitted", idempotencyKey: token.key })
