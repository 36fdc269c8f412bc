/** The console in a real browser: each page, its actions seen in the API, themes, accessibility, what it loads. */
import { beforeAll, expect, it } from "vitest"
import { buildConsole, packedBytesMax } from "../../scripts/console.ts"
import { accessibilityFaults, openPage, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact, schemaText, text } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis, startServer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const memories = 1_200
let key: string

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  key = await server.newAccount("research")
  await server.newAccount("empty")
  for (let from = 0; from < memories; from += 100) {
    const body = {
      agentId: "shelves",
      memories: Array.from({ length: 100 }, (_, at) =>
        fact(`item ${from + at}`, `item ${from + at} is on shelf ${(from + at) % 17}`)
      )
    }
    expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  }
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

const open = (hash: string) => showPage(page, hash)

/** What is waited for is done soon, but for a machine with more to do. */
const patience = { timeout: patienceMillis }

const stored = async (id: string) => server.call("GET", `/v1/memories/${id}`, { key })

it("keeps the one-time link out of the address", () => {
  expect(page.url()).not.toContain("link=")
})

it("signs in by a one-time link in a tab that shows the sign-in already", async () => {
  const { page: visitor } = await openPage(browser, server)
  await visitor.goto(`${server.url}/console`)
  await visitor.getByRole("heading", { name: "Sign in" }).waitFor()
  const { body } = await server.asOperator("POST", "/admin/console-links")
  await visitor.goto(body.link.url)
  await visitor.getByRole("navigation", { name: "Pages" }).waitFor()
  expect(visitor.url()).not.toContain("link=")
  await visitor.context().close()
})

it("leaves the filters by one account's things behind with the account", async () => {
  await open("#/memories?agentId=shelves")
  await page.getByRole("heading", { name: "1,200 memories" }).waitFor()
  await page.getByLabel("Account").selectOption("empty")
  await page.getByText("This account has stored nothing yet:").waitFor()
  await page.getByLabel("Account").selectOption("research")
  await page.getByRole("heading", { name: "1,200 memories" }).waitFor()
  expect(page.url()).not.toContain("agentId")
})

it("says on the overview how the service is, in words", async () => {
  await open("#/overview")
  await page.getByText("The service takes requests.").waitFor()
  await page.getByText("Every agent's file is whole.").waitFor()
})

it("shows on the overview what is stored now, of how many accounts, and what was written last", async () => {
  await open("#/overview")
  const { accounts } = (await server.asOperator("GET", "/admin/accounts")).body
  const tile = (title: string) =>
    page
      .locator(".tile")
      .filter({ has: page.getByText(title, { exact: true }) })
      .locator("dd")
  await expect.poll(() => tile("Memories").innerText(), patience).toContain(memories.toLocaleString("en-US"))
  expect(await tile("Accounts").innerText()).toMatch(new RegExp(`^${accounts.length}\\b`))
  const writes = page.getByRole("region", { name: "Calls that wrote last" })
  await writes.getByText("memories.create").first().waitFor()
  await writes.getByText("research", { exact: true }).first().waitFor()
})

it("shows a long list without holding it, its end from the other side and then its middle", async () => {
  const asked: Array<URLSearchParams> = []
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === "/v1/memories") asked.push(searchParams)
  })
  await open("#/memories?agentId=shelves")
  await page.getByRole("heading", { name: "1,200 memories" }).waitFor()
  const subjects: Array<string> = []
  for (let cursor = ""; subjects.length < memories;) {
    const { body } = await server.call("GET", `/v1/memories?agentId=shelves&limit=100${cursor}`, { key })
    for (const { data } of body.memories) subjects.push(data.subject)
    cursor = `&cursor=${body.nextCursor}`
  }
  const showsRow = async (at: number) => {
    await page.evaluate(`document.querySelector(".rows").scrollTop = ${at * 44}`)
    const line = `[...document.querySelectorAll(".rows .line")].find((line) => line.offsetTop === ${at * 44})?.textContent`
    await expect.poll(() => page.evaluate(line), { timeout: patienceMillis }).toContain(`${subjects[at]} `)
  }
  await showsRow(memories - 1)
  expect(asked.filter((query) => query.get("order") === "desc").length).toBeLessThanOrEqual(2)
  expect(asked.filter((query) => query.get("order") === "asc").length).toBeLessThanOrEqual(2)
  for (const at of [600, 640, 900, 300]) await showsRow(at)
  expect(asked.length).toBeLessThanOrEqual(memories / 100 + 1)
  const rows = Number(await page.evaluate(`document.querySelectorAll(".rows .line").length`))
  expect(rows).toBeLessThan(120)
})

