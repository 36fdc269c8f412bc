/** The threat model: each row names a test that is there, or says that nothing holds it; the lists are complete. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { repository } from "../support/TestServer.ts"

const threatModel = ".github/SECURITY.md"
const read = (file: string): string => readFileSync(join(repository, file), "utf8")

/** Tests that a text names. */
const testsIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/`(test\/[^`]+)`/g), ([, file]) => file!)

/** Rows of the tables below a heading, as their cells. */
const rowsBelow = (heading: string): ReadonlyArray<ReadonlyArray<string>> => {
  const [, section = ""] = read(threatModel).split(`## ${heading}\n`)
  return section
    .split(/^## /m, 1)[0]!
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter(([first = ""]) => !["they can", "entry", "point"].includes(first))
}

const api = "OWASP API Security Top 10 (2023)"
const llm = "OWASP Top 10 for LLM applications (2025)"
const mcp = "Security best practices of the Model Context Protocol"
const tables = ["Threat model", api, llm, mcp]

describe("the threat model", () => {
  it.each(tables.map((heading) => [heading, rowsBelow(heading)] as const))(
    "has a test in each row, or says that nothing holds it: %s",
    (_, rows) => {
      expect(rows.length).toBeGreaterThanOrEqual(8)
      for (const row of rows) {
        expect(row).toHaveLength(3)
        const [, measure = "", held = ""] = row
        const isHeld = testsIn(held).length > 0
        expect([row, isHeld || /^not held: \S/.test(measure)]).toEqual([row, true])
      }
    }
  )

  it.each([threatModel, "packages/server/docs/security.md"])("names test files that are there: %s", (file) => {
    const named = testsIn(read(file))
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((test) => !test.endsWith(".test.ts") || !existsSync(join(repository, test)))).toEqual([])
  })

  it("goes through every entry of the lists, in their order", () => {
    const numbers = (heading: string) => rowsBelow(heading).map(([entry = ""]) => entry.split(" ", 1)[0])
    const upTo10 = Array.from({ length: 10 }, (_, at) => at + 1)
    expect(numbers(api)).toEqual(upTo10.map((number) => `API${number}`))
    expect(numbers(llm)).toEqual(upTo10.map((number) => `LLM${String(number).padStart(2, "0")}`))
    expect(rowsBelow(mcp).map(([point]) => point)).toEqual([
      "Confused deputy",
      "Token passthrough",
      "Server-side request forgery",
      "Session hijacking",
      "Local server compromise",
      "Scoped receipts for risky calls",
      "Scope minimisation",
      "DNS rebinding and foreign origins",
      "Poisoned tool results"
    ])
  })
})
