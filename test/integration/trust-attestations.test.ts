/**
 * POST /v1/attestations (contract: Attestations): each claim with its conditions, what is counted, what is signed.
 * Signatures are checked with Node's crypto.
 */
import { beforeAll, describe, expect, it } from "vitest"
import {
  accountCalls,
  fact,
  type MemoryCalls,
  schemaText,
  text,
  untilMoment,
  useAccount
} from "../support/MemoryCalls.ts"
import type { Answer } from "../support/TestServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import {
  evmWallet,
  isVerifiedOffline,
  nowSeconds,
  publishedKeys,
  sha256Text,
  walletCalls
} from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_ISSUER: "memory.example" }
const contact = { name: "contact", description: "d", uniqueOn: ["email"], schema: schemaText({ email: text }) }

const server = useServer({ environment })
const alice = useAccount(server, "alice")
let publicKey: string

beforeAll(async () => {
  publicKey = (await publishedKeys(server)).attestationPublicKey
  await alice.post("/v1/schemas", contact)
  const [{ id }] = await alice.create("a", [fact("Ann", "drinks green tea")], { subjectId: "s" })
  await alice.call("PATCH", `/v1/memories/${id}`, { body: { tags: ["drink", "hot"] } })
  await alice.create("a", [fact("Bob", "drinks coffee")])
  await alice.createExpired("a", fact("Cy", "drank green tea"))
  for (const at of [1, 2, 3]) {
    await alice.create("b", [{ kind: "contact", data: { email: "tea@example.org", note: `version ${at}` } }])
  }
})

/** The whole answer; anything but a verified attestation fails the test. */
const attest = async (body: object, calls: Pick<MemoryCalls, "post"> = alice) => {
  const answer = await calls.post("/v1/attestations", body)
  expect([answer.status, Object.keys(answer.body).toSorted()]).toEqual([
    200,
    ["algorithm", "attestation", "publicKey", "signature", "success"]
  ])
  expect(answer.body).toMatchObject({ success: true, algorithm: "Ed25519", publicKey })
  expect(answer.body.signature).toMatch(/^0x[0-9a-f]{128}$/)
  expect(isVerifiedOffline(answer.body, publicKey)).toBe(true)
  return answer.body.attestation
}
const counted = async (body: object, calls?: Pick<MemoryCalls, "post">) => {
  const { result } = await attest(body, calls)
  return [result.satisfied, result.matchCount]
}
const refused = async (body: object): Promise<ReadonlyArray<unknown>> => {
  const answer: Answer = await alice.post("/v1/attestations", body)
  return [answer.status, answer.body.code]
}

describe("has_memories_matching", () => {
  const matching = (query: string, filters?: object) =>
    counted({ claim: "has_memories_matching", query, ...(filters !== undefined && { filters }) })

  it("counts the live latest memories that hold every word of the query", async () => {
    expect(await matching("green tea")).toEqual([true, 1])
    expect(await matching("drinks")).toEqual([true, 2])
    expect(await matching("tea")).toEqual([true, 2])
  })

  it("is attested as unsatisfied, with 200, when there is none", async () => {
    expect(await matching("submarine")).toEqual([false, 0])
    expect(await matching("version 1")).toEqual([false, 0])
    expect(await matching("Cy")).toEqual([false, 0])
  })

  it("counts within its filters", async () => {
    expect(await matching("tea", { agentId: "a" })).toEqual([true, 1])
    expect(await matching("tea", { kind: "contact" })).toEqual([true, 1])
    expect(await matching("tea", { tags: ["cold", "hot"] })).toEqual([true, 1])
    expect(await matching("tea", { subjectId: "s" })).toEqual([true, 1])
    expect(await matching("tea", { agentId: "none" })).toEqual([false, 0])
    expect(await matching("tea", { agentId: "a", kind: "contact" })).toEqual([false, 0])
  })

  it("counts all of them, not only those that a search would return", async () => {
    const many = await accountCalls(server, "many")
    for (const agentId of ["one", "two", "two"]) {
      await many.create(
        agentId,
        Array.from({ length: 90 }, (_, at) => fact(`subject ${at}`, at < 80 ? "walks along the canal" : "swims"))
      )
    }
    const claim = { claim: "has_memories_matching", query: "canal" }
    expect(await counted(claim, many)).toEqual([true, 240])
    expect(await counted({ ...claim, filters: { agentId: "two" } }, many)).toEqual([true, 160])
    expect(await counted({ claim: "memory_count_gte", threshold: 270 }, many)).toEqual([true, 270])
    expect(await counted({ claim: "memory_count_gte", threshold: 271 }, many)).toEqual([false, 270])
  })

  it("needs a query that says something", async () => {
    const claim = "has_memories_matching"
    for (const rest of [
      {},
      { query: "" },
      { query: "  " },
      { query: 1 },
      { query: "q".repeat(2_001) },
      { threshold: 1 }
    ]) {
      expect([rest, await refused({ claim, ...rest })]).toEqual([rest, [400, "invalid_request"]])
    }
  })
})

