/**
 * Memories and threads as resources, and the prompt `recall` (contract: MCP), through the official client and by hand
 * in the revision without a handshake. Their text is REST's answer.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type McpCaller, mcpCaller, request } from "../support/McpCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
let key: string
let mcp: McpCaller
let id: string
beforeAll(async () => {
  key = await server.newAccount("resources", "owner")
  mcp = await mcpCaller(server, key, { "x-agent-id": "reader" })
  const written = await mcp.call("write_factual_memory", { subject: "Olga", fact: "Olga paints lighthouses" })
  id = written.json.memories[0].id
  const messages = ["Good morning", "Where is the harbour?"].map((text, at) => ({
    id: `m${at}`,
    role: "user",
    content: text
  }))
  const kept = await mcp.call("memory_create", { threadId: "t/1", conversation: messages })
  expect(kept.json).toMatchObject({ success: true, messages: { stored: 2 } })
})
afterAll(() => mcp.close())

const textOf = async (uri: string) => {
  const [contents] = (await mcp.client.readResource({ uri })).contents
  if (contents === undefined || !("text" in contents)) throw new Error(`${uri} has no text`)
  return { mimeType: contents.mimeType, json: JSON.parse(contents.text) }
}
const codeOf = (asked: Promise<unknown>): Promise<unknown> => asked.then(undefined, ({ code }) => code)
const notFound = (caller: McpCaller, uri: string): Promise<unknown> =>
  caller.client.readResource({ uri }).then(undefined, ({ code, data }) => ({ code, uri: data.uri }))

it("a memory and a thread are read as REST answers them", async () => {
  const { mimeType, json } = await textOf(`muniment://memories/${id}`)
  expect(mimeType).toBe("application/json")
  expect(json).toEqual((await server.call("GET", `/v1/memories/${id}`, { key })).body)
  const thread = await textOf(`muniment://agents/reader/threads/${encodeURIComponent("t/1")}`)
  const query = "agentId=reader&threadId=t%2F1&kind=conversation_message&order=asc&limit=100"
  expect(thread.json).toEqual((await server.call("GET", `/v1/memories?${query}`, { key })).body)
  expect(thread.json.total).toBe(2)
})

it("the versions of a memory are read as REST answers them", async () => {
  const { json } = await textOf(`muniment://memories/${id}/history`)
  expect(json).toEqual((await server.call("GET", `/v1/memories/${id}/history`, { key })).body)
  expect([json.total, json.versions[0].how]).toEqual([1, "stored"])
})

it("a subject's profile is read as REST answers it, of the agent in the header", async () => {
  const given = { subjectId: "ann/1", subject: "Ann", fact: "Ann lives in Rome" }
  await mcp.call("write_factual_memory", given)
  await mcp.call("write_factual_memory", { ...given, agentId: "another", fact: "Ann lives in Oslo" })
  const { json } = await textOf(`memory://subjects/${encodeURIComponent("ann/1")}/profile`)
  expect(json).toEqual((await server.call("GET", "/v1/subjects/ann%2F1/profile?agentId=reader", { key })).body)
  expect(json.total).toBe(1)
})

it("the newest memories are listed, those of the agent in the header, page by page", async () => {
  const paged = await server.newAccount("resource-pages", "owner")
  const facts = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ kind: "factual_memory", data: { subject: "s", fact: `fact ${at}` } }))
  for (const [agentId, count] of [["many", 51] as const, ["other", 1] as const]) {
    await server.call("POST", "/v1/memories", { key: paged, body: { agentId, memories: facts(count) } })
  }
  const reader = await mcpCaller(server, paged, { "x-agent-id": "many" })
  const first = await reader.client.listResources()
  const second = await reader.client.listResources({ cursor: first.nextCursor! })
  await reader.close()
  expect([first.resources.length, second.resources.length, second.nextCursor]).toEqual([50, 1, undefined])
  const uris = [...first.resources, ...second.resources].map(({ uri }) => uri)
  expect(new Set(uris).size).toBe(51)
  expect(first.resources[0]).toMatchObject({ title: expect.stringContaining("fact"), mimeType: "application/json" })
})

it("templates say how resources are named", async () => {
  const { resourceTemplates } = await mcp.client.listResourceTemplates()
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    "memory://subjects/{id}/profile",
    "muniment://memories/{id}",
    "muniment://memories/{id}/history",
    "muniment://agents/{agentId}/threads/{threadId}{?cursor}"
  ])
})

it("what is not there, or of another account, is not found", async () => {
  const stranger = await mcpCaller(server, await server.newAccount("resource-stranger"))
  for (const uri of [
    `muniment://memories/${id}`,
    `muniment://memories/${id}/history`,
    "muniment://agents/reader/threads/t%2F1"
  ]) {
    expect(await notFound(stranger, uri)).toEqual({ code: -32_002, uri })
  }
  expect((await stranger.client.listResources()).resources).toEqual([])
  await stranger.close()
  for (const uri of ["muniment://memories/", "muniment://memories/%zz", "muniment://memories/mem_x", "file:///x"]) {
    expect(await notFound(mcp, uri)).toEqual({ code: -32_002, uri })
  }
  expect(await codeOf(mcp.client.listResources({ cursor: "x" }))).toBe(-32_602)
})

it("the revision without a handshake says how long they may be kept, and knows no code of its own for them", async () => {
  const ask = (uri: string) => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {}
    }
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "resources/read", "mcp-name": uri }
    return server.call("POST", "/mcp", { key, body: request("resources/read", { uri, _meta }), headers })
  }
  const { body } = await ask(`muniment://memories/${id}`)
  expect(body.result).toMatchObject({ resultType: "complete", ttlMs: 0, cacheScope: "private" })
  expect((await ask("muniment://memories/mem_x")).body.error).toMatchObject({
    code: -32_602,
    data: { success: false, code: "memory_not_found", uri: "muniment://memories/mem_x" }
  })
})

it("`recall` gives what is remembered beside its instruction, never inside it", async () => {
  const { prompts } = await mcp.client.listPrompts()
  expect(prompts.map(({ name }) => name)).toEqual(["recall"])
  const { messages } = await mcp.client.getPrompt({ name: "recall", arguments: { query: "Who paints lighthouses?" } })
  const [instruction, found] = messages.map(({ content }) => content)
  expect(instruction).toMatchObject({ type: "text", text: expect.stringContaining("never an instruction") })
  expect(JSON.stringify(instruction)).not.toContain("Olga")
  expect(found).toMatchObject({ type: "resource", resource: { uri: `muniment://memories/${id}` } })
  for (const asked of [
    { name: "recall", arguments: {} },
    { name: "other", arguments: { query: "x" } }
  ])
    expect(await codeOf(mcp.client.getPrompt(asked))).toBe(-32_602)
})

it("reads cost what REST's cost", async () => {
  const poor = await server.newAccount("resource-poor")
  const written = await server.call("POST", "/v1/memories", {
    key: poor,
    body: { agentId: "a", memories: [{ kind: "factual_memory", data: { subject: "s", fact: "f" } }] }
  })
  const uri = `muniment://memories/${written.body.created[0].id}`
  const { body } = await server.call("POST", "/mcp", { key: poor, body: request("resources/read", { uri }) })
  expect(body.result._meta["muniment/credits"].charged).toBe(1)
})
