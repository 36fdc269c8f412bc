/**
 * Turns around the messages that a search found (contract: Search, `context`): which they are, in every way to search, and
 * that they show nothing that a search of the same caller would not.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { mcpCaller } from "../support/McpCalls.ts"
import { fact, idsOf, type MemoryCalls, untilMoment, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, signedGrant, solWallet, walletCalls } from "../support/TrustCalls.ts"

type Json = Answer["body"]

const server = useSharedServer(withoutModel)
const ann = useAccount(server, "around")

const kind = "conversation_message"
const turns = [
  { id: "1", role: "user", name: "Ann", content: "Good morning.", sentAt: "2026-01-05T09:00:00Z" },
  { id: "2", role: "assistant", content: "What shall we plan?", sentAt: "2026-01-05T09:01:00Z" },
  { id: "3", role: "user", name: "Ann", content: "A trip to Bergen.", sentAt: "2026-01-05T09:02:00Z" },
  { id: "4", role: "assistant", content: "By train or by ship?", sentAt: "2026-01-05T09:03:00Z" },
  { id: "5", role: "user", name: "Ann", content: "By ship, with my aunt.", sentAt: "2026-01-05T09:04:00Z" },
  { id: "6", role: "assistant", content: "Noted.", sentAt: "2026-01-05T09:05:00Z" }
]

const tell = async (calls: Pick<MemoryCalls, "post">, place: object, conversation: ReadonlyArray<object> = turns) => {
  const { body, status } = await calls.post("/v1/memories", { conversation, wait: "extraction", ...place })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

beforeAll(async () => {
  await tell(ann, { agentId: "plans", subjectId: "ann", threadId: "trip" })
  await tell(ann, { agentId: "plans", subjectId: "ann", threadId: "other" }, [
    { id: "o1", role: "user", content: "The fjord was cold." }
  ])
  await ann.create("plans", [fact("Bergen", "Bergen is a town of rain")], { subjectId: "ann" })
})

const hitOf = (memories: ReadonlyArray<Json>, text: string): Json => memories.find(({ data }) => data.text === text)!
const textsOf = (hit: Json): ReadonlyArray<string> => hit.context.around.map(({ text }: { text: string }) => text)

/** The message that has the word, with so many turns on each side. */
const found = async (
  calls: Pick<MemoryCalls, "search">,
  query: string,
  rest: Readonly<Record<string, string>> = {}
) => {
  const [hit] = await calls.search({ query, kind, context: "1", ...rest })
  return hit
}

