/**
 * Address of the client that sent a request. The peer's address counts, unless the peer is a trusted proxy
 * (`MUNIMENT_TRUSTED_PROXIES`): then `X-Forwarded-For` is read from its end, and the first address that is no trusted
 * proxy is the client. What stands before it was written by the client and proves nothing.
 */
import { BlockList, SocketAddress, isIP } from "node:net"
import { Option } from "effect"
import { networkInterfaces } from "node:os"
import type { Audience } from "@muniment/trust/SignatureVerifier"

export type TrustedProxies = BlockList

const prefixBitsMax = { 4: 32, 6: 128 } as const

/** Whether a text is an address, or a range of addresses such as 10.0.0.0/8. */
export const isAddressRange = (text: string): boolean => rangeOf(text) !== undefined

/** Every text is an address or a range. */
export const trustedProxies = (ranges: ReadonlyArray<string>): TrustedProxies => {
  const list = new BlockList()
  for (const text of ranges) {
    const range = rangeOf(text)
    if (range === undefined) throw new RangeError(`not a range of addresses: ${text}`)
    list.addSubnet(range.address, range.bits, range.family)
  }
  return list
}

const rangeOf = (text: string) => {
  const [address = "", bitsText, ...rest] = text.split("/")
  const version = isIP(address)
  if ((version !== 4 && version !== 6) || rest.length > 0) return undefined
  const bitsMax = prefixBitsMax[version]
  const bits = bitsText === undefined ? bitsMax : /^\d{1,3}$/.test(bitsText) ? Number(bitsText) : Number.NaN
  return bits <= bitsMax ? { address, bits, family: familyOf(address) } : undefined
}

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 4 ? "ipv4" : "ipv6")

/** The way a request came; headers by lower-case name. */
interface RequestOrigin {
  readonly remoteAddress: Option.Option<string>
  readonly headers: Readonly<Record<string, string | undefined>>
}

/** Address of the client; empty if there is none, as on a socket that is closed. */
export const clientAddress = (request: RequestOrigin, trusted: TrustedProxies): string => {
  let client = plain(Option.getOrElse(request.remoteAddress, () => ""))
  const forwarded = (request.headers["x-forwarded-for"] ?? "").split(",")
  for (let at = forwarded.length - 1; at >= 0 && isTrusted(client, trusted); at--) {
    const element = forwarded[at]!.trim()
    // Empty elements of a list count for nothing (RFC 9110, section 5.6.1.2).
    if (element === "") continue
    const next = plain(withoutPort(element))
    if (isIP(next) === 0) break
    client = next
  }
  return client
}

/** Some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (element: string): string => {
  const [, inBrackets, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(element) ?? []
  return inBrackets ?? ipv4 ?? element
}

const isTrusted = (address: string, trusted: TrustedProxies): boolean =>
  isIP(address) !== 0 && trusted.check(address, familyOf(address))

/** IPv4 as such, also when it arrives by an IPv6 socket or is written as an IPv6 address in another form. */
const plain = (address: string): string => {
  if (isIP(address) !== 6 || !/ffff:/i.test(address)) return address
  const mapped = /^::ffff:(\d+\..*)$/.exec(new SocketAddress({ address, family: "ipv6" }).address)
  return mapped?.[1] ?? address
}

/** The client of a request, as it is counted. */
export const clientOf = (request: RequestOrigin, trusted: TrustedProxies): string =>
  clientNetwork(clientAddress(request, trusted))

/** Network that counts as one client: an IPv4 address, or the first 64 bits of an IPv6 one. */
export const clientNetwork = (address: string): string => {
  if (isIP(address) !== 6) return address
  const [head = "", tail = ""] = address.split("%", 1)[0]!.toLowerCase().split("::", 2)
  const before = groupsOf(head)
  const after = groupsOf(tail)
  const gap = address.includes("::") ? Array.from({ length: 8 - before.length - after.length }, () => "0") : []
  const network = [...before, ...gap, ...after].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ""))
  return `${network.join(":")}::/64`
}

/** An embedded IPv4 address stands for two groups; it is never among the first four. */
const groupsOf = (part: string): ReadonlyArray<string> =>
  part === "" ? [] : part.split(":").flatMap((group) => (group.includes(".") ? ["0", "0"] : [group]))

/**
 * A proxy adds at least one of them, or a header that begins with `x-forwarded-`: standards (RFC 7239, 9110 and 8586),
 * then what common proxies, ingresses and content delivery networks send.
 */
