/**
 * What tools of MCP answer, beside the same request of REST (contract: MCP): the same names and shapes as structured
 * content, and the same as text.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { accountCalls, fact } from "../support/MemoryCalls.ts"
import { mcpCaller } from "../support/McpCalls.ts"
import { sharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer, ServerCalls } from "../support/TestServer.ts"

type Json = Answer["body"]

let server: ServerCalls
beforeAll(async () => {
  server = await sharedServer(withoutModel)
})

const newCaller = async (name: string) => {
  const rest = await accountCalls(server, name)
  return { rest, mcp: await mcpCaller(server, rest.key) }
}

/** What differs from call to call, named by what it is: ids and versions, times. */
const comparable = (value: Json, name = ""): Json => {
  if (Array.isArray(value)) return value.map((item) => comparable(item, name))
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, comparable(inner, key)]))
  }
  return ["id", "version", "createdAt", "updatedAt", "searchedAt", "supersedes"].includes(name) ? typeof value : value
}

const jasmine = fact("tea", "Alice drinks jasmine tea")
const conversation = [
  { id: "m1", role: "user", content: "My name is Alice and I live in Seattle." },
  { id: "m2", role: "assistant", content: "Noted." }
]

describe("a tool answers what REST answers", () => {
  it("of searches in each mode, and of reads", async () => {
    const { mcp, rest } = await newCaller("mcp answers reads")
    await rest.post("/v1/memories", { agentId: "a", memories: [jasmine] })
    await rest.post("/v1/memories", { agentId: "a", threadId: "t", conversation, wait: "extraction" })
    for (const mode of ["llm", "answer", "map"]) {
      const given = { query: "Where does Alice live?", agentId: "a", mode }
      const { body } = await rest.call("GET", `/v1/memories/search?${new URLSearchParams(given).toString()}`)
      const { structured } = await mcp.call("memory_search", given)
      expect(comparable(structured)).toEqual(comparable(body))
      expect(JSON.stringify(body)).toContain("Alice")
    }
    const { body: listed } = await rest.call("GET", "/v1/memories?include=messages")
    const { id } = listed.memories[0]
    expect((await mcp.call("memory_get", { id })).structured).toEqual(
      (await rest.call("GET", `/v1/memories/${id}`)).body
    )
  })

  it("of changes", async () => {
    const tools = await newCaller("mcp answers changes")
    const calls = await newCaller("rest answers changes")
    const both = async (tool: string, given: object, method: string, path: string, body?: object) => {
      const { structured } = await tools.mcp.call(tool, given)
      const answer = await calls.rest.call(method, path, body === undefined ? {} : { body })
      expect(answer.status).toBe(200)
      expect(comparable(structured)).toEqual(comparable(answer.body))
      return [structured, answer.body] as const
    }
    const create = { agentId: "a", memories: [jasmine, fact("boat", "Alice rows")], onDuplicate: "return" }
    const [made, posted] = await both("memory_create", create, "POST", "/v1/memories", create)
    await both("memory_create", create, "POST", "/v1/memories", create)
    const reading = { agentId: "a", conversation, wait: "extraction" }
    await both("memory_create", reading, "POST", "/v1/memories", reading)
    await both("memory_create", reading, "POST", "/v1/memories", reading)
    const ids = [made.created[0].id, posted.created[0].id] as const
    const patch = { tags: ["home"], expiresAt: 1_893_456_000_000 }
    await both("memory_update", { id: ids[0], ...patch }, "PATCH", `/v1/memories/${ids[1]}`, patch)
    const kept = { filters: { kind: "factual_memory" }, dryRun: true }
    const batch = "/v1/memories/batch/delete"
    await both("memory_batch_delete", kept, "POST", batch, kept)
    await both("memory_delete", { id: ids[0] }, "DELETE", `/v1/memories/${ids[1]}?versions=all`)
    const [first, second] = [made.created[1].id, posted.created[1].id]
    await both("memory_batch_delete", { ids: [first, "mem_x"] }, "POST", batch, { ids: [second, "mem_x"] })
    const { data } = fact("car", "Alice drives")
    const write = { agentId: "a", memories: [{ kind: "factual_memory", data }], onDuplicate: "return" }
    const { structured } = await tools.mcp.call("write_factual_memory", { agentId: "a", ...data })
    const { body } = await calls.rest.call("POST", "/v1/memories", { body: write })
    // One list of what was created, updated or known before.
    expect(comparable(structured)).toEqual(comparable({ ...body, memories: body.created }))
  })
})
