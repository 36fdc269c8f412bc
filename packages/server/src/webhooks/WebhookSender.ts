/**
 * Attempts to deliver messages, after the Standard Webhooks specification: POST of JSON with `webhook-id`,
 * `webhook-timestamp` and `webhook-signature`.
 *
 * Invariants: delivered is what a 2xx answered; no redirect is followed, and nothing of an answer is read but its
 * status; a reason names neither the URL nor the message; a connection that is for public addresses alone goes to no
 * other.
 */
import { Clock, Effect, Random, Redacted } from "effect"
import { createHmac } from "node:crypto"
import { request as requestPlainly } from "node:http"
import { request as requestByTls } from "node:https"
import { Limits } from "@muniment/domain/Limits"
import type { WebhookTrial } from "@muniment/domain/Events"
import type { Attempt, DueMessage } from "@muniment/control/webhooks/WebhookMessages"
import { serviceVersion } from "../version.ts"
import { addressRefused, namesPublicHost, publicLookup, type WebhookEndpoint } from "./WebhookSettings.ts"

interface WebhookMessage {
  readonly id: string
  /** JSON. */
  readonly body: string
}

/** Undefined: delivered; else why not. */
export const sendWebhook = Effect.fn("WebhookSender.send")(function* (
  endpoint: WebhookEndpoint,
  { body, id }: WebhookMessage
) {
  const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
  const signatures = endpoint.secrets.map((secret) => signatureOf(Redacted.value(secret), { body, id, seconds }))
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "user-agent": `muniment/${serviceVersion}`,
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" ")
  }
  return yield* Effect.tryPromise({
    try: async (ended) => {
      const signal = AbortSignal.any([ended, AbortSignal.timeout(Limits.webhookTimeoutMillis)])
      const status = await post(endpoint, { body, headers, signal })
      return status >= 200 && status < 300 ? undefined : `status ${status}`
    },
    catch: reasonOf
  }).pipe(Effect.catch(Effect.succeed))
})

/**
 * Sends the messages of each lane in order, up to the first that fails. `endpoint`: or why there is none. What is tried is
 * tried again after a time that doubles.
 */
export const sendInLanes = (
  endpoint: WebhookEndpoint | string,
  due: ReadonlyArray<DueMessage>,
  { atOnce, retryMillisMax }: { readonly atOnce: number; readonly retryMillisMax: number }
): Effect.Effect<ReadonlyArray<Attempt>> => {
  const inOrder = Effect.fnUntraced(function* (messages: ReadonlyArray<DueMessage>) {
    const done: Array<Attempt> = []
    for (const message of messages) {
      const reason = typeof endpoint === "string" ? endpoint : yield* sendWebhook(endpoint, message)
      const delayMillis = retryDelayMillis(message.attempts, yield* Random.next, retryMillisMax)
      done.push({ message, reason, delayMillis })
      if (reason !== undefined) break
    }
    return done
  })
  const lanes = Map.groupBy(due, ({ lane }) => lane)
  return Effect.map(Effect.forEach(lanes.values(), inOrder, { concurrency: atOnce }), (done) => done.flat())
}

/** Age of the oldest message; `at` null: there is none. */
export const secondsSince = (at: number | null, now: number): number =>
  at === null ? 0 : Math.max(0, Math.round((now - at) / 1_000))

/** Doubles with each attempt; `random`, 0 to 1, takes away up to a half, so that many do not come back at once. */
export const retryDelayMillis = (
  attempts: number,
  random: number,
  millisMax: number = Limits.webhookRetryMillisMax
): number => {
  const longest = Math.min(Limits.webhookRetryMillisMin * 2 ** attempts, millisMax)
  return Math.round(longest * (1 - random / 2))
}

/** Sends a message of type `test` once; it is written down nowhere. */
export const sendTest = Effect.fn("WebhookSender.sendTest")(function* (
  endpoint: WebhookEndpoint
): Effect.fn.Return<WebhookTrial> {
  const startedAt = yield* Clock.currentTimeMillis
  const body = JSON.stringify({ type: "test", timestamp: new Date(startedAt).toISOString(), data: {} })
  const reason = yield* sendWebhook(endpoint, { id: `msg_test_${startedAt}`, body })
  const tookMillis = (yield* Clock.currentTimeMillis) - startedAt
  return { delivered: reason === undefined, reason: reason ?? null, tookMillis }
})

interface Post {
  readonly body: string
  readonly headers: Readonly<Record<string, string | number>>
  readonly signal: AbortSignal
}

/** The status of the answer; the connection ends with it. */
const post = ({ reach = "any", url }: WebhookEndpoint, { body, headers, signal }: Post): Promise<number> =>
  new Promise((resolve, reject) => {
    const target = new URL(url)
    // An address in place of a name is not looked up.
    if (reach === "public" && !namesPublicHost(target.hostname)) {
      reject(Object.assign(new Error("refused"), { code: addressRefused }))
      return
    }
    const send = target.protocol === "https:" ? requestByTls : requestPlainly
    const guard = reach === "public" ? { lookup: publicLookup } : {}
    const request = send(target, { method: "POST", agent: false, headers, signal, ...guard }, (response) => {
      resolve(response.statusCode ?? 0)
      request.destroy()
    })
    request.on("error", (error) => reject(signal.aborted ? signal.reason : error))
    request.end(body)
  })

const signatureOf = (
  secret: Uint8Array,
  { body, id, seconds }: WebhookMessage & { readonly seconds: number }
): string => `v1,${createHmac("sha256", secret).update(`${id}.${seconds}.${body}`).digest("base64")}`

/** `ECONNREFUSED`, `CERT_HAS_EXPIRED`; the messages of such errors hold addresses. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "it failed"
  if (error.name === "TimeoutError") return `no answer within ${Limits.webhookTimeoutMillis / 1_000} s`
  return "code" in error && typeof error.code === "string" ? error.code : "no connection"
}
