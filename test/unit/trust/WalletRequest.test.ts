/** Signed requests: what is bound, when they count, and what a caller without proof is told. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import {
  hasWalletHeaders,
  pathSpellings,
  signWalletRequest,
  verifyWalletRequest,
  walletRequestText,
  walletWindowMillis
} from "@muniment/trust/WalletRequest"
import { evmWallet, otherEvmWallet, solWallet, vectorTimeMillis } from "../../support/TrustVectors.ts"

const body = '{"agentId":"agent-1"}'
const request = { method: "POST", url: "/v1/memories?x=1", body: Buffer.from(body), versionPrefix: "/v1" }
const signedBy = (signer = evmWallet, timestampMillis = vectorTimeMillis) =>
  Effect.promise(() => signWalletRequest(signer, { method: "post", path: "/memories?x=1", body, timestampMillis }))

describe("WalletRequest", () => {
  it("signs method, path, hash of the body and time", () => {
    const text = walletRequestText({ method: "get", path: "/memories/search?query=a", body: "", timestampMillis: 17 })
    expect(text).toBe(
      "GET|/memories/search?query=a|e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855|17"
    )
  })

  it("accepts four spellings of a path below the version prefix, two of another, and none twice", () => {
    expect(pathSpellings("/v1/a?b=c", "/v1")).toEqual(["/a?b=c", "/a", "/v1/a?b=c", "/v1/a"])
    expect(pathSpellings("/v1/a", "/v1")).toEqual(["/a", "/v1/a"])
    expect(pathSpellings("/mcp?x", "/v1")).toEqual(["/mcp?x", "/mcp"])
    expect(pathSpellings("/v1x/a", "/v1")).toEqual(["/v1x/a"])
  })

  it("sees an attempt in any of the three headers", () => {
    expect(hasWalletHeaders({ "x-wallet-signature": "" })).toBe(true)
    expect(hasWalletHeaders({ authorization: "Bearer x" })).toBe(false)
  })

  it.effect("counts for 120 seconds before and after its time, both ends included, and again inside", () =>
    Effect.gen(function* () {
      const headers = yield* signedBy()
      const codeAt = (offsetMillis: number) =>
        Effect.gen(function* () {
          yield* TestClock.setTime(vectorTimeMillis + offsetMillis)
          const outcome = yield* verifyWalletRequest({ ...request, headers })
          return outcome._tag === "Refused" ? outcome.code : outcome.wallet.address
        })
      const { address } = evmWallet.wallet
      expect(yield* codeAt(-walletWindowMillis - 1)).toBe("timestamp_out_of_range")
      expect(yield* codeAt(-walletWindowMillis)).toBe(address)
      expect(yield* codeAt(0)).toBe(address)
      expect(yield* codeAt(0)).toBe(address)
      expect(yield* codeAt(walletWindowMillis)).toBe(address)
      expect(yield* codeAt(walletWindowMillis + 1)).toBe("timestamp_out_of_range")
    }).pipe(Effect.provide(SignatureVerifier.layer))
  )

  it.effect("is bound to method, path, query, body, time and wallet", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(vectorTimeMillis)
      for (const signer of [evmWallet, solWallet]) {
        const headers = yield* signedBy(signer)
        const others = [
          { ...request, headers, method: "PUT" },
          { ...request, headers, url: "/v1/memories?x=2" },
          { ...request, headers, url: "/v1/memories/?x=1" },
          { ...request, headers, url: "/v2/memories?x=1" },
          { ...request, headers, body: Buffer.from(`${body} `) },
          { ...request, headers: { ...headers, "x-wallet-timestamp": String(vectorTimeMillis + 1) } },
          { ...request, headers: { ...headers, "x-wallet-address": otherEvmWallet.wallet.address } }
        ]
        for (const other of others) {
          expect(yield* verifyWalletRequest(other)).toMatchObject({ _tag: "Refused", code: "invalid_signature" })
        }
        expect(yield* verifyWalletRequest({ ...request, headers })).toMatchObject({ _tag: "Verified" })
      }
    }).pipe(Effect.provide(SignatureVerifier.layer))
  )

  it.effect("takes an address in any case and names it in lower case", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(vectorTimeMillis)
      const headers = yield* signedBy()
      const shouted = { ...headers, "x-wallet-address": `0x${evmWallet.wallet.address.slice(2).toUpperCase()}` }
      expect(yield* verifyWalletRequest({ ...request, headers: shouted })).toEqual({
        _tag: "Verified",
        wallet: evmWallet.wallet
      })
    }).pipe(Effect.provide(SignatureVerifier.layer))
  )

  it.effect("tells what is missing or malformed", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(vectorTimeMillis)
      const headers = yield* signedBy()
      const codeOf = (change: Record<string, string | undefined>) =>
        Effect.map(verifyWalletRequest({ ...request, headers: { ...headers, ...change } }), (outcome) =>
          outcome._tag === "Refused" ? outcome.code : outcome._tag
        )
      for (const name of ["x-wallet-address", "x-wallet-signature"]) {
        for (const value of [undefined, "", "nonsense"]) {
          expect(yield* codeOf({ [name]: value }), name).toBe("invalid_signature")
        }
      }
      const now = String(vectorTimeMillis)
      for (const time of [
        undefined,
        "",
        "now",
        `${now}.0`,
        `+${now}`,
        `0${now}`,
        "1.8e12",
        `0x${now}`,
        `${now} `,
        "NaN"
      ]) {
        expect(yield* codeOf({ "x-wallet-timestamp": time }), time).toBe("timestamp_out_of_range")
      }
    }).pipe(Effect.provide(SignatureVerifier.layer))
  )
})
