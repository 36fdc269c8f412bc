/**
 * Time until a page of the console is on the screen: first contentful paint, as Chromium reports it, and the moment at
 * which what the page is for is there. Each reading is of a browser profile of its own, so nothing is cached by the
 * browser; the service is warm and holds 20,000 memories. `npm run bench -- --suite console`.
 */
import type { Browser, BrowserContext } from "playwright-core"
import { openBrowser, openConsole } from "../../test/support/Browser.ts"
import { importShelves } from "../../test/support/ShelfRecords.ts"
import { startServer } from "../../test/support/TestServer.ts"
import { machineFacts } from "../kit/Machine.ts"
import { median } from "../kit/Measure.ts"
import { type SuiteOptions, type SuiteReport } from "../kit/Report.ts"

const memories = 20_000
const account = "large"
const rounds = { short: 10, long: 50 }
const paintMillisMax = 1_000

interface Landing {
  readonly name: string
  readonly hash: string
  /** What the page is for. */
  readonly content: string
  readonly isSignedIn: boolean
}

const landings: ReadonlyArray<Landing> = [
  { name: "sign-in", hash: "", content: "form input", isSignedIn: false },
  { name: "overview", hash: "#/overview", content: "main .tile dd", isSignedIn: true },
  { name: "memories", hash: "#/memories", content: ".rows .line:not(.waiting)", isSignedIn: true }
]

interface Reading {
  readonly paintMillis: number
  readonly contentMillis: number
}

export const run = async ({ short }: SuiteOptions): Promise<SuiteReport> => {
  const machine = machineFacts()
  const [server, browser] = await Promise.all([startServer(), openBrowser()])
  try {
    await server.newAccount(account)
    await importShelves(server, { account, count: memories, namespace: 1 })
    const { page } = await openConsole(browser, server)
    const session = await page.context().storageState()
    const readings = new Map(landings.map((landing) => [landing, new Array<Reading>()]))
    // The first round warms the service, and is not counted.
    for (let round = 0; round <= (short ? rounds.short : rounds.long); round++) {
      for (const landing of landings) {
        const context = await browser.newContext({
          viewport: { width: 1_280, height: 860 },
          ...(landing.isSignedIn && { storageState: session })
        })
        const reading = await readingOf(context, `${server.url}/console${landing.hash}`, landing.content)
        if (round > 0) readings.get(landing)!.push(reading)
        await context.close()
      }
    }
    return reportOf(readings, browser, machine, short)
  } finally {
    await browser.close()
    await server.stop()
  }
}

/** Of a page that is opened anew; rejects if its content does not come. */
const readingOf = async (context: BrowserContext, url: string, content: string): Promise<Reading> => {
  const page = await context.newPage()
  await page.addInitScript(`
    sessionStorage.setItem("muniment.account", ${JSON.stringify(account)})
    globalThis.painted = new Promise((done) => new PerformanceObserver((list) => {
      for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") done(startTime)
    }).observe({ type: "paint", buffered: true }))
    globalThis.there = new Promise((done) => new MutationObserver((_, observer) => {
      if (document.querySelector(${JSON.stringify(content)}) === null) return
      observer.disconnect()
      requestAnimationFrame(() => done(performance.now()))
    }).observe(document, { childList: true, subtree: true }))`)
  await page.goto(url)
  const [paintMillis, contentMillis] = await page.evaluate<[number, number]>(`Promise.all([painted, there])`)
  return { paintMillis, contentMillis }
}

const reportOf = (
  readings: ReadonlyMap<Landing, ReadonlyArray<Reading>>,
  browser: Browser,
  machine: SuiteReport["machine"],
  short: boolean
): SuiteReport => {
  const rows = [...readings].map(([{ name }, of]) => {
    const paints = of.map(({ paintMillis }) => paintMillis)
    const contents = of.map(({ contentMillis }) => contentMillis)
    return {
      name,
      paint: median(paints),
      paintMax: Math.max(...paints),
      content: median(contents),
      contentMax: Math.max(...contents)
    }
  })
  return {
    title: "The console's pages",
    command: `npm run bench -- --suite console${short ? "" : " --long"}`,
    machine,
    notes: [
      `Chromium ${browser.version()} without a graphics card, on the same machine as the service. Times count from the start of the navigation, in milliseconds; nothing is in the browser's cache, and the account has ${memories.toLocaleString("en-US")} memories.`,
      "Content is there: the form, the first figure, the first row, in the next frame."
    ],
    tables: [
      {
        title: "Pages, opened anew",
        columns: ["page", "first contentful paint, median", "slowest", "content is there, median", "slowest"],
        rows: rows.map(({ content, contentMax, name, paint, paintMax }) => [name, paint, paintMax, content, contentMax])
      }
    ],
    goals: rows.map(({ name, paintMax }) => ({
      name: `first contentful paint of ${name}, slowest`,
      bound: "at most",
      wanted: paintMillisMax,
      found: paintMax,
      unit: "ms"
    })),
    pictures: [],
    ratios: {}
  }
}
