/** Feedback on a memory (contract: Memories, Feedback), kept with it in one commit. */
import { Clock, Effect } from "effect"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import { InvalidRequest } from "@muniment/domain/Errors"
import { type GivenFeedback, withFeedback } from "@muniment/domain/Feedback"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryVersion } from "@muniment/domain/Memory"
import { traced } from "@muniment/domain/traced"
import type { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { byOf } from "./byOf.ts"

interface Held {
  readonly key: NamespaceKey
  readonly found: MemoryVersion | undefined
}

interface Asked {
  readonly id: string
  readonly given: GivenFeedback
}

export const keepFeedback = traced("MemoryService.giveFeedback")(function* (
  { host }: { readonly host: NamespaceHost["Service"] },
  call: PricedCall,
  { found, key }: Held,
  { given: { query, useful }, id }: Asked
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