describe("the turns around a message", () => {
  it("stand in it, oldest first, with who said them, when, their ids and their places", async () => {
    const hit = await found(ann, "Bergen", { agentId: "plans", context: "2" })
    expect(hit.data.text).toBe(turns[2]!.content)
    const { body } = await ann.call("GET", "/v1/memories?threadId=trip&include=messages&order=asc")
    const ids = idsOf(body.memories)
    expect(hit.context.around).toEqual([
      { id: ids[0], offset: -2, role: "user", name: "Ann", when: "2026-01-05T09:00:00.000Z", text: "Good morning." },
      { id: ids[1], offset: -1, role: "assistant", when: "2026-01-05T09:01:00.000Z", text: "What shall we plan?" },
      { id: ids[3], offset: 1, role: "assistant", when: "2026-01-05T09:03:00.000Z", text: "By train or by ship?" },
      {
        id: ids[4],
        offset: 2,
        role: "user",
        name: "Ann",
        when: "2026-01-05T09:04:00.000Z",
        text: "By ship, with my aunt."
      }
    ])
  })

  it("end where the conversation does, and are those of every message among the hits and of nothing else", async () => {
    const memories = await ann.search({ query: "morning Bergen ship aunt fjord", agentId: "plans", context: "5" })
    expect(textsOf(hitOf(memories, turns[0]!.content))).toEqual(turns.slice(1).map(({ content }) => content))
    expect(textsOf(hitOf(memories, turns[2]!.content))).toHaveLength(turns.length - 1)
    expect(textsOf(hitOf(memories, "The fjord was cold."))).toEqual([])
    for (const hit of memories) if (hit.kind !== kind) expect(hit.context).not.toHaveProperty("around")
    expect(memories.some((hit) => hit.kind !== kind)).toBe(true)
  })

  it("come where they are asked for alone, at the price of a search", async () => {
    for (const rest of ["", "&context=0"]) {
      const { body } = await ann.call("GET", `/v1/memories/search?query=Bergen&agentId=plans${rest}`)
      expect(JSON.stringify(body)).not.toContain('"around"')
    }
    const { headers } = await ann.call("GET", "/v1/memories/search?query=Bergen&agentId=plans&context=5")
    expect(headers.get("x-credits-charged")).toBe("2")
  })

  it("are the same by body, in a batch, in an answer and by MCP", async () => {
    const asked = { query: "Bergen", agentId: "plans", context: 1 }
    const around = (await found(ann, "Bergen", { agentId: "plans" })).context.around
    expect(around).toHaveLength(2)
    const byBody = await ann.post("/v1/memories/search", asked)
    expect(hitOf(byBody.body.memories, turns[2]!.content).context.around).toEqual(around)
    const filters = { agentId: "plans" }
    const queries = [
      { query: "Bergen", filters, context: 1 },
      { query: "Bergen", filters }
    ]
    const batch = await ann.post("/v1/memories/batch/search", { queries })
    expect(batch.headers.get("x-credits-charged")).toBe("4")
    const [first, second] = batch.body.results
    expect(hitOf(first.memories, turns[2]!.content).context.around).toEqual(around)
    expect(JSON.stringify(second)).not.toContain('"around"')
    const answered = await ann.post("/v1/memories/search", { ...asked, query: "Who dreamt of Bergen?", mode: "answer" })
    expect(answered.body.grounded).toBe(false)
    expect(hitOf(answered.body.hits, turns[2]!.content).context.around).toEqual(around)
    const called = await (await mcpCaller(server, ann.key)).call("memory_search", asked)
    expect(hitOf(called.structured.memories, turns[2]!.content).context.around).toEqual(around)
    expect(called.json).toEqual(called.structured)
  })

  it("are cut where they are long, between characters", async () => {
    const long = `${"x".repeat(Limits.passageLengthMax - 2)}\u{1F98A}${"y".repeat(1_000)}`
    await tell(ann, { agentId: "long" }, [
      { id: "l1", role: "user", content: long },
      { id: "l2", role: "user", content: "That was an aardvark." }
    ])
    const hit = await found(ann, "aardvark", { agentId: "long" })
    expect(textsOf(hit)).toEqual([`${"x".repeat(Limits.passageLengthMax - 2)}…`])
  })

  it("are refused beyond their bound, in other units, and for a map", async () => {
    for (const context of [-1, Limits.turnsAroundMax + 1, 1.5, "two", [], {}]) {
      const asked = await ann.post("/v1/memories/search", { query: "Bergen", context })
      expect([context, asked.status, asked.body.code]).toEqual([context, 400, "invalid_request"])
      const batch = await ann.post("/v1/memories/batch/search", { queries: [{ query: "Bergen", context }] })
      expect([context, batch.status]).toEqual([context, 400])
    }
    const drawn = await ann.post("/v1/memories/search", { query: "Bergen", context: 1, mode: "map" })
    expect([drawn.status, drawn.body.details[0].path]).toEqual([400, "/context"])
  })
})

