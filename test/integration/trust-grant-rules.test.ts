/**
 * Rules of grants on a request (contract: Grants): who a grant may name, how grants unite, which are skipped without a
 * word, and which headers are refused.
 */
import { beforeAll, describe, expect, it } from "vitest"
import type { Grant } from "@muniment/domain/Grant"
import { accountCalls, fact, idsOf, type MemoryCalls } from "../support/MemoryCalls.ts"
import type { Answer } from "../support/TestServer.ts"
import {
  evmWallet,
  grantsHeader,
  isVerifiedOffline,
  nowSeconds,
  publishedKeys,
  searchPath,
  signedGrant,
  solWallet,
  walletCalls
} from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

type Calls = Omit<MemoryCalls, "key">

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_GRANT_PREFIXES: "elder:grant:v1:, oldest:" }
const [signerA, signerB, signerD] = [evmWallet("A"), evmWallet("B"), solWallet("D")]

const server = useServer({ environment })
let b: Calls
/** What A keeps, by agent and subject. */
const kept: Record<string, string> = {}
let keptByD: string
let own: string

beforeAll(async () => {
  b = walletCalls(server, signerB)
  for (const [agentId, subjectId] of [
    ["x", "s"],
    ["x", "t"],
    ["y", "s"],
    ["y", undefined]
  ] as const) {
    const rest = subjectId === undefined ? {} : { subjectId }
    const [{ id }] = await walletCalls(server, signerA).create(agentId, [fact(agentId, `tea ${subjectId}`)], rest)
    kept[`${agentId} ${subjectId}`] = id
  }
  keptByD = idsOf(await walletCalls(server, signerD).create("x", [fact("x", "tea of D")]))[0]!
  own = idsOf(await b.create("x", [fact("x", "tea of B")]))[0]!
})

const toB = (rest: object = {}, signer = signerA) => signedGrant(signer, { g: signerB.wallet.address, ...rest })
const ask = (headers: Readonly<Record<string, string>>, parameters: Readonly<Record<string, string>> = {}, calls = b) =>
  calls.call("GET", searchPath({ query: "tea", limit: "100", scope: "shared", ...parameters }), { headers })
const seen = async (grants: ReadonlyArray<unknown>, parameters: Readonly<Record<string, string>> = {}, calls = b) => {
  const { status, body } = await ask(grantsHeader(grants), parameters, calls)
  expect([status, body.success]).toEqual([200, true])
  return idsOf(body.memories).toSorted()
}
const keptAt = (...places: ReadonlyArray<string>) => places.map((place) => kept[place]!).toSorted()
const all = () => keptAt("x s", "x t", "y s", "y undefined")

