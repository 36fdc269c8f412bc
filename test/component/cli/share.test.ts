/** Share codes from the command line: what the service's own check makes of them. */
import { readFileSync } from "node:fs"
import { checkGrants, grantPrefix, signGrant } from "@muniment/trust/Grant"
import { decodeShareCode, encodeShareCode } from "@muniment/trust/GrantEnvelope"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { Effect, Result } from "effect"
import { describe, expect, it } from "vitest"
import { evm, evmKey, KeyFiles, otherEvm, solana, solanaKey } from "./KeyFiles.ts"
import { runCli } from "./runCli.ts"

const run = (...args: ReadonlyArray<string>) => runCli(args, () => undefined)
const to = otherEvm.wallet.address

/** As the service checks the grants of a code for `to`. */
const checked = (code: string, service = "muniment", identity = to) =>
  Effect.runPromise(
    checkGrants(Result.getOrThrow(decodeShareCode(code)), {
      identities: [identity],
      prefixes: [grantPrefix(service)],
      isRevoked: () => false,
      audience: { isOwn: (origin) => origin === "https://memory.example", isRequired: false }
    }).pipe(Effect.provide(SignatureVerifier.layer))
  )

describe("share create", () => {
  for (const [family, key, signer] of [
    ["evm", `${evmKey}\n`, evm],
    ["sol", solanaKey, solana]
  ] as const) {
    it(`prints a code that the service accepts (${family})`, async () => {
      using files = new KeyFiles()
      const made = await run("share", "create", "--key-file", files.write("key", key), "--to", to)
      expect(made).toMatchObject({ isSuccess: true, out: expect.stringMatching(/^mshare_[A-Za-z0-9_-]+$/) })
      expect(await checked(made.out)).toMatchObject([{ _tag: "Usable", grantor: signer.wallet }])
      expect(made.requests).toHaveLength(0)
    })
  }

  it("narrows to an agent and a subject, for as long as asked, for the service named", async () => {
    using files = new KeyFiles()
    const key = files.write("key", evmKey)
    const before = Math.floor(Date.now() / 1_000)
    const scope = ["--agent", "a", "--subject", "Łukasz", "--expires-in", "2h", "--service", "elder"]
    const made = await run("share", "create", "--key-file", key, "--to", to, ...scope)
    expect(await checked(made.out)).toMatchObject([{ reason: "bad_signature" }])
    const [grant] = await checked(made.out, "elder")
    if (grant?._tag !== "Usable") throw new Error("the grant is not usable")
    expect(grant.payload).toMatchObject({ a: "a", u: "Łukasz" })
    expect(grant.payload.e - before - 7_200).toBeGreaterThanOrEqual(0)
    expect(grant.payload.e - before - 7_200).toBeLessThanOrEqual(60)
    expect(made.err).toContain('memories of agent "a" and subject "Łukasz"')
  })

  it("warns of a key that others can read, and never prints the key", async () => {
    using files = new KeyFiles()
    const key = files.write("key", evmKey)
    const open = files.write("open", evmKey, 0o644)
    const quiet = await run("share", "create", "--key-file", key, "--to", to)
    const warned = await run("share", "create", "--key-file", open, "--to", to, "--json")
    expect(quiet.err).not.toContain("chmod")
    expect(warned).toMatchObject({ err: expect.stringContaining("mode 644"), isSuccess: true })
    for (const { err, out } of [quiet, warned]) expect(`${out}${err}`).not.toContain(evmKey.slice(2))
  })

  for (const [name, content] of [
    ["a slip in it", `${evmKey.slice(0, -1)}g`],
    ["an address instead", solana.wallet.address],
    ["nothing in it", ""]
  ] as const) {
    it(`refuses a key file with ${name} without repeating it`, async () => {
      using files = new KeyFiles()
      const made = await run("share", "create", "--key-file", files.write("key", content), "--to", to)
      expect(made).toMatchObject({ isSuccess: false, err: expect.stringContaining("no wallet key") })
      if (content !== "") expect(made.err).not.toContain(content.slice(2, 20))
    })
  }

  for (const [name, args, told] of [
    ["a duration it cannot read", ["--to", to, "--expires-in", "soon"], "duration"],
    ["an address with a slip", ["--to", "0x12"], "no EVM address"],
    ["the wallet itself, in other letters", ["--to", evm.wallet.address.toUpperCase().replace("0X", "0x")], "itself"],
    ["nobody", ["--to", " "], "empty"]
  ] as const) {
    it(`refuses ${name}`, async () => {
      using files = new KeyFiles()
      const made = await run("share", "create", "--key-file", files.write("key", evmKey), ...args)
      expect(made).toMatchObject({ isSuccess: false, err: expect.stringContaining(told), out: "" })
    })
  }

  it("says which file is missing", async () => {
    const made = await run("share", "create", "--key-file", "no-such-file", "--to", to)
    expect(made).toMatchObject({ isSuccess: false, err: expect.stringContaining("no-such-file") })
  })
})

describe("share decode", () => {
  it("says of every vector whether its signature is valid and whether it has expired", async () => {
    const { cases } = JSON.parse(readFileSync("test/vectors/grants.json", "utf8"))
    for (const { expected, grantId, prefix, shareCode } of cases) {
      const service = String(prefix).split(":")[0]!
      const shown = await run("share", "decode", shareCode, "--service", service, "--json")
      const [view] = JSON.parse(shown.out).grants
      expect(view.grantId).toBe(grantId)
      if (expected === "Usable") expect(view.isSignatureValid).toBe(true)
      if (expected === "bad_signature" && prefix === "muniment:grant:v1:") expect(view.isSignatureValid).toBe(false)
    }
  })

  it("shows times as dates and an old grant as expired", async () => {
    const p = { f: evm.wallet.address, g: to, e: 1_763_716_440 }
    const old = await signGrant(evm, grantPrefix("muniment"), p)
    const endless = await signGrant(evm, grantPrefix("muniment"), { ...p, e: Number.MAX_SAFE_INTEGER, a: "x" })
    const shown = await run("share", "decode", encodeShareCode([old, { ...endless, s: old.s }]))
    expect(shown.out).toContain("2025-11-21 09:14 UTC (expired)")
    expect(shown.out).toContain("opens      all memories")
    expect(shown.out).toContain("signature  valid")
    expect(shown.out).toContain(`second ${Number.MAX_SAFE_INTEGER}`)
    expect(shown.out).toContain("signature  INVALID")
  })

  it("shows what a stranger wrote without letting it move the cursor", async () => {
    const grant = await signGrant(evm, grantPrefix("muniment"), { f: "a\u001b[2J", g: "b\u202e", e: 1, a: "c\r" })
    const shown = await run("share", "decode", encodeShareCode([grant]))
    expect(shown.out).toContain(String.raw`a\u{1b}[2J`)
    expect(shown.out).toContain(String.raw`b\u{202e}`)
    for (const hidden of ["\u001b", "\u202e", "\r"]) expect(shown.out).not.toContain(hidden)
  })

  it("refuses what is no share code", async () => {
    const shown = await run("share", "decode", "mshare_nothing")
    expect(shown).toMatchObject({ isSuccess: false, err: expect.stringContaining("list of grants") })
  })
})
