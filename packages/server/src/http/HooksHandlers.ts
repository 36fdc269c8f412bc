/**
 * Webhooks that an account manages itself (contract: Webhooks of accounts). Secrets are sealed here, and leave in the
 * answer that makes them; what is made, changed and removed stands in the audit log.
 */
import { Effect, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Caller } from "@muniment/domain/api/Middleware"
import { type Conflict, Forbidden, InvalidRequest } from "@muniment/domain/Errors"
import type { Identity } from "@muniment/domain/Identity"
import { Limits } from "@muniment/domain/Limits"
import type { EventsQuery, WebhookState } from "@muniment/domain/Events"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import type { HookPlace } from "@muniment/control/webhooks/HookRows"
import { KeyRing, nonceBytes, seal } from "@muniment/trust/KeyRing"
import { recordOwnChange } from "../operator/auditedAction.ts"
import { AccountEvents } from "../events/AccountEvents.ts"
import { requireWholeAccount, unboundCaller } from "../identity/KeyScopes.ts"
import { HookDeliveries, switchedOff } from "../webhooks/HookDeliveries.ts"
import { type HookReach, hookSecretBytes, hookSecretText, isHookUrl } from "../webhooks/WebhookSettings.ts"
import { EventStreams } from "../events/EventStreams.ts"
import { apiGroup } from "../apiGroup.ts"

export const hooksHandlers = (reach: HookReach) =>
  apiGroup(
    "hooks",
    Effect.fnUntraced(function* (handlers) {
      const hooks = yield* AccountHooks
      const events = yield* AccountEvents
      const { changed, test } = yield* HookDeliveries
      const log = yield* AuditLog
      const makeSecret = yield* makeSecrets
      const success = true as const

      return handlers.handleAll({
        ...readHandlers(hooks),
        createHook: Effect.fnUntraced(function* ({ payload }) {
          const caller = yield* Caller
          yield* Effect.andThen(requireWholeAccount(caller), requireUnending(caller))
          yield* requireUrl(reach, payload.url)
          yield* caller.newcomer?.open("free") ?? Effect.void
          const scoped = payload.agents === undefined ? caller : { ...caller, scope: { agents: payload.agents } }
          const { cursor } = yield* events.open(scoped, {}, Limits.hookAgentsMax)
          const { sealed, text } = yield* makeSecret
          const made = { secret: sealed, cursor, madeBy: makerOf(caller) }
          const webhook = yield* hooks.add(caller.account.id, { ...payload, ...made })
          yield* recordOwnChange(log, "hooks.createHook", caller, { webhook: webhook.id })
          yield* changed
          return { success, webhook, secret: text }
        }),
        changeHook: Effect.fnUntraced(function* ({ params, payload }) {
          if (payload.url !== undefined) yield* requireUrl(reach, payload.url)
          const [caller, place] = yield* changedPlace(params.id)
          if (payload.url !== undefined) yield* requireUnending(caller)
          const webhook = yield* hooks.change(place, payload, makerOf(caller))
          yield* recordOwnChange(log, "hooks.changeHook", caller, { webhook: webhook.id })
          yield* changed
          return { success, webhook }
        }),
        removeHook: Effect.fnUntraced(function* ({ params }) {
          const [caller, place] = yield* changedPlace(params.id)
          yield* hooks.remove(place)
          yield* recordOwnChange(log, "hooks.removeHook", caller, { webhook: place.id })
          yield* changed
          return { success }
        }),
        rotateHookSecret: Effect.fnUntraced(function* ({ params }) {
          const [caller, place] = yield* changedPlace(params.id)
          yield* requireUnending(caller)
          const { sealed, text } = yield* makeSecret
          const webhook = yield* hooks.replaceSecret(place, sealed, makerOf(caller))
          yield* recordOwnChange(log, "hooks.rotateHookSecret", caller, { webhook: webhook.id })
          return { success, webhook, secret: text }
        }),
        testHook: Effect.fnUntraced(function* ({ params }) {
          const [, place] = yield* changedPlace(params.id)
          return { success, ...(yield* test(place)) }
        }),
        repeatDeliveries: Effect.fnUntraced(function* ({ params, payload }) {
          const [, place] = yield* changedPlace(params.id)
          const repeated = yield* hooks.repeat(place, payload.delivery)
          yield* changed
          return { success, repeated }
        })
      })
    })
  )

