/**
 * One attempt to deliver a message, after the Standard Webhooks specification: POST of JSON with `webhook-id`,
 * `webhook-timestamp` and `webhook-signature`.
 *
 * Invariants: delivered is what a 2xx answered; no redirect is followed, and nothing of an answer is read but its
 * status; a reason names neither the URL nor the message.
 */
import { Clock, Effect, Redacted } from "effect"
import { createHmac } from "node:crypto"
import { Limits } from "@muniment/domain/Limits"
import { serviceVersion } from "../version.ts"
import type { WebhookEndpoint } from "./WebhookSettings.ts"

export interface WebhookMessage {
  readonly id: string
  /** JSON. */
  readonly body: string
}

/** Undefined: delivered; else why not. */
export const sendWebhook = Effect.fn("WebhookSender.send")(function* (
  { secrets, url }: WebhookEndpoint,
  { body, id }: WebhookMessage
) {
  const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
  const headers = {
    "content-type": "application/json",
    "user-agent": `muniment/${serviceVersion}`,
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": secrets.map((secret) => signatureOf(Redacted.value(secret), { body, id, seconds })).join(" ")
  }
  return yield* Effect.tryPromise({
    try: async (ended) => {
      const signal = AbortSignal.any([ended, AbortSignal.timeout(Limits.webhookTimeoutMillis)])
      const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal })
      await response.body?.cancel()
      return response.ok ? undefined : `status ${response.status}`
    },
    catch: reasonOf
  }).pipe(Effect.catch(Effect.succeed))
})

const signatureOf = (
  secret: Uint8Array,
  { body, id, seconds }: WebhookMessage & { readonly seconds: number }
): string => `v1,${createHmac("sha256", secret).update(`${id}.${seconds}.${body}`).digest("base64")}`

/** `ECONNREFUSED`, `CERT_HAS_EXPIRED`; the messages of such errors hold addresses. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "it failed"
  if (error.name === "TimeoutError") return `no answer within ${Limits.webhookTimeoutMillis / 1_000} s`
  const { cause } = error
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "no connection"
}
