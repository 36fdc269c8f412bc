/** Offline verification from the command line: verdict, exit code and words, on vectors and real signatures. */
import { readFileSync } from "node:fs"
import { statementsOf, verdictOf } from "@muniment/cli/AttestationFile"
import { hexOf, makeAttestation, sharedMemoriesParams, signAttestation } from "@muniment/trust/Attestation"
import { contentHash } from "@muniment/trust/CanonicalJson"
import { ed25519PublicKey } from "@muniment/trust/Ed25519"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { startWireServer } from "../client/WireServer.ts"
import { KeyFiles } from "./KeyFiles.ts"
import { ok, operatorToken, refused, runCli } from "./runCli.ts"

const run = (...args: ReadonlyArray<string>) => runCli(args, () => undefined)

const seed = new Uint8Array(32).fill(0x5a)
const publicKey = hexOf(ed25519PublicKey(seed))
const otherKey = hexOf(ed25519PublicKey(new Uint8Array(32).fill(0x5b)))
const published = {
  attestationPublicKey: otherKey,
  algorithm: "Ed25519",
  issuedAt: 2,
  previousKeys: [{ publicKey, issuedAt: 1, retiredAt: Date.now() + 86_400_000 }]
}
/** The end of the key that signed is before what it signed; and it was revoked. */
const endedBy = (end: object) => ({ ...published, previousKeys: [{ ...published.previousKeys[0], ...end }] })

const sign = (
  claim: string,
  params: Parameters<typeof makeAttestation>[0]["params"],
  satisfied = true,
  validSeconds = 60
) =>
  signAttestation(
    makeAttestation({
      claim,
      params,
      result: { satisfied, matchCount: 3, namespace: `0x${"00".repeat(32)}` },
      nowMillis: Date.now(),
      validSeconds,
      issuer: "muniment"
    }),
    seed
  )
const answer = { success: true, ...sign("memory_count_gte", { threshold: 3 }), publicKey, algorithm: "Ed25519" }