describe("memory_count_gte", () => {
  const atLeast = (threshold: number, rest: object = {}) => counted({ claim: "memory_count_gte", threshold, ...rest })

  it("tells the true count of live latest memories, reached or not", async () => {
    expect(await atLeast(0)).toEqual([true, 3])
    expect(await atLeast(3)).toEqual([true, 3])
    expect(await atLeast(4)).toEqual([false, 3])
    expect(await atLeast(Number.MAX_SAFE_INTEGER)).toEqual([false, 3])
    expect(await atLeast(1, { filters: { agentId: "b" } })).toEqual([true, 1])
    expect(await atLeast(0, { filters: { agentId: "none" } })).toEqual([true, 0])
  })

  it("counts no messages of small talk, unless their kind is asked for", async () => {
    const chatty = await accountCalls(server, "chatty")
    const conversation = ["Hi there!", "Hello, how are you?", "Fine, and the weather?", "It rains."].map(
      (content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content })
    )
    await chatty.post("/v1/memories", { agentId: "a", threadId: "t", conversation, wait: "extraction" })
    await chatty.create("a", [fact("Ann", "drinks green tea")])
    const claim = { claim: "memory_count_gte", threshold: 2 }
    expect(await counted(claim, chatty)).toEqual([false, 1])
    expect(await counted({ ...claim, filters: { agentId: "a" } }, chatty)).toEqual([false, 1])
    expect(await counted({ ...claim, filters: { kind: "conversation_message" } }, chatty)).toEqual([true, 4])
  })

  it("is of the moment: an expired memory counts no more", async () => {
    const brief = await accountCalls(server, "brief")
    const expiresAt = Date.now() + 3_000
    await brief.create("a", [{ ...fact("a", "b"), expiresAt }, fact("c", "d")])
    const claim = { claim: "memory_count_gte", threshold: 2 }
    expect(await counted(claim, brief)).toEqual([true, 2])
    await untilMoment(expiresAt + 1)
    expect(await counted(claim, brief)).toEqual([false, 1])
  })

  it("needs a threshold, a whole number from 0", async () => {
    const claim = "memory_count_gte"
    for (const rest of [
      {},
      { threshold: -1 },
      { threshold: 1.5 },
      { threshold: "1" },
      { threshold: null },
      { query: "q" }
    ]) {
      expect([rest, await refused({ claim, ...rest })]).toEqual([rest, [400, "invalid_request"]])
    }
  })
})

describe("has_schema", () => {
  const has = (schemaName: string, calls?: MemoryCalls) => counted({ claim: "has_schema", schemaName }, calls)

  it("is about schemas that the account registered itself", async () => {
    expect(await has("contact")).toEqual([true, 1])
    expect(await has("Contact")).toEqual([false, 0])
    expect(await has("factual_memory")).toEqual([false, 0])
    expect(await has("contact", await accountCalls(server, "without schemas"))).toEqual([false, 0])
  })

  it("needs the name of a schema", async () => {
    for (const rest of [{}, { schemaName: "" }, { schemaName: 1 }, { query: "contact" }]) {
      expect([rest, await refused({ claim: "has_schema", ...rest })]).toEqual([rest, [400, "invalid_request"]])
    }
  })
})

