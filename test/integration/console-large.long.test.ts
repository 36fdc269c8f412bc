/**
 * The console's lists with 20,000 memories, subjects and threads, with one and with none, beside 1,500 accounts: rows in
 * view in every frame of a scroll, and a page is there within a second of processor time of the browser's main thread
 * and the service together. Seeds one data directory for all of it.
 */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Browser, Page } from "playwright-core"
import { openBrowser, openConsole, type WatchedPage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

const rows = 20_000
const accounts = 1_500
const batch = 100
const concurrency = 16
const patience = { timeout: patienceMillis }
let server: TestServer
let browser: Browser
let watched: WatchedPage

const asOperator = async (path: string, body: object) => {
  const answer = await server.call("POST", path, { key: server.operatorToken, body })
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

/** The end of an id names the namespace: each account has its own. */
const recordAt = (at: number, namespace = 1) => {
  const createdAt = Date.UTC(2026, 0, 1) + at * 60_000
  return {
    id: `mem_${String(at).padStart(14, "0")}${String(namespace).padStart(12, "0")}`,
    agentId: "shelves",
    subjectId: `person-${at}`,
    threadId: `thread-${at}`,
    ...fact(`item ${at}`, `Item ${at} is on shelf ${at % 97}.`),
    tags: [],
    mentions: [],
    confidence: 1,
    createdAt,
    updatedAt: createdAt,
    origin: "direct"
  }
}

beforeAll(async () => {
  ;[server, browser] = await Promise.all([startServer({ environment: withoutModel }), openBrowser()])
  for (const name of ["large", "single", "empty"]) await server.newAccount(name)
  for (let from = 0; from < rows; from += batch) {
    const records = Array.from({ length: batch }, (_, at) => recordAt(from + at))
    await asOperator("/admin/import", { account: "large", records })
  }
  await asOperator("/admin/import", { account: "single", records: [recordAt(0, 2)] })
  await each(accounts, async (at) => {
    await asOperator("/admin/accounts", { name: `tenant-${at}` })
    const adjustment = { account: `tenant-${at}`, credits: 1, reason: "seed", key: `seed-${at}` }
    await asOperator("/admin/ledger/adjustments", adjustment)
  })
  watched = await openConsole(browser, server)
}, 1_200_000)
afterAll(async () => {
  await browser.close()
  await server.stop()
})

/** Processor time of the service so far, milliseconds. */
const serviceMillis = (): number => {
  const fields = readFileSync(`/proc/${server.process.pid}/stat`, "utf8").split(") ")[1]!.split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10
}

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
  const blankFrames = (from: number, pixels: number, frames: number) =>
    watched.page.evaluate(`new Promise((done) => {
      const box = document.querySelector(".rows")
      box.scrollTop = ${from}
      let left = ${frames}
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
    await page.evaluate(`location.hash = "#/memories"`)
    await page.getByRole("heading", { name: "20,000 memories" }).waitFor(patience)
    for (const from of [0, 200_000, 700_000]) expect(await blankFrames(from, 600, 120)).toBe(0)
    expect(await blankFrames(879_000, -600, 120)).toBe(0)
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

  it("complains of nothing", () => {
    expect([watched.complaints, watched.foreign]).toEqual([[], []])
  })
})
