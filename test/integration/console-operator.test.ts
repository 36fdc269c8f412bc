/** The operator's pages of the console in a real browser: accounts and keys, their actions seen in the API. */
import { readFileSync } from "node:fs"
import { beforeAll, expect, it } from "vitest"
import { accessibilityFaults, expectAccessible, openPage, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { useServer } from "../support/useServer.ts"

let key: string

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  key = await server.newAccount("research")
  await server.newAccount("doomed")
  const body = { agentId: "shelves", memories: [fact("lamp", "on the desk"), fact("chair", "by the door")] }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
})
const { page, watched } = usePage(browser, server)

const open = (hash: string) => showPage(page, hash)

const asOperator = async (method: string, path: string, body?: unknown) =>
  (await server.asOperator(method, path, body)).body

const accountNamed = async (name: string) =>
  (await asOperator("GET", "/admin/accounts")).accounts.find(
    (account: { readonly name: string }) => account.name === name
  )

const limitOf = async (account: string, quota: string): Promise<number | null> =>
  (await asOperator("GET", `/admin/quotas?account=${account}`)).account.quotas.find(
    ({ name }: { readonly name: string }) => name === quota
  ).limit

const panel = () => page.getByRole("complementary", { name: "Account" })
const dialog = () => page.getByRole("dialog")
const press = (name: string) => dialog().getByRole("button", { name, exact: true }).click()

it("creates an account and changes its plan", async () => {
  await open("#/accounts")
  await page.getByRole("button", { name: "New account …" }).click()
  await dialog().getByLabel("Name").fill("fresh")
  await press("Create")
  await panel().getByRole("heading", { name: "fresh" }).waitFor()
  expect((await accountNamed("fresh")).plan).toBe("free")
  await panel().getByRole("button", { name: "Change plan …" }).click()
  await dialog().getByLabel("Plan").selectOption("pro")
  await press("Change")
  await expect.poll(async () => (await accountNamed("fresh")).plan).toBe("pro")
})

it("limits an account, and lets it have again what its plan has", async () => {
  await open("#/accounts?account=research")
  for (const [text, limit] of [
    ["12", 12],
    ["", null]
  ] as const) {
    await panel().getByText("Bytes of memories").waitFor()
    await panel().getByRole("button", { name: "Limit …" }).click()
    await dialog().getByLabel("Keys").fill(text)
    await press("Set limits")
    await dialog().waitFor({ state: "detached" })
    expect(await limitOf("research", "keys")).toBe(limit)
    await panel()
      .getByText(limit === null ? "1 no limit" : "1 of 12")
      .first()
      .waitFor()
  }
})

it("makes a key that works as bound, and revokes it", async () => {
  await open("#/accounts?account=research")
  await panel().getByRole("button", { name: "New key …" }).click()
  await dialog().getByLabel("Label").fill("reader")
  await dialog().getByLabel("Only these agents").fill("shelves")
  await dialog().getByLabel("It may only read").check()
  await press("Create")
  const secret = await page.getByRole("dialog", { name: "The new key" }).locator("pre").innerText()
  await press("I have stored it")
  const read = () => server.call("GET", "/v1/memories?agentId=shelves", { key: secret })
  expect((await read()).body.total).toBe(2)
  const body = { agentId: "shelves", memories: [fact("shelf", "full")] }
  expect((await server.call("POST", "/v1/memories", { key: secret, body })).status).toBe(403)
  await panel().getByText("reads only · agents shelves").waitFor()
  await panel().getByRole("button", { name: "Revoke reader …" }).click()
  await press("Revoke")
  await panel().getByText("revoked", { exact: true }).waitFor()
  expect((await read()).status).toBe(401)
})

