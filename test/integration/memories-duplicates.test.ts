/** The same content from the same scope (contract: Memories, Duplicates), over REST and MCP. */
import { describe, expect, it } from "vitest"
import { accountCalls, fact, idsOf, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { mcpCaller } from "../support/McpCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const alice = useAccount(server, "duplicates")

const store = async (agentId: string, memories: ReadonlyArray<object>, rest: object = {}) => {
  const { body, status } = await alice.post("/v1/memories", { agentId, memories, onDuplicate: "return", ...rest })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
const count = async (agentId: string) => (await alice.call("GET", `/v1/memories?agentId=${agentId}`)).body.total
const figs = fact("Ann", "Ann likes figs")

describe("a direct memory whose data is stored already", () => {
  it("is stored again by default, and answered as it is with onDuplicate return", async () => {
    const [first] = await alice.create("again", [figs])
    const [second] = await alice.create("again", [figs])
    expect(second.id).not.toBe(first.id)
    const returned = await store("again", [figs])
    expect(returned).toEqual({ success: true, created: [], updated: [], existing: [second] })
    expect(await count("again")).toBe(2)
  })

  it("is skipped by an import that returns duplicates, under another id too; a message is not", async () => {
    const own = await accountCalls(server, "imported")
    const { account } = (await own.call("GET", "/v1/account")).body
    await own.create("again", [figs])
    const conversation = [{ role: "user", content: "hm" }]
    await own.post("/v1/memories", { agentId: "again", conversation })
    const operator = { key: server.operatorToken }
    const { records } = (await server.call("GET", `/admin/export?account=${account.name}`, operator)).body
    const others = records.map((record: { readonly id: string }, at: number) => ({
      ...record,
      id: `${record.id.slice(0, -1)}${record.id.endsWith(`${at}`) ? at + 2 : at}`,
      threadId: "moved",
      sources: undefined
    }))
    const send = async (onDuplicate?: string) => {
      const body = { account: account.name, records: others, ...(onDuplicate && { onDuplicate }) }
      const { imported, skipped } = (await server.call("POST", "/admin/import", { ...operator, body })).body
      return [imported, skipped]
    }
    expect([await send("return"), await send()]).toEqual([
      [1, 1],
      [1, 1]
    ])
  })

  it("is created beside what is known, also by batch/create", async () => {
    await alice.create("some", [figs])
    const body = { agentId: "some", memories: [figs, fact("Ann", "Ann rows")], onDuplicate: "return" }
    const answer = await alice.post("/v1/memories/batch/create", body)
    expect(answer.body.created).toHaveLength(1)
    expect(answer.body.existing).toHaveLength(1)
    expect(await count("some")).toBe(2)
  })

  it("is stored once when the request names it twice", async () => {
    const body = await store("twice", [figs, figs])
    expect([body.created.length, body.existing]).toEqual([1, []])
    expect(await count("twice")).toBe(1)
  })

  it("is another memory for another subject, agent or kind", async () => {
    await store("own", [figs], { subjectId: "a" })
    expect((await store("own", [figs], { subjectId: "b" })).created).toHaveLength(1)
    expect((await store("own", [figs])).created).toHaveLength(1)
    expect((await store("other", [figs], { subjectId: "a" })).created).toHaveLength(1)
    expect((await store("own", [figs], { subjectId: "a", threadId: "later" })).created).toHaveLength(0)
  })

  it("is stored again when the stored one was deleted, superseded, or ends much sooner", async () => {
    const [gone] = (await store("ends", [figs])).created
    await alice.call("DELETE", `/v1/memories/${gone.id}`)
    expect((await store("ends", [figs], { ttl: "1m" })).created).toHaveLength(1)
    expect((await store("ends", [figs])).created).toHaveLength(1)
    const schema = schemaText({ who: text, city: text })
    await alice.post("/v1/schemas", { name: "home", description: "Where", uniqueOn: ["who"], schema })
    const home = (city: string) => ({ kind: "home", data: { who: "Ann", city } })
    await store("homes", [home("Porto")])
    await store("homes", [home("Rome")])
    const [back] = (await store("homes", [home("Porto")])).created
    expect((await store("homes", [home("Porto")])).existing[0].id).toBe(back.id)
    expect(await count("homes")).toBe(1)
  })

  it("has the same answer under the same Idempotency-Key", async () => {
    const [known] = await alice.create("keyed", [figs])
    const body = { agentId: "keyed", memories: [figs], onDuplicate: "return" }
    for (const replayed of [null, "true"]) {
      const answer = await alice.post("/v1/memories", body, { "idempotency-key": "k1" })
      expect(idsOf(answer.body.existing)).toEqual([known.id])
      expect(answer.headers.get("idempotency-replayed")).toBe(replayed)
    }
  })

  it("may only be returned or stored", async () => {
    const answer = await alice.post("/v1/memories", { agentId: "x", memories: [figs], onDuplicate: "merge" })
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"])
  })
})

describe("a write of an MCP tool", () => {
  it("returns what is known, and memory_create stores it again only if told to", async () => {
    const mcp = await mcpCaller(server, alice.key)
    const write = async () => (await mcp.call("write_factual_memory", { agentId: "mcp", ...figs.data })).json
    const first = await write()
    const { id } = first.memories[0]
    expect(first).toMatchObject({ created: [{ id }], existing: [] })
    expect(await write()).toMatchObject({ memories: [{ id }], created: [], existing: [{ id }] })
    const several = { agentId: "mcp", memories: [figs] }
    expect((await mcp.call("memory_create", several)).json).toMatchObject({ created: [], existing: [{ id }] })
    const stored = (await mcp.call("memory_create", { ...several, onDuplicate: "store" })).json
    expect(stored.created).toHaveLength(1)
    expect(await count("mcp")).toBe(2)
  })
})
