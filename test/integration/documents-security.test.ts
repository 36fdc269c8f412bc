/** The threat model: each entry names a test that is there, or says that nothing holds it; the lists are complete. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { repository } from "../support/TestServer.ts"

const threatModel = ".github/SECURITY.md"
const read = (file: string): string => readFileSync(join(repository, file), "utf8")

/** Tests that a text names. */
const testsIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/`(test\/[^`]+)`/g), ([, file]) => file!)

/** Entries of the lists below a heading: what the bold words name, and what is said of it. */
const entriesBelow = (heading: string): ReadonlyArray<readonly [point: string, measure: string]> => {
  const [, section = ""] = read(threatModel).split(`## ${heading}\n`)
  const lines = section.split(/^## /m, 1)[0]!.split("\n")
  return lines
    .filter((line) => line.startsWith("- "))
    .map((line) => {
      const [, point = "", measure = ""] = /^- \*\*(.+?)\*\*: (.+)$/.exec(line) ?? []
      return [point, measure]
    })
}

const api = "OWASP API Security Top 10 (2023)"
const llm = "OWASP Top 10 for LLM applications (2025)"
const mcp = "Security best practices of the Model Context Protocol"
const lists = ["Threat model", api, llm, mcp]

describe("the threat model", () => {
  it.each(lists.map((heading) => [heading, entriesBelow(heading)] as const))(
    "has a test in each entry, or says that nothing holds it: %s",
    (_, entries) => {
      expect(entries.length).toBeGreaterThanOrEqual(8)
      for (const [point, measure] of entries) {
        expect(point).not.toBe("")
        const isHeld = testsIn(measure).length > 0
        expect([point, isHeld || /^not held: \S/.test(measure)]).toEqual([point, true])
      }
    }
  )

  it.each([threatModel, "packages/server/docs/security.md"])("names test files that are there: %s", (file) => {
    const named = testsIn(read(file))
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((test) => !test.endsWith(".test.ts") || !existsSync(join(repository, test)))).toEqual([])
  })

  it("goes through every entry of the lists, in their order", () => {
    const numbers = (heading: string) => entriesBelow(heading).map(([point]) => point.split(" ", 1)[0])
    const upTo10 = Array.from({ length: 10 }, (_, at) => at + 1)
    expect(numbers(api)).toEqual(upTo10.map((number) => `API${number}`))
    expect(numbers(llm)).toEqual(upTo10.map((number) => `LLM${String(number).padStart(2, "0")}`))
    expect(entriesBelow(mcp).map(([point]) => point)).toEqual([
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