it.each([380, 1_280, 2_560])("shows what each memory says in a list that is %i pixels wide", async (width) => {
  await page.setViewportSize({ width, height: 860 })
  await open("#/memories?agentId=shelves")
  const said = page.locator(".rows .line .what").first()
  await said.waitFor()
  expect((await said.boundingBox())!.width).toBeGreaterThan(width / 4)
  const stored = (await page.locator(".rows .line .number").first().boundingBox())!
  expect(stored.x + stored.width).toBeLessThan(width)
  await page.setViewportSize({ width: 1_280, height: 860 })
})

it("changes tags of a memory, and deletes it after a question", async () => {
  const body = { agentId: "single", memories: [fact("lamp", "on the desk")] }
  const { id } = (await server.call("POST", "/v1/memories", { key, body })).body.created[0]
  await open(`#/memories?agentId=single&id=${id}`)
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel.getByLabel("Tags, separated by commas").fill("office, light")
  await panel.getByRole("button", { name: "Save tags" }).click()
  await expect.poll(async () => (await stored(id)).body.memory.context.tags).toEqual(["office", "light"])
  // Gone once the history is read anew.
  await panel.getByRole("button", { name: "Save tags" }).waitFor({ state: "detached" })
  await panel.getByRole("button", { name: "Delete …" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
  await expect.poll(async () => (await stored(id)).status).toBe(404)
  await page.getByText("Nothing matches these filters.").waitFor()
})

it("changes the data of a memory: as a new version where its kind has unique fields, else in place", async () => {
  const schema = schemaText({ email: text, city: text }, { required: ["email"] })
  const registered = { name: "contact", description: "d", uniqueOn: ["email"], schema }
  expect((await server.call("POST", "/v1/schemas", { key, body: registered })).status).toBe(200)
  const contact = { kind: "contact", data: { email: "ann@example.com", city: "Oslo" } }
  const body = { agentId: "edited", memories: [contact, fact("lamp", "on the desk")] }
  const [version, plain] = (await server.call("POST", "/v1/memories", { key, body })).body.created
  await server.call("PATCH", `/v1/memories/${version.id}`, { key, body: { tags: ["friend"] } })
  const edit = async (id: string, data: object) => {
    await open(`#/memories?agentId=edited&id=${id}`)
    const panel = page.getByRole("complementary", { name: "Memory" })
    await panel.getByRole("button", { name: "Edit data" }).click()
    await panel.getByLabel("As JSON").check()
    await panel.getByLabel("Data, as JSON").fill(JSON.stringify(data))
    await panel.getByRole("button", { name: "Save data" }).click()
  }
  const newer = { email: "ann@example.com", city: "Bergen" }
  await edit(version.id, newer)
  const older = async () => (await stored(version.id)).body.memory
  await expect.poll(older, patience).toMatchObject({ data: contact.data, context: { isLatest: false } })
  const latest = async () => (await stored((await older()).metadata.supersededBy)).body.memory
  await expect.poll(latest, patience).toMatchObject({ data: newer, context: { isLatest: true, tags: ["friend"] } })
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel
    .getByText(/^corrected by the operator operator, /)
    .first()
    .waitFor()
  await panel.getByRole("button", { name: /^Restore .*Oslo/ }).click()
  await panel
    .getByText(/^restored from an older version by the operator operator, /)
    .first()
    .waitFor()
  const restored = async () =>
    (await server.call("GET", "/v1/memories?agentId=edited&kind=contact", { key })).body.memories
  await expect.poll(restored, patience).toMatchObject([{ data: contact.data, context: { isLatest: true } }])
  await edit(plain.id, { subject: "lamp", fact: "on the shelf" })
  await expect.poll(async () => (await stored(plain.id)).body.memory.data.fact, patience).toBe("on the shelf")
  expect((await server.call("GET", "/v1/memories?agentId=edited", { key })).body.total).toBe(2)
})

it("changes data by the fields of its kind, and leaves the others and their types as they are", async () => {
  const fields = { name: text, age: { type: "integer" }, isMember: { type: "boolean" }, visits: { type: "array" } }
  const schema = schemaText({ ...fields, about: text }, { required: ["name"] })
  const registered = { name: "guest", description: "d", schema }
  expect((await server.call("POST", "/v1/schemas", { key, body: registered })).status).toBe(200)
  const data = { name: "Ann", age: 41, isMember: true, visits: [1, { at: "noon" }], about: "likes\nlong texts" }
  const body = { agentId: "guests", memories: [{ kind: "guest", data }] }
  const [{ id }] = (await server.call("POST", "/v1/memories", { key, body })).body.created
  await open(`#/memories?agentId=guests&id=${id}`)
  const panel = page.getByRole("complementary", { name: "Memory" })
  const save = () => panel.getByRole("button", { name: "Save data" }).click()
  const saved = async () => (await stored(id)).body.memory.data
  await panel.getByRole("button", { name: "Edit data" }).click()
  await panel.getByLabel("name", { exact: true }).fill("Anna")
  await panel.getByLabel("age, optional").fill("42")
  await panel.getByRole("combobox", { name: "isMember, optional" }).selectOption("false")
  expect(await panel.getByLabel("about, optional").inputValue()).toBe(data.about)
  await save()
  await expect.poll(saved, patience).toEqual({ ...data, name: "Anna", age: 42, isMember: false })
  await panel.getByRole("button", { name: "Edit data" }).click()
  await panel.getByLabel("age, optional").fill("")
  await panel.getByLabel("As JSON", { exact: true }).check()
  expect(JSON.parse(await panel.getByLabel("Data, as JSON").inputValue())).not.toHaveProperty("age")
  await panel.getByLabel("As JSON", { exact: true }).uncheck()
  await panel.getByLabel("age, optional").fill("none")
  await save()
  await panel.getByRole("alert").getByText("age").waitFor()
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("400")])
  await panel.getByLabel("age, optional").fill("")
  await save()
  const { age: _, ...rest } = data
  await expect.poll(saved, patience).toEqual({ ...rest, name: "Anna", isMember: false })
})

