/** The page at `/docs` and the handbook in a real browser: try-out with a key, search, accessibility, no foreign request. */
import { afterAll, beforeAll, expect, it } from "vitest"
import type { Browser } from "playwright-core"
import { accessibilityFaults, openBrowser, openPage, type WatchedPage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { sharedServer, withoutModel } from "../support/SharedServer.ts"
import type { ServerCalls } from "../support/TestServer.ts"

let server: ServerCalls
let browser: Browser
let watched: WatchedPage
let key: string

beforeAll(async () => {
  ;[server, browser] = await Promise.all([sharedServer(withoutModel), openBrowser()])
  key = await server.newAccount("docs")
  watched = await openPage(browser, server.url)
})
afterAll(() => browser.close())

it("leads a browser to the console, and tells a program where things are", async () => {
  await watched.page.goto(`${server.url}/`)
  expect(new URL(watched.page.url()).pathname).toBe("/console")
  const { body } = await server.call("GET", "/", { key: null, headers: { accept: "application/json" } })
  for (const path of ["openapi", "docs", "text", "health"].map((name) => body[name])) {
    expect([path, (await server.call("GET", path, { key: null })).status]).toEqual([path, 200])
  }
})

it("sends a call of the contract with the key, and shows the answer", async () => {
  const { page } = watched
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

it("finds a section of the handbook", async () => {
  const { page } = watched
  await page.getByLabel("Search the handbook").fill("clock stepped")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Search" }).waitFor()
  const first = page.locator("main li a").first()
  await first.click()
  expect(new URL(page.url()).pathname).toMatch(/^\/docs\/handbook\/\w+/)
})

it.each(["/docs", "/docs/handbook", "/docs/handbook?q=backup", "/docs/handbook/money"])(
  "has no fault of accessibility at %s, in light and dark, narrow and wide",
  async (path) => {
    const { page } = watched
    await page.goto(`${server.url}${path}`)
    await page.locator("main a, main summary").first().waitFor()
    for (const width of [380, 1_280]) {
      await page.setViewportSize({ width, height: 860 })
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme })
        expect(await accessibilityFaults(page), `${path}, ${colorScheme}, ${width}`).toEqual([])
      }
      const excess = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
      expect(excess, `${path} at ${width} pixels`).toBeLessThanOrEqual(0)
    }
  }
)

it("complains of nothing and asks no other origin", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
