/** Webhooks of accounts as the route makes them: told what happens from now on, with the secret of the receiver. */
import { Effect, Redacted } from "effect"
import type { Account } from "@muniment/domain/Account"
import type { NewHook } from "@muniment/domain/Events"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import { KeyRing, nonceBytes, seal } from "@muniment/trust/KeyRing"
import { AccountEvents } from "@muniment/server/events/AccountEvents"
import { HookDeliveries } from "@muniment/server/webhooks/HookDeliveries"
import { webhookSecretText } from "../../../support/WebhookReceiver.ts"

/** -> Its id. */
export const addHook = Effect.fnUntraced(function* (account: Account, hook: NewHook) {
  const hooks = yield* AccountHooks
  const sealing = Redacted.value(yield* (yield* KeyRing).sealing)
  const caller = { account, keyId: undefined, ...(hook.agents !== undefined && { scope: { agents: hook.agents } }) }
  const { cursor } = yield* (yield* AccountEvents).open(caller, {})
  const secret = seal(webhookSecretText, sealing, new Uint8Array(nonceBytes))
  const { id } = yield* hooks.add(account.id, { ...hook, cursor, secret, madeBy: undefined })
  yield* (yield* HookDeliveries).changed
  return id
})