describe("attest verify", () => {
  it("tells what is attested, and passes", async () => {
    using files = new KeyFiles()
    const shown = await run("attest", "verify", files.write("answer", answer), "--keys", publicKey)
    expect(shown.isSuccess).toBe(true)
    expect(shown.out).toContain('valid: memory_count_gte {"threshold":3} holds (3)')
    expect(shown.err).toBe("")
  })

  it("tells apart a valid statement that a claim does not hold", async () => {
    using files = new KeyFiles()
    const file = files.write("answer", sign("memory_count_gte", { threshold: 9 }, false))
    const shown = await run("attest", "verify", file, "--keys", publicKey)
    expect(shown).toMatchObject({ isSuccess: true, out: expect.stringContaining("does NOT hold") })
  })

  it("gives the verdict of every vector at its time", () => {
    const vectors = JSON.parse(readFileSync("test/vectors/attestations.json", "utf8"))
    const told: Record<string, string> = { retired_key: "after the end of the key", revoked_key: "was revoked" }
    for (const { expected, key, name, ...signed } of vectors.cases) {
      const [statement] = Result.getOrThrow(statementsOf(JSON.stringify(signed)))
      const keys = [{ publicKey: otherKey }, { publicKey: vectors.publicKey, ...key }]
      const { text, valid } = verdictOf(statement!, keys, vectors.nowSeconds)
      expect([name, valid]).toEqual([name, expected === "valid"])
      if (!valid) expect(text).toContain(expected === "expired" ? "expired" : (told[expected] ?? "altered"))
    }
  })

  it("takes the issuer's key file from the disk or from a URL, earlier keys included", async () => {
    using files = new KeyFiles()
    await using server = await startWireServer(() => ({ status: 200, body: published }))
    const file = files.write("answer", answer)
    expect((await run("attest", "verify", file, "--keys", files.write("keys", published))).isSuccess).toBe(true)
    expect((await run("attest", "verify", file, "--keys", `${server.url}/.well-known/x-keys.json`)).isSuccess).toBe(
      true
    )
    expect(server.requests[0]?.url).toBe("/.well-known/x-keys.json")
  })

  it("refuses what an earlier key signed after its end, or before it was revoked", async () => {
    using files = new KeyFiles()
    const file = files.write("answer", answer)
    for (const [keys, told] of [
      [endedBy({ retiredAt: 2 }), "after the end of the key"],
      [endedBy({ revokedAt: 3 }), "was revoked"]
    ] as const) {
      const shown = await run("attest", "verify", file, "--keys", files.write("keys", keys))
      expect([shown.isSuccess, shown.out]).toEqual([false, expect.stringContaining(told)])
    }
  })

  it("warns when only the file's own key vouches for it", async () => {
    using files = new KeyFiles()
    const shown = await run("attest", "verify", files.write("answer", answer))
    expect(shown).toMatchObject({ isSuccess: true, err: expect.stringContaining("anyone could have put there") })
  })

  const { attestation, signature } = answer
  for (const [name, content, keys, told] of [
    ["another key", answer, otherKey, "another signed it"],
    ["an altered claim", { ...answer, attestation: { ...attestation, claim: "has_schema" } }, publicKey, "altered"],
    ["an expired one", sign("has_schema", { schemaName: "s" }, true, 0), publicKey, "expired"],
    ["a shortened signature", { attestation, signature: signature.slice(0, -2) }, publicKey, "128 hex digits"],
    ["half an attestation", { attestation: {}, signature }, publicKey, "lacks a field"]
  ] as const) {
    it(`ends with exit code 1 for ${name}, and says why`, async () => {
      using files = new KeyFiles()
      const shown = await run("attest", "verify", files.write("answer", content), "--keys", keys)
      expect(shown).toMatchObject({ isSuccess: false, out: expect.stringContaining("INVALID") })
      expect(shown.out).toContain(told)
    })
  }

  const twice = JSON.stringify(answer).replace('"satisfied":true', '"satisfied":false,"satisfied":true')
  for (const [name, content, told] of [
    ["a member that stands twice", twice, "duplicate_key"],
    ["no JSON", "attestation", "not JSON"],
    ["something else", "[]", "neither"],
    ["no key at all", { attestation, signature }, "--keys"],
    ["bytes that are no text", "\u0000", "not JSON"]
  ] as const) {
    it(`refuses a file with ${name}`, async () => {
      using files = new KeyFiles()
      const shown = await run("attest", "verify", files.write("answer", content))
      expect(shown).toMatchObject({ isSuccess: false, err: expect.stringContaining(told) })
    })
  }

  it("refuses keys that are none, and a page that is not there", async () => {
    using files = new KeyFiles()
    await using server = await startWireServer(() => ({ status: 404, body: {} }))
    const file = files.write("answer", answer)
    for (const keys of [files.write("keys", {}), server.url, files.path("missing")]) {
      expect((await run("attest", "verify", file, "--keys", keys)).isSuccess).toBe(false)
    }
  })
})

