/**
 * The operator's webhook as it is configured (`MUNIMENT_WEBHOOK_URL`, `MUNIMENT_WEBHOOK_SECRET`), and which URLs and
 * secrets webhooks may have.
 */
import { Data, Effect, Option, Redacted } from "effect"
import { lookup, type LookupAddress } from "node:dns"
import { BlockList, isIP, type LookupFunction, SocketAddress } from "node:net"

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

/**
 * Connections to addresses that everybody can reach, and to no other: what an account names must not lead into the
 * network of the service (server-side request forgery).
 *
 * Invariants: the addresses that a name resolves to are judged where the connection is made, and it goes to one of them,
 * so a name that changes its answer in between gains nothing; an address inside another one (IPv4 in IPv6, by NAT64 or
 * 6to4) is judged too. Ranges: IANA Special-Purpose Address Registries.
 */

/** Callers report `code` alone, so no address is shown. */
class AddressRefused extends Error {
  readonly code = addressRefused
}

export const addressRefused = "ADDRESS_NOT_PUBLIC"

export const isPublicAddress = (address: string): boolean => {
  const family = isIP(address)
  if (family === 4) return !special4.check(address, "ipv4")
  if (family === 0) return false
  const groups = groupsOf(address)
  // Global unicast only: loopback, link-local, unique local, multicast and NAT64 lie outside.
  if ((groups[0]! & 0xe000) !== 0x2000) return nat64.check(address, "ipv6") && isPublicAddress(ipv4Of(groups, 6))
  if (groups[0] === 0x2002) return isPublicAddress(ipv4Of(groups, 1))
  return !special6.check(address, "ipv6")
}

/** For `lookup` of a connection: fails where one of the addresses of the name is not public. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found: ReadonlyArray<LookupAddress>) => {
    if (error !== null) return callback(error, "")
    const [first] = found
    if (first === undefined || !found.every(({ address }) => isPublicAddress(address))) {
      return callback(new AddressRefused(), "")
    }
    return options.all === true ? callback(null, [...found]) : callback(null, first.address, first.family)
  })
}

/** Whether an address is public, or a name may be, without a look-up. */
export const namesPublicHost = (hostname: string): boolean => {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")
  if (isIP(host) !== 0) return isPublicAddress(host)
  return host.includes(".") && !/(?:^|\.)(?:localhost|local|internal|home\.arpa)$/i.test(host)
}

const listOf = (family: "ipv4" | "ipv6", networks: ReadonlyArray<readonly [string, number]>): BlockList => {
  const list = new BlockList()
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, family)
  return list
}

/** Link-local has the metadata services of clouds. */
const special4 = listOf("ipv4", [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4]
])

/** Inside of global unicast. Metadata of Amazon's cloud by IPv6 is unique local, of others link-local. */
const special6 = listOf("ipv6", [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2620:4f:8000::", 48],
  ["3fff::", 20]
])

/** The well-known prefix; the local one, 64:ff9b:1::/48, leads into the network of the service. */
const nat64 = listOf("ipv6", [["64:ff9b::", 96]])

/** The eight numbers of an IPv6 address. */
const groupsOf = (address: string): ReadonlyArray<number> => {
  const plain = new SocketAddress({ address: address.split("%", 1)[0]!, family: "ipv6" }).address
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain)
  const text = dotted === null ? plain : `${dotted[1]}${hexOf(dotted[2]!, dotted[3]!)}:${hexOf(dotted[4]!, dotted[5]!)}`
  const [before, after] = text.split("::").map((half) => half.split(":").filter((group) => group !== ""))
  const gap = after === undefined ? [] : Array.from({ length: 8 - before!.length - after.length }, () => "0")
  return [...before!, ...gap, ...(after ?? [])].map((group) => Number.parseInt(group, 16))
}

const hexOf = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16)

/** The IPv4 address that lies in two groups. */
const ipv4Of = (groups: ReadonlyArray<number>, at: number): string =>
  [groups[at]! >> 8, groups[at]! & 255, groups[at + 1]! >> 8, groups[at + 1]! & 255].join(".")
