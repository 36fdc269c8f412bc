/**
 * The operator's webhook as it is configured (`MUNIMENT_WEBHOOK_URL`, `MUNIMENT_WEBHOOK_SECRET`), and which URLs and
 * secrets webhooks may have.
 */
import { Data, Effect, Option, Redacted } from "effect"
import { namesPublicHost } from "./PublicAddress.ts"

export interface WebhookEndpoint {
  readonly url: string
  /** Keys of HMAC-SHA-256, without their prefix and Base64; a message is signed by each. */
  readonly secrets: ReadonlyArray<Redacted.Redacted<Uint8Array>>
  /** Which addresses a connection may go to; default `any`: the operator has chosen the URL. */
  readonly reach?: "any" | "public"
}

export const webhookUrl = "an https URL without credentials; http only for this machine"

/** Whether the URL may be called: nobody between here and there reads along. */
export const isWebhookUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, hostname, password, protocol, username } = new URL(text)
  if (username !== "" || password !== "" || hash !== "") return false
  return protocol === "https:" || (protocol === "http:" && isThisMachine(hostname))
}

/** No other name: DNS can point it anywhere. */
const isThisMachine = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname)

/** Addresses that webhooks of accounts may use. */
export const hookReaches = ["public", "any", "off"] as const
export type HookReach = (typeof hookReaches)[number]

/** Whether an account may have a webhook there; where all addresses are allowed, http is too. */
export const isHookUrl = (text: string, reach: "public" | "any"): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, hostname, password, protocol, username } = new URL(text)
  if (username !== "" || password !== "" || hash !== "") return false
  return reach === "any" ? /^https?:$/.test(protocol) : protocol === "https:" && namesPublicHost(hostname)
}

export const webhookSecret =
  "whsec_ and 24 to 64 bytes in Base64; two, separated by a comma, while one replaces the other"

const secretPrefix = "whsec_"
const secretBytesMin = 24
const secretBytesMax = 64
const secretsMax = 2

export const hookSecretBytes = 32

export const hookSecretText = (bytes: Uint8Array): string => `${secretPrefix}${Buffer.from(bytes).toString("base64")}`

/** Undefined if the text does not have the form. */
export const webhookSecrets = (text: string): WebhookEndpoint["secrets"] | undefined => {
  const items = text.split(",").map((item) => item.trim())
  const keys = items.flatMap((item) => keyOf(item) ?? [])
  return keys.length === items.length && keys.length <= secretsMax ? keys.map((key) => Redacted.make(key)) : undefined
}

const keyOf = (item: string): Uint8Array | undefined => {
  if (!item.startsWith(secretPrefix)) return undefined
  const text = item.slice(secretPrefix.length)
  const key = Buffer.from(text, "base64")
  const isWhole = key.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "")
  return isWhole && key.length >= secretBytesMin && key.length <= secretBytesMax ? key : undefined
}

/** One of the two settings without the other. */
class WebhookMisconfigured extends Data.TaggedError("WebhookMisconfigured")<{ readonly message: string }> {}

export const webhookEndpoint = ({
  secrets,
  url
}: {
  readonly url: Option.Option<string>
  readonly secrets: Option.Option<WebhookEndpoint["secrets"]>
}): Effect.Effect<WebhookEndpoint | undefined, WebhookMisconfigured> => {
  if (Option.isNone(url) && Option.isNone(secrets)) return Effect.succeed(undefined)
  if (Option.isSome(url) && Option.isSome(secrets)) return Effect.succeed({ url: url.value, secrets: secrets.value })
  const [given, missing] = Option.isSome(url) ? ["URL", "SECRET"] : ["SECRET", "URL"]
  return new WebhookMisconfigured({
    message: `MUNIMENT_WEBHOOK_${given}: it needs MUNIMENT_WEBHOOK_${missing}`
  })
}
