/** By which origins wallets may name a service, seen from this machine and from others. */
import { networkInterfaces } from "node:os"
import { describe, expect, it } from "vitest"
import { Option } from "effect"
import { serviceAudience } from "@muniment/server/identity/ClientAddress"

const request = (remote: string, headers: Readonly<Record<string, string>> = {}) => ({
  remoteAddress: Option.some(remote),
  headers: { host: "localhost:8787", ...headers }
})
const here = request("127.0.0.1")
const proxied = request("127.0.0.1", { "x-forwarded-for": "203.0.113.9" })
const outside = request("203.0.113.9")

const service = (options: { readonly publicUrl?: string; readonly host?: string; readonly port?: number } = {}) =>
  serviceAudience({
    publicUrl: Option.fromNullishOr(options.publicUrl),
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 8787,
    requireAudience: "off"
  })

describe("a service with a public URL", () => {
  const { ofGrants, ofRequest } = service({ publicUrl: "https://Memory.Example:443/base/v1" })

  it("is its origin, in lower case and without a default port", () => {
    for (const audience of [ofRequest(here), ofRequest(proxied), ofRequest(outside), ofGrants]) {
      expect(audience.name).toBe("https://memory.example")
      expect(audience.isOwn("https://memory.example")).toBe(true)
      for (const other of ["https://Memory.Example", "https://memory.example:443", "https://memory.example/base", ""]) {
        expect(audience.isOwn(other), other).toBe(false)
      }
    }
  })

  it("is the loopback address too, for this machine alone", () => {
    const own = [ofRequest(here), ofRequest(proxied), ofRequest(outside), ofGrants].map(({ isOwn }) =>
      isOwn("http://localhost:8787")
    )
    expect(own).toEqual([true, false, false, false])
  })
})

describe("a service without one", () => {
  it("is what it listens on, and loopback", () => {
    const { isOwn, name } = service({ host: "192.0.2.7", port: 80 }).ofRequest(outside)
    expect(name).toBeUndefined()
    const origins = ["http://192.0.2.7", "http://localhost", "http://127.0.0.1", "http://[::1]"]
    for (const origin of origins) expect(isOwn(origin), origin).toBe(true)
    for (const origin of ["http://192.0.2.8", "http://192.0.2.7:80", "https://192.0.2.7"]) {
      expect(isOwn(origin), origin).toBe(false)
    }
  })

  it("is each address of the machine where it listens on all", () => {
    const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
    const { isOwn } = service({ host: "0.0.0.0" }).ofRequest(outside)
    for (const address of addresses.filter((each) => !each.includes(":"))) {
      expect(isOwn(`http://${address}:8787`), address).toBe(true)
    }
    expect(isOwn("http://0.0.0.0:8787")).toBe(false)
    expect(isOwn("http://203.0.113.200:8787")).toBe(false)
  })
})

describe("what has to name the service", () => {
  it.each([
    ["off", false, false],
    ["requests", true, false],
    ["grants", false, true],
    ["all", true, true]
  ] as const)("with %s: requests %s, grants %s", (requireAudience, requests, grants) => {
    const { ofGrants, ofRequest } = serviceAudience({
      publicUrl: Option.none(),
      host: "127.0.0.1",
      port: 1,
      requireAudience
    })
    expect([ofRequest(outside).isRequired, ofGrants.isRequired]).toEqual([requests, grants])
  })
})