describe("grants of one grantor", () => {
  it("open everything, an agent, a subject, or an agent's subject", async () => {
    expect(await seen([await toB()])).toEqual(all())
    expect(await seen([await toB({ a: "x" })])).toEqual(keptAt("x s", "x t"))
    expect(await seen([await toB({ u: "s" })])).toEqual(keptAt("x s", "y s"))
    expect(await seen([await toB({ a: "y", u: "s" })])).toEqual(keptAt("y s"))
    expect(await seen([await toB({ a: "z" })])).toEqual([])
    expect(await seen([await toB({ a: "X" })])).toEqual([])
  })

  it("unite, and give each memory once", async () => {
    const [agent, subject, both] = [await toB({ a: "x" }), await toB({ u: "s" }), await toB({ a: "x", u: "s" })]
    expect(await seen([agent, subject])).toEqual(keptAt("x s", "x t", "y s"))
    expect(await seen([agent, subject, both, await toB()])).toEqual(all())
    expect(await seen([both, both, both])).toEqual(keptAt("x s"))
    expect(await seen([agent, subject], { agentId: "y" })).toEqual(keptAt("y s"))
    expect(await seen([agent, subject], { subjectId: "t" })).toEqual(keptAt("x t"))
  })

  it("stand beside those of others, each with an attestation of its own", async () => {
    const { body } = await ask(grantsHeader([await toB({ a: "x", u: "s" }), await toB({}, signerD)]))
    expect(idsOf(body.memories).toSorted()).toEqual([...keptAt("x s"), keptByD].toSorted())
    const { attestationPublicKey } = await publishedKeys(server)
    expect(Object.keys(body.sourceAttestations).toSorted()).toEqual(
      [signerA.wallet.address, signerD.wallet.address].toSorted()
    )
    for (const [grantor, signed] of Object.entries<Answer["body"]>(body.sourceAttestations)) {
      const theirs = body.memories.filter((memory: Answer["body"]) => memory.grantor === grantor)
      expect(signed.attestation.params.memoryHashes).toEqual(
        theirs.map((one: Answer["body"]) => one.metadata.contentHash)
      )
      expect(isVerifiedOffline(signed, attestationPublicKey)).toBe(true)
    }
  })

  it("serve all queries of a batch, with one merged attestation that holds each memory once", async () => {
    const headers = grantsHeader([await toB({ a: "x" }), await toB({ a: "y", u: "s" })])
    const queries = [
      { query: "tea", filters: { agentId: "x" } },
      { query: "tea", limit: 100 },
      { query: "tea", filters: { subjectId: "t" } },
      { query: "submarine" }
    ]
    const { status, body } = await b.post("/v1/memories/batch/search", { queries, scope: "shared" }, headers)
    expect(status).toBe(200)
    const found: ReadonlyArray<ReadonlyArray<Answer["body"]>> = body.results.map((one: Answer["body"]) => one.memories)
    expect(found.map((memories) => idsOf(memories as never).toSorted())).toEqual([
      keptAt("x s", "x t"),
      keptAt("x s", "x t", "y s"),
      keptAt("x t"),
      []
    ])
    const hashes = new Map(found.flat().map(({ id, metadata }) => [id, metadata.contentHash]))
    expect(Object.keys(body.sourceAttestations)).toEqual([signerA.wallet.address])
    const signed = body.sourceAttestations[signerA.wallet.address]
    expect(signed.attestation.params.memoryHashes).toEqual([...hashes.values()])
    expect(signed.attestation.result.matchCount).toBe(3)
    expect(isVerifiedOffline(signed, (await publishedKeys(server)).attestationPublicKey)).toBe(true)
    const mixed = await b.post("/v1/memories/batch/search", { queries: [{ query: "tea", limit: 100 }] }, headers)
    expect(idsOf(mixed.body.results[0].memories).toSorted()).toEqual([...keptAt("x s", "x t", "y s"), own].toSorted())
  })
})

