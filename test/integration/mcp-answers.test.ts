/**
 * What tools of MCP answer, beside the same request of REST (contract: MCP): the same names and shapes as structured
 * content, and the same as text; of searches less.
 */
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { accountCalls, fact, schemaText, text } from "../support/MemoryCalls.ts"
import { mcpCaller, shortened } from "../support/McpCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"

type Json = Answer["body"]

const server = useSharedServer(withoutModel)

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
      expect(comparable(structured)).toEqual(comparable(shortened(body)))
      expect(JSON.stringify(structured)).toContain("Alice")
    }
    const { body: listed } = await rest.call("GET", "/v1/memories?include=messages")
    const { id } = listed.memories[0]
    expect((await mcp.call("memory_get", { id })).structured).toEqual(
      shortened((await rest.call("GET", `/v1/memories/${id}`)).body)
    )
  })

  it("of changes", async () => {
    const tools = await newCaller("mcp answers changes")
    const calls = await newCaller("rest answers changes")
    const both = async (tool: string, given: object, method: string, path: string, body?: object) => {
      const { structured } = await tools.mcp.call(tool, given)
      const answer = await calls.rest.call(method, path, body === undefined ? {} : { body })
      expect(answer.status).toBe(200)
      expect(comparable(structured)).toEqual(comparable(shortened(answer.body)))
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
    expect(comparable(structured)).toEqual(comparable(shortened({ ...body, memories: body.created })))
  })
})

describe("a search's answer to a model", () => {
  const sentence = (at: number): string => `Sentence ${at} of the report is about the weather in the north.`
  const report = Array.from({ length: 200 }, (_, at) => (at === 120 ? "The zither was stolen." : sentence(at))).join(
    " "
  )

  it("has of a long message the passage that was found, and says so; memory_get and the resource have the whole", async () => {
    const { mcp, rest } = await newCaller("mcp answers passages")
    const sent = [{ id: "m1", role: "user", content: report }]
    await rest.post("/v1/memories", { agentId: "a", threadId: "t", conversation: sent, wait: "extraction" })
    const given = { query: "who took the zither", agentId: "a", include: "messages" }
    const [hit] = (await mcp.call("memory_search", given)).json.memories
    expect(hit).toMatchObject({
      isClipped: true,
      data: { role: "user", text: expect.stringContaining("zither was stolen") }
    })
    expect(hit.data.text).toBe(`…${report.slice(hit.passage.start, hit.passage.end)}…`)
    expect(hit.data.text.length).toBeLessThanOrEqual(Limits.passageLengthMax + 2)
    expect(hit.metadata).not.toHaveProperty("text")
    expect((await mcp.call("memory_get", { id: hit.id })).json.memory.data.text).toBe(report)
    const prompt = await mcp.client.getPrompt({ name: "recall", arguments: { query: "zither", agentId: "a" } })
    const embedded = prompt.messages.flatMap(({ content }) => (content.type === "resource" ? [content.resource] : []))
    expect(JSON.parse(String((embedded[0] as Json).text))).toMatchObject({ id: hit.id, isClipped: true })
    const { contents } = await mcp.client.readResource({ uri: embedded[0]!.uri })
    expect(JSON.parse(String((contents[0] as Json).text)).memory.data.text).toBe(report)
  })

  it("has of other long data the beginnings, each marked and all within a bound; short data are whole", async () => {
    const { mcp, rest } = await newCaller("mcp answers long data")
    const schema = schemaText({ title: text, body: text, rows: { type: "array" }, last: text })
    await rest.post("/v1/schemas", { name: "sheet", description: "A sheet", schema })
    const rows = Array.from({ length: 1_500 }, (_, at) => ({ at, name: `row ${at}` }))
    const data = { title: "Zither sheet", body: "😀".repeat(1_000), rows, last: "end" }
    const small = { title: "Zither note", rows: [{ at: 1, name: null }, []], last: "end" }
    await rest.post("/v1/memories", {
      agentId: "a",
      memories: [data, small].map((one) => ({ kind: "sheet", data: one }))
    })
    const { json } = await mcp.call("memory_search", { query: "zither", agentId: "a" })
    const found: ReadonlyArray<Json> = json.memories
    const whole = found.find((hit) => hit.data.title === small.title)
    expect([whole?.data, whole?.isClipped]).toEqual([small, undefined])
    const cut = found.find((hit) => hit.data.title === data.title)
    expect(cut).toMatchObject({ isClipped: true, data: { body: `${"😀".repeat(399)}…` } })
    expect(cut?.data.rows.slice(0, 20)).toEqual(rows.slice(0, 20))
    expect(cut?.data).not.toHaveProperty("last")
    expect(JSON.stringify(cut?.data).length).toBeLessThan(2 * Limits.shortDataLengthMax)
    expect((await mcp.call("memory_get", { id: cut?.id })).json.memory.data).toEqual(data)
    const patched = (await mcp.call("memory_update", { id: cut?.id, data: { ...data, title: "Zither table" } })).json
    expect(patched.memory).toMatchObject({ isClipped: true, data: { title: "Zither table", body: cut?.data.body } })
    const written = (await mcp.call("write_sheet", { agentId: "b", ...data })).json
    for (const list of [written.memories, written.created]) {
      expect(list).toMatchObject([{ isClipped: true, data: { body: cut?.data.body } }])
      expect(list[0].metadata).not.toHaveProperty("body")
    }
    const answered = (await mcp.call("memory_search", { query: "zither sheet", agentId: "a", mode: "answer" })).json
    const shown: ReadonlyArray<Json> = [...answered.memories, ...(answered.hits ?? [])]
    expect(shown.length).toBeGreaterThan(0)
    for (const hit of shown) expect(hit.isClipped).toBe(hit.data.title === data.title ? true : undefined)
  })
})