describe("of the turns around a message", () => {
  it("none is shown that was erased, has expired, or whose memory was corrected", async () => {
    const place = { agentId: "gone", subjectId: "nora" }
    const said = (id: string, content: string) => ({ id, role: "user", name: "Nora Field", content })
    const home = said("n1", "I live in Utrecht.")
    const late = said("n2", "The train was late again.")
    const told = await tell(ann, { ...place, threadId: "t" }, [home, late, said("n3", "Tomorrow I bake rolls.")])
    const expiresAt = Date.now() + 5_000
    await tell(ann, { ...place, threadId: "t", expiresAt }, [said("n4", "The oven is hot.")])
    const around = async () => textsOf(await found(ann, "late train", { agentId: "gone", context: "3" }))
    expect(await around()).toEqual([home.content, "Tomorrow I bake rolls.", "The oven is hot."])
    const extracted = told.created.find(({ data }: Json) => data.fact?.includes("Utrecht"))
    const data = { ...extracted.data, fact: "Nora Field lives in Delft" }
    expect((await ann.call("PATCH", `/v1/memories/${extracted.id}`, { body: { data } })).status).toBe(200)
    await untilMoment(expiresAt)
    expect(await around()).toEqual(["Tomorrow I bake rolls."])
    const handed = await ann.post("/v1/context", { ...place, query: "late train", sections: ["found"] })
    expect(handed.body.text).toContain("bake rolls")
    expect(handed.body.text).not.toContain("Utrecht")
    const { body } = await ann.call("GET", "/v1/memories?agentId=gone&include=messages")
    const rolls = hitOf(body.memories, "Tomorrow I bake rolls.")
    await ann.call("DELETE", `/v1/memories/${rolls.id}`)
    expect(await around()).toEqual([])
  })

  it("those are shown that were there at `asOf`", async () => {
    const place = { agentId: "then", threadId: "t" }
    await tell(ann, place, [{ id: "a1", role: "user", content: "The piano is tuned." }])
    const asOf = Date.now()
    await untilMoment(asOf + 5)
    await tell(ann, place, [{ id: "a2", role: "user", content: "It is out of tune already." }])
    const around = async (rest: Readonly<Record<string, string>>) =>
      textsOf(await found(ann, "piano tuned", { agentId: "then", ...rest }))
    expect(await around({ asOf: new Date(asOf + 2).toISOString() })).toEqual([])
    expect(await around({})).toEqual(["It is out of tune already."])
  })

  it("a bound key sees those of its subject, and none of another one", async () => {
    await tell(ann, { agentId: "bound", subjectId: "eli", threadId: "t" }, [
      { id: "e1", role: "user", content: "Eli paints gates." },
      { id: "e2", role: "user", content: "In green." }
    ])
    await tell(ann, { agentId: "bound", subjectId: "fay", threadId: "t" }, [
      { id: "f1", role: "user", content: "Fay paints gates." },
      { id: "f2", role: "user", content: "In blue." }
    ])
    const made = await ann.post("/v1/keys", { label: "eli", subjects: ["eli"] })
    const path = `/v1/memories/search?query=paints+gates&agentId=bound&kind=${kind}&context=5`
    const { body } = await server.call("GET", path, { key: made.body.secret })
    expect(textsOf(hitOf(body.memories, "Eli paints gates."))).toEqual(["In green."])
    expect(JSON.stringify(body)).not.toMatch(/Fay|blue/)
  })

  it("a grant opens those within it, each vouched for by its hash", async () => {
    const [owner, friend] = [evmWallet("around grantor"), solWallet("around grantee")]
    const [giver, taker] = [walletCalls(server, owner), walletCalls(server, friend)]
    const conversation = [
      { id: "s1", role: "user", content: "Which tea do you drink?" },
      { id: "s2", role: "user", content: "I drink sencha." },
      { id: "s3", role: "assistant", content: "A fine choice." }
    ]
    const place = { agentId: "tea", threadId: "t" }
    await giver.post("/v1/memories", { ...place, subjectId: "kim", conversation })
    await giver.post("/v1/memories", { ...place, subjectId: "lee", conversation: [{ ...conversation[2], id: "z" }] })
    const grant = await signedGrant(owner, { g: friend.wallet.address, a: "tea", u: "kim" })
    const headers = grantsHeader([grant])
    const query = { query: "sencha", filters: { kind }, limit: 1, context: 5 }
    const batch = await taker.post("/v1/memories/batch/search", { queries: [query] }, headers)
    const path = `/v1/memories/search?query=sencha&kind=${kind}&limit=1&context=5`
    const { body } = await taker.call("GET", path, { headers })
    expect(batch.body.results[0].memories).toEqual(body.memories)
    const [hit] = body.memories
    expect(hit.context.around).toMatchObject([
      { offset: -1, text: conversation[0]!.content, contentHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
      { offset: 1, text: conversation[2]!.content, contentHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) }
    ])
    const hashes = [hit.metadata.contentHash, ...hit.context.around.map((turn: Json) => turn.contentHash)]
    for (const { sourceAttestations } of [body, batch.body]) {
      const [{ attestation }] = Object.values(sourceAttestations) as [Json]
      expect(attestation.params.memoryHashes).toEqual(hashes)
    }
    const own = await found(ann, "Bergen", { agentId: "plans" })
    for (const turn of own.context.around) expect(turn).not.toHaveProperty("contentHash")
  })
})