it("shows an account's webhooks, tests, pauses and resumes one, and repeats what was given up", async () => {
  const made = await server.call("POST", "/v1/webhooks", { key, body: { url: "https://hooks.example.com/research" } })
  const { id } = made.body.webhook
  const state = async () => (await server.call("GET", `/v1/webhooks/${id}`, { key })).body.webhook.state
  await open("#/accounts")
  await open("#/accounts?account=research")
  const hooks = panel().getByRole("region", { name: "Webhooks" })
  await hooks.getByText("nothing delivered yet").waitFor()
  await hooks.getByRole("button", { name: "Test https://hooks.example.com/research" }).click()
  await hooks.getByText("The receiver did not take it").waitFor()
  await hooks.getByRole("button", { name: "Pause https://hooks.example.com/research" }).click()
  await hooks.getByText("The webhook is paused.").waitFor()
  expect(await state()).toBe("paused")
  await hooks.getByRole("button", { name: "Repeat for https://hooks.example.com/research" }).click()
  await hooks.getByText("0 messages are due again.").waitFor()
  await hooks.getByRole("button", { name: "Resume https://hooks.example.com/research" }).click()
  await hooks.getByText("The webhook is active.").waitFor()
  expect(await state()).toBe("active")
  expect(await accessibilityFaults(page)).toEqual([])
  await server.call("DELETE", `/v1/webhooks/${id}`, { key })
})

it("suspends an account and resumes it", async () => {
  await open("#/accounts?account=research")
  const status = async () => (await server.call("GET", "/v1/memories", { key })).status
  await panel().getByRole("button", { name: "Suspend …" }).click()
  await press("Suspend")
  await panel().getByRole("button", { name: "Resume …" }).waitFor()
  expect(await status()).toBe(403)
  await panel().getByRole("button", { name: "Resume …" }).click()
  await press("Resume")
  await panel().getByRole("button", { name: "Suspend …" }).waitFor()
  expect(await status()).toBe(200)
})

it("says what an erasure removes, wants the name typed, and proves what it did", async () => {
  await open("#/accounts?account=doomed")
  await panel().getByRole("button", { name: "Erase …" }).click()
  await dialog().getByText("This removes for good").waitFor()
  const button = dialog().getByRole("button", { name: "Erase", exact: true })
  expect(await button.isDisabled()).toBe(true)
  await dialog().getByLabel("Type doomed to go on").fill("doomed")
  expect(await accountNamed("doomed")).toBeDefined()
  await button.click()
  await dialog().getByText("looked for afterwards, none is left").waitFor()
  await press("Close")
  await expect.poll(() => accountNamed("doomed")).toBeUndefined()
  await page.getByRole("region", { name: "Accounts" }).getByText("doomed").waitFor({ state: "detached" })
})

it("shows a refusal in the form that was refused", async () => {
  await open("#/accounts")
  await page.getByRole("button", { name: "New account …" }).click()
  await dialog().getByLabel("Name").fill("research")
  await press("Create")
  await dialog().getByRole("alert").getByText("Conflict (409).").waitFor()
  await page.keyboard.press("Escape")
  await dialog().waitFor({ state: "detached" })
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("409")])
})

it("gives credits with a reason, once, and shows the movement and the proof of the ledger", async () => {
  await open("#/money?account=research")
  await page.getByText("The ledger adds up.").waitFor()
  await page.getByRole("button", { name: "Adjust …" }).click()
  const give = dialog().getByRole("button", { name: "Give", exact: true })
  await dialog().getByLabel("Credits; negative takes").fill("12.5")
  expect(await give.isDisabled()).toBe(true)
  await dialog().getByLabel("Reason, for the ledger and the audit log").fill("for a test")
  await give.click()
  await page.getByRole("region", { name: "Movements" }).getByText("+12.5").waitFor()
  expect((await server.call("GET", "/v1/credits", { key })).body.balance.credits).toBe(12.5)
  const events = (await asOperator("GET", "/admin/audit")).events
  expect(events[0]).toMatchObject({ action: "money.adjust", subject: "research", detail: { reason: "for a test" } })
})

