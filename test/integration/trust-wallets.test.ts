/**
 * Requests signed by a wallet (contract: Wallet signatures) over HTTP: what a signature is bound to, which spellings
 * count, and what is told when it does not hold. The exact ends of the window are tested under a test clock
 * (`test/unit/trust/WalletRequest.test.ts`).
 */
import { base58 } from "@scure/base"
import { describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { evmWallet, solWallet, walletCalls, walletHeaders, type Signing } from "../support/TrustCalls.ts"

const server = useSharedServer(withoutModel)

const minute = 60_000
const body = JSON.stringify({ queries: [{ query: "tea" }], scope: "own" })

describe.each([
  ["EVM", evmWallet("first"), evmWallet("second")],
  ["Solana", solWallet("first"), solWallet("second")]
] as const)("a request signed by a wallet (%s)", (family, signer, other) => {
  const send = async (method: string, path: string, signing: Signing = {}, sent?: string) =>
    server.call(method, path, {
      key: null,
      headers: await walletHeaders(signer, method, path, sent, signing),
      ...(sent !== undefined && { rawBody: sent })
    })
  /** The headers of a good request to `GET /v1/account`, some of them replaced. */
  const account = async (replaced: Readonly<Record<string, string | undefined>> = {}, signing: Signing = {}) => {
    const headers = { ...(await walletHeaders(signer, "GET", "/v1/account", "", signing)), ...replaced }
    const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
    return server.call("GET", "/v1/account", { key: null, headers: Object.fromEntries(given) })
  }

  it("is that of the account whose id is the address", async () => {
    const { status, body: who } = await account()
    expect([status, who.account.id, who.account.plan]).toEqual([200, signer.wallet.address, "free"])
  })

  it.each([
    ["below the version prefix, with query", "/memories?limit=5&agentId=a%20b"],
    ["below the version prefix, without query", "/memories"],
    ["in full, with query", "/v1/memories?limit=5&agentId=a%20b"],
    ["in full, without query", "/v1/memories"]
  ])("may spell its path %s", async (_, path) => {
    expect((await send("GET", "/v1/memories?limit=5&agentId=a%20b", { path })).status).toBe(200)
    const posted = path.replace("memories", "memories/batch/search").split("?")[0]!
    expect((await send("POST", "/v1/memories/batch/search", { path: posted }, body)).status).toBe(200)
  })

  it.each([
    ["another query", { path: "/memories?limit=6" }],
    ["a query that is not there", { path: "/memories?" }],
    ["another path", { path: "/schemas" }],
    ["a path with another version", { path: "/v2/memories?limit=5" }],
    ["a path in another case", { path: "/Memories?limit=5" }],
    ["a whole URL", { path: "http://127.0.0.1/v1/memories?limit=5" }],
    ["another method", { method: "DELETE" }],
    ["a method in lower case", { method: "get" }],
    ["a body", { body: "{}" }]
  ] as const)("is refused when it signed %s", async (_, signing: Signing) => {
    const { status, body: refusal } = await send("GET", "/v1/memories?limit=5", signing)
    expect([status, refusal.code]).toEqual([401, "invalid_signature"])
  })

  it("is refused when one byte of the body is another, also one that means nothing", async () => {
    for (const signed of [body.replace("tea", "ten"), ` ${body}`, `${body}\n`, ""]) {
      const { status, body: refusal } = await send("POST", "/v1/memories/batch/search", { body: signed }, body)
      expect([status, refusal.code]).toEqual([401, "invalid_signature"])
    }
  })

  it("cannot be turned against what it names: a signed read deletes nothing", async () => {
    const [{ id }] = await walletCalls(server, signer).create("a", [fact("tea", "green")])
    const path = `/v1/memories/${id}`
    const headers = await walletHeaders(signer, "GET", path)
    expect((await server.call("DELETE", path, { key: null, headers })).body.code).toBe("invalid_signature")
    expect((await server.call("GET", path, { key: null, headers })).status).toBe(200)
  })

  it("may be up to two minutes old or early, and no more", async () => {
    // Seconds of slack on the side to which time runs, since a busy machine takes some on the way.
    for (const offset of [-2 * minute + 20_000, -minute, minute, 2 * minute - 1]) {
      const { status } = await account({}, { timestampMillis: Date.now() + offset })
      expect([offset, status]).toEqual([offset, 200])
    }
    for (const offset of [-365 * 24 * 60 * minute, -2 * minute - 1, 2 * minute + 20_000, 60 * minute]) {
      const { status, body: refusal } = await account({}, { timestampMillis: Date.now() + offset })
      expect([offset, status, refusal.code]).toEqual([offset, 401, "timestamp_out_of_range"])
    }
  })

  it("is refused when its timestamp is no plain number of milliseconds", async () => {
    const seconds = String(Math.floor(Date.now() / 1_000))
    const now = String(Date.now())
    for (const timestamp of [seconds, `0${now}`, `+${now}`, `${now}.0`, `${now.slice(0, 1)}e12`, "0x1", "NaN", "now"]) {
      const { status, body: refusal } = await account({ "x-wallet-timestamp": timestamp })
      expect([timestamp, status, refusal.code]).toEqual([timestamp, 401, "timestamp_out_of_range"])
    }
  })

  it("is refused under another timestamp than it signed", async () => {
    const { status, body: refusal } = await account({ "x-wallet-timestamp": String(Date.now() - 7) })
    expect([status, refusal.code]).toEqual([401, "invalid_signature"])
  })

  it("is refused when a header is missing, and says which there must be", async () => {
    const codes: Record<string, string> = {}
    for (const name of ["x-wallet-address", "x-wallet-timestamp", "x-wallet-signature"]) {
      const { status, headers, body: refusal } = await account({ [name]: undefined })
      expect([name, status, headers.get("www-authenticate")]).toEqual([name, 401, "Bearer"])
      expect(refusal.error).toContain(name)
      codes[name] = refusal.code
    }
    expect(codes).toEqual({
      "x-wallet-address": "invalid_signature",
      "x-wallet-timestamp": "timestamp_out_of_range",
      "x-wallet-signature": "invalid_signature"
    })
    expect(refusalOf(await server.call("GET", "/v1/account", { key: null }))).toEqual([401, "missing_credentials"])
  })

  it("is refused when another wallet signed, or nobody", async () => {
    const foreign = await walletHeaders(other, "GET", "/v1/account")
    const strange = family === "EVM" ? solWallet("first") : evmWallet("first")
    const signatures = [
      foreign["x-wallet-signature"]!,
      (await walletHeaders(strange, "GET", "/v1/account"))["x-wallet-signature"]!,
      `0x${"00".repeat(65)}`,
      `0x${"ff".repeat(65)}`,
      "A".repeat(88),
      `${"A".repeat(86)}==`,
      "0x",
      "x".repeat(9_000)
    ]
    for (const signature of signatures) {
      const { status, body: refusal } = await account({ "x-wallet-signature": signature })
      expect([signature, status, refusal.code]).toEqual([signature, 401, "invalid_signature"])
    }
    for (const address of [other.wallet.address, strange.wallet.address, "0x", "0", "operator", "x".repeat(5_000)]) {
      const { status, body: refusal } = await account({ "x-wallet-address": address })
      expect([address, status, refusal.code]).toEqual([address, 401, "invalid_signature"])
    }
  })

  it("may spell its signature the other way", async () => {
    const signature = (await walletHeaders(signer, "GET", "/v1/account", "", { timestampMillis: Date.now() - 3 }))[
      "x-wallet-signature"
    ]!
    const timestampMillis = Date.now() + 11
    const own = (await walletHeaders(signer, "GET", "/v1/account", "", { timestampMillis }))["x-wallet-signature"]!
    const spelled = family === "EVM" ? own.slice(2).toUpperCase() : base58.encode(Buffer.from(own, "base64"))
    expect((await account({ "x-wallet-signature": spelled }, { timestampMillis })).status).toBe(200)
    expect((await account({ "x-wallet-signature": signature }, { timestampMillis })).status).toBe(401)
  })

  it("is that of the bearer when there is one, good or bad", async () => {
    const key = await server.newAccount(`bearer beside ${family}`)
    const headers = await walletHeaders(signer, "GET", "/v1/account")
    const both = await server.call("GET", "/v1/account", { key, headers })
    const name = expect.stringMatching(`^bearer beside ${family}-`)
    expect([both.status, both.body.account.name]).toEqual([200, name])
    const broken = { ...headers, "x-wallet-signature": "0x00" }
    expect((await server.call("GET", "/v1/account", { key, headers: broken })).status).toBe(200)
    const bad = await server.call("GET", "/v1/account", { key: "mun_nobody", headers })
    expect([bad.status, bad.body.code]).toEqual([401, "invalid_api_key"])
  })

  it("opens no operator route", async () => {
    const headers = await walletHeaders(signer, "GET", "/admin/status")
    expect((await server.call("GET", "/admin/status", { key: null, headers })).status).toBe(401)
  })
})

it("an EVM address means the same wallet in any case", async () => {
  const signer = evmWallet("cased")
  const headers = await walletHeaders(signer, "GET", "/v1/account")
  const cased = { ...headers, "x-wallet-address": `0x${signer.wallet.address.slice(2).toUpperCase()}` }
  const { status, body: who } = await server.call("GET", "/v1/account", { key: null, headers: cased })
  expect([status, who.account.id]).toEqual([200, signer.wallet.address])
})
