/** Whose request it is, behind proxies and without (contract: Wallet signatures, bounds of sign-up). */
import { Option } from "effect"
import { clientAddress, clientNetwork, isAddressRange, trustedProxies } from "@muniment/server/identity/ClientAddress"
import { describe, expect, it } from "vitest"

const requestFrom = (peer: string | undefined, forwarded?: string) => ({
  remoteAddress: Option.fromUndefinedOr(peer),
  headers: { "x-forwarded-for": forwarded }
})

describe("the client of a request", () => {
  const trusted = trustedProxies(["127.0.0.1", "10.0.0.0/8", "fd00::/8"])

  it.each([
    ["the peer", "198.51.100.7", undefined, "198.51.100.7"],
    ["the peer, whatever it forwards", "198.51.100.7", "203.0.113.1", "198.51.100.7"],
    ["what a trusted proxy saw", "127.0.0.1", "203.0.113.1", "203.0.113.1"],
    ["the last address that no trusted proxy has", "10.0.0.1", "1.1.1.1, 203.0.113.1, 10.9.9.9", "203.0.113.1"],
    ["a proxy itself, if all are trusted", "10.0.0.1", "10.0.0.2", "10.0.0.2"],
    ["the last readable one", "10.0.0.1", "203.0.113.1, unknown", "10.0.0.1"],
    ["an IPv4 peer of an IPv6 socket", "::ffff:10.0.0.1", "203.0.113.1", "203.0.113.1"],
    ["behind an IPv6 proxy", "fd00::1", "2001:db8::1", "2001:db8::1"],
    ["an IPv4 address in hexadecimal IPv6", "127.0.0.1", "::ffff:cb00:7101", "203.0.113.1"],
    ["one in IPv6 written out", "127.0.0.1", "0:0:0:0:0:FFFF:203.0.113.1", "203.0.113.1"],
    ["one with leading zeros", "127.0.0.1", "0000:0000:0000:0000:0000:ffff:cb00:7101", "203.0.113.1"],
    ["behind a proxy whose address is mapped in any form", "0:0:0:0:0:ffff:7f00:1", "203.0.113.1", "203.0.113.1"],
    ["behind proxies that are mapped too", "127.0.0.1", "203.0.113.1, ::ffff:a00:2", "203.0.113.1"],
    ["an address with a port", "127.0.0.1", "203.0.113.1:4711", "203.0.113.1"],
    ["an IPv6 address with a port", "127.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"],
    ["one in brackets", "127.0.0.1", "[2001:db8::1]", "2001:db8::1"],
    ["a mapped one with a port", "127.0.0.1", "[::ffff:cb00:7101]:4711", "203.0.113.1"],
    ["a proxy that wrote an address that is none", "127.0.0.1", "203.0.113.1, 1.2.3.4.5:80", "127.0.0.1"],
    ["a proxy that wrote a port that is none", "127.0.0.1", "203.0.113.1, 203.0.113.2:x", "127.0.0.1"],
    ["before an empty last element", "127.0.0.1", "203.0.113.1, ", "203.0.113.1"],
    ["before empty ones", "10.0.0.1", "203.0.113.1,, ,10.0.0.2,", "203.0.113.1"],
    ["the proxy, if all elements are empty", "127.0.0.1", " , ", "127.0.0.1"],
    ["an IPv6 address that only looks mapped", "127.0.0.1", "2001:db8::ffff:7f00:1", "2001:db8::ffff:7f00:1"],
    ["nobody, when the socket is closed", undefined, "203.0.113.1", ""]
  ])("is %s", (_, peer, forwarded, client) => {
    expect(clientAddress(requestFrom(peer, forwarded), trusted)).toBe(client)
  })

  it("is no proxy whose range was written as IPv6", () => {
    const mapped = trustedProxies(["::ffff:10.0.0.0/104"])
    expect(clientAddress(requestFrom("10.1.2.3", "203.0.113.1"), mapped)).toBe("203.0.113.1")
    expect(clientAddress(requestFrom("11.1.2.3", "203.0.113.1"), mapped)).toBe("11.1.2.3")
  })

  it.each([
    ["203.0.113.1", "203.0.113.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8::9", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    ["", ""]
  ])("%s is counted as %s", (address, network) => {
    expect(clientNetwork(address)).toBe(network)
  })
})

it.each([
  ["10.0.0.0/8", true],
  ["10.0.0.1", true],
  ["fd00::/8", true],
  ["::1", true],
  ["10.0.0.0/33", false],
  ["10.0.0.0/", false],
  ["10.0.0.0/8/8", false],
  ["fd00::/129", false],
  ["some name", false],
  ["", false]
])("%s is a range of addresses: %s", (text, is) => {
  expect(isAddressRange(text)).toBe(is)
})
