/** Memories added in the console: one by a form of its kind, many from a file or a pasted text, in a real browser. */
import { readFileSync } from "node:fs"
import type { Route } from "playwright-core"
import { beforeAll, expect, it } from "vitest"
import { expectAccessible, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { schemaText, text } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { type Answer, patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

let key: string
let otherKey: string

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  key = await server.newAccount("research")
  otherKey = await server.newAccount("other")
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

const total = async (agentId: string, of = key): Promise<number> =>
  (await server.call("GET", `/v1/memories?limit=1&agentId=${agentId}`, { key: of })).body.total
const numbered = (rows: number): string =>
  ["subject,fact", ...Array.from({ length: rows }, (_, at) => `x,fact ${at}`)].join("\n")

/** Keeps the first request of the page to `path` waiting: resolves once it is there, `goOn` lets it go. */
const holdFirst = async (path: string) => {
  const [there, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const handler = async (route: Route) => {
    there.resolve()
    await goOn.promise
    await route.continue()
  }
  await page.route(path, handler, { times: 1 })
  return { there: there.promise, goOn: goOn.resolve }
}

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

it("stores and takes back in the account in which an import began, and no more once its page is left", async () => {
  const begin = async (agentId: string) => {
    await page.getByLabel("Account").selectOption("research")
    await paste(numbered(350))
    await page.getByLabel("Agent, where a row names none").fill(agentId)
    await tryAll("350 would be stored")
  }
  await begin("moved")
  const storing = await holdFirst("**/v1/memories")
  await importRows("350 rows")
  await storing.there
  await page.getByLabel("Account").selectOption("other")
  await page.getByLabel("Or its text, pasted").waitFor()
  storing.goOn()
  await expect.poll(() => total("moved"), { timeout: patienceMillis }).toBe(100)
  await page.getByLabel("Account").selectOption("research")
  await begin("returned")
  await importRows("350 rows")
  await steps().getByText("350 stored", { exact: true }).waitFor()
  const removing = await holdFirst("**/v1/memories/batch/delete")
  await offer().getByRole("button", { name: "Take back" }).click()
  await removing.there
  await page.getByLabel("Account").selectOption("other")
  await offer().waitFor({ state: "detached" })
  removing.goOn()
  await expect.poll(() => total("returned"), { timeout: patienceMillis }).toBe(0)
  expect(await offer().count()).toBe(0)
  expect([await total("moved"), await total("moved", otherKey), await total("returned", otherKey)]).toEqual([100, 0, 0])
  await page.getByLabel("Account").selectOption("research")
})

it("ends an import once the meaning of its columns is changed, and offers to take back what is stored", async () => {
  await paste(numbered(250))
  await page.getByLabel("Agent, where a row names none").fill("changed")
  await tryAll("250 would be stored")
  const storing = await holdFirst("**/v1/memories")
  await importRows("250 rows")
  await storing.there
  await page.getByLabel("Subject, where a row names none").fill("ann")
  storing.goOn()
  await offer().getByText("100 memories imported.").waitFor()
  expect(await total("changed")).toBe(100)
  await offer().getByRole("button", { name: "Take back" }).click()
  await offer().getByText("Taken back").waitFor()
  expect(await total("changed")).toBe(0)
})

it("says that an import waits for the limit of calls, for a minute and not for a day, and stops at once", async () => {
  const refuse = (path: string, seconds: number) =>
    page.route(path, (route) =>
      route.fulfill({
        status: 429,
        headers: { "retry-after": String(seconds) },
        json: { success: false, error: "too many calls", code: "rate_limited" }
      })
    )
  await paste(numbered(150))
  await page.getByLabel("Agent, where a row names none").fill("waiting")
  await refuse("**/v1/schemas/try", 60)
  await steps().getByRole("button", { name: "Dry run", exact: true }).click()
  await steps().getByText("Tried: 0 of 150, waits 1 min for the limit of calls").waitFor()
  await steps().getByRole("button", { name: "Stop" }).click()
  await steps().getByRole("button", { name: "Dry run", exact: true }).waitFor()
  expect(await steps().getByRole("alert").count()).toBe(0)
  await page.unroute("**/v1/schemas/try")
  await tryAll("150 would be stored")
  await refuse("**/v1/memories", 60)
  await importRows("150 rows")
  await steps().getByText("Stored: 0 of 150, waits 1 min for the limit of calls").waitFor()
  await page.unroute("**/v1/memories")
  await steps().getByRole("button", { name: "Stop" }).click()
  await steps().getByRole("button", { name: "Dry run again" }).waitFor()
  expect(await total("waiting")).toBe(0)
  await refuse("**/v1/schemas/try", 7_200)
  await steps().getByRole("button", { name: "Dry run again" }).click()
  await steps().getByText("try again in 2 h").waitFor()
  await page.unroute("**/v1/schemas/try")
  expect(watched.complaints.splice(0)).toEqual(Array(3).fill(expect.stringContaining("429")))
})

it("reads a file anew once it is mended, and says why no row of it can be read", async () => {
  await showPage(page, "#/overview")
  await showPage(page, "#/add?show=many")
  const choose = (text: string) =>
    page
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "facts.jsonl", mimeType: "application/x-ndjson", buffer: Buffer.from(text) })
  await choose('{"subject"\n"one"')
  await page.getByText("2 rows are left out: row 1: It is no JSON object. row 2: It is no JSON object.").waitFor()
  expect(await page.getByText("It has no row.").count()).toBe(0)
  expect(await page.getByLabel("File", { exact: true }).inputValue()).toBe("")
  await choose('{"subject": "x", "fact": "y"}')
  await page.getByRole("heading", { name: "1 row of JSON lines" }).waitFor()
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
