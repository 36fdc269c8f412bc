/** Who may call `/admin` and `/metrics` (contract: Operator routes). */
import { Option } from "effect"
import { isLocalCaller } from "@muniment/server/identity/ClientAddress"
import { describe, expect, it } from "vitest"

const isLocal = (peer: string | undefined, headers: Readonly<Record<string, string>> = {}): boolean =>
  isLocalCaller({ remoteAddress: Option.fromUndefinedOr(peer), headers: { host: "localhost", ...headers } }, "0.0.0.0")

describe("a caller of this machine", () => {
  it.each(["127.0.0.1", "127.9.9.9", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::ffff:7f00:1"])(
    "is %s",
    (peer) => {
      expect(isLocal(peer)).toBe(true)
    }
  )

  it.each(["128.0.0.1", "10.0.0.1", "::2", "::ffff:8000:1", "::7f00:1", "127.0.0.1.example", "", undefined])(
    "is not %s",
    (peer) => {
      expect(isLocal(peer)).toBe(false)
    }
  )

  it.each([
    "forwarded",
    "via",
    "cdn-loop",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-forwarded-client-cert",
    "x-original-forwarded-for",
    "x-original-host",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "true-client-ip",
    "cf-connecting-ip",
    "cf-ray",
    "fastly-client-ip",
    "fly-client-ip",
    "x-azure-clientip"
  ])("is none that a proxy forwarded, which %s says, empty or not", (name) => {
    expect(isLocal("127.0.0.1", { [name]: "127.0.0.1" })).toBe(false)
    expect(isLocal("127.0.0.1", { [name]: "" })).toBe(false)
  })

  it("sends other headers as it likes", () => {
    expect(isLocal("127.0.0.1", { "x-request-id": "1", "x-forward": "1", forward: "1" })).toBe(true)
  })
})
