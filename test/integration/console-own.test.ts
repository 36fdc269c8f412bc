/**
 * The console as an account has it that signs in by its key, in a real browser: its keys, webhooks, usage and export, each
 * seen in the API, and what it meets when it is suspended.
 */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, it } from "vitest"
import { accessibilityFaults, expectAccessible, openPage, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { isSigned, startWebhookReceiver, type WebhookReceiver } from "../support/WebhookReceiver.ts"

const memories = 230
let key: string
let receiver: WebhookReceiver

const server = useServer({ environment: { ...withoutModel, MUNIMENT_ACCOUNT_WEBHOOKS: "any" } })
const browser = useBrowser()
beforeAll(async () => {
  receiver = await startWebhookReceiver()
  key = await server.newAccount("tenant", "starter")
  for (let from = 0; from < memories; from += 50) {
    const part = Array.from({ length: Math.min(50, memories - from) }, (_, at) =>
      fact(`item ${from + at}`, "a \u05d0 “b”")
    )
    await server.call("POST", "/v1/memories", { key, body: { agentId: "shelves", memories: part } })
  }
})
afterAll(() => receiver[Symbol.asyncDispose]())

const signIn = async (page: Awaited<ReturnType<typeof openPage>>["page"], secret: string) => {
  await page.goto(`${server.url}/console`)
  await page.getByLabel("API key of an account").fill(secret)
  await page.getByRole("button", { name: "Sign in" }).click()
}
const { page, watched } = usePage(browser, server, {
  open: openPage,
  then: async (page) => {
    await signIn(page, key)
    await page.getByRole("navigation", { name: "Pages" }).waitFor()
  }
})

const own = async (method: string, path: string) => (await server.call(method, path, { key })).body
const dialog = () => page.getByRole("dialog")
const press = (name: string) => dialog().getByRole("button", { name, exact: true }).click()
const patience = { timeout: patienceMillis }

it("makes a key with a label and bounds, whose secret is shown once, and revokes it", async () => {
  await page.getByRole("link", { name: "Your account" }).click()
  await page.getByRole("button", { name: "New key …" }).click()
  await dialog().getByLabel("Label").fill("laptop")
  await dialog().getByLabel("Only these agents").fill("shelves")
  await dialog().getByLabel("It may only read").check()
  await press("Create")
  const secret = await page.getByRole("dialog", { name: "The new key" }).locator("pre").innerText()
  for (const _ of [1, 2]) await page.keyboard.press("Escape")
  // As over plain HTTP.
  await page.evaluate(`Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true })`)
  await press("Copy")
  await dialog().getByText("The text is selected").waitFor()
  expect(await page.evaluate("getSelection().toString()")).toBe(secret)
  await page.evaluate("delete navigator.clipboard")
  await press("I have stored it")
  const keys = page.getByRole("region", { name: "Keys" })
  await keys.getByText("reads only · agents shelves").waitFor()
  expect(await page.content()).not.toContain(secret)
  const read = () => server.call("GET", "/v1/memories?limit=1", { key: secret })
  expect((await read()).body.total).toBe(memories)
  expect((await own("GET", "/v1/keys")).keys).toHaveLength(2)
  await keys.getByRole("button", { name: "Revoke laptop …" }).click()
  await press("Revoke")
  await expect.poll(async () => (await read()).status, patience).toBe(401)
  await keys.getByRole("button", { name: "Revoke laptop …" }).waitFor({ state: "detached" })
})

it("makes a webhook of some events, tests it, shows what was delivered, replaces its secret and deletes it", async () => {
  await showPage(page, "#/own?show=webhooks")
  await page.getByRole("button", { name: "New webhook …" }).click()
  await dialog().getByLabel("URL").fill(receiver.url)
  await dialog().getByLabel("Payments and refunds").uncheck()
  await press("Create")
  const shown = page.getByRole("dialog", { name: "Secret of the signatures" })
  const secret = await shown.locator("pre").innerText()
  await press("I have stored it")
  const [hook] = (await own("GET", "/v1/webhooks")).webhooks
  expect(hook.types.toSorted()).toEqual(["memory.created", "memory.deleted", "memory.superseded", "memory.updated"])
  const hooks = page.getByRole("region", { name: "Webhooks" })
  await hooks.getByRole("button", { name: `Test ${receiver.url}` }).click()
  await hooks.getByText("The receiver took it after").waitFor()
  expect(receiver.deliveries.map(({ body }) => body.type)).toEqual(["test"])
  expect(await isSigned(receiver.deliveries[0]!, secret)).toBe(true)
  receiver.answer = () => 500
  await server.call("POST", "/v1/memories", { key, body: { agentId: "shelves", memories: [fact("new", "one")] } })
  await expect.poll(async () => (await own("GET", `/v1/webhooks/${hook.id}`)).webhook.pending, patience).toBe(1)
  await hooks.getByText("Messages to").click()
  await hooks.getByText("memory.created shelves").waitFor()
  await hooks.getByLabel("State of the messages").selectOption("delivered")
  await hooks.getByText("No such message.").waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await hooks.getByRole("button", { name: `New secret for ${receiver.url}` }).click()
  await press("Replace")
  const other = await page.getByRole("dialog", { name: "New secret of the signatures" }).locator("pre").innerText()
  expect(other).not.toBe(secret)
  await press("I have stored it")
  await hooks.getByText("· 1 wait").waitFor()
  await hooks.getByRole("button", { name: `Delete ${receiver.url}` }).click()
  await dialog().getByText("with it goes the message that waits.").waitFor()
  await press("Delete")
  await hooks.getByText("None: a webhook is sent").waitFor()
  expect((await own("GET", "/v1/webhooks")).webhooks).toEqual([])
})

it("shows what the account has left, used by day and may hold, as the API has it", async () => {
  const { days } = await own("GET", "/v1/account/costs")
  const today = days.at(-1)
  await showPage(page, "#/own?show=usage")
  const chart = page.locator("figure", { hasText: "Calls by day" })
  await chart.locator(".legend b").getByText(String(today.calls), { exact: true }).waitFor()
  await page
    .locator("figure", { hasText: "Credits by day" })
    .locator(".legend b")
    .getByText(String(today.credits))
    .waitFor()
  await page.getByRole("region", { name: "Quotas" }).getByText("231 memories of 1 agent").waitFor()
  await page.locator(".tile", { hasText: "Plan" }).getByText("starter").waitFor()
})

const idsOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).id)