describe("a grant names its grantee", () => {
  const toName = (g: string) => signedGrant(signerA, { g, a: "x", u: "s" })

  it("by the wallet, an EVM one in any case", async () => {
    const { address } = signerB.wallet
    expect(await seen([await toName(`0x${address.slice(2).toUpperCase()}`)])).toEqual(keptAt("x s"))
    expect(await seen([await toName(signerD.wallet.address)], {}, walletCalls(server, signerD))).toEqual(keptAt("x s"))
    const shouted = signerD.wallet.address.toUpperCase()
    expect(await seen([await toName(shouted)], {}, walletCalls(server, signerD))).toEqual([])
  })

  it("by an account id, for all of its keys, or by a key id, for that key alone", async () => {
    const first = await accountCalls(server, "keyed")
    const second = (await server.asOperator("POST", "/admin/keys", { account: "keyed" })).body
    const { body: who } = await first.call("GET", "/v1/account")
    const withSecond: Calls = {
      ...first,
      call: (method, path, rest) => first.call(method, path, { key: second.secret, ...rest })
    }
    const toAccount = await toName(who.account.id)
    expect(await seen([toAccount], {}, first)).toEqual(keptAt("x s"))
    expect(await seen([toAccount], {}, withSecond)).toEqual(keptAt("x s"))
    const toKey = await toName(second.key.id)
    expect(await seen([toKey], {}, withSecond)).toEqual(keptAt("x s"))
    expect(await seen([toKey], {}, first)).toEqual([])
    // Its name is no identity: anybody can have that of another service.
    expect(await seen([await toName("keyed")], {}, first)).toEqual([])
    expect(await seen([toAccount, toKey])).toEqual([])
  })

  it("by a wallet that the operator linked to the account", async () => {
    const linked = evmWallet("linked")
    const calls = await accountCalls(server, "linking")
    const grant = await toName(linked.wallet.address)
    expect(await seen([grant], {}, calls)).toEqual([])
    const { body: who } = await calls.call("GET", "/v1/account")
    const body = { account: "linking", address: linked.wallet.address }
    expect((await server.asOperator("POST", "/admin/wallets", body)).status).toBe(200)
    expect(await seen([grant], {}, calls)).toEqual(keptAt("x s"))
    expect(await seen([grant], {}, walletCalls(server, linked))).toEqual(keptAt("x s"))
    // And a grant by the linked wallet opens the account's memories, though not to the account itself.
    const [{ id }] = await calls.create("l", [fact("l", "tea, linked")])
    const byLinked = await signedGrant(linked, { g: signerB.wallet.address })
    expect(await seen([byLinked])).toEqual([id])
    expect(await seen([await signedGrant(linked, { g: who.account.id })], {}, calls)).toEqual([])
    expect((await calls.post("/v1/grants/revoke", { grant: byLinked })).status).toBe(200)
    expect(await seen([byLinked])).toEqual([])
  })
})

describe("a grant that is of no use", () => {
  const bySigner = async (signer: typeof signerA, p: Grant["p"]) => ({ ...(await signedGrant(signer, p)), p })
  const unusable: ReadonlyArray<readonly [string, () => Promise<unknown>]> = [
    ["expired", () => toB({ e: nowSeconds() - 1 })],
    ["for somebody else", () => signedGrant(signerA, { g: signerD.wallet.address })],
    ["from oneself", () => signedGrant(signerB, { g: signerB.wallet.address })],
    ["from a wallet without an account", () => toB({}, evmWallet("nobody"))],
    ["signed by another", async () => bySigner(signerD, (await toB()).p)],
    ["of a family that is not that of its wallet", async () => ({ ...(await toB()), c: "sol" })],
    ["of a family unknown here", async () => ({ ...(await toB()), c: "btc" })],
    ["by something that is no wallet", async () => ({ ...(await toB()), p: { ...(await toB()).p, f: "operator" } })],
    [
      "made wider after it was signed",
      async () => {
        const {
          p: { a: _, ...wider },
          ...rest
        } = await toB({ a: "x" })
        return { ...rest, p: wider }
      }
    ],
    [
      "made longer after it was signed",
      async () => {
        const grant = await toB()
        return { ...grant, p: { ...grant.p, e: grant.p.e + 1 } }
      }
    ],
    ["restricted in a way unknown here", () => toB({ k: "factual_memory" })],
    ["signed for another service", () => signedGrant(signerA, { g: signerB.wallet.address }, "other:grant:v1:")],
    ["signed without a prefix", () => signedGrant(signerA, { g: signerB.wallet.address }, "")],
    ["with no signature", async () => ({ ...(await toB()), s: "" })]
  ]

  it.each(unusable)("is skipped, and named: %s", async (_, make) => {
    const grant = await make()
    const { status, body } = await ask(grantsHeader([grant]))
    const unusableGrants = [expect.objectContaining({ index: 0 })]
    expect([status, body]).toEqual([
      200,
      { success: true, memories: [], searchedAt: expect.any(String), unusableGrants }
    ])
    expect(await seen([grant], { scope: "all" })).toEqual([own])
    expect(await seen([grant, await toB({ a: "y", u: "s" }), grant])).toEqual(keptAt("y s"))
  })
})

