/** What the client sends for a wallet, for grants and for keys, as the service's own verifier reads it. */
import { verifyAttestation } from "@muniment/client/Attestation"
import { Muniment } from "@muniment/client/Muniment"
import { MunimentError } from "@muniment/client/MunimentError"
import { walletRequestText } from "@muniment/client/Wallet"
import type { Grant } from "@muniment/domain/Grant"
import { decodeGrantsHeader } from "@muniment/trust/GrantEnvelope"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { verifyWalletRequest } from "@muniment/trust/WalletRequest"
import { evmSigner, solanaSigner, type WalletSigner } from "@muniment/trust/WalletSigner"
import { Effect, Result } from "effect"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { startWireServer, type WireAnswer, type WireRequest } from "./WireServer.ts"

const ok = (body: object): WireAnswer => ({ status: 200, body: { success: true, ...body } })
const busy: WireAnswer = { status: 503, body: { success: false, error: "later", code: "overloaded" } }

const evm = evmSigner(`0x${"1c".repeat(32)}`)
const solana = solanaSigner(new Uint8Array(32).fill(0x3e))
const walletOf = ({ sign, wallet }: WalletSigner) => ({ address: wallet.address, sign })
const clientOf = (baseUrl: string, signer: WalletSigner, now?: () => number): Muniment =>
  new Muniment({ baseUrl, wallet: walletOf(signer), pause: async () => {}, now })

/** What the service makes of a request as it came over the wire; `origin`: where it is, which signatures have to name. */
const verified = ({ body, headers, method, url }: WireRequest, origin: string, isRequired = true) =>
  Effect.runPromise(
    verifyWalletRequest({
      method,
      url,
      body: new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body)),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      versionPrefix: "/v1",
      audience: { name: origin, isOwn: (named) => named === origin, isRequired }
    }).pipe(Effect.provide(SignatureVerifier.layer))
  )

const grant: Grant = {
  p: { f: evm.wallet.address, g: solana.wallet.address, e: 2 ** 31, u: "Łukasz" },
  s: "0x",
  c: "evm"
}

describe("a client with a wallet", () => {
  for (const signer of [evm, solana]) {
    it(`signs reads and writes (${signer.wallet.family})`, async () => {
      await using server = await startWireServer(() => ok({ memories: [] }))
      const client = clientOf(server.url, signer)
      await client.search({ query: "who's at the café? 🧠", tags: "a,b" })
      await client.create({ agentId: "a", memories: [{ kind: "factual_memory", data: { fact: "Łódź" } }] })
      await client.get("x/y z")
      await client.search({ query: "q", scope: "shared" }, { grants: [grant] })
      for (const request of server.requests) {
        expect(await verified(request, server.url)).toEqual({ _tag: "Verified", wallet: signer.wallet })
        expect(await verified(request, "https://other.example")).toMatchObject({ code: "wrong_audience" })
        expect(request.headers["authorization"]).toBeUndefined()
      }
    })
  }

  it("binds the headers that choose what happens", async () => {
    await using server = await startWireServer(() => ok({ memories: [] }))
    await clientOf(server.url, evm).search({ query: "q" }, { grants: [grant] })
    await clientOf(server.url, evm).delete("m", { idempotencyKey: "once" })
    const [search, deletion] = server.requests as [WireRequest, WireRequest]
    for (const [request, name] of [
      [search, "x-grants"],
      [deletion, "idempotency-key"]
    ] as const) {
      const altered = { ...request, headers: { ...request.headers, [name]: "W10=" } }
      expect(await verified(altered, server.url)).toMatchObject({ code: "invalid_signature" })
    }
  })

  it("names the public URL that it is told, or signs the plain text where it is told to", async () => {
    await using server = await startWireServer(() => ok({}))
    const wallet = walletOf(evm)
    await new Muniment({ baseUrl: server.url, wallet, audience: "https://memory.example/v1" }).whoami()
    await new Muniment({ baseUrl: server.url, wallet, audience: false }).whoami()
    const [named, plain] = server.requests as [WireRequest, WireRequest]
    expect(await verified(named, "https://memory.example")).toMatchObject({ _tag: "Verified" })
    expect(plain.headers["x-wallet-audience"]).toBeUndefined()
    expect(await verified(plain, server.url)).toMatchObject({ code: "audience_required" })
    expect(await verified(plain, server.url, false)).toMatchObject({ _tag: "Verified" })
  })

  it("signs each attempt anew, under one idempotency key", async () => {
    await using server = await startWireServer((_, index) => (index === 0 ? busy : ok({})))
    let millis = 1_800_000_000_000
    await clientOf(server.url, evm, () => millis++).delete("m")
    const sent = server.requests.map(({ headers }) => headers)
    expect(sent.map((headers) => headers["x-wallet-timestamp"])).toEqual(["1800000000000", "1800000000001"])
    expect(new Set(sent.map((headers) => headers["x-wallet-signature"])).size).toBe(2)
    expect(new Set(sent.map((headers) => headers["idempotency-key"])).size).toBe(1)
  })

  it("passes on why a wallet did not sign, and sends nothing", async () => {
    await using server = await startWireServer(() => ok({}))
    const wallet = { address: evm.wallet.address, sign: () => Promise.reject(new Error("declined")) }
    await expect(new Muniment({ baseUrl: server.url, wallet }).whoami()).rejects.toThrow("declined")
    expect(server.requests).toHaveLength(0)
  })

  it("makes the text of every vector", async () => {
    const { cases } = JSON.parse(readFileSync("test/vectors/wallet-requests.json", "utf8"))
    for (const { body, headers, method, path, text } of cases) {
      const timestampMillis = Number(headers["x-wallet-timestamp"])
      const audience = headers["x-wallet-audience"]
      const bound = audience === undefined ? undefined : { audience, headers }
      expect(await walletRequestText({ method, path, body, timestampMillis, bound })).toBe(text)
    }
  })
})