it("refuses to take what is not there, in words", async () => {
  await open("#/money?account=research")
  await page.getByRole("button", { name: "Adjust …" }).click()
  await dialog().getByLabel("Credits; negative takes").fill("-13")
  await dialog().getByLabel("Reason, for the ledger and the audit log").fill("too much")
  await press("Take")
  await dialog().getByRole("alert").waitFor()
  await press("Cancel")
  expect((await server.call("GET", "/v1/credits", { key })).body.balance.credits).toBe(12.5)
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("40")])
})

it("says of a call its agent, key and error, of a correction which memory, and leaves looks aside", async () => {
  const own = await server.newAccount("logged")
  const memories = [fact("lamp", "on the desk")]
  const made = await server.call("POST", "/v1/memories", { key: own, body: { agentId: "desk", memories } })
  const { id } = made.body.created[0]
  await server.call("GET", "/v1/memories/mem_unknown", { key: own })
  const options = { key: server.operatorToken, headers: { "x-account": "logged" } }
  const body = { data: { subject: "lamp", fact: "on the shelf" } }
  expect((await server.call("PATCH", `/v1/memories/${id}`, { ...options, body })).status).toBe(200)
  await server.call("GET", "/v1/memories", options)
  await open("#/audit?show=requests&account=logged")
  const calls = page.getByRole("region", { name: "Calls of accounts" }).locator("tbody tr")
  await calls.filter({ hasText: "memories.create" }).filter({ hasText: "desk" }).waitFor()
  await calls.filter({ hasText: "memories.get" }).filter({ hasText: "memory_not_found" }).waitFor()
  expect(await calls.count()).toBe(2)
  await page.getByLabel("Called by").selectOption("operator")
  await calls.filter({ hasText: "memories.list" }).waitFor()
  await open("#/audit?subject=logged&action=memories")
  const target = page.getByRole("region", { name: "Changes by operators" }).getByRole("link", { name: id })
  await target.click()
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel.getByText("on the shelf").first().waitFor()
  const changes = page.getByRole("region", { name: "Changes by operators" }).locator("tbody tr")
  await panel.getByRole("link", { name: "the operator operator" }).click()
  await changes.filter({ hasText: "memories.update" }).waitFor()
  expect(await changes.count()).toBe(1)
  expect(
    await page.evaluate(
      "document.querySelector('.table-wrap').scrollWidth - document.querySelector('.table-wrap').clientWidth"
    )
  ).toBe(0)
  const keys = (await asOperator("GET", "/admin/keys?account=logged")).keys
  await server.call("PATCH", `/v1/memories/${id}`, {
    key: own,
    body: { data: { subject: "lamp", fact: "in the hall" } }
  })
  await open(`#/memories?in=logged&id=${id}`)
  await panel.getByRole("link", { name: `the key ${keys[0].label || keys[0].id}` }).click()
  await calls.filter({ hasText: "memories.update" }).waitFor()
  await asOperator("POST", "/admin/accounts/erase", { account: "logged" })
})

it("says of what the operator changed for an account that it was not charged, and of a ledger account whose it is", async () => {
  await server.newAccount("looked-at")
  const options = { key: server.operatorToken, headers: { "x-account": "looked-at" } }
  const look = await server.call("GET", "/v1/memories/facets?facet=agents", options)
  const body = { agentId: "kept", memories: [fact("lamp", "on the desk")] }
  const change = await server.call("POST", "/v1/memories/batch/create", { ...options, body })
  expect([look.status, change.status]).toEqual([200, 200])
  await open("#/money?show=revenue")
  const revenue = page.getByRole("region", { name: "Revenue", exact: true }).locator("tbody tr")
  await revenue.filter({ hasText: "not charged" }).filter({ hasText: "batchCreate" }).first().waitFor()
  expect(await revenue.filter({ hasText: "facets" }).count()).toBe(0)
  expect(await revenue.filter({ hasText: "own-use" }).count()).toBe(0)
  const used = page.getByRole("region", { name: "Used by account" })
  await used.getByRole("link", { name: "research" }).waitFor()
  expect(await used.getByRole("link", { name: "looked-at" }).count()).toBe(0)
  await open("#/money?show=ledger")
  const balances = page.getByRole("region", { name: "Balances of the ledger's accounts" }).locator("tbody tr")
  await balances.filter({ hasText: "expense:own-use" }).filter({ hasText: "looked-at" }).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await asOperator("POST", "/admin/accounts/erase", { account: "looked-at" })
})

