/**
 * Tools of the MCP endpoint (contract: MCP) through the official client: what is listed, what a call does, and that it
 * does what the same request of REST does.
 */
import { describe, expect, it } from "vitest"
import { accountCalls, schemaText, text } from "../support/MemoryCalls.ts"
import { mcpCaller, type McpCaller, request, shortened, walletCaller } from "../support/McpCalls.ts"
import { toolFaults } from "../support/StrictToolSchemas.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { evmWallet, grantsHeader, signedGrant, solWallet, walletCalls } from "../support/TrustCalls.ts"

const fixedTools = [
  "memory_context",
  "memory_search",
  "memory_create",
  "memory_get",
  "memory_update",
  "memory_delete",
  "memory_batch_delete"
]
const builtinTools = [
  "write_factual_memory",
  "write_instruction_memory",
  "write_preference_memory",
  "write_temporal_event"
]

const server = useSharedServer(withoutModel)

let accounts = 0
/** An account of its own: its client and its calls of REST. */
const newCaller = async (headers: Readonly<Record<string, string>> = {}) => {
  const rest = await accountCalls(server, `mcp-${++accounts}`)
  return { rest, mcp: await mcpCaller(server, rest.key, headers) }
}
const seattle = { subject: "Alice", fact: "Alice lives in Seattle" }
const idOf = async (mcp: McpCaller, given: object = {}): Promise<string> =>
  (await mcp.call("write_factual_memory", { agentId: "a", ...seattle, ...given })).json.memories[0].id

describe("memory_context", () => {
  it("gives a text to read, of all conversations, as REST does", async () => {
    const place = { agentId: "a", subjectId: "bob" }
    const { mcp, rest } = await newCaller({ "x-agent-id": "a", "x-subject-id": "bob", "x-thread-id": "today" })
    await mcp.call("write_instruction_memory", { text: "Answer in metric units." })
    const conversation = [{ id: "m1", role: "user", content: "My bike is a red Ridgeback." }]
    await rest.post("/v1/memories", { ...place, threadId: "before", conversation, wait: "extraction" })
    const asked = { query: "Which bike do I ride?", now: "2026-03-01T12:00:00Z" }
    const handed = await mcp.call("memory_context", asked)
    expect(handed.json.text).toContain("## Standing instructions\n- Answer in metric units")
    expect(handed.json.text).toContain("red Ridgeback")
    expect(handed.structured).toEqual((await rest.post("/v1/context", { ...place, ...asked })).body)
    const here = await mcp.call("memory_context", { ...asked, threadId: "today", sections: ["found"] })
    expect(here.text).not.toContain("red Ridgeback")
    const json = await mcp.call("memory_context", { ...asked, format: "json" })
    expect(json.json.sections).toEqual(json.structured.sections)
  })
})

