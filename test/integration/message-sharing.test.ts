/**
 * Messages of conversations (kind `conversation_message`) under grants and by the client (contract: Conversations,
 * Grants): who is granted an agent or a subject finds its messages word for word, can do nothing else with them, and
 * finds none once they are erased or beyond the grant.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { Muniment } from "@muniment/client/Muniment"
import type { Grant } from "@muniment/domain/Grant"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { evmWallet, grantsHeader, signedGrant, solWallet } from "../support/TrustCalls.ts"

const kind = "conversation_message"
/** In no other text of this file. */
const canary = "zephyrbassoon"
const talk = [
  { id: "m1", role: "user" as const, name: "Ann", content: `My brother plays the ${canary}.` },
  { id: "m2", role: "assistant" as const, content: "How long has he played it?" },
  { id: "m3", role: "user" as const, name: "Ann", content: "Since the spring of 2020." }
]

const server = useSharedServer(withoutModel)
let ann: Muniment
let bob: Muniment
let grant: Grant
let ids: ReadonlyArray<string>
const [owner, friend] = [evmWallet("messages of Ann"), solWallet("messages of Bob")]

beforeAll(async () => {
  const clientOf = ({ sign, wallet }: typeof owner) =>
    new Muniment({ baseUrl: server.url, wallet: { address: wallet.address, sign } })
  ;[ann, bob] = [clientOf(owner), clientOf(friend)]
  await bob.create({ agentId: "notes", memories: [{ kind: "factual_memory", data: { subject: "Bob", fact: "rows" } }] })
  const sent = { agentId: "chat", subjectId: "ann", threadId: "t", conversation: talk }
  const { messages } = await ann.create(sent)
  expect(messages).toEqual({ stored: 3, known: 0 })
  await ann.create({ ...sent, subjectId: "other", threadId: "u", conversation: [{ ...talk[0]!, id: "o1" }] })
  await ann.create({ ...sent, agentId: "diary" })
  grant = await signedGrant(owner, { g: friend.wallet.address, a: "chat", u: "ann" })
  ids = (await ann.list({ agentId: "chat", subjectId: "ann", kind })).memories.map(({ id }) => id)
})

const found = async (client: Muniment, query: string, grants: ReadonlyArray<Grant>) =>
  (await client.search({ query, kind, scope: "shared", limit: 100 }, { grants })).memories

describe("the client", () => {
  it("stores a conversation once, lists its messages in full and finds them", async () => {
    const again = await ann.create({ agentId: "chat", subjectId: "ann", threadId: "t", conversation: talk })
    expect(again.messages).toEqual({ stored: 0, known: 3 })
    const stored: Array<unknown> = []
    for await (const { data } of ann.listAll({ agentId: "chat", subjectId: "ann", kind, limit: 2 })) {
      stored.push(data["text"])
    }
    expect(stored.toReversed()).toEqual(talk.map(({ content }) => content))
    const { memories } = await ann.search({ query: `who plays the ${canary}`, agentId: "chat", subjectId: "ann" })
    expect(memories[0]).toMatchObject({
      kind,
      source: "own",
      data: { role: "user", name: "Ann", text: talk[0]!.content }
    })
    const { memories: extracted } = await ann.search({ query: canary, agentId: "chat", include: "extracted" })
    expect(extracted.filter((memory) => memory.kind === kind)).toEqual([])
  })
})

describe("a grant of an agent and a subject", () => {
  it("opens its messages word for word, and no other conversation's", async () => {
    const hits = await found(bob, `who plays the ${canary}`, [grant])
    expect(hits.map(({ id }) => id).every((id) => ids.includes(id))).toBe(true)
    expect(hits[0]).toMatchObject({
      id: expect.any(String),
      data: { text: talk[0]!.content },
      source: "shared",
      grantor: owner.wallet.address,
      metadata: { agentId: "chat", source: "shared" }
    })
    expect(hits.filter(({ data }) => data["text"] === talk[0]!.content)).toHaveLength(1)
    expect(JSON.stringify(hits)).not.toMatch(/"(?:subjectId|threadId|sourceMessageIds)"/)
  })

  it("shows them in answers and batches as in a search", async () => {
    const answer = await bob.search(
      { query: `Who plays the ${canary}?`, mode: "answer", scope: "shared" },
      { grants: [grant] }
    )
    expect(JSON.stringify(answer)).toContain(canary)
    const { results } = await bob.batchSearch(
      { queries: [{ query: canary, filters: { kind } }], scope: "shared" },
      { grants: [grant] }
    )
    expect(results[0]!.memories.map(({ id }) => id).every((id) => ids.includes(id))).toBe(true)
    expect(results[0]!.memories.length).toBeGreaterThan(0)
  })

  it("opens nothing without it, and nothing to its holder by id, to change or to erase", async () => {
    expect(await found(bob, canary, [{ ...grant, p: { ...grant.p, a: "diary" } }])).toEqual([])
    const before = await ann.list({ agentId: "chat", kind, limit: 100 })
    // The client sends grants with searches alone; here they come with every call, outside of the signature.
    const holder = new Muniment({
      baseUrl: server.url,
      wallet: { address: friend.wallet.address, sign: friend.sign },
      audience: false,
      fetch: (url, init) => fetch(url, { ...init, headers: { ...(init?.headers as object), ...grantsHeader([grant]) } })
    })
    for (const id of ids) {
      await expect(holder.get(id)).rejects.toMatchObject({ status: 404, code: "memory_not_found" })
      await expect(holder.update(id, { tags: ["taken"] })).rejects.toMatchObject({ code: "memory_not_found" })
      await expect(holder.delete(id)).rejects.toMatchObject({ code: "memory_not_found" })
    }
    expect((await holder.batchDelete({ ids })).deleted).toBe(0)
    expect((await holder.batchDelete({ filters: { threadId: "t" } })).deleted).toBe(0)
    expect((await holder.batchUpdate({ ids, update: { tags: ["taken"] } })).updated).toBe(0)
    expect((await holder.list({ kind })).memories).toEqual([])
    expect(await ann.list({ agentId: "chat", kind, limit: 100 })).toEqual(before)
  })

  it("does not carry words between accounts: the canary is nowhere in what others are told", async () => {
    const key = await server.newAccount("stranger")
    const stranger = new Muniment({ baseUrl: server.url, apiKey: key })
    const told = [
      await stranger.search({ query: canary, limit: 100, explain: true }, { grants: [grant] }),
      await stranger.list({ kind, limit: 100 }),
      await bob.search({ query: "brother plays", limit: 100, explain: true }),
      await bob.search({ query: "brother plays", scope: "own", limit: 100 }, { grants: [grant] })
    ]
    expect(JSON.stringify(told)).not.toContain(canary)
    expect(JSON.stringify(told)).not.toContain("bassoon")
  })

  it("finds an erased message no more, neither by its words nor by those of its neighbours", async () => {
    const first = (await found(bob, canary, [grant])).find(({ data }) => data["text"] === talk[0]!.content)
    await ann.delete(first!.id)
    const after = await found(bob, canary, [grant])
    expect(after).toEqual([])
    const path = `/v1/memories/search?${new URLSearchParams({ query: canary, scope: "shared", explain: "true" })}`
    const { account } = await bob.whoami()
    expect(account.id).toBe(friend.wallet.address)
    const byKey = await server.call("GET", path, { headers: grantsHeader([grant]) })
    expect(byKey.body.memories).toEqual([])
    expect((await found(bob, "since when spring", [grant])).map(({ data }) => data["text"])).toContain(talk[2]!.content)
  })
})