it("saves a statement of many pages as one file, as the API has it", async () => {
  const adjustment = (at: number) => ({ account: "research", credits: 1, reason: "page", key: `page-${at}` })
  for (let at = 0; at < 5; at++) await asOperator("POST", "/admin/ledger/adjustments", adjustment(at))
  await page.route("**/admin/statement*", (route) => route.continue({ url: `${route.request().url()}&limit=2` }))
  await open("#/money?account=research&show=movements")
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save as CSV" }).click()
  ])
  await page.unroute("**/admin/statement*")
  expect(download.suggestedFilename()).toBe("statement-research.csv")
  const path = "/admin/statement?account=research&format=csv"
  const whole = await server.asOperator("GET", path)
  expect(readFileSync(await download.path(), "utf8")).toBe(whole.body)
})

it("says what the daily job would do, and runs it only then", async () => {
  await open("#/system?show=jobs")
  const runs = async () => (await asOperator("GET", "/admin/jobs")).runs.length
  const before = await runs()
  await page.getByRole("button", { name: "Dry run …" }).click()
  await dialog().getByRole("region", { name: "What it would do" }).getByText("research").waitFor()
  expect(await runs()).toBe(before)
  await press("Run it now")
  await dialog().waitFor({ state: "detached" })
  const { events } = await asOperator("GET", "/admin/audit?action=money.runJobs")
  expect(events).toMatchObject([{ action: "money.runJobs", detail: { dryRun: false } }])
})

it("shows each agent's index as the API has it, page by page", async () => {
  const { agents } = await asOperator("GET", "/admin/indexes")
  expect(agents).toEqual([
    { account: "research", agentId: "shelves", memories: 2, bytes: expect.any(Number), indexes: [] }
  ])
  expect(agents[0].bytes).toBeGreaterThan(0)
  const body = { agentId: "second", memories: [fact("box", "under the bed")] }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  const first = await asOperator("GET", "/admin/indexes?limit=1")
  const rest = await asOperator("GET", `/admin/indexes?limit=1&cursor=${first.nextCursor}`)
  expect([...first.agents, ...rest.agents].map(({ agentId }) => agentId).toSorted()).toEqual(["second", "shelves"])
  expect(rest.nextCursor).toBeUndefined()
  await page.route("**/admin/indexes*", (route) => {
    const url = route.request().url()
    return route.continue({ url: `${url}${url.includes("?") ? "&" : "?"}limit=1` })
  })
  await open("#/system?show=indexes")
  const table = page.getByRole("region", { name: "Indexes" })
  await expect.poll(() => table.locator("tbody tr").count()).toBe(1)
  await page.getByRole("button", { name: "Next agents" }).click()
  await table.getByText("second").waitFor()
  await table.getByText("shelves").waitFor()
  await page.unroute("**/admin/indexes*")
})