describe("the list of tools", () => {
  it("names the fixed tools and one for each built-in kind, with hints, in less than 16 KB", async () => {
    const { mcp, rest } = await newCaller()
    const tools = await mcp.tools()
    expect(tools.map(({ name }) => name)).toEqual([...fixedTools, ...builtinTools])
    for (const tool of tools) {
      expect(tool.inputSchema.type).toBe("object")
      expect(tool.description.length).toBeGreaterThan(40)
      expect(tool.annotations.title).toBe(tool.title)
    }
    const { body } = await server.call("POST", "/mcp", { key: rest.key, body: request("tools/list") })
    expect(JSON.stringify(body).length).toBeLessThan(16_000)
    const readOnly = tools.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name)
    expect(readOnly).toEqual(["memory_context", "memory_search", "memory_get"])
    const destructive = tools.filter(({ annotations }) => annotations.destructiveHint).map(({ name }) => name)
    expect(destructive).toEqual(["memory_delete", "memory_batch_delete"])
  })

  it("has a schema's tool as soon as it is registered, and no more once it is deleted", async () => {
    const { mcp, rest } = await newCaller()
    const schema = schemaText({ amount: { type: "number" }, agentId: text }, { required: ["amount", "agentId"] })
    await rest.post("/v1/schemas", { name: "BillPayment", description: "A bill that was paid", schema })
    const tool = (await mcp.tools()).find(({ name }) => name === "write_bill_payment")
    expect(tool?.description).toContain("A bill that was paid")
    expect(tool?.inputSchema.properties).toMatchObject({
      amount: { type: "number" },
      agentId: { type: "string" },
      subjectId: {},
      threadId: {},
      ttl: {},
      expiresAt: {},
      data: { properties: { agentId: text }, required: ["agentId"] }
    })
    expect(tool?.inputSchema.required).toEqual(["amount", "agentId", "data"])
    const given = { agentId: "a", amount: 7, data: { agentId: "the payer's agent" } }
    const written = await mcp.call("write_bill_payment", given)
    expect(written.json).toMatchObject({
      success: true,
      memories: [{ kind: "BillPayment", data: { amount: 7, agentId: "the payer's agent" } }]
    })
    await rest.call("DELETE", "/v1/schemas/BillPayment")
    expect(await mcp.toolNames()).not.toContain("write_bill_payment")
    await expect(mcp.call("write_bill_payment", given)).rejects.toThrow("there is no tool")
  })

  it("is what all models take, whatever an account registers, and mapped names store the kind's own", async () => {
    const { mcp, rest } = await newCaller()
    const line = { type: "object", properties: { "item no": text, größe: { type: ["number", "null"] } } }
    const schema = schemaText(
      {
        "due on": { type: "string", format: "date" },
        $id: text,
        名前: text,
        lines: { type: "array", items: { $ref: "#/$defs/line" } },
        pair: { type: "array", prefixItems: [text, { type: "number" }] }
      },
      { required: ["due on", "名前"], $defs: { line }, patternProperties: { "^x-": text } }
    )
    const registered = await rest.post("/v1/schemas", { name: "odd", description: "Odd names", schema })
    expect(registered.body).toMatchObject({ success: true })
    const tools = await mcp.tools()
    expect(tools.flatMap(toolFaults)).toEqual([])
    const tool = tools.find(({ name }) => name === "write_odd")
    expect(tool?.inputSchema.required).toEqual(["due_on", "property", "agentId"])
    const lines = [{ item_no: "a", gro_e: null }, { "item no": "b" }]
    const given = { agentId: "a", due_on: "2026-01-31", id: "7", property: "Aiko", lines, pair: ["x", 1] }
    const { memories } = (await mcp.call("write_odd", given)).json
    expect(memories[0].data).toEqual({
      "due on": "2026-01-31",
      $id: "7",
      名前: "Aiko",
      lines: [{ "item no": "a", größe: null }, { "item no": "b" }],
      pair: ["x", 1]
    })
  })

  it("stays what all models take with thirty odd kinds, and grows by no more than they say", async () => {
    const { mcp, rest } = await newCaller()
    for (let at = 0; at < 30; at++) {
      const properties = {
        [`größe ${at}`]: { type: ["number", "null"], minimum: at },
        "when?": { anyOf: [{ type: "string", format: "date" }, { $ref: "#/$defs/day" }] },
        ttl: text
      }
      const $defs = { day: { type: "object", properties: { day: { const: at } }, additionalProperties: false } }
      const schema = schemaText(properties, { $defs, required: ["when?"], oneOf: [{ required: ["ttl"] }] })
      await rest.post("/v1/schemas", { name: `Odd.kind-${at}`, description: `Odd kind ${at}`, schema })
    }
    const tools = await mcp.tools()
    expect(tools.length).toBe(fixedTools.length + builtinTools.length + 30)
    expect(tools.flatMap(toolFaults)).toEqual([])
    const odd = tools.slice(-30).map((tool) => JSON.stringify(tool).length)
    expect(Math.max(...odd)).toBeLessThan(1_500)
    // What is the same in all tools that write is described in one.
    const described = tools.filter(({ inputSchema }) => inputSchema.properties.ttl?.description !== undefined)
    expect(described.map(({ name }) => name)).toEqual(["memory_create"])
  })

  it("has no tool for a kind that says so, as those of the adapters do", async () => {
    const { mcp, rest } = await newCaller()
    const schema = schemaText({ path: text }, { "x-tool": false })
    await rest.post("/v1/schemas", { name: "memory_file", description: "Files of a program", schema })
    expect(await mcp.toolNames()).toEqual([...fixedTools, ...builtinTools])
    await expect(mcp.call("write_memory_file", { agentId: "a", path: "x" })).rejects.toThrow("there is no tool")
    expect((await rest.create("a", [{ kind: "memory_file", data: { path: "x" } }])).length).toBe(1)
  })

  it("comes in pages when the schemas are large, each tool once", async () => {
    const { mcp, rest } = await newCaller()
    const schema = schemaText({ a: { ...text, description: "x".repeat(60_000) } })
    for (let at = 0; at < 12; at++) await rest.post("/v1/schemas", { name: `large${at}`, description: "d", schema })
    const names: Array<string> = []
    let pages = 0
    for (let cursor: string | undefined; pages === 0 || cursor !== undefined; pages++) {
      const page = await mcp.client.listTools(cursor === undefined ? {} : { cursor })
      names.push(...page.tools.map(({ name }) => name))
      cursor = page.nextCursor
    }
    expect(pages).toBe(2)
    expect(names).toHaveLength(fixedTools.length + builtinTools.length + 12)
    expect(new Set(names).size).toBe(names.length)
  })

  it("asks for no agentId where a header gives it", async () => {
    const { mcp } = await newCaller({ "x-agent-id": "from-header" })
    const tool = (await mcp.tools()).find(({ name }) => name === "write_factual_memory")
    expect(tool?.inputSchema.required).toEqual(["subject", "fact"])
  })

  it("shows an account nothing of another", async () => {
    const mine = await newCaller()
    const other = await newCaller()
    await mine.rest.post("/v1/schemas", { name: "secret", description: "Mine", schema: schemaText({}) })
    expect(await mine.mcp.toolNames()).toContain("write_secret")
    expect(await other.mcp.toolNames()).not.toContain("write_secret")
    const id = await idOf(mine.mcp)
    for (const name of ["memory_get", "memory_delete"]) {
      expect((await other.mcp.call(name, { id })).json.code).toBe("memory_not_found")
    }
    expect((await other.mcp.call("memory_search", { query: "Seattle" })).json.memories).toEqual([])
    expect((await other.mcp.call("memory_batch_delete", { ids: [id] })).json.deleted).toBe(0)
    expect((await mine.mcp.call("memory_get", { id })).json.memory.data).toEqual(seattle)
  })
})

