/** Names of write tools: snake case, within 64 characters, the same every time, and stable as kinds come. */
import { expect, it } from "@effect/vitest"
import fc from "fast-check"
import { toolName, toolNameLengthMax, writeToolNames } from "@muniment/server/mcp/McpTools"

const kind = (name: string, createdAt?: number) => ({
  name,
  description: "d",
  schema: '{"type":"object"}',
  ...(createdAt !== undefined && { createdAt })
})
const namesOf = (kinds: ReadonlyArray<ReturnType<typeof kind>>) =>
  new Map(Array.from(writeToolNames(kinds), ([tool, { name }]) => [name, tool]))

it.each([
  ["factual_memory", "write_factual_memory"],
  ["BillPayment", "write_bill_payment"],
  ["billPayment", "write_bill_payment"],
  ["HTTPServer2", "write_http_server2"],
  ["a.b-c", "write_a_b_c"],
  ["constructor", "write_constructor"],
  [`a${"b".repeat(63)}`, `write_a${"b".repeat(57)}`]
])("%s becomes %s", (name, expected) => {
  expect(toolName(name)).toBe(expected)
})

it("of kinds with one name in snake case the oldest keeps it, whatever comes later", () => {
  const first = [kind("bill.payment", 1), kind("BillPayment", 2)]
  const before = namesOf(first)
  expect(before.get("bill.payment")).toBe("write_bill_payment")
  expect(before.get("BillPayment")).toMatch(/^write_bill_payment_[0-9a-f]{8}$/)
  const after = namesOf([kind("billPayment", 3), ...first.toReversed()])
  for (const [name, tool] of before) expect(after.get(name)).toBe(tool)
  expect(new Set(after.values()).size).toBe(3)
})

it("a kind named like the hashed name of another gets a name of its own", () => {
  const [, hashed] = namesOf([kind("aB", 1), kind("a_b", 2)])
  const squatter = hashed![1].slice("write_".length)
  const names = namesOf([kind("aB", 1), kind(squatter, 2), kind("a_b", 3)])
  expect(new Set(names.values()).size).toBe(3)
  expect(names.get(squatter)).toBe(hashed![1])
})

it("every kind gets a unique name that all clients accept, in any order of reading", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/), { maxLength: 40 }), (names) => {
      const kinds = names.map((name, at) => kind(name, at % 3))
      const tools = namesOf(kinds)
      expect(tools.size).toBe(names.length)
      expect(new Set(tools.values()).size).toBe(names.length)
      for (const tool of tools.values()) expect(tool).toMatch(/^write_[a-z0-9_]+$/)
      expect(Math.max(0, ...Array.from(tools.values(), (tool) => tool.length))).toBeLessThanOrEqual(toolNameLengthMax)
      expect(namesOf(kinds.toReversed())).toEqual(tools)
    })
  )
})