it("shows which agent costs most, to the operator and to the account", async () => {
  const { agents } = await asOperator("GET", "/admin/costs?account=research")
  const dearest: { readonly agentId: string; readonly credits: number } = agents.find(
    ({ agentId }: { readonly agentId: string | null }) => agentId !== null
  )
  await open("#/money?show=revenue")
  await page.getByRole("region", { name: "Used by account" }).waitFor()
  await page
    .getByRole("row", { name: /research/ })
    .getByRole("link", { name: "by cost" })
    .first()
    .click()
  const row = page.getByRole("region", { name: "Costs by agent" }).getByRole("row").nth(1)
  await row.getByText(dearest.agentId).waitFor()
  expect(await row.innerText()).toContain(String(dearest.credits))
  const own = await openPage(browser, server)
  await own.page.goto(`${server.url}/console`)
  await own.page.getByLabel("API key of an account").fill(key)
  await own.page.getByRole("button", { name: "Sign in" }).click()
  await own.page.getByRole("link", { name: "Money" }).click()
  await own.page.getByRole("region", { name: "Costs by agent" }).getByText(dearest.agentId).first().waitFor()
  await own.page.getByRole("link", { name: "Audit" }).click()
  await own.page.getByRole("region", { name: "Calls of accounts" }).getByText("memories.create").first().waitFor()
  expect(await accessibilityFaults(own.page)).toEqual([])
  await own.page.getByRole("link", { name: "Money" }).click()
  await own.page.getByRole("region", { name: "Movements" }).getByText("charge: create").first().waitFor()
  expect(await accessibilityFaults(own.page)).toEqual([])
  expect([own.complaints, own.foreign]).toEqual([[], []])
  await own.page.getByRole("button", { name: "Sign out" }).click()
  await own.page.getByLabel("API key of an account").waitFor()
  await own.page.context().close()
})

it("ends another browser's session", async () => {
  const other = await openPage(browser, server)
  await other.page.goto(`${server.url}/console`)
  await other.page.getByLabel("API key of an account").fill(key)
  await other.page.getByRole("button", { name: "Sign in" }).click()
  await other.page.getByRole("link", { name: "Memories" }).waitFor()
  await open("#/system?show=sessions")
  await page.getByRole("button", { name: "End the session of research" }).click()
  await press("End it")
  await dialog().waitFor({ state: "detached" })
  const left = (await asOperator("GET", "/admin/sessions")).sessions
  expect(left.map(({ account }: { readonly account: string | null }) => account)).toEqual([null])
  await other.page.reload()
  await other.page.getByLabel("API key of an account").waitFor()
})

it("adds an operator who only looks, who signs in with the secret and is offered no change, and revokes them", async () => {
  await open("#/system?show=operators")
  await page.getByRole("button", { name: "New operator …" }).click()
  await dialog().getByLabel("Name").fill("vera")
  await press("Add")
  const secret = await page.getByRole("dialog", { name: "The secret of vera" }).locator("pre").innerText()
  await press("I have stored it")
  const row = page.getByRole("region", { name: "Operators" }).locator("tbody tr").filter({ hasText: "vera" })
  await row.getByText("viewer").waitFor()
  const other = await openPage(browser, server)
  await other.page.goto(`${server.url}/console`)
  await other.page.getByLabel("an operator’s secret").fill(secret)
  await other.page.getByRole("button", { name: "Sign in" }).click()
  await other.page.getByRole("banner").getByText("vera").waitFor()
  for (const [hash, seen] of [
    ["#/accounts?account=research", "Quotas"],
    ["#/system", "Models"],
    ["#/money?show=movements&account=research", "Movements"],
    ["#/money?show=payments", "Filters"],
    ["#/system?show=jobs", "Runs"],
    ["#/system?show=sessions", "Sessions"]
  ] as const) {
    await showPage(other.page, hash)
    const region = other.page.getByRole("region", { name: seen }).or(other.page.getByText("No day has been settled"))
    await region.first().waitFor()
    const all = await other.page.getByRole("main").getByRole("button").allInnerTexts()
    // Names of filters are kept in their own browser.
    const buttons = all.filter((text) => text.trim() !== "Save filters …")
    expect(buttons.filter((text) => /…$|now$|^(Send|Resend|Pause|Resume|Test|Repeat|Adjust)/.test(text))).toEqual([])
  }
  expect(await other.page.getByRole("link", { name: "Operators" }).count()).toBe(0)
  expect([other.complaints, other.foreign]).toEqual([[], []])
  await page.getByRole("button", { name: "Role of vera …" }).click()
  await dialog().getByRole("combobox").selectOption("admin")
  await press("Change")
  await row.getByText("admin", { exact: true }).waitFor()
  await other.page.reload()
  await other.page.getByRole("banner").getByText("admin").waitFor()
  await showPage(other.page, "#/system?show=operators")
  await other.page.getByRole("button", { name: "New operator …" }).waitFor()
  await page.getByRole("button", { name: "Revoke vera …" }).click()
  await press("Revoke")
  await row.getByText("revoked").waitFor()
  await other.page.reload()
  await other.page.getByLabel("an operator’s secret").waitFor()
  await other.page.context().close()
  await row.getByRole("link", { name: "vera" }).click()
  await page.getByText("No change matches these filters.").waitFor()
})

