/** Signed requests: what is bound, when they count, and what a caller without proof is told. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { Limits } from "@muniment/domain/Limits"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import {
  boundHeaders,
  hasWalletHeaders,
  pathSpellings,
  signWalletRequest,
  verifyWalletRequest,
  walletRequestText
} from "@muniment/trust/WalletRequest"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { audience, evmWallet, otherEvmWallet, solWallet, vectorTimeMillis } from "../../support/TrustVectors.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => SignatureVerifier.layer)

const body = '{"agentId":"agent-1"}'
const request = { method: "POST", url: "/v1/memories?x=1", body: Buffer.from(body), versionPrefix: "/v1", audience }
const signedBy = (signer = evmWallet, timestampMillis = vectorTimeMillis) =>
  Effect.promise(() => signWalletRequest(signer, { method: "post", path: "/memories?x=1", body, timestampMillis }))

/** The page shows the bytes. */
const workedExample = readFileSync("packages/domain/README.md", "utf8").replaceAll("\\|", "|")

describe("WalletRequest", () => {
  it("signs method, path, hash of the body and time", () => {
    const text = walletRequestText({ method: "get", path: "/memories/search?query=a", body: "", timestampMillis: 17 })
    expect(text).toBe(
      "GET|/memories/search?query=a|e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855|17"
    )
  })

  it("signs in a full text also the service and the headers that choose what happens, as in the contract's example", () => {
    const text = walletRequestText({
      method: "POST",
      path: "/v1/memories",
      body: "{}",
      timestampMillis: 1_800_000_000_000,
      bound: {
        audience: "https://memory.example",
        headers: { "x-agent-id": " assistant", "idempotency-key": "order-17", "content-type": "application/json" }
      }
    })
    const lines = "idempotency-key:order-17\nx-agent-id:assistant\n"
    expect(text).toBe(`POST|/v1/memories|${sha256Hex("{}")}|1800000000000|https://memory.example|${sha256Hex(lines)}`)
    expect(workedExample).toContain(text)
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

  fresh.effect("counts for 120 seconds before and after its time, both ends included, and again inside", function* () {
    const headers = yield* signedBy()
    const codeAt = Effect.fnUntraced(function* (offsetMillis: number) {
      yield* TestClock.setTime(vectorTimeMillis + offsetMillis)
      const outcome = yield* verifyWalletRequest({ ...request, headers })
      return outcome._tag === "Refused" ? outcome.code : outcome.wallet.address
    })
    const { address } = evmWallet.wallet
    expect(yield* codeAt(-Limits.signatureWindowMillis - 1)).toBe("timestamp_out_of_range")
    expect(yield* codeAt(-Limits.signatureWindowMillis)).toBe(address)
    expect(yield* codeAt(0)).toBe(address)
    expect(yield* codeAt(0)).toBe(address)
    expect(yield* codeAt(Limits.signatureWindowMillis)).toBe(address)
    expect(yield* codeAt(Limits.signatureWindowMillis + 1)).toBe("timestamp_out_of_range")
  })

  fresh.effect("is bound to method, path, query, body, time and wallet", function* () {
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
  })

  fresh.effect("takes an address in any case and names it in lower case", function* () {
    yield* TestClock.setTime(vectorTimeMillis)
    const headers = yield* signedBy()
    const shouted = { ...headers, "x-wallet-address": `0x${evmWallet.wallet.address.slice(2).toUpperCase()}` }
    expect(yield* verifyWalletRequest({ ...request, headers: shouted })).toEqual({
      _tag: "Verified",
      wallet: evmWallet.wallet
    })
  })

  fresh.effect("tells what is missing or malformed", function* () {
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
  })

  describe("with a full text", () => {
    const bound = { audience: audience.name, headers: { "x-agent-id": "a", "idempotency-key": "k" } }
    const sent = (change: Partial<typeof bound> = {}) =>
      Effect.map(
        Effect.promise(() =>
          signWalletRequest(evmWallet, {
            method: "POST",
            path: request.url,
            body,
            timestampMillis: vectorTimeMillis,
            bound: { ...bound, ...change }
          })
        ),
        (headers) => ({ ...request, headers: { ...bound.headers, ...change.headers, ...headers } })
      )
    const codeOf = (sent: Parameters<typeof verifyWalletRequest>[0]) =>
      Effect.map(verifyWalletRequest(sent), (outcome) => (outcome._tag === "Refused" ? outcome.code : outcome._tag))

    fresh.effect(
      "is refused under any other header that chooses what happens, and under another service's name",
      function* () {
        yield* TestClock.setTime(vectorTimeMillis)
        const good = yield* sent()
        expect(yield* codeOf(good)).toBe("Verified")
        expect(yield* codeOf({ ...good, headers: { ...good.headers, "x-payment": "p", accept: "x" } })).toBe("Verified")
        for (const name of boundHeaders) {
          for (const value of [undefined, "", "other"]) {
            if (value === undefined && good.headers[name as "x-agent-id"] === undefined) continue
            const headers = { ...good.headers, [name]: value }
            expect(yield* codeOf({ ...good, headers }), `${name}: ${value}`).toBe("invalid_signature")
          }
        }
        const swapped = { ...good.headers, "x-agent-id": "k", "idempotency-key": "a" }
        expect(yield* codeOf({ ...good, headers: swapped })).toBe("invalid_signature")
        for (const other of ["https://other.example", `${audience.name}/`, "", "memory.example"]) {
          expect(yield* codeOf(yield* sent({ audience: other })), other).toBe("wrong_audience")
        }
      }
    )

    fresh.effect("cannot be passed on as a plain one, nor a plain one as full", function* () {
      yield* TestClock.setTime(vectorTimeMillis)
      const full = yield* sent()
      const stripped = { ...full, headers: { ...full.headers, "x-wallet-audience": undefined } }
      expect(yield* codeOf(stripped)).toBe("invalid_signature")
      const plain = yield* signedBy()
      expect(yield* codeOf({ ...request, headers: plain })).toBe("Verified")
      const named = { ...plain, "x-wallet-audience": audience.name }
      expect(yield* codeOf({ ...request, headers: named })).toBe("invalid_signature")
    })

    fresh.effect("is demanded where the service says so, with what to sign", function* () {
      yield* TestClock.setTime(vectorTimeMillis)
      const requiring = { ...audience, isRequired: true }
      expect(yield* codeOf({ ...(yield* sent()), audience: requiring })).toBe("Verified")
      const refusal = yield* verifyWalletRequest({ ...request, headers: yield* signedBy(), audience: requiring })
      expect(refusal).toMatchObject({ _tag: "Refused", code: "audience_required" })
      for (const word of ["METHOD|PATH|BODYHASH|TIMESTAMP|ORIGIN|HEADERSHASH", "x-wallet-audience", audience.name]) {
        expect(refusal).toMatchObject({ error: expect.stringContaining(word) })
      }
    })

    fresh.effect("tells the text that was expected", function* () {
      yield* TestClock.setTime(vectorTimeMillis)
      const good = yield* sent()
      const outcome = yield* verifyWalletRequest({ ...good, body: Buffer.from("other") })
      const error = `|/v1/memories?x=1|${sha256Hex("other")}|${vectorTimeMillis}|${audience.name}|`
      expect(outcome).toMatchObject({ error: expect.stringContaining(error) })
    })
  })
})