describe("an attestation", () => {
  const everything = {
    query: "tea",
    threshold: 1,
    schemaName: "contact",
    filters: { tags: ["hot"], subjectId: "s", kind: "factual_memory", agentId: "a" },
    expiresIn: "1h",
    params: { query: "other" },
    result: { satisfied: true, matchCount: 9 },
    issuedAt: 1
  }
  const filters = { agentId: "a", kind: "factual_memory", subjectId: "s", tags: ["hot"] }

  it("holds of the request only what its claim uses", async () => {
    const paramsOf = async (claim: string) => (await attest({ claim, ...everything })).params
    expect(await paramsOf("has_memories_matching")).toEqual({ query: "tea", filters })
    expect(await paramsOf("memory_count_gte")).toEqual({ threshold: 1, filters })
    expect(await paramsOf("has_schema")).toEqual({ schemaName: "contact" })
    const bare = await attest({ claim: "memory_count_gte", threshold: 2, filters: {} })
    expect(bare.params).toEqual({ threshold: 2 })
    expect(Object.keys(bare).toSorted()).toEqual(["claim", "expiresAt", "issuedAt", "issuer", "params", "result"])
  })

  it("is refused with a filter that it could not echo, instead of counting without it", async () => {
    const unknown = { claim: "memory_count_gte", threshold: 0, filters: { threadId: "no such thread" } }
    expect(refusalOf(await alice.post("/v1/attestations", unknown))).toEqual([400, "unknown_parameter"])
  })

  it("is by the configured issuer, about the account's namespace, which its id gives", async () => {
    const { issuer, result } = await attest({ claim: "memory_count_gte", threshold: 0 })
    const { body: who } = await alice.call("GET", "/v1/account")
    expect([issuer, result.namespace]).toEqual([
      "memory.example",
      `0x${sha256Text(`muniment:ns:v1:${who.account.id}`)}`
    ])
    const signer = evmWallet("attested")
    const byWallet = await attest({ claim: "memory_count_gte", threshold: 0 }, walletCalls(server, signer))
    expect(byWallet.result.namespace).toBe(`0x${sha256Text(`muniment:ns:v1:${signer.wallet.address}`)}`)
  })

  it.each([
    [undefined, 86_400],
    ["1s", 1],
    ["90m", 5_400],
    ["24h", 86_400],
    ["2w", 1_209_600],
    ["365d", 31_536_000],
    ["31536000s", 31_536_000]
  ])("is valid for expiresIn, a day when not given, from the whole second on: %s", async (expiresIn, seconds) => {
    const before = nowSeconds()
    const { issuedAt, expiresAt } = await attest({
      claim: "memory_count_gte",
      threshold: 0,
      ...(expiresIn !== undefined && { expiresIn })
    })
    expect(issuedAt).toBeGreaterThanOrEqual(before)
    expect(issuedAt).toBeLessThanOrEqual(nowSeconds())
    expect(expiresAt - issuedAt).toBe(seconds)
  })

  it.each(["0s", "366d", "53w", "31536001s", "1", "1y", "h", "-1h", "1.5h", " 1h", "1H", "", "999999999999w", 3_600])(
    "is refused when expiresIn is %j",
    async (expiresIn) => {
      const refusal = await refused({ claim: "memory_count_gte", threshold: 0, expiresIn })
      expect(refusal).toEqual([400, "invalid_duration"])
    }
  )

  it("is refused for a claim that is not made on demand", async () => {
    const claims = ["shared_memories_from", "has_memories", "", "__proto__", 1, null]
    for (const claim of claims) {
      const body = { claim, query: "tea", threshold: 0, schemaName: "contact", grantor: "0x", memoryHashes: [] }
      expect([claim, await refused(body)]).toEqual([claim, [400, "invalid_request"]])
    }
    expect(await refused({ query: "tea" })).toEqual([400, "invalid_request"])
  })

  it("is refused when its filters are of another form", async () => {
    const claim = { claim: "memory_count_gte", threshold: 0 }
    for (const wrong of [[], "a", { agentId: "" }, { agentId: 1 }, { kind: "" }, { subjectId: "s".repeat(129) }]) {
      expect([wrong, await refused({ ...claim, filters: wrong })]).toEqual([wrong, [400, "invalid_filters"]])
    }
    for (const tags of ["hot", [1], [""], Array(33).fill("t")]) {
      expect([tags, await refused({ ...claim, filters: { tags } })]).toEqual([tags, [400, "invalid_tag"]])
    }
  })

  it("comes once under an Idempotency-Key", async () => {
    const body = { claim: "memory_count_gte", threshold: 0 }
    const headers = { "idempotency-key": "attest" }
    const first = await alice.post("/v1/attestations", body, headers)
    const again = await alice.post("/v1/attestations", body, headers)
    expect([again.body, again.headers.get("idempotency-replayed")]).toEqual([first.body, "true"])
  })

  it("does not verify when any member was altered", async () => {
    const { body: signed } = await alice.post("/v1/attestations", { claim: "memory_count_gte", threshold: 2 })
    const { attestation, signature } = signed
    const alterations = [
      { claim: "has_schema" },
      { params: { threshold: 3 } },
      { result: { ...attestation.result, matchCount: 4 } },
      { result: { ...attestation.result, satisfied: false } },
      { issuedAt: attestation.issuedAt - 1 },
      { expiresAt: attestation.expiresAt + 1 },
      { issuer: "another.example" },
      { more: 1 }
    ]
    for (const altered of alterations) {
      expect(isVerifiedOffline({ attestation: { ...attestation, ...altered }, signature }, publicKey)).toBe(false)
    }
  })
})