describe("a call", () => {
  it("writes, finds, reads, changes and deletes a memory", async () => {
    const { mcp, rest } = await newCaller()
    const written = await mcp.call("write_factual_memory", { agentId: "a", subjectId: "u", ttl: "1h", ...seattle })
    expect(written.isError).toBe(false)
    const { id } = written.json.memories[0]
    const entry = { id, kind: "factual_memory", data: seattle, metadata: { subjectId: "u" } }
    expect(written.json).toMatchObject({ success: true, memories: [entry], created: [entry], updated: [] })
    expect(written.meta["muniment/credits"]).toMatchObject({ charged: 5 })

    const found = await mcp.call("memory_search", { query: "where does Alice live", kind: "factual_memory" })
    expect(found.json).toMatchObject({ success: true, memories: [{ id }], searchedAt: expect.any(String) })

    const changed = await mcp.call("memory_update", { id, tags: ["home"], expiresAt: null })
    expect(changed.json.memory.context.tags).toEqual(["home"])
    const tagged = await mcp.call("memory_search", { query: "Alice", tags: ["work", "home"], agentId: "a" })
    expect(tagged.json.memories).toHaveLength(1)
    expect((await mcp.call("memory_search", { query: "Alice", tags: "home, x" })).json.memories).toHaveLength(1)

    const data = { subject: "Alice", fact: "Alice lives in Tacoma" }
    const corrected = await mcp.call("memory_update", { id, data })
    expect(corrected.json.memory).toMatchObject({ id, data, context: { tags: ["home"] } })
    expect(corrected.meta["muniment/credits"]).toMatchObject({ charged: 5 })

    const read = await mcp.call("memory_get", { id })
    expect(read.json).toEqual(shortened({ success: true, memory: await rest.get(id) }))
    expect((await mcp.call("memory_delete", { id })).json).toEqual({ success: true, deleted: 1 })
    expect((await mcp.call("memory_get", { id })).json.code).toBe("memory_not_found")
  })

  it("stores several memories at once, all or none", async () => {
    const { mcp } = await newCaller()
    const fact = { kind: "factual_memory", data: seattle }
    const stored = await mcp.call("memory_create", {
      agentId: "a",
      memories: [fact, { ...fact, data: { subject: "Alice", fact: "Alice rows" } }]
    })
    expect(stored.json.created).toHaveLength(2)
    const refused = await mcp.call("memory_create", { agentId: "a", memories: [fact, { kind: "none", data: {} }] })
    expect(refused).toMatchObject({ isError: true, json: { success: false, code: "unknown_kind" } })
    expect((await mcp.call("memory_search", { query: "Alice" })).json.memories).toHaveLength(2)
  })

  it("reads a conversation once, and answers and maps what it read", async () => {
    const { mcp } = await newCaller({ "x-agent-id": "a" })
    const conversation = [{ id: "m1", role: "user", content: "My name is Alice and I live in Seattle." }]
    const read = await mcp.call("memory_create", { conversation, wait: "extraction" })
    expect(read.json, JSON.stringify(read.json)).toMatchObject({ success: true })
    expect(read.json.created.map(({ data }: { readonly data: object }) => data)).toContainEqual(
      expect.objectContaining({ fact: expect.stringContaining("Seattle") })
    )
    const again = await mcp.call("memory_create", { conversation })
    expect(again.json).toMatchObject({ success: true, created: [], skippedMessages: 1 })
    expect(again.json.existing).toEqual(read.json.created)
    const answered = await mcp.call("memory_search", { query: "Where does Alice live?", mode: "answer" })
    expect(answered.json).toMatchObject({ grounded: true, answer: expect.stringContaining("Seattle") })
    const found = answered.json.memories.map(({ id }: { readonly id: string }) => id)
    expect(found).toEqual(expect.arrayContaining(answered.json.citations))
    const mapped = await mcp.call("memory_search", { query: "Alice", mode: "map" })
    expect(mapped.json.memoryMap).toContain(read.json.created[0].id)
  })

  it("deletes many by ids or by filters, and counts only when asked to", async () => {
    const { mcp } = await newCaller()
    const [first, second] = [await idOf(mcp), await idOf(mcp, { subjectId: "u" })]
    const rehearsed = await mcp.call("memory_batch_delete", { filters: { subjectId: "u" }, dryRun: true })
    expect(rehearsed.json).toMatchObject({ success: true, deleted: 1, dryRun: true })
    expect(rehearsed.meta["muniment/credits"].charged).toBe(1)
    const filters = { subjectId: "u", agentId: "a" }
    expect((await mcp.call("memory_batch_delete", { filters, versions: null })).json.deleted).toBe(1)
    expect((await mcp.call("memory_batch_delete", { ids: [first, second, first] })).json.deleted).toBe(1)
  })

  it("deletes nothing by what only headers or mistakes say", async () => {
    const { mcp } = await newCaller({ "x-agent-id": "a" })
    const id = await idOf(mcp)
    for (const given of [{}, { dryRun: true }, { agentId: null }, { filters: {} }, { filters: { agentId: null } }]) {
      expect((await mcp.call("memory_batch_delete", given)).json.code).toBe("invalid_request")
    }
    // Only within `filters`, beside what else there is too: ignored it would delete more than was meant.
    for (const given of [{}, { ids: [id] }, { filters: { agentId: "a" } }]) {
      const { json } = await mcp.call("memory_batch_delete", { ...given, kinds: "none" })
      expect([json.code, json.error]).toEqual(["unknown_parameter", expect.stringContaining('"filters/kind"')])
    }
    expect((await mcp.call("memory_batch_delete", { ids: [id], all: true })).json.code).toBe("unknown_parameter")
    const both = await mcp.call("memory_batch_delete", { ids: [id], filters: { subjectId: "u" } })
    expect(both.json.code).toBe("invalid_filters")
    expect((await mcp.call("memory_batch_delete", { filters: "all" })).json.code).toBe("invalid_filters")
    // The header narrows filters too, unless they lift it.
    const ofOther = { subjectId: "s" }
    const other = await idOf(mcp, { agentId: "b", ...ofOther })
    expect((await mcp.call("memory_batch_delete", { filters: ofOther })).json.deleted).toBe(0)
    const lifted = await mcp.call("memory_batch_delete", { filters: { ...ofOther, agentId: null } })
    expect([lifted.json.deleted, (await mcp.call("memory_get", { id: other })).isError]).toEqual([1, true])
    expect((await mcp.call("memory_get", { id })).isError).toBe(false)
    expect((await mcp.call("memory_batch_delete", { ids: [id] })).json.deleted).toBe(1)
  })

  it("takes agent, subject and thread from headers; arguments win, and null lifts them", async () => {
    const { mcp } = await newCaller({ "x-agent-id": "h", "x-subject-id": "hs", "x-thread-id": "ht" })
    const written = await mcp.call("write_factual_memory", seattle)
    expect(written.json.memories[0].metadata).toMatchObject({ agentId: "h", subjectId: "hs", threadId: "ht" })
    const other = await mcp.call("write_factual_memory", { ...seattle, agentId: "x", subjectId: "xs", threadId: null })
    expect(other.json.memories[0].metadata).toMatchObject({ agentId: "x", subjectId: "xs" })
    expect(other.json.memories[0].metadata.threadId).toBeUndefined()
    const count = async (given: object) =>
      (await mcp.call("memory_search", { query: "Alice", ...given })).json.memories.length
    expect(await count({})).toBe(1)
    expect(await count({ agentId: null, subjectId: null, threadId: null })).toBe(2)
  })

  it("repeated under one key is one call, another under that key a conflict", async () => {
    const { mcp } = await newCaller()
    const meta = { "muniment/idempotency-key": "k1" }
    const first = await mcp.call("write_factual_memory", { agentId: "a", ...seattle }, meta)
    const again = await mcp.call("write_factual_memory", { agentId: "a", ...seattle }, meta)
    expect(again.json).toEqual(first.json)
    expect(again.meta).toEqual({ "muniment/idempotency-replayed": true })
    const other = await mcp.call("write_factual_memory", { agentId: "b", ...seattle }, meta)
    expect(other.json.code).toBe("idempotency_conflict")
    const failed = await mcp.call("memory_delete", { id: "mem_none" }, { "muniment/idempotency-key": 7 })
    expect(failed.json.code).toBe("invalid_request")
  })

  it("searches what others share when grants come along", async () => {
    const alice = evmWallet("mcp alice")
    const bob = solWallet("mcp bob")
    await walletCalls(server, alice).create("a", [{ kind: "factual_memory", data: seattle }])
    const grant = await signedGrant(alice, { g: bob.wallet.address })
    const mcp = await walletCaller(server, bob, grantsHeader([grant]))
    const found = await mcp.call("memory_search", { query: "Alice", scope: "shared" })
    expect(found.json.memories).toMatchObject([{ source: "shared", grantor: alice.wallet.address, data: seattle }])
    const without = await walletCaller(server, bob)
    expect((await without.call("memory_search", { query: "Alice", scope: "shared" })).json.code).toBe("grants_required")
  })

  it("by a wallet reaches the same account as the wallet's requests of REST", async () => {
    for (const wallet of [evmWallet("mcp carol"), solWallet("mcp carol")]) {
      const mcp = await walletCaller(server, wallet)
      const id = await idOf(mcp)
      expect((await walletCalls(server, wallet).get(id)).data).toEqual(seattle)
    }
  })
})

