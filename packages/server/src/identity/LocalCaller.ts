/**
 * Decides whether a request comes from this machine, for `/admin` and `/metrics` (contract: Operator routes). The
 * peer's address alone does not say so: behind a proxy on this machine every caller is a local peer, and a web page
 * whose name DNS points here is one too. Hence what a proxy forwarded is not local, and the `Host` has to be a name
 * that DNS cannot point anywhere: `localhost`, an address, or the host that the service was told to listen on.
 */
import { BlockList, isIP } from "node:net"
import { Option } from "effect"
import type { RequestOrigin } from "./ClientAddress.ts"

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

/** `ownHost` as in `MUNIMENT_HOST`. */
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
