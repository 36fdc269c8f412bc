/** What happens now, in the console of a real browser: calls and changes as they come, filters, lost connections. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { accessibilityFaults, openPage, showPage, useBrowser } from "../support/Browser.ts"
import { CutProxy } from "../support/CutProxy.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { beforeTests } from "../support/beforeTests.ts"

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
const patience = { timeout: patienceMillis }
let key: string
let proxy: CutProxy

const watched = beforeTests(async () => {
  const { link } = (await server.asOperator("POST", "/admin/console-links")).body
  const direct = new URL(link.url)
  proxy = await CutProxy.start(Number(direct.port))
  direct.port = String(proxy.port)
  const opened = await openPage(browser, { url: direct.origin })
  await opened.page.goto(direct.href)
  await opened.page.getByRole("navigation", { name: "Pages" }).waitFor()
  return opened
})
const page = beforeTests(async () => watched.page)
beforeAll(async () => {
  key = await server.newAccount("research")
  await page.reload()
  await page.getByLabel("Account").first().selectOption("research")
})
afterAll(() => proxy.stop())

const store = async (subject: string, agentId = "shelves") => {
  const body = { agentId, subjectId: "alice", memories: [fact(subject, "xylographic secret")] }
  const answer = await server.call("POST", "/v1/memories", { key, body })
  expect(answer.status).toBe(200)
  return answer.body.created[0].id as string
}
const main = () => page.getByRole("main")
const calls = () => main().getByRole("region", { name: "Calls" }).locator("tbody tr")
const changes = () => main().getByRole("region", { name: "Changes" }).locator("tbody tr")
const button = (name: string) => main().getByRole("button", { name, exact: true })

it("shows calls as they come, with outcome and where their time went, and nothing that was said", async () => {
  await showPage(page, "#/live")
  await store("lamp")
  await calls().filter({ hasText: "memories.create" }).first().waitFor()
  await server.call("GET", "/v1/memories/mem_unknown", { key })
  const refused = calls().filter({ hasText: "memories.get" }).first()
  await refused.getByText("memory_not_found").waitFor()
  const stored = calls().filter({ hasText: "memories.create" }).first()
  await main()
    .getByRole("img", { name: /^Calls in each \d+ \w+\. all: last \d+.*refused: .*highest 1/ })
    .waitFor()
  await stored.locator("summary").click()
  await stored.locator("dt").getByText("storing", { exact: true }).waitFor()
  await main()
    .getByText(/^Where the time of these/)
    .click()
  await main().locator(".card dt").getByText("storing", { exact: true }).waitFor()
  expect(await main().innerText()).not.toMatch(/xylographic|lamp/)
  expect(await accessibilityFaults(page)).toEqual([])
})

it("has its filters in the address: account, operation, agent, status, and slow ones, slowest first", async () => {
  await store("desk", "elsewhere")
  await showPage(page, "#/live?account=research&agent=elsewhere")
  await expect.poll(() => calls().count(), patience).toBe(1)
  await main().getByLabel("Agent").fill("shelves")
  await expect.poll(() => calls().allInnerTexts(), patience).not.toContainEqual(expect.stringContaining("elsewhere"))
  await showPage(page, "#/live")
  await main().getByLabel("Status").fill("4xx")
  await expect.poll(() => calls().count(), patience).toBe(1)
  await expect.poll(() => page.url()).toContain("status=4xx")
  await button("Server errors").click()
  await main().getByText("No call matches these filters yet.").waitFor()
  expect(page.url()).toContain("status=5xx")
  await button("Refused").click()
  await expect.poll(() => calls().count(), patience).toBe(1)
  expect(await button("Server errors").getAttribute("aria-pressed")).toBe("false")
  await button("Refused").click()
  await button("Slowest first").click()
  const millis = async () =>
    (await calls().locator("[data-title=Took]").allInnerTexts()).map((text) => Number.parseFloat(text.replace(",", "")))
  const { requests } = (await server.asOperator("GET", "/admin/requests?order=slowest&operator=false")).body
  const slowest = requests.map((one: { readonly millis: number }) =>
    one.millis < 10 ? one.millis : Math.round(one.millis)
  )
  expect(slowest.length).toBeGreaterThan(2)
  await expect.poll(millis, patience).toEqual(slowest)
  expect(slowest).toEqual(slowest.toSorted((one: number, other: number) => other - one))
  await main().getByLabel("Milliseconds, at least").fill("3600000")
  await main().getByText("No call matches these filters yet.").waitFor()
})

it("adds calls up by operation and account, and leads to those of one account with the filters that are set", async () => {
  await showPage(page, "#/live?operation=memories.create&by=all")
  await calls().first().waitFor()
  const others = async () => (await calls().allInnerTexts()).filter((text) => !text.includes("memories.create"))
  await expect.poll(others, patience).toEqual([])
  await main()
    .getByText(/^Where the time of /)
    .click()
  const sums = page.getByRole("region", { name: "By operation and account" }).locator("tbody tr")
  await sums.first().getByText("memories.create").waitFor()
  const shown = await calls().count()
  const counted = await sums.locator("[data-title=Calls]").allInnerTexts()
  expect(counted.reduce((sum, text) => sum + Number(text), 0)).toBe(shown)
  await calls().first().getByRole("link", { name: "research" }).click()
  await expect.poll(() => page.url()).toMatch(/#\/live\?.*operation=memories.create&by=all.*account=research/)
})

it("draws what was counted, at its own time, and calls nothing refused because its client left", async () => {
  const [one] = (await server.asOperator("GET", "/admin/requests?limit=1")).body.requests
  const at = Date.parse("2026-01-02T03:04:05Z")
  const calledAt = async (times: ReadonlyArray<number>) => {
    const told = [200, 404, 499, 401].map((status, place) => ({
      ...one,
      id: one.id + place,
      status,
      at: times[place],
      account: status === 401 ? null : "research"
    }))
    const answer = { success: true, requests: told.toSorted((one, other) => other.at! - one.at!) }
    await page.route(/admin\/requests\?/, (route) =>
      route.fulfill({ json: route.request().url().includes("after=") ? { ...answer, requests: [] } : answer })
    )
    await showPage(page, "#/audit")
    await showPage(page, "#/live?account=research")
  }
  const chart = main().locator("figure.chart")
  await calledAt([at, at + 100, at + 200, at + 300])
  // All in one step.
  await chart.getByRole("img", { name: /all: last 4.*refused: last 2.*errors: last 0/ }).waitFor()
  await chart.locator("summary").click()
  const rows = chart.locator("tbody tr")
  await expect.poll(() => rows.locator("td").first().innerText()).toMatch(/^2026-01-0\d \d\d:\d\d:05$/)
  expect(await rows.count()).toBe(1)
  expect(await chart.locator(".reading").textContent()).toMatch(/^Last: 2026-01-0\d \d\d:\d\d:05$/)
  await main().getByText("Where the time of these 4 calls went").click()
  const sums = page.getByRole("region", { name: "By operation and account" }).locator("tbody tr")
  await sums.filter({ hasText: "not known" }).first().waitFor()
  expect(await sums.filter({ hasText: "not known" }).getByRole("link").count()).toBe(0)
  await page.unroute(/admin\/requests\?/)
  // In four seconds, each with its own time.
  await calledAt([at, at + 1_000, at + 2_000, at + 3_000])
  await chart.locator("summary").click()
  await expect
    .poll(async () => (await rows.locator("td:first-child").allInnerTexts()).map((text) => text.slice(-3)))
    .toEqual([":08", ":07", ":06", ":05"])
  await page.unroute(/admin\/requests\?/)
})

it("is where the tile of errors leads, with them as the filter", async () => {
  await showPage(page, "#/overview")
  await main().locator(".tile").filter({ hasText: "Errors" }).locator("dd > a").click()
  await expect.poll(() => page.url()).toContain("status=5xx")
  expect(await button("Server errors").getAttribute("aria-pressed")).toBe("true")
})

it("shows nothing while it is paused, and what it missed when it goes on", async () => {
  await showPage(page, "#/live?agent=paused")
  await main().getByText("No call matches these filters yet.").waitFor()
  await button("Pause").click()
  await main().getByText("paused", { exact: true }).waitFor()
  await store("kettle", "paused")
  await button("Go on").click()
  await expect.poll(() => calls().count(), patience).toBe(1)
})

it("shows changes of the account as they are made, each once, across a connection that was lost", async () => {
  await showPage(page, "#/live?show=events")
  await main().getByText("live", { exact: true }).waitFor()
  const id = await store("chair")
  await changes().filter({ hasText: id }).getByText("memory.created").waitFor()
  proxy.cut()
  await main()
    .getByText(/^(?:no connection: tried again|connecting)$/)
    .waitFor()
  const missed = await store("table")
  await server.call("DELETE", `/v1/memories/${id}`, { key })
  proxy.mend()
  await main().getByText("live", { exact: true }).waitFor()
  await expect
    .poll(() => changes().locator("td:nth-child(2)").allInnerTexts(), patience)
    .toEqual(["memory.deleted", "memory.created", "memory.created"])
  await changes().filter({ hasText: missed }).waitFor()
  await main().getByLabel("What").selectOption("memory.deleted")
  expect(await changes().count()).toBe(1)
  expect(await main().innerText()).not.toContain("xylographic")
  expect(await accessibilityFaults(page)).toEqual([])
  watched.complaints.splice(0)
})

it("goes on with calls after a connection that was lost", async () => {
  await showPage(page, "#/live?agent=cut")
  await main().getByText("No call matches these filters yet.").waitFor()
  proxy.cut()
  await main().getByText("no connection: tried again").waitFor()
  await store("bench", "cut")
  proxy.mend()
  await expect.poll(() => calls().count(), patience).toBe(1)
  await main().getByText("live", { exact: true }).waitFor()
  expect(watched.complaints.filter((text) => !text.includes("ERR_"))).toEqual([])
  expect(watched.foreign).toEqual([])
})