it("filters by values of the data and by sort, and deletes nothing by them", async () => {
  const body = { agentId: "filtered", memories: [fact("pear", "green"), fact("plum", "blue")] }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  await open("#/memories?agentId=filtered")
  await page.getByRole("heading", { name: "2 memories" }).waitFor()
  await page.getByLabel("Data", { exact: true }).fill("subject=plum")
  await page.getByLabel("Data", { exact: true }).press("Enter")
  await page.getByRole("heading", { name: "1 memory" }).waitFor()
  const remove = page.getByRole("button", { name: "Delete all of these …" })
  expect(await remove.isDisabled()).toBe(true)
  await page.getByLabel("Data", { exact: true }).fill("")
  await page.getByLabel("Data", { exact: true }).press("Enter")
  await page.getByRole("heading", { name: "2 memories" }).waitFor()
  await expect.poll(() => remove.isDisabled(), patience).toBe(false)
  await page.getByRole("combobox", { name: /^What/ }).selectOption("extracted")
  await expect.poll(() => remove.isDisabled(), patience).toBe(true)
})

it("shows what somebody else changed meanwhile, and stores nothing over it unless told to", async () => {
  const body = { agentId: "contested", memories: [fact("kettle", "on the stove")] }
  const [{ id }] = (await server.call("POST", "/v1/memories", { key, body })).body.created
  const data = { subject: "kettle", fact: "in the sink" }
  const panel = page.getByRole("complementary", { name: "Memory" })
  const meanwhile = async (mine: string, theirs: string) => {
    await open(`#/memories?agentId=contested&id=${id}`)
    await panel.getByRole("button", { name: "Edit data" }).click()
    await panel.getByLabel("As JSON").check()
    await panel.getByLabel("Data, as JSON").fill(JSON.stringify({ ...data, fact: mine }))
    const change = { data: { ...data, fact: theirs } }
    expect((await server.call("PATCH", `/v1/memories/${id}`, { key, body: change })).status).toBe(200)
    await panel.getByRole("button", { name: "Save data" }).click()
    await panel.getByRole("alert").getByText(theirs).waitFor()
    expect((await stored(id)).body.memory.data.fact).toBe(theirs)
  }
  const saved = async () => (await stored(id)).body.memory.data.fact
  await meanwhile("in the sink", "on the table")
  expect(await accessibilityFaults(page)).toEqual([])
  await panel.getByRole("button", { name: "Save mine over it" }).click()
  await expect.poll(saved).toBe("in the sink")
  await panel.getByRole("button", { name: "Edit data" }).waitFor()
  await meanwhile("in the bin", "in the box")
  await panel.getByRole("button", { name: "Keep theirs" }).click()
  await panel.getByText("in the box").first().waitFor()
  expect(await saved()).toBe("in the box")
  const refusal = expect.stringContaining("412")
  expect(watched.complaints.splice(0)).toEqual([refusal, refusal])
})