describe("attest verify of a shared search", () => {
  const grantor = `0x${"ab".repeat(20)}`
  const memory = (fact: string) => ({
    id: `mem_${fact}`,
    kind: "factual_memory",
    data: { fact },
    source: "shared",
    grantor,
    metadata: { fact, agentId: "a", contentHash: "0x", source: "shared" }
  })
  const hashOf = (fact: string) => contentHash({ agentId: "a", kind: "factual_memory", data: { fact } })
  const vouched = sign("shared_memories_from", sharedMemoriesParams(grantor, ["x", "y"].map(hashOf)))
  const searched = (...facts: ReadonlyArray<string>) => ({
    memories: [...facts.map(memory), { id: "own", kind: "k", data: {}, source: "own" }],
    sourceAttestations: { [grantor]: vouched }
  })
  const verdict = async (content: object) => {
    using files = new KeyFiles()
    return await run("attest", "verify", files.write("answer", content), "--keys", publicKey, "--json")
  }

  it("passes when it speaks of the memories beside it, in their order", async () => {
    const shown = await verdict(searched("x", "y"))
    expect(JSON.parse(shown.out)).toMatchObject({ valid: true, statements: [{ valid: true }] })
  })

  it("passes for a batch, where a memory may be found by several queries", async () => {
    const { memories, sourceAttestations } = searched("x", "y")
    const shown = await verdict({ results: [{ memories: memories.slice(0, 1) }, { memories }], sourceAttestations })
    expect(shown.isSuccess).toBe(true)
  })

  for (const [name, content] of [
    ["a memory was altered", searched("x", "z")],
    ["a memory is missing", searched("x")],
    ["the order is another", searched("y", "x")],
    ["it is filed under another", { memories: [], sourceAttestations: { "0xother": vouched } }],
    ["it claims something else", { memories: [], sourceAttestations: { [grantor]: sign("has_schema", { grantor }) } }]
  ] as const) {
    it(`fails when ${name}`, async () => {
      const shown = await verdict(content)
      expect(shown.isSuccess).toBe(false)
      expect(JSON.parse(shown.out).valid).toBe(false)
    })
  }

  it("refuses an answer to which nothing shared was found", async () => {
    expect((await verdict({ memories: [], sourceAttestations: {} })).isSuccess).toBe(false)
  })
})

describe("the operator's commands of trust", () => {
  it("attest keys rotate shows the new key and how many stay", async () => {
    const shown = await runCli(["attest", "keys", "rotate"], () => ok(published))
    expect(shown.requests[0]).toMatchObject({
      method: "POST",
      url: "/admin/attestation-keys/rotate",
      headers: { authorization: `Bearer ${operatorToken}` }
    })
    expect(shown.out).toContain(otherKey)
    expect(shown.out).toContain("stay published: 1")
  })

  it("attest keys list shows each key with its end, revoke names the key that signs from then on", async () => {
    const ended = endedBy({ retiredAt: 1_700_000_000_000, revokedAt: 1_700_000_060_000 })
    const listed = await runCli(["attest", "keys", "list"], () => ok(ended))
    expect(listed.requests[0]).toMatchObject({ method: "GET", url: "/admin/attestation-keys" })
    expect(listed.out.split("\n").slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^${otherKey} +1970-01-01 00:00 +- +-$`)),
      expect.stringMatching(new RegExp(`^${publicKey} +1970-01-01 00:00 +2023-11-14 22:13 +2023-11-14 22:14$`))
    ])
    const revoked = await runCli(["attest", "keys", "revoke", publicKey], () => ok(ended))
    expect(revoked.requests[0]).toMatchObject({
      method: "POST",
      url: "/admin/attestation-keys/revoke",
      body: { publicKey },
      headers: { authorization: `Bearer ${operatorToken}` }
    })
    expect(revoked.out).toContain(`Nothing that ${publicKey} signed is valid any more.`)
    expect(revoked.out).toContain(`signed by ${otherKey}`)
    const unknown = await runCli(["attest", "keys", "revoke", publicKey], () => refused(404, "key_not_found", "no key"))
    expect([unknown.isSuccess, unknown.err]).toEqual([false, expect.stringContaining("no key")])
  })

  it("wallets link names account and address, and passes on the service's refusal", async () => {
    const wallet = { address: "0xabc", family: "evm", account: "alice" }
    const args = ["wallets", "link", "--account", "alice", "--address", "0xABC"]
    const shown = await runCli(args, () => ok({ wallet }))
    expect(shown.requests[0]).toMatchObject({
      method: "POST",
      url: "/admin/wallets",
      body: { account: "alice", address: "0xABC" }
    })
    expect(shown.out).toContain("0xabc opens the account alice")
    const taken = await runCli(args, () => refused(409, "id_conflict", "this wallet opens another account already"))
    expect(taken).toMatchObject({ isSuccess: false, err: expect.stringContaining("opens another account") })
  })
})
