/**
 * The console's lists with 20,000 memories, subjects and threads, with one and with none, beside 500 accounts: rows in
 * view in every frame of a scroll, a page is there within a second of processor time of the browser's main thread and the
 * service together, and each action does in the API what it says. Seeds one data directory for all of it.
 */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Browser, Page } from "playwright-core"
import { openBrowser, openConsole, showPage, type WatchedPage } from "../support/Browser.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { importShelves } from "../support/ShelfRecords.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

const rows = 20_000
const accounts = 500
const concurrency = 16
const patience = { timeout: patienceMillis }
let server: TestServer
let browser: Browser
let watched: WatchedPage
/** By account. */
const keys = new Map<string, string>()

const asOperator = async (path: string, body: object) => {
  const answer = await server.asOperator("POST", path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}

/** Does `act` for each number below `count`, some at once. */
const each = async (count: number, act: (at: number) => Promise<void>): Promise<void> => {
  let next = 0
  const worker = async () => {
    while (next < count) await act(next++)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

beforeAll(async () => {
  ;[server, browser] = await Promise.all([startServer({ environment: withoutModel }), openBrowser()])
  for (const name of ["large", "single", "empty"]) keys.set(name, await server.newAccount(name))
  await importShelves(server, { account: "large", count: rows, namespace: 1 })
  await importShelves(server, { account: "single", count: 1, namespace: 2 })
  await each(accounts, async (at) => {
    await asOperator("/admin/accounts", { name: `tenant-${at}` })
    const adjustment = { account: `tenant-${at}`, credits: 1, reason: "seed", key: `seed-${at}` }
    await asOperator("/admin/ledger/adjustments", adjustment)
  })
  watched = await openConsole(browser, server)
})
afterAll(async () => {
  await browser.close()
  await server.stop()
})

/** Processor time of the service so far, of all its nodes, milliseconds. */
const serviceMillis = (): number =>
  server.processes.reduce((sum, { pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
    return sum + (Number(fields[11]) + Number(fields[12])) * 10
  }, 0)

/** Opens a page anew, waits until `ready` is there, and gives the processor time that it took, milliseconds. */
const costOf = async (account: string, hash: string, ready: (page: Page) => Promise<void>): Promise<number> => {
  const page = await watched.page.context().newPage()
  try {
    await page.addInitScript(`sessionStorage.setItem("muniment.account", ${JSON.stringify(account)})`)
    const session = await page.context().newCDPSession(page)
    await session.send("Performance.enable", { timeDomain: "threadTicks" })
    const before = serviceMillis()
    await page.goto(`${server.url}/console${hash}`)
    await ready(page)
    const { metrics } = await session.send("Performance.getMetrics")
    const inBrowser = (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Infinity) * 1_000
    return inBrowser + serviceMillis() - before
  } finally {
    await page.close()
  }
}

const paintMillisMax = 1_000

const shows = (selector: string, text: string) => async (page: Page) => {
  await page.locator(selector, { hasText: text }).first().waitFor(patience)
}

describe("a page is there within a second of processor time", () => {
  it.each([
    ["large", "#/memories", ".rows .line:not(.waiting)", "Item 19999"],
    ["large", "#/conversations", ".choices", "thread-19999"],
    ["large", "#/subjects", ".choices", "person-19999"],
    ["large", "#/accounts", "tbody tr", "tenant-0"],
    ["large", "#/money", "main", "The ledger adds up."],
    ["large", "#/audit", "tbody tr", "money.adjust"],
    ["large", "#/audit?show=requests", "main", "Outcome"],
    ["large", "#/overview", ".tile", "Memories"],
    ["single", "#/memories", ".rows .line:not(.waiting)", "Item 0"],
    ["single", "#/conversations", ".choices", "thread-0"],
    ["single", "#/subjects", ".choices", "person-0"],
    ["empty", "#/memories", "main", "This account has stored nothing yet"],
    ["empty", "#/conversations", "main", "No memory of this account names a thread yet"],
    ["empty", "#/subjects", "main", "No memory of this account names a subject yet"]
  ])("%s %s", async (account, hash, selector, text) => {
    const millis = await costOf(account, hash, shows(selector, text))
    expect(millis).toBeLessThan(paintMillisMax)
  })
})

describe("a list of 20,000 memories", () => {
  /** Scrolls on by `pixels` in each frame; how many frames had a place in view without a row. */
  const blankFrames = (from: number, pixels: number) =>
    watched.page.evaluate(`new Promise((done) => {
      const box = document.querySelector(".rows")
      box.scrollTop = ${from}
      let left = 80
      let blank = 0
      const frame = () => {
        const { scrollTop, clientHeight } = box
        const tops = new Set([...box.querySelectorAll(".line")].map((line) => line.offsetTop))
        const last = Math.min(Math.floor((scrollTop + clientHeight - 1) / 44), ${rows} - 1)
        for (let row = Math.floor(scrollTop / 44); row <= last; row++) {
          if (!tops.has(row * 44)) { blank += 1; break }
        }
        if (left-- === 0) return done(blank)
        box.scrollTop += ${pixels}
        requestAnimationFrame(frame)
      }
      requestAnimationFrame(() => requestAnimationFrame(frame))
    })`)

  it("has a row at every place in view in every frame, and few of them in all", async () => {
    const { page } = watched
    await page.getByLabel("Account").fill("large")
    await showPage(page, "#/memories")
    await page.getByRole("heading", { name: "20,000 memories" }).waitFor(patience)
    for (const from of [0, 200_000, 700_000]) expect(await blankFrames(from, 600)).toBe(0)
    expect(await blankFrames(879_000, -600)).toBe(0)
    expect(Number(await page.evaluate(`document.querySelectorAll(".rows .line").length`))).toBeLessThan(120)
  })

  it("is of an account that is found by typing", async () => {
    const { page } = watched
    await page.getByLabel("Account").fill("single")
    await page.getByRole("heading", { name: "1 memory" }).waitFor(patience)
    await page.getByLabel("Account").fill("tenant-19")
    const offered = Number(await page.evaluate(`document.querySelectorAll("header datalist option").length`))
    expect(offered).toBeGreaterThan(1)
    expect(offered).toBeLessThanOrEqual(50)
  })
})

describe.each([
  ["large", rows],
  ["single", 1]
])("an account with memories, %s, of %i", (account, total) => {
  const at = Math.floor(total / 2)
  const call = (method: string, path: string, body?: object) =>
    server.call(method, path, { key: keys.get(account)!, body })
  const idOf = async (): Promise<string> =>
    (await call("GET", `/v1/memories?limit=1&subjectId=person-${at}`)).body.memories[0].id
  const open = (hash: string) => showPage(watched.page, hash)

  it("has tags and data of a memory changed", async () => {
    const { page } = watched
    await page.getByLabel("Account").fill(account)
    const id = await idOf()
    const stored = async () => (await call("GET", `/v1/memories/${id}`)).body.memory
    await open(`#/memories?id=${id}`)
    const panel = page.getByRole("complementary", { name: "Memory" })
    await panel.getByLabel("Tags, separated by commas").fill("counted")
    await panel.getByRole("button", { name: "Save tags" }).click()
    await expect.poll(async () => (await stored()).context.tags, patience).toEqual(["counted"])
    const data = { subject: `item ${at}`, fact: "It lies in the cellar." }
    await panel.getByRole("button", { name: "Edit data" }).click()
    await panel.getByLabel("Data, as JSON").fill(JSON.stringify(data))
    await panel.getByRole("button", { name: "Save data" }).click()
    await expect.poll(async () => (await stored()).data, patience).toEqual(data)
  })

  it("is searched, and has its map", async () => {
    const { page } = watched
    await open("#/search?query=cellar")
    await page.getByRole("region", { name: "Found" }).getByRole("link", { name: "It lies in the cellar." }).waitFor()
    await open("#/map?query=item")
    await page.getByRole("application", { name: "Map of" }).waitFor()
  })

  it("has the memories of a filter deleted, once it is said how many they are", async () => {
    const { page } = watched
    await open("#/memories?tags=counted")
    await page.getByRole("button", { name: "Delete all of these …" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("This deletes 1 memory for good").waitFor()
    await dialog.getByRole("button", { name: "Cancel" }).click()
    await dialog.waitFor({ state: "detached" })
    expect((await call("GET", "/v1/memories?limit=1")).body.total).toBe(total)
  })

  it("has a subject erased, once it is said how much that is", async () => {
    const { page } = watched
    await open(`#/subjects?subjectId=person-${at}`)
    await page.getByRole("region", { name: "Subject" }).getByRole("button", { name: "Erase …" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("This deletes 1 memory for good").waitFor()
    await dialog.getByRole("button", { name: "Erase" }).click()
    await page.getByText(`1 memory about person-${at} is erased.`).waitFor()
    expect((await call("GET", "/v1/memories?limit=1")).body.total).toBe(total - 1)
    expect((await call("GET", "/v1/memories/search?query=cellar")).body.memories).not.toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ fact: "It lies in the cellar." }) })
    )
  })
})

describe.each(["large", "single", "empty"])("any account, %s,", (account) => {
  it("gets a schema, and has texts read without storing", async () => {
    const { page } = watched
    const total = async () => (await server.call("GET", "/v1/memories?limit=1", { key: keys.get(account)! })).body.total
    const before = await total()
    await page.getByLabel("Account").fill(account)
    await showPage(page, "#/schemas")
    const form = page.getByRole("region", { name: "New schema" })
    await form.getByLabel("Name, the kind of its memories").fill("boat")
    await form.getByLabel("Description, read by the reader of conversations").fill("A boat that somebody has")
    await form.getByRole("button", { name: "Register" }).click()
    await page.getByRole("region", { name: "Schema", exact: true }).getByRole("heading", { name: "boat" }).waitFor()
    expect((await server.call("GET", "/v1/schemas/boat", { key: keys.get(account)! })).status).toBe(200)
    await showPage(page, "#/conversations")
    const trial = page.getByRole("region", { name: "Try the reader" })
    await trial.getByRole("textbox").fill("user: My name is Clara and I live in Leeds.")
    await trial.getByRole("button", { name: "Read" }).click()
    await trial.getByText("Clara lives in Leeds").waitFor()
    expect(await total()).toBe(before)
  })
})

it("complains of nothing", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