describe("a failing call", () => {
  it.each([
    ["an agent that nobody named", "write_factual_memory", seattle, "invalid_request", "agentId"],
    [
      "data against the kind's schema",
      "write_factual_memory",
      { agentId: "a", subject: 7 },
      "schema_validation_failed"
    ],
    ["a duration that is none", "write_factual_memory", { agentId: "a", ...seattle, ttl: "soon" }, "invalid_duration"],
    ["data that is no object", "write_factual_memory", { agentId: "a", data: [] }, "invalid_request", "/data"],
    ["a search without a query", "memory_search", {}, "invalid_request", "/query"],
    ["a limit out of range", "memory_search", { query: "x", limit: 0 }, "invalid_request", "/limit"],
    ["a limit that is text", "memory_search", { query: "x", limit: "5" }, "invalid_request", "/limit"],
    ["a tag with a comma", "memory_search", { query: "x", tags: ["a,b"] }, "invalid_tag", "/tags"],
    ["an unknown mode", "memory_search", { query: "x", mode: "all" }, "invalid_request", "/mode"],
    ["both modes of creating", "memory_create", { agentId: "a" }, "invalid_request"],
    ["too many ids", "memory_batch_delete", { ids: Array(101).fill("x") }, "batch_too_large"],
    ["a change of its kind", "memory_update", { id: "mem_x", kind: "x" }, "unknown_parameter", "kind"],
    ["a change of nothing", "memory_update", { id: "mem_x" }, "invalid_request"],
    ["a memory that is not there", "memory_update", { id: "mem_x", tags: [] }, "memory_not_found"],
    ["an id that is a number", "memory_get", { id: 7 }, "invalid_request", "/id"]
  ])("by %s says so to the agent, with the code of REST", async (_, name, given, code, place = "") => {
    const { mcp } = await newCaller()
    const { isError, json, meta } = await mcp.call(name, given)
    expect(isError).toBe(true)
    expect(json).toMatchObject({ success: false, code, error: expect.stringContaining(place) })
    expect(meta).toEqual({})
  })

  it("costs nothing", async () => {
    const { mcp, rest } = await newCaller()
    const before = (await rest.call("GET", "/v1/credits")).body
    await mcp.call("write_factual_memory", { agentId: "a" })
    await mcp.call("memory_get", { id: "mem_x" })
    await mcp.tools()
    expect((await rest.call("GET", "/v1/credits")).body).toEqual(before)
  })
})