describe("a client with grants", () => {
  const grantsOf = ({ headers }: WireRequest) => decodeGrantsHeader(String(headers["x-grants"])).pipe(Result.getOrThrow)

  it("sends them with searches of both kinds", async () => {
    await using server = await startWireServer(() => ok({ memories: [], results: [] }))
    const client = clientOf(server.url, solana)
    await client.search({ query: "q", scope: "shared" }, { grants: [grant] })
    await client.batchSearch({ queries: [{ query: "q" }] }, { grants: [grant, grant] })
    expect(server.requests.map(grantsOf)).toEqual([[grant], [grant, grant]])
  })

  it("rejects those that the service would refuse, without a call or a retry", async () => {
    await using server = await startWireServer(() => ok({}))
    const call = clientOf(server.url, solana).search({ query: "q" }, { grants: "mshare_no" })
    await expect(call).rejects.toMatchObject({ status: 0, code: "invalid_grants_header" })
    await expect(call).rejects.toBeInstanceOf(MunimentError)
    expect(server.requests).toHaveLength(0)
  })

  it("sends no header without them", async () => {
    await using server = await startWireServer(() => ok({ memories: [] }))
    await clientOf(server.url, solana).search({ query: "q" })
    expect(server.requests[0]?.headers["x-grants"]).toBeUndefined()
  })
})

describe("the published keys", () => {
  const keys = { attestationPublicKey: `0x${"ab".repeat(32)}`, algorithm: "Ed25519", issuedAt: 1, previousKeys: [] }

  it("are fetched once from the origin, without credentials, and again when asked to", async () => {
    await using server = await startWireServer(() => ({ status: 200, body: keys }))
    const client = clientOf(server.url, evm)
    expect(await client.publicKeys()).toEqual(keys)
    expect(await client.publicKeys()).toEqual(keys)
    expect(server.requests).toHaveLength(1)
    await client.publicKeys({ refresh: true })
    expect(server.requests).toHaveLength(2)
    const [{ headers, method, url }] = server.requests as [WireRequest]
    expect(`${method} ${url}`).toBe("GET /.well-known/muniment-keys.json")
    expect(Object.keys(headers).filter((name) => /authorization|wallet/.test(name))).toEqual([])
  })

  it("stand under the name of the service", async () => {
    await using server = await startWireServer(() => ({ status: 200, body: keys }))
    await new Muniment({ baseUrl: server.url, apiKey: "key", serviceName: "elder" }).publicKeys()
    expect(server.requests[0]?.url).toBe("/.well-known/elder-keys.json")
  })

  it("are not kept when they could not be fetched", async () => {
    await using server = await startWireServer((_, index) =>
      index === 0
        ? { status: 500, body: { success: false, error: "x", code: "internal_error" } }
        : { status: 200, body: keys }
    )
    const client = clientOf(server.url, evm)
    await expect(client.publicKeys()).rejects.toMatchObject({ code: "internal_error" })
    const verdict = verifyAttestation({ attestation: {}, signature: "" }, await client.publicKeys(), 0)
    expect(await verdict).toEqual({ valid: false, reason: "malformed_signature" })
  })
})