it("says how many memories a filter would delete before it deletes them", async () => {
  const body = { agentId: "doomed", memories: [fact("one", "a"), fact("two", "b"), fact("three", "c")] }
  await server.call("POST", "/v1/memories", { key, body })
  await open("#/memories?agentId=doomed")
  await page.getByRole("heading", { name: "3 memories" }).waitFor()
  await page.getByRole("button", { name: "Delete all of these …" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByText("This deletes 3 memories for good").waitFor()
  const count = async () => (await server.call("GET", "/v1/memories?agentId=doomed", { key })).body.total
  expect(await count()).toBe(3)
  expect(await dialog.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true)
  await dialog.getByLabel("Type delete to go on").fill("Delete ")
  await dialog.getByRole("button", { name: "Delete" }).click()
  await expect.poll(count).toBe(0)
})

it("keeps what is typed before the first frame of a page", async () => {
  await open("#/overview")
  await page.getByText("The service takes requests.").waitFor()
  await page.evaluate(`{
    const typeAtOnce = new MutationObserver(() => {
      const field = document.querySelector("form[role=search] input")
      if (field === null) return
      typeAtOnce.disconnect()
      field.value = "typed at once"
      field.dispatchEvent(new Event("input", { bubbles: true }))
    })
    typeAtOnce.observe(document.body, { childList: true, subtree: true })
    location.hash = "#/search"
  }`)
  await page.getByRole("searchbox").press("Enter")
  await expect.poll(() => page.url()).toContain("query=typed+at+once")
})

it("shows why a question found what it found, and the same call for programs", async () => {
  await open("#/search")
  await page.getByRole("searchbox").fill("where is item 7")
  await page.getByRole("searchbox").press("Enter")
  await page.getByRole("region", { name: "Found" }).getByText("Why it stands here").first().click()
  const call = page.getByRole("region", { name: "The same call" })
  const copied = () => page.evaluate("navigator.clipboard.readText()")
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
  await call.getByRole("button", { name: "Copy" }).click()
  await call.getByRole("button", { name: "Copied" }).waitFor()
  expect(await copied()).toMatch(/^curl /)
  await call.getByRole("button", { name: "Python" }).click()
  await call.getByRole("button", { name: "Copy", exact: true }).click()
  await call.getByRole("button", { name: "Copied" }).waitFor()
  expect(await copied()).toBe(await call.locator("pre").textContent())
  await page.context().clearPermissions()
})

it("keeps with a memory whether it was of use for a question, and shows that", async () => {
  const body = { agentId: "useful", memories: [fact("kite", "in the attic")] }
  const [{ id }] = (await server.call("POST", "/v1/memories", { key, body })).body.created
  await open("#/search?query=kite+attic&agentId=useful")
  const found = page.getByRole("region", { name: "Found" })
  // Until it is answered the page shows the hits of the search before.
  const hit = found.getByRole("listitem").filter({ hasText: "in the attic" })
  const kept = async () => (await stored(id)).body.memory.feedback
  for (const [name, useful] of [
    ["of use", true],
    ["not of use", false]
  ] as const) {
    await hit.getByRole("button", { name, exact: true }).click()
    await expect.poll(kept, patience).toMatchObject([{ query: "kite attic", useful, by: "operator" }])
  }
  await hit.getByRole("button", { name: "of use", exact: true }).click()
  await expect.poll(kept, patience).toMatchObject([{ useful: true }])
  await open("#/evaluate")
  await page.getByRole("button", { name: "Run", exact: true }).click()
  const asked = page.getByRole("region", { name: "Questions" }).locator("tbody tr")
  await asked.filter({ hasText: "kite attic" }).getByRole("cell", { name: "1", exact: true }).last().waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await asked.filter({ hasText: "kite attic" }).getByRole("link", { name: "Search and scores" }).click()
  await page.getByRole("region", { name: "The memory that you expect" }).getByText("at place 1").waitFor()
  await found.getByRole("link", { name: "in the attic" }).click()
  await page.getByRole("complementary", { name: "Memory" }).getByText("for “kite attic”").waitFor()
})

it("says of a memory that a question did not find what kept it out, without the question typed again", async () => {
  const body = { agentId: "missing", memories: [fact("ladder", "behind the shed")] }
  const [{ id }] = (await server.call("POST", "/v1/memories", { key, body })).body.created
  await open("#/search?query=item+7+shelf&agentId=shelves")
  await page.getByRole("region", { name: "Found" }).getByText("Is one missing?").click()
  await page.getByLabel("Words that it has").fill("ladder shed")
  await page.getByRole("list", { name: "Memories with these words" }).getByRole("button").first().click()
  const reasons = page.getByRole("region", { name: "The memory that you expect" })
  await reasons.getByText("behind the shed").waitFor()
  await open(`#/memories?agentId=missing&id=${id}`)
  await page.getByRole("link", { name: "Why is it not found?" }).click()
  await reasons.getByText("behind the shed").waitFor()
  await reasons.getByText("others have more of the words of the question, and the search was by words alone").waitFor()
  await open(`#/search?query=ladder&agentId=shelves&expected=${id}`)
  await reasons.getByText("The filter agent “shelves” leaves it out: it has “missing”.").waitFor()
  await reasons.getByText("Without filters it stands at place 1").waitFor()
  await reasons.getByText("Why it stands here").click()
  await reasons.getByRole("listitem").filter({ hasText: "BM25F" }).waitFor()
})

it("finds a memory that was corrected, also by the old word, says truly why a question leaves it out, and offers it by its word", async () => {
  const place = { agentId: "moved", subjectId: "nora", threadId: "t" }
  const conversation = [
    { id: "m1", role: "user", name: "Nora Field", content: "I live in Utrecht." },
    { id: "m2", role: "user", name: "Nora Field", content: "The train to Utrecht was late." }
  ]
  await server.call("POST", "/v1/memories", { key, body: { ...place, conversation, wait: "extraction" } })
  const facts = async () =>
    (await server.call("GET", "/v1/memories?agentId=moved&include=extracted", { key })).body.memories
  await expect.poll(async () => (await facts()).length, patience).toBe(1)
  const [{ id }] = await facts()
  await open(`#/memories?agentId=moved&id=${id}`)
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel.getByRole("button", { name: "Edit data" }).click()
  const data = { subject: "Nora Field", fact: "Nora Field lives in Delft" }
  await panel.getByLabel("As JSON").check()
  await panel.getByLabel("Data, as JSON").fill(JSON.stringify(data))
  await panel.getByRole("button", { name: "Save data" }).click()
  await expect.poll(async () => (await facts())[0].data, patience).toEqual(data)
  const corrected = (await facts())[0].id
  await open("#/search?query=Where+does+Nora+Field+live&agentId=moved")
  const found = page.getByRole("region", { name: "Found" })
  const hits = found.getByRole("listitem")
  await hits.first().getByText("Nora Field lives in Delft").waitFor()
  await open("#/search?query=Utrecht&agentId=moved")
  await expect.poll(() => page.getByRole("searchbox").inputValue(), patience).toBe("Utrecht")
  // The message that says otherwise stands behind it, and names it.
  await hits.filter({ hasText: "I live in Utrecht." }).waitFor()
  expect((await hits.allInnerTexts()).findIndex((text) => text.includes("lives in Delft"))).toBe(0)
  const reasons = page.getByRole("region", { name: "The memory that you expect" })
  await open(`#/memories?agentId=moved&id=${corrected}`)
  await panel.getByRole("link", { name: "Why is it not found?" }).click()
  await reasons.getByText(/^Without filters it stands at place 1 /).waitFor()
  expect(await reasons.innerText()).not.toContain("in its stead")
  await page.getByLabel("Relevance ≥").fill("0.3")
  await reasons.getByText("That is below the least relevance 0.3.").waitFor()
  await expect.poll(() => hits.filter({ hasText: "lives in Delft" }).count(), patience).toBe(0)
  await open(`#/search?query=Utrecht&expected=${id}`)
  await reasons.getByText("It is superseded: a search finds the newest version alone.").waitFor()
  await open("#/search?query=Utrecht&agentId=moved")
  await found.getByText("Is one missing?").click()
  await page.getByLabel("Words that it has").fill("Delft")
  const offered = page.getByRole("list", { name: "Memories with these words" }).getByRole("button")
  await offered.first().getByText("Nora Field lives in Delft").waitFor()
  await offered.first().click()
  await reasons.getByText("Nora Field lives in Delft").waitFor()
  expect(page.url()).toContain(`expected=${corrected}`)
})

it("opens a dialog anew at once after Escape", async () => {
  await open("#/accounts")
  const button = page.getByRole("button", { name: "New account …" })
  await button.waitFor()
  // Between the key and the browser's own event of the closed dialog nothing else runs.
  const isOpen = await page.evaluate(`(async () => {
    const button = [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "New account …")
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
    button.click()
    await frame()
    document.querySelector("dialog").requestClose()
    button.click()
    await frame()
    await frame()
    return document.querySelector("dialog")?.open === true
  })()`)
  expect(isOpen).toBe(true)
  await page.keyboard.press("Escape")
  await page.getByRole("dialog").waitFor({ state: "detached" })
})

it("shows what a link names: the account and the page, or that it knows none of that name", async () => {
  await open("#/memories")
  await page.waitForURL(/in=research/)
  const visitor = await page.context().newPage()
  const visit = async (hash: string) => {
    await visitor.goto(`${server.url}/console${hash}`)
    await visitor.reload()
  }
  await visit("#/memories?in=empty")
  await visitor.getByText("This account has stored nothing yet:").waitFor()
  await expect.poll(() => visitor.getByLabel("Account").inputValue()).toBe("empty")
  await visitor.getByRole("link", { name: "Search" }).click()
  await visitor.getByRole("searchbox").waitFor()
  await visitor.waitForURL(/#\/search\?in=empty/)
  await server.newAccount("made elsewhere")
  await visit("#/subjects?in=made+elsewhere")
  await visitor.getByText("You look at the account made elsewhere").waitFor()
  await visit("#/memories?in=nobody")
  await visitor.getByRole("heading", { name: "There is no account nobody" }).waitFor()
  await visit("#/nowhere")
  await visitor.getByRole("heading", { name: "There is no such page" }).waitFor()
  expect(await visitor.locator("nav a[aria-current=page]").count()).toBe(0)
  await visitor.close()
})

it("keeps two services of one host apart, whose cookies the browser sends to both", async () => {
  const other = await startServer({ environment: withoutModel })
  const { body } = await other.asOperator("POST", "/admin/console-links")
  const second = await page.context().newPage()
  await second.goto(body.link.url)
  await second.getByText("The service takes requests.").waitFor()
  await second.close()
  await other.stop()
  await page.reload()
  await page.getByRole("navigation", { name: "Pages" }).waitFor()
})

it("sorts a table by the title that is pressed, either way, then as it was", async () => {
  await open("#/accounts")
  const names = () => page.locator("main tbody tr td:first-child").allInnerTexts()
  await page.locator("main tbody tr").first().waitFor()
  const before = await names()
  const title = page.getByRole("columnheader", { name: "Account", exact: false }).first().getByRole("button")
  const sorted = before.toSorted((one, other) => one.localeCompare(other))
  for (const expected of [sorted, sorted.toReversed(), before]) {
    await title.click()
    expect(await names()).toEqual(expected)
  }
})

it("shows texts in their own direction, with signs that would turn it, and no line wider than the page", async () => {
  const long = "w".repeat(700)
  const texts = ["\u05e9\u05dc\u05d5\u05dd 12.5.", "open \u202egnp.exe", `${long} end`]
  const body = { agentId: "scripts", subjectId: long.slice(0, 120), memories: texts.map((one) => fact("text", one)) }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  const fits = async () =>
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
  await open("#/memories?agentId=scripts")
  const hebrew = page.locator(".rows .what bdi", { hasText: "\u05e9\u05dc\u05d5\u05dd" })
  await hebrew.waitFor()
  const directions = `[...document.querySelectorAll(".rows .what bdi")].map((text) => getComputedStyle(text).direction)`
  expect(((await page.evaluate(directions)) as ReadonlyArray<string>).toSorted()).toEqual(["ltr", "ltr", "rtl"])
  await page.getByText("open [U+202E]gnp.exe").click()
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel.locator("dd", { hasText: "open [U+202E]gnp.exe" }).waitFor()
  await panel.getByRole("button", { name: "Edit data" }).click()
  expect(await panel.getByLabel("Data, as JSON").inputValue()).toContain('"open \\u202Egnp.exe"')
  await fits()
  for (const hash of [
    `#/subjects?subjectId=${long.slice(0, 120)}`,
    `#/search?query=${long.slice(0, 100)}&agentId=scripts`
  ]) {
    await open(hash)
    await page.getByText("end", { exact: false }).first().waitFor()
    await fits()
  }
  await server.call("POST", "/v1/memories/batch/delete", { key, body: { filters: { agentId: "scripts" } } })
})

it("shows a refusal of the service as it is", async () => {
  await open("#/search?query=x&minRelevance=7")
  await page.getByRole("alert").getByText("minRelevance").waitFor()
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("400")])
})

it("signs an account in by its key, to its own memories and no page of operators", async () => {
  const own = await openPage(browser, server)
  await own.page.goto(`${server.url}/console`)
  await own.page.getByLabel("API key of an account").fill(key)
  await own.page.getByRole("button", { name: "Sign in" }).click()
  await own.page.getByRole("heading", { name: /1,2\d\d memories/ }).waitFor()
  expect(await own.page.getByRole("link", { name: "Overview" }).count()).toBe(0)
  await own.page.getByRole("button", { name: "Sign out" }).click()
  await own.page.getByText("You have signed out.").waitFor()
  expect([own.complaints, own.foreign]).toEqual([[], []])
  await own.page.context().close()
})

it("signs out only once the service did, and leaves no question behind", async () => {
  const own = await openPage(browser, server)
  const signIn = async () => {
    await own.page.getByLabel("API key of an account").fill(key)
    await own.page.getByRole("button", { name: "Sign in" }).click()
    await own.page.getByRole("navigation", { name: "Pages" }).waitFor()
  }
  const signOut = own.page.getByRole("button", { name: "Sign out" })
  const isOpen = () => own.page.evaluate(`fetch("/v1/memories?limit=1").then(({ ok }) => ok)`)
  await own.page.goto(`${server.url}/console`)
  await signIn()
  await showPage(own.page, "#/search?query=private+item&agentId=shelves")
  await own.page.locator("main .hit").first().waitFor()
  await own.page.route("**/console/session", (route) =>
    route.fulfill({ status: 503, json: { success: false, error: "busy", code: "overloaded" } })
  )
  await signOut.click()
  await own.page.getByRole("alert").getByText("Busy (503).").waitFor()
  expect([await own.page.getByText("You have signed out.").count(), await isOpen()]).toEqual([0, true])
  await own.page.unroute("**/console/session")
  await signOut.click()
  await own.page.getByText("You have signed out.").waitFor()
  expect([own.page.url(), await isOpen()]).toEqual([`${server.url}/console`, false])
  await signIn()
  await showPage(own.page, "#/memories?agentId=shelves")
  await own.page.locator(".rows .line:not(.waiting)").first().click()
  const why = own.page.getByRole("link", { name: "Why is it not found?" })
  expect(await why.getAttribute("href")).not.toContain("private")
  await own.page.context().close()
})

it("complains of nothing, asks no other origin, and weighs little", async () => {
  expect(watched.complaints).toEqual([])
  expect(watched.foreign).toEqual([])
  const files = await buildConsole(temporaryDirectory())
  expect(files.reduce((sum, { packedBytes }) => sum + packedBytes, 0)).toBeLessThan(packedBytesMax)
})
