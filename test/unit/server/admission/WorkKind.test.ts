/** Kinds and units of work, from what a request shows. */
import { expect, it } from "vitest"
import { unitsIn, workKindOf } from "@muniment/server/admission/WorkKind"

const kind = (method: string, url: string, body: unknown = "") =>
  workKindOf(method, url, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)))
const tool = (name: string, given: object = {}) => ({ method: "tools/call", params: { name, arguments: given } })

it("tells kinds of work apart", () => {
  const rows: ReadonlyArray<readonly [kind: string, ...Parameters<typeof kind>]> = [
    ["search", "GET", "/v1/memories/search?query=x"],
    ["answer", "GET", "/v1/memories/search?query=x&mode=answer"],
    ["map", "GET", "/v1/memories/search?mode=map"],
    ["answer", "GET", "/v1/memories/search?query=x&rerank=model"],
    ["answer", "POST", "/v1/memories/search", { query: "x", rerank: "model" }],
    ["answer", "POST", "/mcp", tool("memory_search", { rerank: "model" })],
    ["answer", "POST", "/v1/memories/batch/search", { queries: [{ query: "x", mode: "answer" }] }],
    ["search", "POST", "/v1/memories/search", { query: "x" }],
    ["answer", "POST", "/v1/memories/search", { query: "x", mode: "answer" }],
    ["map", "POST", "/v1/memories/search", { mode: "map" }],
    ["read", "GET", "/v1/memories?limit=3"],
    ["write", "POST", "/v1/memories", { memories: [{ data: { fact: 'says "conversation"' } }] }],
    ["conversation", "POST", "/v1/memories", { conversation: [] }],
    ["write", "DELETE", "/v1/memories/1"],
    ["search", "POST", "/mcp", tool("memory_search")],
    ["map", "POST", "/mcp", tool("memory_search", { mode: "map" })],
    ["conversation", "POST", "/mcp", tool("memory_create", { conversation: [] })],
    ["write", "POST", "/mcp", tool("write_note")]
  ]
  for (const [expected, ...request] of rows) expect([kind(...request), ...request]).toEqual([expected, ...request])
})

it("lets deposits wait by themselves", () => {
  expect(kind("POST", "/v1/credits/deposit?amount_usd=1")).toBe("payment")
})

it("counts the messages of a batch", () => {
  const units = (url: string, body: unknown) => unitsIn(url, Buffer.from(JSON.stringify(body, null, 1)), 10)
  expect([
    units("/mcp", [tool("a"), tool("b"), tool("c")]),
    units(
      "/mcp",
      Array.from({ length: 50 }, () => tool("a"))
    ),
    units("/mcp", tool("a")),
    units("/mcp", []),
    units("/v1/memories", [tool("a"), tool("b")])
  ]).toEqual([3, 10, 1, 1, 1])
})
