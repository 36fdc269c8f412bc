/** Memories added in the console: one by a form of its kind, many from a file or a pasted text, in a real browser. */
import { readFileSync } from "node:fs"
import { beforeAll, expect, it } from "vitest"
import { expectAccessible, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { schemaText, text } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

let key: string

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  key = await server.newAccount("research")
  const properties = {
    email: text,
    level: { type: "integer" },
    since: { type: "string", format: "date" },
    isActive: { type: "boolean" },
    tier: { type: "string", enum: ["gold", "silver"] },
    aliases: { type: "array", items: text }
  }
  const schema = schemaText(properties, { required: ["email"] })
  const contact = { name: "contact", description: "A person", uniqueOn: ["email"], schema }
  expect((await server.call("POST", "/v1/schemas", { key, body: contact })).status).toBe(200)
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

const listed = async (query: string): Promise<Array<Answer["body"]>> =>
  (await server.call("GET", `/v1/memories?limit=100&order=asc&${query}`, { key })).body.memories
const main = () => page.getByRole("main")
const offer = () => page.getByRole("region", { name: "Last change" })
const steps = () => page.getByRole("region", { name: "Import", exact: true })
const results = () => page.getByRole("region", { name: "Result of each row" })

const paste = async (pasted: string) => {
  await showPage(page, "#/overview")
  await showPage(page, "#/add?show=many")
  await page.getByLabel("Or its text, pasted").fill(pasted)
  await page.getByRole("button", { name: "Read the text" }).click()
}
const tryAll = async (said: string) => {
  await steps().getByRole("button", { name: "Dry run", exact: true }).click()
  await steps().getByText(said, { exact: true }).waitFor()
}
const importRows = async (rows: string) => {
  await steps()
    .getByRole("button", { name: `Import ${rows}` })
    .click()
}

it("stores a memory by a form of its kind's fields, with the types of its schema, and takes it back", async () => {
  await showPage(page, "#/memories")
  await main().getByRole("link", { name: "Add …" }).click()
  await main().getByRole("heading", { name: "Add memories" }).waitFor()
  await page.getByLabel("Kind").selectOption("contact")
  await page.getByLabel("Agent", { exact: true }).fill("forms")
  await page.getByLabel("Subject", { exact: true }).fill("ann")
  await page.getByLabel("email", { exact: true }).fill("ann@example.com")
  await page.getByLabel("level, optional").fill("3")
  await page.getByLabel("since, optional").fill("2026-11-01")
  await page.getByLabel("isActive, optional").selectOption("true")
  await page.getByLabel("tier, optional").selectOption("gold")
  await page.getByLabel("aliases, optional, as JSON").fill('["A", "Annie"]')
  await page.getByLabel("Tags, separated by commas").fill("friend, oslo")
  await page.getByLabel("It ends").selectOption("year")
  await page.getByRole("button", { name: "Store", exact: true }).click()
  await page.getByRole("link", { name: "open the memory" }).waitFor()
  const [memory] = await listed("agentId=forms")
  const data = { email: "ann@example.com", level: 3, since: "2026-11-01", isActive: true, tier: "gold" }
  expect(memory.data).toEqual({ ...data, aliases: ["A", "Annie"] })
  expect(memory.context.tags).toEqual(["friend", "oslo"])
  expect(memory.metadata).toMatchObject({ subjectId: "ann", expiresAt: expect.any(Number) })
  await offer().getByRole("button", { name: "Take back" }).click()
  await offer().getByText("Taken back: 1 memory stored.").waitFor()
  expect(await listed("agentId=forms")).toEqual([])
})

it("says in the service's words why it does not store, and keeps what was typed", async () => {
  await showPage(page, "#/add")
  await page.getByLabel("Kind").selectOption("contact")
  await page.getByLabel("Agent", { exact: true }).fill("forms")
  await page.getByLabel("email", { exact: true }).fill("bob@example.com")
  await page.getByLabel("aliases, optional, as JSON").fill("none")
  await page.getByRole("button", { name: "Store", exact: true }).click()
  await main().getByRole("alert").getByText("aliases").first().waitFor()
  expect(await page.getByLabel("aliases, optional, as JSON").inputValue()).toBe("none")
  expect(await listed("agentId=forms")).toEqual([])
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("400")])
})

