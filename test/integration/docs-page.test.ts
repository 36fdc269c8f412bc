/** The page at `/docs` and the handbook in a real browser: try-out with a key, search, accessibility, no foreign request. */
import { beforeAll, expect, it } from "vitest"
import { expectAccessible, openPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const browser = useBrowser()
const { page, watched } = usePage(browser, server, { open: openPage })
let key: string

beforeAll(async () => {
  key = await server.newAccount("docs")
})

it("leads a browser to the console, and tells a program where things are", async () => {
  await page.goto(`${server.url}/`)
  expect(new URL(page.url()).pathname).toBe("/console")
  const { body } = await server.call("GET", "/", { key: null, headers: { accept: "application/json" } })
  for (const path of ["openapi", "docs", "text", "health"].map((name) => body[name])) {
    expect([path, (await server.call("GET", path, { key: null })).status]).toEqual([path, 200])
  }
})

it("sends a call of the contract with the key, and shows the answer", async () => {
  await page.goto(`${server.url}/docs`)
  await page.getByLabel("API key").fill(key)
  await page.locator("#memories\\.create > summary").click()
  const form = page.locator("#memories\\.create form")
  const body = { agentId: "docs", memories: [fact("lamp", "on the desk")] }
  await form.getByLabel("Body (JSON)").fill(JSON.stringify(body))
  await form.getByRole("button", { name: "Send" }).click()
  await form.getByRole("status").getByText('"success": true').waitFor()
  expect((await server.call("GET", "/v1/memories?agentId=docs", { key })).body.total).toBe(1)
  expect(await form.getByRole("status").innerText()).not.toContain(key)
})

it("has a menu, filled forms that Send sends at once, samples in three languages, and answers by status", async () => {
  await page.goto(`${server.url}/docs`)
  await page.getByLabel("API key").fill(key)
  const menu = page.getByRole("navigation", { name: "Operations" })
  await menu.getByText("memories", { exact: true }).click()
  await menu.getByRole("link", { name: "Search memories" }).first().click()
  const search = page.locator("#memories\\.search")
  await search.getByRole("button", { name: "Send" }).click()
  await search.getByRole("status").getByText(/^200 /).waitFor()
  const language = search.getByLabel("Language of the sample")
  const sample = search.locator(".sample pre")
  expect(await sample.innerText()).toMatch(/^curl -X GET '[^']+\/v1\/memories\/search\?query=/)
  await language.selectOption("TypeScript")
  expect(await sample.innerText()).toContain("await muniment.search({")
  await language.selectOption("Python")
  expect(await sample.innerText()).toContain("muniment.search(query=")
  await search.getByLabel(/^limit/).fill("3")
  expect(await sample.innerText()).toContain("limit=3")
  expect(await sample.innerText()).not.toContain(key)
  for (const status of ["200", "400", "401", "429"]) {
    expect(
      await search
        .locator("details > summary")
        .filter({ hasText: new RegExp(`^${status}`) })
        .count()
    ).toBe(1)
  }
  await page.locator("#memories\\.create > summary").click()
  const create = page.locator("#memories\\.create form")
  await create.getByRole("button", { name: "Send" }).click()
  await create.getByRole("status").getByText(/^200 /).waitFor()
  // The example's id is one that there is now.
  await page.locator("#memories\\.get > summary").click()
  await page.locator("#memories\\.get").getByRole("button", { name: "Send" }).click()
  await page.locator("#memories\\.get").getByRole("status").getByText(/^200 /).waitFor()
})

it("copies what a block of code says, in both places, and leads back to the console", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url })
  for (const path of ["/docs#memories.get", "/docs/handbook/mcp"]) {
    await page.goto(`${server.url}${path}`)
    const block = page.locator(".code").filter({ visible: true }).first()
    await block.getByRole("button", { name: "Copy" }).click()
    await block.getByRole("button", { name: "Copied" }).waitFor()
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await block.locator("pre").textContent())
    expect(await page.getByRole("link", { name: "Console" }).getAttribute("href")).toMatch(/console$/)
  }
  const contents = page.getByRole("complementary", { name: "Contents" })
  await contents.getByRole("link", { name: "Paying for a call" }).click()
  expect(new URL(page.url()).hash).toBe("#paying-for-a-call")
})

it("finds a section of the handbook", async () => {
  await page.getByLabel("Search the handbook").fill("clock stepped")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Search" }).waitFor()
  const first = page.locator("main li a").first()
  await first.click()
  expect(new URL(page.url()).pathname).toMatch(/^\/docs\/handbook\/\w+/)
})

it.each(["/docs", "/docs#memories.create", "/docs/handbook", "/docs/handbook?q=backup", "/docs/handbook/money"])(
  "has no fault of accessibility at %s, in light and dark, narrow and wide",
  async (path) => {
    await page.goto(`${server.url}${path}`)
    await page.locator("main a, main summary").first().waitFor()
    await expectAccessible(page, path.length, async () => undefined)
  }
)

it("complains of nothing and asks no other origin", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
