/** Signed requests and new wallets: what the service's verifier makes of the headers, what lies on the disk. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { verifyWalletRequest } from "@muniment/trust/WalletRequest"
import { walletSignerOf } from "@muniment/trust/WalletSigner"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { evm, evmKey, KeyFiles, solana, solanaKey } from "./KeyFiles.ts"
import { runCli } from "./runCli.ts"

const run = (...args: ReadonlyArray<string>) => runCli(args, () => undefined)

/** By a service that every signature has to name. */
const serviceAt = (origin: string) => ({ name: origin, isOwn: (named: string) => named === origin, isRequired: true })
const usual = serviceAt("http://127.0.0.1:8787")

const verified = (method: string, url: string, body: string, headers: Record<string, string>, audience = usual) =>
  Effect.runPromise(
    verifyWalletRequest({
      method,
      url,
      body: new TextEncoder().encode(body),
      headers,
      versionPrefix: "/v1",
      audience
    }).pipe(Effect.provide(SignatureVerifier.layer))
  )
const headersOf = (lines: ReadonlyArray<string>): Record<string, string> =>
  Object.fromEntries(lines.map((line) => line.split(": ") as [string, string]))

describe("sign request", () => {
  it("prints the headers that the service verifies, and no other does", async () => {
    using files = new KeyFiles()
    const key = files.write("key", solanaKey)
    const url = "/v1/memories/search?query=caf%C3%A9"
    for (const path of [url, "/memories/search?query=caf%C3%A9"]) {
      const signed = await run("sign", "request", "--key-file", key, "get", path)
      const lines = signed.out.split("\n")
      expect(lines).toHaveLength(4)
      expect(await verified("GET", url, "", headersOf(lines))).toEqual({ _tag: "Verified", wallet: solana.wallet })
      const other = await verified("GET", url, "", headersOf(lines), serviceAt("https://memory.example"))
      expect(other).toMatchObject({ code: "wrong_audience" })
    }
  })

  it("prints the request as JSON for programs", async () => {
    using files = new KeyFiles()
    const key = files.write("key", evmKey)
    const address = ["--key-file", key, "--url", "http://127.0.0.1:8787"]
    const { out } = await run("sign", "request", ...address, "--json", "GET", "/keys")
    const { headers, method, url } = JSON.parse(out)
    expect({ method, url }).toEqual({ method: "GET", url: "http://127.0.0.1:8787/v1/keys" })
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(["x-wallet-address", "x-wallet-signature"]))
    const both = await run("sign", "request", "--key-file", key, "--json", "--curl", "GET", "/keys")
    expect(both.isSuccess).toBe(false)
  })

  it("names the service of --url, or of --audience, or none", async () => {
    using files = new KeyFiles()
    const signedFor = async (...flags: ReadonlyArray<string>) => {
      const key = files.write("key", evmKey)
      const signed = await run("sign", "request", "--key-file", key, ...flags, "POST", "/mcp")
      return headersOf(signed.out.split("\n"))
    }
    const inside = ["--url", "http://10.0.0.1:8787/memory/"]
    const outside = [...inside, "--audience", "https://memory.example/path"]
    for (const [flags, origin] of [
      [inside, "http://10.0.0.1:8787"],
      [outside, "https://memory.example"]
    ] as const) {
      const headers = await signedFor(...flags)
      expect(headers["x-wallet-audience"]).toBe(origin)
      expect(await verified("POST", "/mcp", "", headers, serviceAt(origin))).toMatchObject({ _tag: "Verified" })
    }
    const plain = await signedFor("--plain")
    expect(plain["x-wallet-audience"]).toBeUndefined()
    expect(await verified("POST", "/mcp", "", plain)).toMatchObject({ code: "audience_required" })
    expect(await verified("POST", "/mcp", "", plain, { ...usual, isRequired: false })).toMatchObject({
      _tag: "Verified"
    })
  })

  it("covers the headers that choose what happens, which it prints too", async () => {
    using files = new KeyFiles()
    const args = ["--key-file", files.write("key", evmKey), "--header", "Idempotency-Key:  order 17 ", "POST", "/mcp"]
    const headers = headersOf((await run("sign", "request", ...args)).out.split("\n"))
    expect(headers["idempotency-key"]).toBe("order 17")
    expect(await verified("POST", "/mcp", "", headers)).toMatchObject({ _tag: "Verified" })
    const other = { ...headers, "idempotency-key": "order 18" }
    expect(await verified("POST", "/mcp", "", other)).toMatchObject({ code: "invalid_signature" })
    const wrong = await run("sign", "request", ...args.with(3, "no header"))
    expect([wrong.isSuccess, wrong.err]).toEqual([false, expect.stringContaining("no header is no header")])
  })

  it("covers the exact bytes of the body", async () => {
    using files = new KeyFiles()
    const key = files.write("key", evmKey)
    const text = '{ "agentId": "Łódź" }\n'
    const body = files.write("body", text)
    const signed = await run("sign", "request", "--key-file", key, "--body", body, "POST", "/memories")
    const headers = headersOf(signed.out.split("\n"))
    expect(await verified("POST", "/v1/memories", text, headers)).toEqual({ _tag: "Verified", wallet: evm.wallet })
    expect(await verified("POST", "/v1/memories", text.trim(), headers)).toMatchObject({ code: "invalid_signature" })
  })

  it("--curl prints a command that a shell reads as it was meant", async () => {
    using files = new KeyFiles()
    const key = files.write("key", evmKey)
    const body = files.write("it's $HOME", "{}")
    const args = ["--key-file", key, "--curl", "--url", "http://127.0.0.1:1/", "--body", body]
    const signed = await run("sign", "request", ...args, "POST", "/memories?a=$(b)&c=%60d%60")
    const words = execFileSync("sh", ["-c", `curl() { printf '%s\\n' "$@"; }; ${signed.out}`], { encoding: "utf8" })
    const [quiet, flag, method, url = "", ...rest] = words.trim().split("\n")
    expect([quiet, flag, method, url]).toEqual(["-sS", "-X", "POST", "http://127.0.0.1:1/v1/memories?a=$(b)&c=%60d%60"])
    expect(rest.slice(-4)).toEqual(["-H", "content-type: application/json", "--data-binary", `@${body}`])
    const headers = headersOf(rest.filter((line) => line.startsWith("x-wallet")))
    const { pathname, search } = new URL(url)
    const service = serviceAt("http://127.0.0.1:1")
    expect(await verified("POST", `${pathname}${search}`, "{}", headers, service)).toMatchObject({ _tag: "Verified" })
    expect(`${signed.out}${signed.err}`).not.toContain(evmKey.slice(2))
  })

  it("adds the grants of a share code, and refuses what is none", async () => {
    using files = new KeyFiles()
    const key = files.write("key", evmKey)
    const [{ header, shareCode }] = JSON.parse(readFileSync("test/vectors/grants.json", "utf8")).cases
    const args = ["sign", "request", "--key-file", key, "GET", "/memories/search?query=q", "--grants"]
    const signed = await run(...args, shareCode)
    expect(headersOf(signed.out.split("\n"))["x-grants"]).toBe(header)
    expect((await run(...args, "mshare_%")).isSuccess).toBe(false)
  })

  for (const [name, method, path, told] of [
    ["a path that would be encoded on its way", "GET", "/memories/search?query=café", "caf%C3%A9"],
    ["a path that climbs", "GET", "/memories/../schemas", "/schemas"],
    ["a path without a slash", "GET", "memories", "must begin with one /"],
    ["another host", "GET", "//example.org/memories", "must begin with one /"],
    ["a method with a space", "GE T", "/memories", "not an HTTP method"]
  ] as const) {
    it(`refuses ${name}`, async () => {
      using files = new KeyFiles()
      const signed = await run("sign", "request", "--key-file", files.write("key", evmKey), method, path)
      expect(signed).toMatchObject({ isSuccess: false, err: expect.stringContaining(told), out: "" })
    })
  }

  it("refuses a body that the service would not take", async () => {
    using files = new KeyFiles()
    const body = files.write("body", "x".repeat(1_048_577))
    const signed = await run("sign", "request", "--key-file", files.write("key", evmKey), "--body", body, "POST", "/x")
    expect(signed).toMatchObject({ isSuccess: false, err: expect.stringContaining("more than 1048576 bytes") })
  })
})

describe("wallet new", () => {
  it("writes a key that only its owner can read, and prints the address alone", async () => {
    using files = new KeyFiles()
    const made = await run("wallet", "new", "--out", files.path("key"))
    expect(made.isSuccess).toBe(true)
    expect(files.mode("key")).toBe(0o600)
    const text = files.read("key")
    expect(walletSignerOf(text).wallet).toEqual({ family: "evm", address: made.out })
    expect(`${made.out}${made.err}`).not.toContain(text.trim().slice(2))
  })

  it("makes another one each time, and leaves a file alone that is there", async () => {
    using files = new KeyFiles()
    const first = await run("wallet", "new", "--out", files.path("one"), "--json")
    const second = await run("wallet", "new", "--out", files.path("two"), "--json")
    expect(JSON.parse(first.out).wallet.address).not.toBe(JSON.parse(second.out).wallet.address)
    const before = files.read("one")
    const again = await run("wallet", "new", "--out", files.path("one"))
    expect(again.isSuccess).toBe(false)
    expect(files.read("one")).toBe(before)
  })
})
