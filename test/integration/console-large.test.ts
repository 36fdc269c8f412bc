/**
 * The console's lists with 20,000 memories, subjects and threads, with one and with none, beside 500 accounts: rows in
 * view in every frame of a scroll, a page is there within a second of processor time of the browser's main thread and the
 * service together, and each action does in the API what it says. Seeds one data directory for all of it.
 */
import { readFileSync } from "node:fs"
import { beforeAll, describe, expect, it } from "vitest"
import type { Page } from "playwright-core"
import { showPage, useBrowser, usePage } from "../support/Browser.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { importShelves } from "../support/ShelfRecords.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const rows = 20_000
const accounts = 500
const concurrency = 16
const patience = { timeout: patienceMillis }
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

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  for (const name of ["large", "single"]) keys.set(name, await server.newAccount(name))
  await importShelves(server, { account: "large", count: rows, namespace: 1 })
  await importShelves(server, { account: "single", count: 1, namespace: 2 })
  await each(accounts, async (at) => {
    await asOperator("/admin/accounts", { name: `tenant-${at}` })
    const adjustment = { account: `tenant-${at}`, credits: 1, reason: "seed", key: `seed-${at}` }
    await asOperator("/admin/ledger/adjustments", adjustment)
  })
})
const { page, watched } = usePage(browser, server)

/** Processor time of the service so far, of all its nodes, milliseconds. */
const serviceMillis = (): number =>
  server.processes.reduce((sum, { pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
    return sum + (Number(fields[11]) + Number(fields[12])) * 10
  }, 0)

/** Opens a page anew, waits until `ready` is there, and gives the processor time that it took, milliseconds. */
const costOf = async (account: string, hash: string, ready: (tab: Page) => Promise<void>): Promise<number> => {
  const tab = await page.context().newPage()
  try {
    await tab.addInitScript(`sessionStorage.setItem("muniment.account", ${JSON.stringify(account)})`)
    const session = await tab.context().newCDPSession(tab)
    await session.send("Performance.enable", { timeDomain: "threadTicks" })
    const before = serviceMillis()
    await tab.goto(`${server.url}/console${hash}`)
    await ready(tab)
    const { metrics } = await session.send("Performance.getMetrics")
    const inBrowser = (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Infinity) * 1_000
    return inBrowser + serviceMillis() - before
  } finally {
    await tab.close()
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
    ["large", "#/overview", ".tile", "Memories"]
  ])("%s %s", async (account, hash, selector, text) => {
    const millis = await costOf(account, hash, shows(selector, text))
    expect(millis).toBeLessThan(paintMillisMax)
  })
})

describe("a list of 20,000 memories", () => {
  /** Scrolls on by `pixels` in each frame; how many frames had a place in view without a row. */
  const blankFrames = (from: number, pixels: number) =>
    page.evaluate(`new Promise((done) => {
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
    await page.getByLabel("Account").fill("large")
    await showPage(page, "#/memories")
    await page.getByRole("heading", { name: "20,000 memories" }).waitFor(patience)
    for (const from of [0, 200_000, 700_000]) expect(await blankFrames(from, 600)).toBe(0)
    expect(await blankFrames(879_000, -600)).toBe(0)
    expect(Number(await page.evaluate(`document.querySelectorAll(".rows .line").length`))).toBeLessThan(120)
  })

  it("reads what is in view after a jump to the middle, and little else, without a place that is not loaded", async () => {
    await page.getByLabel("Account").fill("large")
    await showPage(page, "#/memories?kind=factual_memory")
    await page.getByRole("heading", { name: "20,000 memories" }).waitFor(patience)
    await page.locator(".rows .line:not(.waiting)").first().waitFor(patience)
    const asked: Array<string> = []
    page.on("request", (request) => {
      if (new URL(request.url()).pathname === "/v1/memories") asked.push(request.url())
    })
    for (const row of [10_000, 5_432, 14_567]) {
      asked.length = 0
      // What is seen at any moment until the rows are there.
      await page.evaluate(`(() => {
        window.saidNotLoaded = 0
        new MutationObserver(() => {
          if (document.querySelector(".rows")?.textContent.includes("Not loaded yet")) window.saidNotLoaded += 1
        }).observe(document.querySelector(".rows"), { childList: true, subtree: true, characterData: true })
        document.querySelector(".rows").scrollTop = ${row} * 44
      })()`)
      // The newest stands first.
      const line = `[...document.querySelectorAll(".rows .line")].find((line) => line.offsetTop === ${row} * 44)?.textContent`
      await expect.poll(() => page.evaluate(line), patience).toContain(`Item ${rows - 1 - row} `)
      expect(await page.evaluate("window.saidNotLoaded")).toBe(0)
      await expect.poll(() => page.locator(".rows .line.waiting").count(), patience).toBe(0)
      expect(asked.length).toBeLessThanOrEqual(5)
    }
  })

  it("is of an account that is found by typing", async () => {
    await page.getByLabel("Account").fill("single")
    await page.getByRole("heading", { name: "1 memory" }).waitFor(patience)
    await page.getByLabel("Account").fill("tenant-19")
    const offered = Number(await page.evaluate(`document.querySelectorAll("header datalist option").length`))
    expect(offered).toBeGreaterThan(1)
    expect(offered).toBeLessThanOrEqual(50)
  })
})

it("complains of nothing", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
