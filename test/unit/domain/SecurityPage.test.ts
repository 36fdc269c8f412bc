/**
 * `.github/SECURITY.md`: every risk of the three lists has a row, every row names tests that exist, and the examples of
 * proxies forward what is public and nothing else.
 */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = new URL("../../../", import.meta.url)
const page = readFileSync(new URL(".github/SECURITY.md", root), "utf8")

const section = (heading: string): string => page.split(`\n## ${heading}\n`)[1]?.split("\n## ", 1)[0] ?? ""

/** Cells of the rows of a section's table, without its heading. */
const rowsOf = (heading: string): ReadonlyArray<ReadonlyArray<string>> =>
  section(heading)
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(1)
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim())
    )

const numbered = (prefix: string, digits: number) =>
  Array.from({ length: 10 }, (_, at) => `${prefix}${String(at + 1).padStart(digits, "0")}`)

describe("the security page", () => {
  it.each([
    ["OWASP API Security Top 10 (2023)", numbered("API", 1)],
    ["OWASP Top 10 for LLM applications (2025)", numbered("LLM", 2)]
  ])("has a row for each risk of the %s", (heading, risks) => {
    expect(rowsOf(heading).map(([risk]) => risk!.split(" ", 1)[0])).toEqual(risks)
  })

  it.each([
    "OWASP API Security Top 10 (2023)",
    "OWASP Top 10 for LLM applications (2025)",
    "Model Context Protocol: security best practices"
  ])("names in each row of the %s the tests that hold it, all of which exist", (heading) => {
    const rows = rowsOf(heading)
    expect(rows.length).toBeGreaterThan(5)
    for (const [risk, answer, tests] of rows) {
      const named = Array.from(tests!.matchAll(/`(test\/[\w/.-]+\.test\.ts)`/g), ([, path]) => path!)
      expect([risk, answer !== "", named.length > 0]).toEqual([risk, true, true])
      expect(named.filter((path) => !existsSync(fileURLToPath(new URL(path, root))))).toEqual([])
    }
  })

  it("says how to report, and who may attack", () => {
    expect(section("Reporting")).toContain("in private")
    expect(rowsOf("Who may attack, and what stops them").length).toBeGreaterThan(5)
  })
})

describe("the examples of proxies", () => {
  const proxies = section("Behind a proxy with TLS")
  const shown = ["/v1/memories", "/v1/memories/search", "/mcp", "/health/ready", "/docs", "/openapi.json", "/llms.txt"]
  const hidden = ["/admin/status", "/metrics", "/", "/v1x", "/openapi_json"]

  it("forward by nginx what is public and nothing else", () => {
    const pattern = /location ~ (\S+) \{/.exec(proxies)?.[1] ?? ""
    expect(shown.filter((path) => !new RegExp(pattern).test(path))).toEqual([])
    expect(hidden.filter((path) => new RegExp(pattern).test(path))).toEqual([])
  })

  it("forward by Caddy what is public and nothing else", () => {
    const paths = (/@served path (.+)/.exec(proxies)?.[1] ?? "").split(" ")
    const isServed = (path: string) =>
      paths.some((served) => (served.endsWith("*") ? path.startsWith(served.slice(0, -1)) : path === served))
    expect(shown.filter((path) => !isServed(path))).toEqual([])
    expect(hidden.filter(isServed)).toEqual([])
  })

  it("pass the client's address on, and have the service believe them", () => {
    expect(proxies).toContain("proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for")
    expect(proxies).toContain("MUNIMENT_TRUSTED_PROXIES=127.0.0.1")
  })
})