it.each(["elder:grant:v1:", "oldest:"])("a grant may begin with a configured prefix: %s", async (prefix) => {
  expect(await seen([await signedGrant(signerA, { g: signerB.wallet.address }, prefix)])).toEqual(all())
})

describe("the X-Grants header", () => {
  const refused = async (headers: Readonly<Record<string, string>>, scope: string) => {
    const single = await ask(headers, { scope })
    const batch = await b.post("/v1/memories/batch/search", { queries: [{ query: "tea" }], scope }, headers)
    expect([batch.status, batch.body]).toEqual([single.status, single.body])
    expect(single.body.success).toBe(false)
    return [single.status, single.body.code]
  }

  it("is needed for scope `shared`, and may be empty for the others", async () => {
    for (const headers of [{}, { "x-grants": "" }, { "x-grants": "  " }, grantsHeader([])]) {
      expect(await refused(headers, "shared")).toEqual([400, "grants_required"])
      for (const scope of ["own", "all"]) expect(idsOf((await ask(headers, { scope })).body.memories)).toEqual([own])
    }
  })

  it("may be standard or url-safe Base64, padded or not", async () => {
    const grants = [await toB({ a: "x", u: "s" }), { ...(await toB()), s: "ÿþ?>~".repeat(3) }]
    const bytes = Buffer.from(JSON.stringify(grants))
    const standard = bytes.toString("base64")
    for (const header of [standard, bytes.toString("base64url"), standard.replace(/=+$/, ""), ` ${standard} `]) {
      expect(idsOf((await ask({ "x-grants": header })).body.memories)).toEqual(keptAt("x s"))
    }
  })

  it("is refused when it cannot be decoded, though not even looked at under `own`", async () => {
    const good = await toB()
    const coded = (value: string) => Buffer.from(value).toString("base64")
    const headers = [
      "not Base64!",
      "====",
      coded("hello"),
      coded("{}"),
      coded("null"),
      coded(JSON.stringify(good)),
      coded(JSON.stringify([good]).slice(0, -1)),
      Buffer.from([0x5b, 0x22, 0xff, 0xfe, 0x22, 0x5d]).toString("base64")
    ]
    for (const header of headers) {
      for (const scope of ["shared", "all"]) {
        expect([header, await refused({ "x-grants": header }, scope)]).toEqual([header, [400, "invalid_grants_header"]])
      }
      expect(idsOf((await ask({ "x-grants": header }, { scope: "own" })).body.memories)).toEqual([own])
    }
  })

  it("holds 10 grants and no more", async () => {
    const grants = await Promise.all(Array.from({ length: 11 }, (_, at) => toB({ a: at === 9 ? "x" : `agent ${at}` })))
    expect(await seen(grants.slice(0, 10))).toEqual(keptAt("x s", "x t"))
    for (const scope of ["shared", "all"]) {
      expect(await refused(grantsHeader(grants), scope)).toEqual([400, "too_many_grants"])
    }
    expect(await seen(grants, { scope: "own" })).toEqual([own])
  })
})

describe("POST /grants/revoke", () => {
  it("is refused without a grant of the right form, and needs no signature of the grant", async () => {
    const grant = await toB({ e: nowSeconds() + 99 })
    for (const body of [{}, { grant: "x" }, { grant: [grant] }, { grant: { ...grant, p: { f: grant.p.f } } }]) {
      const { status, body: refusal } = await walletCalls(server, signerA).post("/v1/grants/revoke", body)
      expect([status, refusal.code]).toEqual([400, "invalid_request"])
    }
    expect(await seen([grant])).toEqual(all())
    expect(
      (await walletCalls(server, signerA).post("/v1/grants/revoke", { grant: { ...grant, s: "0x" } })).status
    ).toBe(200)
    expect(await seen([grant])).toEqual([])
  })
})