const forwardingHeaders: ReadonlySet<string> = new Set([
  "forwarded",
  "via",
  "cdn-loop",
  "x-real-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-original-forwarded-for",
  "x-original-host",
  "x-envoy-external-address",
  "true-client-ip",
  "cf-connecting-ip",
  "cf-ray",
  "fastly-client-ip",
  "fly-client-ip",
  "x-azure-clientip"
])

const isForwarding = (name: string): boolean => forwardingHeaders.has(name) || name.startsWith("x-forwarded-")

const loopback = new BlockList()
loopback.addSubnet("127.0.0.0", 8, "ipv4")
loopback.addAddress("::1", "ipv6")

/**
 * Decides whether a request comes from this machine, for `/admin` and `/metrics` (contract: Operator routes). The
 * peer's address alone does not say so: behind a proxy on this machine every caller is a local peer, and a web page
 * whose name DNS points here is one too. Hence what a proxy forwarded is not local, and the `Host` has to be a name
 * that DNS cannot point anywhere: `localhost`, an address, or the host that the service was told to listen on.
 *
 * `ownHost` as in `MUNIMENT_HOST`.
 */
export const isLocalCaller = ({ headers, remoteAddress }: RequestOrigin, ownHost: string): boolean =>
  isLoopback(Option.getOrElse(remoteAddress, () => "")) &&
  !Object.keys(headers).some(isForwarding) &&
  isOwnName(headers["host"] ?? "", ownHost)

/** IPv4 in any form of IPv6 too. */
const isLoopback = (peer: string): boolean =>
  isIP(peer) !== 0 && loopback.check(peer, isIP(peer) === 4 ? "ipv4" : "ipv6")

const isOwnName = (host: string, ownHost: string): boolean => {
  const url = `http://${host}`
  // A URL may have more than a name and a port, such as a user before them.
  if (/[^\w.:[\]-]/.test(host) || !URL.canParse(url)) return false
  const { hostname } = new URL(url)
  return isFixedName(hostname) || hostname === ownHost.toLowerCase()
}

/** Hosts to listen on that mean every address of the machine. */
export const anyHosts: ReadonlySet<string> = new Set(["0.0.0.0", "::"])

/** Names that are not resolved by DNS. */
export const isFixedName = (hostname: string): boolean =>
  hostname === "localhost" || isIP(hostname.replace(/^\[(.*)\]$/, "$1")) !== 0

/** Signed statements that have to name the service: none, requests, grants, or both. */
export const audienceRules = ["off", "requests", "grants", "all"] as const
type AudienceRule = (typeof audienceRules)[number]

/**
 * Origins by which wallets may name this service (contract: Wallet signatures). With a public URL it is that one's, and
 * for requests of this machine also the loopback address, by which its own commands call. Without one, it is the address
 * that the service listens on and the names of loopback, with its port: the `Host` header proves nothing, because the
 * sender of a copied request chooses it.
 */
export interface ServiceAudience {
  readonly ofRequest: (request: RequestOrigin) => Audience
  readonly ofGrants: Audience
}

export const serviceAudience = (options: {
  readonly publicUrl: Option.Option<string>
  readonly host: string
  readonly port: number
  readonly requireAudience: AudienceRule
}): ServiceAudience => {
  const { host, port, publicUrl, requireAudience } = options
  const name = Option.getOrUndefined(Option.map(publicUrl, (url) => new URL(url).origin))
  const local = new Set(localHosts(host).map((each) => new URL(`http://${each}:${port}`).origin))
  const audience = (isLocal: boolean, rule: AudienceRule): Audience => ({
    name,
    isOwn: (origin) => origin === name || (isLocal && local.has(origin)),
    isRequired: requireAudience === rule || requireAudience === "all"
  })
  return {
    ofRequest: (request) => audience(name === undefined || isLocalCaller(request, host), "requests"),
    ofGrants: audience(name === undefined, "grants")
  }
}

const localHosts = (host: string): ReadonlyArray<string> => {
  const own = anyHosts.has(host)
    ? Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address))
    : [host]
  // An address that is only valid on one link has a suffix that no URL takes.
  const hosts = ["localhost", "127.0.0.1", "::1", ...own.filter((each) => !each.includes("%"))]
  return hosts.map((each) => (each.includes(":") ? `[${each}]` : each))
}

/** The origin at which this machine reaches a service that listens there. */
export const localOrigin = (host: string, port: number): string => {
  const reached = anyHosts.has(host) ? "127.0.0.1" : host
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`
}