it("says that there is no webhook to test", async () => {
  await open("#/system?show=sessions")
  await page.getByText("No webhook is set: MUNIMENT_WEBHOOK_URL").waitFor()
  for (const name of ["Send a test", "Resend what was given up"]) {
    expect(await page.getByRole("button", { name }).isDisabled()).toBe(true)
  }
})

it("shows who changed what, filtered as the API filters it", async () => {
  await open("#/audit")
  const rows = page.getByRole("region", { name: "Changes by operators" }).locator("tbody tr")
  await rows.first().waitFor()
  await page.getByLabel("Action or group").fill("accounts")
  const { events } = await asOperator("GET", "/admin/audit?action=accounts&limit=200")
  await expect.poll(() => rows.count()).toBe(events.length)
  await expect.poll(() => page.evaluate("location.hash")).toContain("action=accounts")
  await rows.first().getByRole("link", { name: events[0].subject }).click()
  await expect.poll(() => page.evaluate("location.hash")).toContain(`subject=${events[0].subject}`)
})

it("shows who called what and how it ended, and no content", async () => {
  await server.call("GET", "/v1/memories/search?query=velociraptor", { key })
  await open("#/audit?show=requests&account=research&operation=memories.search")
  const row = page.getByRole("region", { name: "Calls of accounts" }).locator("tbody tr").first()
  const [entry] = (await asOperator("GET", "/admin/requests?operation=memories.search&limit=1")).requests
  // By its label, or by the end of its id.
  await row.getByTitle(entry.caller).waitFor()
  await row.getByText("200").waitFor()
  expect(await page.content()).not.toContain("velociraptor")
  await row.getByTitle(entry.caller).click()
  await expect.poll(() => page.evaluate("location.hash")).toContain(`caller=${entry.caller}`)
})

it("is used by the keyboard alone", async () => {
  await open("#/accounts?account=")
  await page.getByRole("button", { name: "research", exact: true }).focus()
  await page.keyboard.press("Enter")
  await panel().getByRole("button", { name: "Suspend …" }).focus()
  await page.keyboard.press("Enter")
  await dialog().waitFor()
  await page.keyboard.press("Escape")
  await dialog().waitFor({ state: "detached" })
  expect((await accountNamed("research")).suspendedAt).toBeUndefined()
})

it.each([
  "accounts",
  "accounts?account=research",
  "money",
  "money?show=movements&account=research",
  "money?show=agents",
  "money?show=revenue",
  "money?show=ledger",
  "system",
  "system?show=jobs",
  "system?show=indexes",
  "system?show=sessions",
  "system?show=operators",
  "audit",
  "audit?show=requests"
])("has no fault of accessibility on #/%s, in light and dark, narrow and wide", (name) => {
  return expectAccessible(page, name.length, async () => {
    await open(`#/${name}`)
    await page.locator("main .card, main .table-wrap, main .tile, main .notice, main p").first().waitFor()
    await page.locator("main .spinner").first().waitFor({ state: "detached" })
  })
})

it("complains of nothing and asks no other origin", () => {
  expect(watched.complaints).toEqual([])
  expect(watched.foreign).toEqual([])
})
