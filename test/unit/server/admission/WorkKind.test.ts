/** Kinds and units of work, from what a request shows. */
import { expect, it } from "vitest"
import { unitsIn, workKindOf } from "@muniment/server/admission/WorkKind"

const kind = (method: string, url: string, body: unknown = "") =>
  workKindOf(method, url, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)))
const tool = (name: string, given: object = {}) => ({ method: "tools/call", params: { name, arguments: given } })

it("tells kinds of work apart", () => {
  expect([
    kind("GET", "/v1/memories/search?query=x"),
    kind("GET", "/v1/memories/search?query=x&mode=answer"),
    kind("GET", "/v1/memories/search?mode=map"),
    kind("GET", "/v1/memories/search?query=x&rerank=model"),
    kind("POST", "/v1/memories/search", { query: "x", rerank: "model" }),
    kind("POST", "/mcp", tool("memory_search", { rerank: "model" })),
    kind("POST", "/v1/memories/batch/search", { queries: [{ query: "x", mode: "answer" }] }),
    kind("POST", "/v1/memories/search", { query: "x" }),
    kind("POST", "/v1/memories/search", { query: "x", mode: "answer" }),
    kind("POST", "/v1/memories/search", { mode: "map" }),
    kind("GET", "/v1/memories?limit=3"),
    kind("POST", "/v1/memories", { memories: [{ data: { fact: 'says "conversation"' } }] }),
    kind("POST", "/v1/memories", { conversation: [] }),
    kind("DELETE", "/v1/memories/1"),
    kind("POST", "/mcp", tool("memory_search")),
    kind("POST", "/mcp", tool("memory_search", { mode: "map" })),
    kind("POST", "/mcp", tool("memory_create", { conversation: [] })),
    kind("POST", "/mcp", tool("write_note"))
  ]).toEqual([
    "search",
    "answer",
    "map",
    "answer",
    "answer",
    "answer",
    "answer",
    "search",
    "answer",
    "map",
    "read",
    "write",
    "conversation",
    "write",
    "search",
    "map",
    "conversation",
    "write"
  ])
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
