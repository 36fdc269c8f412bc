/** Saved filters of the console's lists in a real browser: kept under a name, chosen, carried by a link, deleted. */
import { beforeAll, expect, it } from "vitest"
import {
  accessibilityFaults,
  expectAccessible,
  openConsole,
  showPage,
  useBrowser,
  usePage
} from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  const key = await server.newAccount("research")
  const store = (agentId: string, ...texts: ReadonlyArray<string>) =>
    server.call("POST", "/v1/memories", { key, body: { agentId, memories: texts.map((one) => fact("it", one)) } })
  await store("shelves", "one", "two", "three")
  await store("desk", "four")
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

const heading = (text: string) => page.getByRole("heading", { name: text }).waitFor()
const choice = () => page.getByLabel("Saved filters")
const agent = () => page.getByLabel("Agent", { exact: true })
const saveAs = async (name: string) => {
  await page.getByRole("button", { name: /^Save (?:filters|as) …$/ }).click()
  await page.getByRole("dialog").getByLabel("Name").fill(name)
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click()
  await page.getByRole("dialog").waitFor({ state: "detached" })
}

it("are offered once something is set, and set all that was set, and no more", async () => {
  await showPage(page, "#/memories")
  await heading("4 memories")
  expect(await page.getByRole("button", { name: "Save filters …" }).count()).toBe(0)
  await agent().fill("shelves")
  await heading("3 memories")
  await saveAs("\u05e9\u05dc\u05d5\u05dd shelves")
  await agent().fill("desk")
  await heading("1 memory")
  expect(await choice().locator("option:checked").innerText()).toContain(", changed")
  await saveAs("the desk")
  await choice().selectOption("\u05e9\u05dc\u05d5\u05dd shelves")
  await heading("3 memories")
  expect(await agent().inputValue()).toBe("shelves")
  await choice().selectOption("")
  await heading("4 memories")
  expect(await agent().inputValue()).toBe("")
  expect(await accessibilityFaults(page)).toEqual([])
})

it("stay in this browser when it is loaded anew, each on its own page", async () => {
  await page.reload()
  await heading("4 memories")
  await choice().selectOption("the desk")
  await heading("1 memory")
  expect(page.url()).toContain("agentId=desk")
  await showPage(page, "#/audit?show=requests")
  await page.getByRole("region", { name: "Filters" }).waitFor()
  expect(await choice().count()).toBe(0)
})

it("are changed by a button, which can be taken back like a deletion", async () => {
  const takeBack = () => page.getByRole("region", { name: "Last change" }).getByRole("button", { name: "Take back" })
  await showPage(page, "#/memories")
  await choice().selectOption("the desk")
  await heading("1 memory")
  await agent().fill("shelves")
  await heading("3 memories")
  await page.getByRole("button", { name: "Update the saved filter the desk" }).click()
  await choice().selectOption("")
  await heading("4 memories")
  await choice().selectOption("the desk")
  await heading("3 memories")
  await takeBack().click()
  await expect.poll(() => choice().locator("option:checked").innerText()).toBe("the desk, changed")
  await page.getByRole("button", { name: "Delete the saved filter the desk" }).click()
  await takeBack().click()
  await choice().selectOption("the desk")
  await heading("1 memory")
})