it("exports every memory into a file that is written as the pages come, and stops when told to", async () => {
  await showPage(page, "#/own?show=export")
  // A file of the browser's own storage instead of the dialog of the system, which no test can answer.
  await page.evaluate(`window.showSaveFilePicker = async ({ suggestedName }) => {
    const folder = await navigator.storage.getDirectory()
    return folder.getFileHandle(suggestedName, { create: true })
  }`)
  const written = () =>
    page.evaluate(
      `navigator.storage.getDirectory().then((folder) => folder.getFileHandle("tenant-memories.jsonl"))
        .then((file) => file.getFile()).then((file) => file.text())`
    ) as Promise<string>
  await page.getByRole("button", { name: "Export to a file" }).click()
  await page.getByText("231 memories are in the file.").waitFor()
  const exported = idsOf(await written())
  expect(new Set(exported).size).toBe(231)
  expect(await written()).toContain("a \u05d0 “b”")
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route("**/v1/memories?*cursor=*", async (route) => {
    await held
    await route.continue().catch(() => undefined)
  })
  await page.getByRole("button", { name: "Export to a file" }).click()
  await page.getByText("100 of 231").waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByRole("button", { name: "Stop" }).click()
  await page.getByRole("button", { name: "Export to a file" }).waitFor()
  release()
  await page.unroute("**/v1/memories?*cursor=*")
  expect(await page.getByText("are in the file").count()).toBe(0)
  // The file before is whole: a stopped export replaces nothing.
  expect(idsOf(await written())).toEqual(exported)
})

