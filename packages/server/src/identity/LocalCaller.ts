/**
 * Whether a request comes from this machine, for `/admin` and `/metrics` (contract: Operator routes). The peer's address
 * alone does not say so: behind a proxy on this machine every caller is a local peer, and a web page whose name DNS
 * points here is one too. Hence what a proxy forwarded is not local, and the `Host` has to be a name that DNS cannot
 * point anywhere: `localhost`, an address, or the host that the service was told to listen on.
 */
import { isIP } from "node:net"
import { Option } from "effect"
import type { RequestOrigin } from "./ClientAddress.ts"

/** A proxy adds at least one of them. */
const forwardingHeaders = ["x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded", "via"] as const

/** `ownHost` as in `MUNIMENT_HOST`. */
export const isLocalCaller = ({ headers, remoteAddress }: RequestOrigin, ownHost: string): boolean =>
  isLoopback(Option.getOrElse(remoteAddress, () => "")) &&
  forwardingHeaders.every((name) => headers[name] === undefined) &&
  isOwnName(headers["host"] ?? "", ownHost)

const isLoopback = (peer: string): boolean => {
  const address = peer.replace(/^::ffff:/, "")
  return address === "::1" || address.startsWith("127.")
}

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
