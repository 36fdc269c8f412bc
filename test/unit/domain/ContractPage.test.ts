/**
 * `packages/domain/README.md` against the code: the sections that sources cite, and every list and table of
 * the page whose entries are constants. The behaviour of each section is held by the tests that it names.
 */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { PaymentRequired } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { toCredits } from "@muniment/domain/Money"
import { plans, Prices, rateLimitOf } from "@muniment/domain/Plans"
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"
import { describe, expect, it } from "vitest"

const root = new URL("../../../", import.meta.url)
const page = readFileSync(new URL("packages/domain/README.md", root), "utf8")

/** Text of a section, without its heading. */
const section = (heading: string): string => {
  const [, rest = ""] = page.split(`\n## ${heading}\n`)
  return rest.split(/\n##? /, 1)[0]!
}

/** Cells of the rows of all tables in a text, headings left out. */
const rowsOf = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .split("\n")
    .filter((line, at, lines) => line.startsWith("|") && !line.startsWith("|---") && !lines[at + 1]?.startsWith("|---"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim())
    )

/** What a pattern finds in each entry of the lists of a text; entries of another form are not among them. */
const entriesOf = (text: string, pattern: RegExp): ReadonlyArray<ReadonlyArray<string>> =>
  text.split("\n").flatMap((line) => {
    const found = pattern.exec(line)
    return found === null ? [] : [found.slice(1)]
  })

const code = (cell: string | undefined): string => /^`([^`]+)`/.exec(cell ?? "")?.[1] ?? ""
const number = (cell: string | undefined): number => Number((cell ?? "").replaceAll(",", ""))

/** Sections that sources cite as `contract: <Section>`. */
const cited = [
  "Identity",
  "Wallet signatures",
  "Memories",
  "Conversations",
  "Consolidation",
  "Schemas",
  "Search",
  "Answers and maps",
  "Context",
  "Grants",
  "Attestations",
  "Credits",
  "Plans and the daily job",
  "Quotas",
  "Rate limits",
  "Overload",
  "Payments",
  "Errors",
  "Limits",
  "Headers",
  "Idempotency",
  "MCP",
  "Operator routes",
  "Console",
  "Events",
  "Webhooks",
  "Webhooks of accounts",
  "Health and documents"
]

describe("the contract page", () => {
  it("has every section that sources cite, and each names its tests", () => {
    const headings = Array.from(page.matchAll(/^## (.+)$/gm), ([, heading]) => heading!)
    expect(headings).toEqual(["Conventions", ...cited])
    for (const heading of headings) expect(section(heading), heading).toMatch(/^Tests: `test\//m)
  })

  it("names only tests that exist", () => {
    const named = Array.from(page.matchAll(/`(test\/[\w/.-]+)`/g), ([, path]) => path!)
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter((path) => !existsSync(fileURLToPath(new URL(path, root))))).toEqual([])
  })

  it("has the values of the limits that it lists", () => {
    const text = section("Limits")
    const entries = entriesOf(text, /^- `Limits\.(\w+)` ([\d,]+): /)
    expect(entries.length).toBeGreaterThan(15)
    expect(entries.length).toBe(text.match(/^- /gm)?.length)
    for (const [name, value] of entries) {
      const limit = name as keyof typeof Limits
      expect([limit, number(value)]).toEqual([limit, Limits[limit]])
    }
  })

  it("says the value of every limit that its other sections name", () => {
    const others = page.replace(`\n## Limits\n${section("Limits")}`, "")
    const named = Array.from(others.matchAll(/`Limits\.(?!ts)(\w+)`/g), ([, name = ""]) => name)
    expect(named.length).toBeGreaterThan(100)
    const shown = Array.from(
      others.matchAll(/(\d[\d,]*)(?: ([\w-]+(?: [a-z]+){0,3}))?(?: \(|, )`Limits\.(\w+)`/g),
      ([, value = "", unit = "", name = ""]) => [
        name,
        number(value) * (/Millis|Bytes/.test(name) ? (units[unit] ?? 1) : 1)
      ]
    )
    expect(shown, "each as: 8 s (`Limits.extractionDeadlineMillis`)").toEqual(
      named.map((name) => [name, Limits[name as keyof typeof Limits]])
    )
  })

  it("has the price of every priced call", () => {
    const entries = entriesOf(section("Credits"), /^- (`.+): (\d+) \(`Prices\.(\w+)`\)$/)
    expect(entries.map(([, , constant]) => constant).toSorted()).toEqual(Object.keys(Prices).toSorted())
    for (const [call, credits, constant] of entries) {
      const name = constant as keyof typeof Prices
      expect([call, number(credits)]).toEqual([call, toCredits(Prices[name])])
      const [method = "", path = ""] = code(call).split(" ")
      expect(openApiDocument().paths[`/v1${path}`], call).toHaveProperty(method.toLowerCase())
    }
  })

  it("has every error code with its status, and no other", async () => {
    const declared = Object.values(await import("@muniment/domain/Errors")).flatMap((error) =>
      typeof error === "function" && "fields" in error && "code" in error.fields
        ? error.fields.code.literals.map((name) => `${statusOf(error)} ${name}`)
        : []
    )
    const listed = entriesOf(section("Errors"), /^- (\d{3} `\w+`)(?:: .+)?$/).map(([name = ""]) =>
      name.replaceAll("`", "")
    )
    expect(listed.toSorted()).toEqual(declared.toSorted())
  })

  it("has the plans and their rate limits", () => {
    const kept = rowsOf(section("Plans and the daily job")).map(([plan]) => code(plan))
    expect(kept).toEqual(Object.keys(plans))
    const account = (plan: keyof typeof plans) => ({ id: "a", name: "a", plan, createdAt: 0 })
    for (const [caller = "", minute, hour, day] of rowsOf(section("Rate limits"))) {
      const keyId = caller.includes("wallet") ? undefined : "k"
      const expected = rateLimitOf({ account: account(code(caller) as keyof typeof plans), keyId })
      const listed = minute === "none" ? undefined : { minute: number(minute), hour: number(hour), day: number(day) }
      expect([caller, listed]).toEqual([caller, expected])
    }
  })
})

/** In milliseconds, as constants of times are, and in bytes. */
const units: Readonly<Record<string, number>> = {
  s: 1_000,
  minute: 60_000,
  minutes: 60_000,
  hours: 3_600_000,
  day: 86_400_000,
  days: 86_400_000,
  KiB: 1_024,
  MiB: 1_048_576
}

const statusOf = (error: object): number =>
  (error as typeof PaymentRequired).ast.annotations?.["httpApiStatus"] as number
