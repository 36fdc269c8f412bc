/** The console's pages about what agents know, in a real browser: threads, subjects, schemas, the map. */
import { readFileSync } from "node:fs"
import { beforeAll, expect, it, vi } from "vitest"
import { expectAccessible, openPage, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact, schemaText, text } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

let key: string

const conversation = [
  { id: "m1", role: "user", content: "My name is Alice and I live in Seattle.", sentAt: "2026-11-01T09:00:00Z" },
  { id: "m2", role: "assistant", content: "Nice to meet you, Alice!", sentAt: "2026-11-01T09:00:10Z" },
  { id: "m3", role: "user", content: "Shall we have lunch?", sentAt: "2026-11-01T09:01:00Z" },
  { id: "m4", role: "user", content: "I moved to Portland.", sentAt: "2026-11-03T18:00:00Z" }
]

const post = async (path: string, body: object) => {
  const answer = await server.call("POST", path, { key, body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}
const total = async (query: string): Promise<number> =>
  (await server.call("GET", `/v1/memories?limit=1&includeSuperseded=true&${query}`, { key })).body.total

/** What is waited for is done soon, but for a machine with more to do. */
const patience = { timeout: patienceMillis }

const topics = ["sailing on the lake", "baking rye bread", "repairing old clocks"]

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  key = await server.newAccount("research")
  await server.newAccount("empty")
  const place = { agentId: "assistant", subjectId: "alice", threadId: "first-contact" }
  await post("/v1/memories", { ...place, conversation, wait: "extraction" })
  // A busy machine may read it later.
  await vi.waitUntil(async () => (await total("threadId=first-contact&include=extracted")) === 3, patience)
  for (const [at, topic] of topics.entries()) {
    const memories = Array.from({ length: 12 }, (_, one) => fact("bob", `Bob is fond of ${topic}, note ${one}`))
    await post("/v1/memories", { agentId: "assistant", subjectId: at === 0 ? "bob" : "carol", memories })
  }
  const schema = schemaText({ email: text, level: { type: "integer" } }, { required: ["email"] })
  await post("/v1/schemas", { name: "contact", description: "A person", uniqueOn: ["email"], schema })
  const contact = { kind: "contact", data: { email: "ann@example.com" } }
  await post("/v1/memories", { agentId: "assistant", subjectId: "ann", memories: [contact] })
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

const open = (hash: string) => showPage(page, hash)

it("shows the messages of a thread, and what was made of each", async () => {
  await open("#/conversations")
  await page.getByRole("button", { name: "first-contact" }).click()
  const thread = page.getByRole("region", { name: "Thread" })
  const home = thread.getByRole("listitem").filter({ hasText: "I live in Seattle" }).first()
  await home.getByRole("link").first().waitFor()
  const lunch = thread.getByRole("listitem").filter({ hasText: "Shall we have lunch?" }).first()
  await lunch.getByText("nothing was made of it").waitFor()
  await home.getByRole("link").first().click()
  await page.getByRole("complementary", { name: "Memory" }).getByRole("heading", { name: "Taken from" }).waitFor()
})

it("keeps apart what agents told by the same names of threads and messages, and erases that of one", async () => {
  const other = [
    { id: "m1", role: "user", content: "My name is Olav and I live in Oslo.", sentAt: "2026-11-02T09:00:00Z" },
    { id: "m4", role: "user", content: "See you on Monday.", sentAt: "2026-11-02T09:01:00Z" }
  ]
  const place = { agentId: "porter", subjectId: "olav", threadId: "first-contact" }
  await post("/v1/memories", { ...place, conversation: other, wait: "extraction" })
  await vi.waitUntil(async () => (await total("agentId=porter&include=extracted")) > 0, patience)
  await open("#/conversations?threadId=first-contact")
  const thread = page.getByRole("region", { name: "Thread", exact: true })
  await thread.getByText("4 messages").waitFor()
  expect(await thread.getByRole("list", { name: "Made of the message of assistant" }).innerText()).toContain("nothing")
  await thread.getByLabel("Agent").selectOption("porter")
  await thread.getByText("2 messages").waitFor()
  expect(await thread.innerText()).not.toContain("Portland")
  const home = thread.getByRole("listitem").filter({ hasText: "I live in Oslo" }).first()
  await home.getByRole("link").first().click()
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel.getByRole("blockquote").filter({ hasText: "I live in Oslo" }).waitFor()
  expect(await panel.getByRole("blockquote").count()).toBe(1)
  await panel.getByRole("link", { name: "The whole conversation" }).click()
  await thread.getByText("2 messages").waitFor()
  await thread.getByRole("button", { name: "Erase …" }).click()
  const dialog = page.getByRole("dialog", { name: "Erase this thread of porter" })
  await dialog.getByLabel("Type erase to go on").fill("erase")
  await dialog.getByRole("button", { name: "Erase", exact: true }).click()
  await dialog.waitFor({ state: "hidden" })
  expect(await total("agentId=porter")).toBe(0)
  expect(await total("agentId=assistant&threadId=first-contact")).toBe(7)
})

it("reads a thread again without storing anything, and says what is left out", async () => {
  const before = await total("agentId=assistant")
  await open("#/conversations?threadId=first-contact")
  await page.getByRole("button", { name: "Read again without storing" }).click()
  const thread = page.getByRole("region", { name: "Thread" })
  await thread.getByText("found again").first().waitFor()
  await thread.getByText("the reader finds nothing in it").first().waitFor()
  const lunch = thread.getByRole("listitem").filter({ hasText: "Shall we have lunch?" }).first()
  await lunch.getByText("a question", { exact: true }).waitFor()
  expect(await total("agentId=assistant")).toBe(before)
})

it("tries the reader on a text", async () => {
  await open("#/conversations")
  const trial = page.getByRole("region", { name: "Try the reader" })
  await trial.getByRole("textbox").fill("user: My name is Clara and I live in Leeds.")
  await trial.getByRole("button", { name: "Read" }).click()
  await trial.getByText("Clara lives in Leeds").waitFor()
  const { body } = await server.call("GET", "/v1/memories/search?query=Clara+Leeds&limit=100", { key })
  expect(JSON.stringify(body.memories)).not.toContain("Clara")
})

it("exports all that is known of a subject, and erases it after saying how much that is", async () => {
  await open("#/subjects?contains=bo")
  await page.getByRole("button", { name: "bob" }).click()
  const subject = page.getByRole("region", { name: "Subject" })
  await subject.getByRole("link", { name: "Bob is fond of sailing on the lake, note 11" }).waitFor()
  const download = page.waitForEvent("download")
  await subject.getByRole("button", { name: "Export" }).click()
  const lines = readFileSync(await (await download).path(), "utf8")
    .trim()
    .split("\n")
  expect(lines.map((line) => JSON.parse(line).metadata.subjectId)).toEqual(Array(12).fill("bob"))
  await subject.getByRole("button", { name: "Erase …" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByText("This deletes 12 memories for good").waitFor()
  expect(await total("subjectId=bob")).toBe(12)
  expect(await dialog.getByRole("button", { name: "Erase" }).isDisabled()).toBe(true)
  // As a phone writes the first word.
  await dialog.getByLabel("Type erase to go on").fill("Erase")
  await dialog.getByRole("button", { name: "Erase" }).click()
  await page.getByText("12 memories about bob are erased. A second look finds none.").waitFor()
  expect(await total("subjectId=bob")).toBe(0)
  await page.getByText("No subject has this text in its name.").waitFor()
  expect(await total("subjectId=carol")).toBe(24)
  const proof = page.waitForEvent("download")
  await page.getByRole("button", { name: "Save a record of it" }).click()
  expect(JSON.parse(readFileSync(await (await proof).path(), "utf8"))).toMatchObject({
    account: "research",
    filters: { subjectId: "bob" },
    deleted: 12,
    left: 0,
    log: [{ action: "memories.batchDelete", subject: "research", detail: { subjectId: "bob", memories: 12 } }]
  })
  await page.getByRole("link", { name: "Its line in the log" }).click()
  const rows = page.getByRole("region", { name: "Changes by operators" }).locator("tbody tr")
  await rows.getByText("subject bob: 12 memories deleted").waitFor()
  expect(await rows.count()).toBe(1)
})

it("filters the timeline of a subject by text, kind and day, in the address, and says the times of day", async () => {
  await open("#/subjects?subjectId=alice&what=all")
  const subject = page.getByRole("region", { name: "Subject" })
  const filters = subject.getByRole("region", { name: "Filters of the timeline" })
  const entries = subject.locator(".timeline li")
  await subject.getByText("I moved to Portland.").first().waitFor()
  expect(await entries.first().innerText()).toMatch(/\b\d\d:\d\d\b/)
  await subject
    .getByText(/^said 2026-11-0\d \d\d:\d\d$/)
    .first()
    .waitFor()
  const all = await entries.count()
  await filters.getByLabel("Text").fill("PORTLAND")
  await expect.poll(() => entries.count(), patience).toBeLessThan(all)
  for (const text of await entries.allInnerTexts()) expect(text).toContain("Portland")
  await filters.getByLabel("Text").fill("")
  await filters.getByLabel("Kind").selectOption("conversation_message")
  await expect.poll(() => entries.count(), patience).toBe(conversation.length)
  await expect.poll(() => page.url()).toContain("kind=conversation_message")
  await filters.getByRole("textbox", { name: "To" }).fill("2020-01-01")
  await subject.getByText("Nothing matches these filters.").waitFor()
  await filters.getByRole("textbox", { name: "To" }).fill("")
  await filters.getByRole("textbox", { name: "From" }).fill("2020-01-01")
  await expect.poll(() => entries.count(), patience).toBe(conversation.length)
})

it("looks for a text in the timeline through as many pages as it takes", async () => {
  const subjectId = "long"
  for (const from of [0, 100, 200]) {
    const memories = Array.from({ length: 100 }, (_, at) => fact("long", `note ${from + at}`))
    await post("/v1/memories", { agentId: "assistant", subjectId, memories })
  }
  await open("#/subjects?subjectId=long&text=note+7&sort=asc")
  const subject = page.getByRole("region", { name: "Subject" })
  await subject.getByText("looked through 300 of 300").waitFor()
  const shown = await subject.locator(".timeline li a").allInnerTexts()
  expect(shown).toHaveLength(11)
  expect(shown[0]).toMatch(/note 7$/)
  const filters = subject.getByRole("region", { name: "Filters of the timeline" })
  await filters.getByLabel("Text").fill("")
  await subject.getByText("100 memories shown").waitFor()
  await page.evaluate(`scrollTo(0, document.body.scrollHeight)`)
  const box = (await filters.boundingBox())!
  expect(box.y).toBeGreaterThanOrEqual(0)
  expect(box.y + box.height).toBeLessThan(400)
  await expectAccessible(page, 0, () => open("#/subjects?subjectId=long&text=note+7"))
  await post("/v1/memories/batch/delete", { filters: { subjectId } })
})

it("finds a person by name, with what holds now, since when, from which message, and what held before", async () => {
  await open("#/people")
  await page.getByLabel("Name or id").fill("Portland")
  await page.getByRole("link", { name: "Search for memories that say so" }).click()
  await expect.poll(() => page.getByRole("searchbox").inputValue()).toBe("Portland")
  await open("#/people")
  await page.getByLabel("Name or id").fill("ALIC")
  const everyone = page.getByRole("region", { name: "Everyone" })
  await everyone.getByText("1 person").waitFor()
  await everyone.getByRole("button", { name: "Alice" }).click()
  const profile = page.getByRole("region", { name: "Profile" })
  await profile.getByRole("heading", { name: "Alice" }).waitFor()
  const home = profile
    .getByRole("region", { name: "home" })
    .getByRole("listitem")
    .filter({ hasText: "Portland" })
    .first()
  await home.getByText("since 2026-11-03").waitFor()
  await home.getByText("from message m4").waitFor()
  await home.getByText("What held before").click()
  await home
    .getByText(/Seattle/)
    .first()
    .waitFor()
  await home.getByRole("link", { name: /Portland/ }).click()
  await page.getByRole("complementary", { name: "Memory" }).getByText("I moved to Portland.").first().waitFor()
})

it("shows the context that an agent gets: its text as it is, tokens by section, each line with its memory", async () => {
  await open("#/context?agentId=assistant&subjectId=alice")
  await page.getByRole("searchbox").fill("Where does Alice live?")
  await page.getByRole("button", { name: "Show context" }).click()
  const text = page.getByRole("region", { name: "The text" }).locator("pre")
  await text.filter({ hasText: "Portland" }).waitFor()
  const tokens = page.getByRole("region", { name: "Tokens" })
  await tokens.getByText("profile", { exact: true }).waitFor()
  const body = { agentId: "assistant", subjectId: "alice", query: "Where does Alice live?" }
  const handed = await post("/v1/context", body)
  expect((await text.innerText()).trim()).toBe(handed.text.trim())
  await tokens.getByRole("heading", { name: `${handed.tokens} tokens` }).waitFor()
  await page
    .getByRole("region", { name: "profile", exact: true })
    .getByRole("link", { name: /Portland/ })
    .first()
    .click()
  await page.getByRole("complementary", { name: "Memory" }).waitFor()
})

it("tries data against a schema, also a changed one, saves the change and deletes the schema", async () => {
  await open("#/schemas")
  await page.getByRole("button", { name: "contact" }).click()
  const shown = page.getByRole("region", { name: "Schema", exact: true })
  await shown.getByText("1 memory").waitFor()
  await shown.getByLabel("Data to try, as JSON").fill('{"level": 2}')
  await shown.getByRole("button", { name: "Try" }).click()
  await shown.getByText("It would be refused.").waitFor()
  const changed = schemaText({ email: text, level: { type: "integer", default: 1 } })
  await shown.getByLabel("JSON Schema").fill(changed)
  await shown.getByLabel("Unique on, fields separated by commas").fill("level")
  await shown.getByRole("button", { name: "Try" }).click()
  await shown.getByText("It would be accepted.").waitFor()
  const stored = async () => (await server.call("GET", "/v1/schemas/contact", { key })).body.schema
  expect((await stored()).uniqueOn).toEqual(["email"])
  await shown.getByLabel("JSON Schema").fill("{")
  await shown.getByRole("button", { name: "Save" }).click()
  await shown.getByRole("alert").waitFor()
  await shown.getByLabel("JSON Schema").fill(changed)
  await shown.getByRole("button", { name: "Save" }).click()
  await shown.getByRole("alert").waitFor({ state: "detached" })
  expect(watched.complaints.splice(0).every((text) => text.includes("400"))).toBe(true)
  await expect.poll(stored, patience).toMatchObject({ schema: changed, uniqueOn: ["level"] })
  await shown.getByText("unique on level").waitFor()
  await shown.getByRole("button", { name: "Delete …" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByText("Stored ones stay, and are still found: 1.").waitFor()
  await dialog.getByRole("button", { name: "Delete" }).click()
  await expect.poll(async () => (await server.call("GET", "/v1/schemas/contact", { key })).status, patience).toBe(404)
  expect(await total("kind=contact")).toBe(1)
})

it("registers a schema", async () => {
  await open("#/schemas")
  const form = page.getByRole("region", { name: "New schema" })
  await form.getByLabel("Name, the kind of its memories").fill("boat")
  await form.getByLabel("Description, read by the reader of conversations").fill("A boat that somebody has")
  await form.getByRole("button", { name: "Register" }).click()
  await page.getByRole("region", { name: "Schema", exact: true }).getByRole("heading", { name: "boat" }).waitFor()
  const { body } = await server.call("GET", "/v1/schemas/boat", { key })
  expect(body.schema).toMatchObject({ description: "A boat that somebody has", uniqueOn: ["email"] })
})

it("shows memories on a map: by topic, inside a lasso, under a click, by the keyboard", async () => {
  await open("#/map?query=fond&subjectId=carol")
  const canvas = page.getByRole("application", { name: "Map of 24 memories" })
  await canvas.waitFor()
  await page.getByRole("region", { name: "Topics" }).getByRole("button").first().click()
  const chosen = page.getByRole("region", { name: "Chosen memories" })
  await chosen.getByText("Bob is fond of").first().waitFor()
  await canvas.press("Escape")
  await chosen.waitFor({ state: "detached" })
  await page.getByRole("button", { name: "Lasso" }).click()
  const box = (await canvas.boundingBox())!
  const corners = [
    [4, 4],
    [box.width - 4, 4],
    [box.width - 4, box.height - 4],
    [4, box.height - 4]
  ] as const
  await page.mouse.move(box.x + 4, box.y + 4)
  await page.mouse.down()
  for (const [x, y] of corners) await page.mouse.move(box.x + x, box.y + y, { steps: 4 })
  await page.mouse.up()
  await chosen.getByRole("heading", { name: "24 chosen" }).waitFor()
  await chosen
    .getByRole("button", { name: /Bob is fond of/ })
    .first()
    .click()
  await page.getByRole("complementary", { name: "Memory" }).getByText("Content hash").waitFor()
  await page.getByRole("button", { name: "Close" }).click()
  await chosen.getByRole("button", { name: "End the choice" }).click()
  await page.getByRole("region", { name: "Topics" }).waitFor()
  await page.getByLabel("Colour by").selectOption("kind")
  const legend = page.getByRole("list", { name: "Colours; press to hide or show" })
  await legend.getByRole("button", { name: "factual_memory 24" }).click()
  // What is hidden is not drawn, and no lasso takes it.
  await expect.poll(() => page.evaluate(isBlank), patience).toBe(true)
  await legend.getByRole("button", { name: "factual_memory 24" }).click()
  await expect.poll(() => page.evaluate(isBlank), patience).toBe(false)
})

/** Whether the canvas shows no coloured point; the names of topics are grey. */
const isBlank = `(() => {
  const canvas = document.querySelector(".plane canvas")
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 150 && Math.abs(data[at] - data[at + 2]) > 90) return false
  return true
})()`

it.each([
  "conversations",
  "conversations?threadId=first-contact",
  "subjects?subjectId=alice",
  "people?subjectId=alice",
  "context?query=fond",
  "schemas?name=boat",
  "map?query=fond"
])("has no fault of accessibility on #/%s, in light and dark, narrow and wide", (name) => {
  return expectAccessible(page, name.length, async () => {
    await open(`#/${name}`)
    await page.locator("main .card").first().waitFor()
    await expect.poll(() => page.locator("main .spinner").count(), patience).toBe(0)
  })
})

it("says of an account without memories that there is nothing yet, and what to do", async () => {
  await page.getByLabel("Account").selectOption("empty")
  for (const [name, said] of [
    ["conversations", "No memory of this account names a thread yet:"],
    ["subjects", "No memory of this account names a subject yet:"],
    ["schemas", "The built-in kinds below need no registration."],
    ["memories", "This account has stored nothing yet:"],
    ["search", "This account has stored nothing yet:"],
    ["map", "This account has stored nothing yet:"]
  ] as const) {
    await open(`#/${name}`)
    await page.getByText(said).waitFor()
    // One sentence says it: nothing beside it asks to choose from, or to search, what is not there.
    for (const other of ["Choose a subject", "Ask something", "Nothing is on this map", "finds by words alone"]) {
      expect(await page.getByText(other).count(), `${name}: ${other}`).toBe(0)
    }
  }
  await page.getByLabel("Account").selectOption("research")
})

it("shows an account that signed in by its key its own threads, by the keyboard alone", async () => {
  const own = await openPage(browser, server)
  await own.page.goto(`${server.url}/console#/conversations`)
  await own.page.getByLabel("API key of an account").fill(key)
  await own.page.keyboard.press("Enter")
  const thread = own.page.getByRole("button", { name: "first-contact" })
  await thread.focus()
  await own.page.keyboard.press("Enter")
  await own.page.getByRole("button", { name: "Read again without storing" }).focus()
  await own.page.keyboard.press("Enter")
  await own.page.getByText("found again").first().waitFor()
  expect([own.complaints, own.foreign]).toEqual([[], []])
})

it("complains of nothing and asks no other origin", () => {
  expect(watched.complaints).toEqual([])
  expect(watched.foreign).toEqual([])
})
