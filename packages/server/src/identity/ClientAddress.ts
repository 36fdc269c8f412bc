/**
 * Address of the client that sent a request. The peer's address counts, unless the peer is a trusted proxy
 * (`MUNIMENT_TRUSTED_PROXIES`): then `X-Forwarded-For` is read from its end, and the first address that is no trusted
 * proxy is the client. What stands before it was written by the client and proves nothing.
 */
import { BlockList, isIP, SocketAddress } from "node:net"
import { Option } from "effect"

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
export interface RequestOrigin {
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