it("imports a table whose columns are named otherwise: tried first, refused rows named, the others stored", async () => {
  const lines = [
    "Subject;text;user_id;labels",
    'Alice;"Alice lives in Seattle; ""Emerald City""";alice;home,city',
    "Bob;Bob moved;bob;friend|far",
    ";no subject;;",
    'Carol;"two',
    'lines";carol;'
  ]
  await paste(lines.join("\r\n"))
  await page.getByRole("heading", { name: "4 rows of CSV" }).waitFor()
  await page.getByLabel("Agent, where a row names none").fill("tables")
  await page.getByLabel("Column labels").selectOption("tags")
  await page.getByRole("region", { name: "First rows" }).getByText("Bob moved").waitFor()
  await tryAll("3 would be stored")
  await results()
    .getByRole("row")
    .filter({ hasText: "no subject" })
    .getByText(/subject/i)
    .last()
    .waitFor()
  expect(await listed("agentId=tables")).toEqual([])
  await importRows("3 rows")
  await steps().getByText("3 stored", { exact: true }).waitFor()
  await steps().getByText("1 refused", { exact: true }).waitFor()
  const stored = await listed("agentId=tables")
  expect(stored.map(({ context, data, metadata }) => [data.fact, metadata.subjectId, context.tags])).toEqual(
    expect.arrayContaining([
      ['Alice lives in Seattle; "Emerald City"', "alice", ["home", "city"]],
      ["Bob moved", "bob", ["friend", "far"]],
      ["two\nlines", "carol", []]
    ])
  )
  const refused = page.waitForEvent("download")
  await steps().getByRole("button", { name: "Save the refused rows" }).click()
  expect(JSON.parse(readFileSync(await (await refused).path(), "utf8"))).toMatchObject({
    row: 3,
    agentId: "tables",
    data: { fact: "no subject" },
    reason: expect.stringMatching(/subject/i)
  })
  const link = await results().getByRole("link", { name: "Bob moved" }).getAttribute("href")
  expect(link).toContain(stored.find(({ data }) => data.fact === "Bob moved").id)
  await offer().getByRole("button", { name: "Take back" }).click()
  await offer().getByText("Taken back: 3 memories imported.").waitFor()
  expect(await listed("agentId=tables")).toEqual([])
})

it("imports lines of JSON from a file, leaves out what is there, and finds the row that refuses the others", async () => {
  const fact = (at: number) => ({
    kind: "factual_memory",
    data: { subject: "x", fact: `fact ${at}` },
    agentId: "lines"
  })
  const body = { agentId: "lines", memories: [{ kind: "factual_memory", data: fact(0).data }] }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  const rows = Array.from({ length: 120 }, (_, at) =>
    JSON.stringify({ ...fact(at), ...(at === 50 && { tags: ["x".repeat(33)] }) })
  )
  await showPage(page, "#/overview")
  await showPage(page, "#/add?show=many")
  const file = [...rows, "no JSON"].join("\n")
  await page
    .getByLabel("File", { exact: true })
    .setInputFiles({ name: "facts.jsonl", mimeType: "application/x-ndjson", buffer: Buffer.from(file) })
  await page.getByRole("heading", { name: "120 rows of JSON lines" }).waitFor()
  await page.getByText("1 row is left out: row 121: It is no JSON object.").waitFor()
  await tryAll("120 would be stored")
  await importRows("120 rows")
  await steps().getByText("118 stored", { exact: true }).waitFor()
  await steps().getByText("1 was there already", { exact: true }).waitFor()
  await steps().getByText("1 refused", { exact: true }).waitFor()
  const { body: all } = await server.call("GET", "/v1/memories?limit=1&agentId=lines", { key })
  expect(all.total).toBe(119)
  await page.getByRole("button", { name: "Result" }).click()
  await results().getByText(/tags/).first().waitFor()
  expect(new Set(watched.complaints.splice(0).map((said) => said.includes("400")))).toEqual(new Set([true]))
})

it("imports what this console exports, an array of it too", async () => {
  const body = {
    agentId: "exported",
    subjectId: "dora",
    memories: [{ kind: "contact", data: { email: "d@example.com" }, tags: ["kept"], metadata: { page: 1 } }]
  }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  const exported = await listed("agentId=exported")
  await server.call("DELETE", `/v1/memories/${exported[0].id}`, { key })
  await paste(JSON.stringify(exported))
  await page.getByRole("heading", { name: "1 row of JSON" }).waitFor()
  await tryAll("1 would be stored")
  await importRows("1 row")
  await steps().getByText("1 stored", { exact: true }).waitFor()
  const [again] = await listed("agentId=exported")
  expect(again).toMatchObject({
    kind: "contact",
    data: { email: "d@example.com" },
    metadata: { subjectId: "dora", page: 1 }
  })
  expect(again.context).toMatchObject({ tags: ["kept"], metadata: { page: 1 } })
})

it.each([0, 1, 2, 3])("has no fault of accessibility, view %i", (at) =>
  expectAccessible(page, at, async () => {
    if (at % 2 === 0) {
      await showPage(page, "#/add")
      await page.getByLabel("Kind").waitFor()
    } else {
      await paste("subject,fact,level\nx,y,1\n,z,2")
      await page.getByLabel("Agent, where a row names none").fill("seen")
      await tryAll("1 would be stored")
    }
  })
)

it("complains of nothing and asks no other origin", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