it("are taken back one by one, beside what was saved meanwhile, here and in another tab", async () => {
  const names = (of: typeof page) => of.getByLabel("Saved filters").locator("option").allInnerTexts()
  const update = page.getByRole("button", { name: "Update the saved filter the desk" })
  const last = page.getByRole("region", { name: "Last change" })
  const forget = async (name: string) => {
    await choice().selectOption(name)
    await page.getByRole("button", { name: `Delete the saved filter ${name}` }).click()
    await expect.poll(() => names(page)).not.toContain(name)
  }
  const other = await page.context().newPage()
  await other.goto(`${server.url}/console#/memories?in=research&agentId=shelves`)
  await other.getByRole("heading", { name: "3 memories" }).waitFor()
  await showPage(page, "#/memories")
  await choice().selectOption("the desk")
  await heading("1 memory")
  await agent().fill("shelves")
  await heading("3 memories")
  await update.click()
  await page.getByLabel("Kind", { exact: true }).fill("semantic_fact")
  await expect.poll(() => page.url()).toContain("kind=semantic_fact")
  await saveAs("here")
  await other.getByRole("button", { name: "Save filters …" }).click()
  await other.getByRole("dialog").getByLabel("Name").fill("there")
  await other.getByRole("dialog").getByRole("button", { name: "Save" }).click()
  await expect.poll(() => names(other)).toEqual(expect.arrayContaining(["the desk", "here", "there"]))
  await expect.poll(() => names(page)).toEqual(expect.arrayContaining(["here", "there"]))
  await last.getByRole("button", { name: "Take back" }).click()
  await last.getByText("Taken back").waitFor()
  expect(await names(page)).toEqual(expect.arrayContaining(["here", "there"]))
  await other.close()
  // A store that is full: nothing is changed, nothing is offered, and it is said.
  await choice().selectOption("the desk")
  await heading("1 memory")
  await agent().fill("shelves")
  await heading("3 memories")
  await page.evaluate("Storage.prototype.setItem = () => { throw new Error('The store is full.') }")
  await update.click()
  await page.getByRole("region", { name: "Filters" }).getByRole("alert").getByText("The store is full.").waitFor()
  expect(await last.getByRole("button", { name: "Take back" }).count()).toBe(0)
  await page.reload()
  await heading("3 memories")
  // A refusal is one of what was to be taken back, not of the next change.
  await update.click()
  const setItem = "const { setItem } = Storage.prototype; Storage.prototype.setItem ="
  await page.evaluate(`${setItem} function (...all) { Storage.prototype.setItem = setItem; throw new Error("full") }`)
  await last.getByRole("button", { name: "Take back" }).click()
  await last.getByRole("alert").waitFor()
  await agent().fill("desk")
  await heading("1 memory")
  await update.click()
  await last.getByText("is changed").waitFor()
  expect(await last.getByRole("alert").count()).toBe(0)
  for (const name of ["here", "there"]) await forget(name)
})

it("are carried by a link to a browser that does not have them, which may keep them", async () => {
  await showPage(page, "#/memories")
  await choice().selectOption("the desk")
  await heading("1 memory")
  const { hash } = new URL(page.url())
  const other = await openConsole(browser, server)
  // Or the address would change behind its sign alone.
  await other.page.goto("about:blank")
  await other.page.goto(`${server.url}/console${hash}`)
  await other.page.getByRole("heading", { name: "1 memory" }).waitFor()
  expect(await other.page.getByLabel("Saved filters").locator("option:checked").innerText()).toBe("the desk, of a link")
  await other.page.getByRole("button", { name: "Save filters …" }).click()
  expect(await other.page.getByRole("dialog").getByLabel("Name").inputValue()).toBe("the desk")
  await other.page.getByRole("dialog").getByRole("button", { name: "Save" }).click()
  await other.page.getByRole("button", { name: "Delete the saved filter the desk" }).waitFor()
  await other.page.context().close()
})

it("are not those of who signs in next in this browser", async () => {
  const { secret } = (await server.asOperator("POST", "/admin/operators", { name: "vera", role: "viewer" })).body
  const opened = await page.context().newPage()
  await opened.goto(`${server.url}/console`)
  await opened.getByRole("button", { name: "Sign out" }).click()
  await opened.getByLabel("API key of an account").fill(secret)
  await opened.getByRole("button", { name: "Sign in" }).click()
  await opened.getByRole("navigation", { name: "Pages" }).waitFor()
  await opened.getByRole("combobox", { name: "Account" }).selectOption("research")
  await showPage(opened, "#/memories")
  await opened.getByRole("heading", { name: "4 memories" }).waitFor()
  expect(await opened.getByLabel("Saved filters").count()).toBe(0)
  await opened.close()
  const { body } = await server.asOperator("POST", "/admin/console-links")
  // Only the part after the sign of the address changes, so the page loads itself anew.
  await Promise.all([page.waitForEvent("load"), page.goto(body.link.url)])
})

it("are deleted, and what they set stays set", async () => {
  await page.getByLabel("Account").selectOption("research")
  await showPage(page, "#/memories")
  await choice().selectOption("the desk")
  await page.getByRole("button", { name: "Delete the saved filter the desk" }).click()
  await page.getByRole("button", { name: "Delete the saved filter the desk" }).waitFor({ state: "detached" })
  await heading("1 memory")
  expect(await choice().locator("option").allInnerTexts()).toEqual(["none", "\u05e9\u05dc\u05d5\u05dd shelves"])
  for (const at of [0, 1, 2]) await expectAccessible(page, at, async () => undefined)
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