it("exports by a download where the browser lets no page write a file, and waits for the limit of calls", async () => {
  await page.evaluate("delete window.showSaveFilePicker; window.showSaveFilePicker = undefined")
  let refusals = 1
  await page.route("**/v1/memories?*cursor=*", (route) =>
    refusals-- > 0
      ? route.fulfill({
          status: 429,
          headers: { "retry-after": "1" },
          json: { success: false, error: "too many", code: "rate_limited" }
        })
      : route.continue()
  )
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export to a file" }).click()
  ])
  await page.unroute("**/v1/memories?*cursor=*")
  expect(download.suggestedFilename()).toBe("tenant-memories.jsonl")
  expect(new Set(idsOf(readFileSync(await download.path(), "utf8"))).size).toBe(231)
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("429")])
})

it("says how many memories of a person it erased, though the second look failed, in a record of its own", async () => {
  const body = { agentId: "desk", subjectId: "zoe", memories: [fact("zoe", "a secret"), fact("zoe", "another")] }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  await showPage(page, "#/subjects?subjectId=zoe")
  let looks = 0
  await page.route("**/v1/memories/batch/delete", (route) =>
    route.request().postDataJSON().dryRun && looks++ > 0 ? route.abort() : route.continue()
  )
  await page.getByRole("button", { name: "Erase …" }).click()
  await dialog().getByLabel("Type erase to go on").fill("erase")
  await press("Erase")
  await page.getByText("2 memories about zoe are erased. A second look failed").waitFor()
  await page.unroute("**/v1/memories/batch/delete")
  expect((await own("GET", "/v1/memories?subjectId=zoe")).total).toBe(0)
  const [record] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save a record of it" }).click()
  ])
  const { account, deleted, left } = JSON.parse(readFileSync(await record.path(), "utf8"))
  expect({ account, deleted, left }).toEqual({ account: "tenant", deleted: 2, left: null })
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("ERR_FAILED")])
})

it("has no fault against WCAG on any of its parts, and no line wider than the window", async () => {
  for (const [at, part] of ["keys", "webhooks", "usage", "export"].entries()) {
    await expectAccessible(page, at, async () => {
      await showPage(page, `#/own?show=${part}`)
      await page.locator("main section").first().waitFor()
      await expect.poll(() => page.locator("main .spinner").count()).toBe(0)
    })
  }
})

it("is told plainly when the account is suspended, and goes on once it is resumed", async () => {
  const suspend = (what: "suspend" | "resume") =>
    server.asOperator("POST", `/admin/accounts/${what}`, { account: "tenant" })
  await suspend("suspend")
  // The pages go with the first refusal, so that no link of theirs is waited for.
  for (const hash of ["#/own?show=keys", "#/memories?agentId=shelves"]) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  }
  await page.getByRole("heading", { name: "This account is suspended" }).waitFor()
  expect(await page.getByRole("navigation", { name: "Pages" }).count()).toBe(0)
  expect(await accessibilityFaults(page)).toEqual([])
  const other = await openPage(browser, server)
  await signIn(other.page, key)
  await other.page.getByRole("heading", { name: "This account is suspended" }).waitFor()
  await other.page.context().close()
  await page.getByRole("button", { name: "Look again" }).click()
  await page.getByRole("heading", { name: "This account is suspended" }).waitFor()
  await suspend("resume")
  await page.getByRole("button", { name: "Look again" }).click()
  await page.getByRole("heading", { name: "231 memories" }).waitFor()
  expect(watched.complaints.splice(0).every((text) => text.includes("403"))).toBe(true)
})

it("is no page of operators", async () => {
  const { body } = await server.asOperator("POST", "/admin/console-links")
  const operator = await openPage(browser, server)
  await operator.page.goto(body.link.url)
  await operator.page.getByRole("link", { name: "Accounts and keys" }).waitFor()
  expect(await operator.page.getByRole("link", { name: "Your account" }).count()).toBe(0)
  await operator.page.context().close()
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