interface OfHook {
  readonly params: { readonly id: string }
}

const readHandlers = (hooks: AccountHooks["Service"]) => {
  const success = true as const
  return {
    listHooks: Effect.fnUntraced(function* () {
      const { account } = yield* unboundCaller
      return { success, webhooks: yield* hooks.list(account.id) }
    }),
    getHook: Effect.fnUntraced(function* ({ params }: OfHook) {
      return { success, webhook: yield* hooks.get(yield* readPlace(params.id)) }
    }),
    hookDeliveries: Effect.fnUntraced(function* ({
      params,
      query: { limit = shownDefault, state }
    }: OfHook & { readonly query: { readonly limit?: number; readonly state?: WebhookState } }) {
      return { success, deliveries: yield* hooks.deliveries(yield* readPlace(params.id), { limit, state }) }
    })
  }
}

const shownDefault = 100

/** A webhook of the caller's account, to read. */
const readPlace = (id: string) => Effect.map(unboundCaller, ({ account }): HookPlace => ({ id, account: account.id }))

const changedPlace = (id: string) =>
  Effect.gen(function* () {
    const caller = yield* Caller
    yield* requireWholeAccount(caller)
    return [caller, { id, account: caller.account.id }] as const
  })

/** A new secret, as text and sealed. */
const makeSecrets = Effect.gen(function* () {
  const random = yield* SecureRandom.SecureRandom
  const keys = yield* KeyRing
  return Effect.gen(function* () {
    const text = hookSecretText(yield* random.randomBytes(hookSecretBytes))
    const sealing = Redacted.value(yield* Effect.orDie(keys.sealing))
    return { text, sealed: seal(text, sealing, yield* random.randomBytes(nonceBytes)) }
  })
})

/** With a key goes the webhook that it made, led elsewhere or knows the secret of. */
const makerOf = ({ keyId, walletAddress }: Identity): string | undefined => keyId ?? walletAddress

/** A webhook would outlive its key. */
const requireUnending = ({ keyExpiresAt }: Identity): Effect.Effect<void, Forbidden> =>
  keyExpiresAt === undefined
    ? Effect.void
    : Effect.fail(new Forbidden({ code: "key_scope", error: "this key ends, and a webhook does not" }))

const requireUrl = (reach: HookReach, url: string): Effect.Effect<void, InvalidRequest | Conflict> => {
  if (reach === "off") return switchedOff
  if (isHookUrl(url, reach)) return Effect.void
  const error =
    reach === "public"
      ? "`url` must be an https URL without credentials or fragment, on a host that everybody can reach"
      : "`url` must be an http or https URL without credentials or fragment"
  return Effect.fail(new InvalidRequest({ code: "invalid_request", error }))
}

/** GET /events (contract: Events): a page, or a stream for those who accept one. */
export const eventsHandlers = apiGroup(
  "events",
  Effect.fnUntraced(function* (handlers) {
    const events = yield* AccountEvents
    const streams = yield* EventStreams

    const page = Effect.fnUntraced(function* (query: EventsQuery) {
      const reader = yield* events.open(yield* Caller, query)
      const batch = yield* reader.read(query.limit ?? Limits.eventsPageDefault, Effect.fail)
      return HttpServerResponse.jsonUnsafe({ success: true, ...batch, nextCursor: reader.cursor })
    })

    const stream = Effect.fnUntraced(function* (query: EventsQuery) {
      const caller = yield* Caller
      const last = (yield* HttpServerRequest.HttpServerRequest).headers["last-event-id"]
      const reader = yield* events.open(caller, last === undefined ? query : { ...query, cursor: last })
      return yield* streams.answer(caller, reader)
    })

    return handlers.handleRaw("events", ({ query, request }) =>
      acceptsStream(request.headers["accept"]) ? stream(query) : page(query)
    )
  })
)

const acceptsStream = (accept = ""): boolean => /(?:^|,)\s*text\/event-stream\b/i.test(accept)
