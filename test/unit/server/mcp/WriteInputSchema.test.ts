/** What an agent is shown of a kind's schema: a plain object, nothing that a model provider refuses. */
import { expect, it } from "@effect/vitest"
import { writeInputSchema } from "@muniment/server/mcp/MemoryTool"

const shownFor = (schema: object) =>
  writeInputSchema({ name: "k", description: "d", schema: JSON.stringify({ type: "object", ...schema }) })

it("the kind's properties stand beside those of every write", () => {
  const shown = shownFor({ properties: { amount: { type: "number" } }, required: ["amount"] })
  expect(Object.keys(shown["properties"] ?? {})).toEqual([
    "amount",
    "agentId",
    "subjectId",
    "threadId",
    "tags",
    "ttl",
    "expiresAt"
  ])
  expect(shown["required"]).toEqual(["amount", "agentId"])
})

it("properties whose names are taken stand under `data`, which is required when one of them is", () => {
  const shown = shownFor({ properties: { ttl: { type: "number" }, data: { type: "string" } }, required: ["data"] })
  expect(shown["properties"]).toMatchObject({
    ttl: { type: "string" },
    data: { type: "object", properties: { ttl: { type: "number" }, data: { type: "string" } }, required: ["data"] }
  })
  expect(shown["required"]).toEqual(["agentId", "data"])
})

it("tags that a kind declares are its own", () => {
  const own = { type: "string", description: "as the kind has it" }
  expect(shownFor({ properties: { tags: own } })["properties"]).toMatchObject({ tags: own })
  expect(shownFor({ properties: { tags: own } })["properties"]).not.toHaveProperty("data")
})

it("references are written out, combinators and rules of the root go", () => {
  const $defs = { m: { type: "number" } }
  const rest = { anyOf: [{ required: ["a"] }], if: {}, then: {}, $id: "x", not: {}, dependentRequired: {}, $defs }
  const shown = shownFor({ properties: { a: { $ref: "#/$defs/m" } }, additionalProperties: false, ...rest })
  expect(shown).toMatchObject({ type: "object", properties: { a: { type: "number" } } })
  expect(Object.keys(shown)).toEqual(["type", "properties", "required"])
})

it("a property named like a member of every object is a property", () => {
  const shown = shownFor({ properties: { constructor: { type: "string" }, toString: {} }, required: ["constructor"] })
  expect(Object.keys(shown["properties"] ?? {})).toContain("constructor")
  expect(shown["required"]).toEqual(["constructor", "agentId"])
})
