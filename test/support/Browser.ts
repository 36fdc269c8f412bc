/** A real Chromium for tests of pages: no request leaves this machine unseen, and what a page complains of is kept. */
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import chromium from "@sparticuz/chromium"
import { type Browser, chromium as engine, type Page } from "playwright-core"
import { expect } from "vitest"
import { beforeTests } from "./beforeTests.ts"
import { isLongRun } from "./Repetitions.ts"
import { patienceMillis, type ServerCalls } from "./TestServer.ts"

/** Without the sandbox, which root has not; with all that keeps origins apart, unlike the package's own arguments. */
const browserArguments = ["--headless=shell", "--no-sandbox", "--no-zygote", "--disable-gpu", "--no-pings"]

export const openBrowser = async (): Promise<Browser> =>
  engine.launch({ executablePath: await unpackedBrowser(), args: browserArguments, headless: true })

/**
 * Once for all test files of a run. Unpacked into a folder of its own and moved into place: the package itself takes a
 * file that another process is still writing.
 */
const unpackedBrowser = async (): Promise<string> => {
  const shared = join(tmpdir(), "unpacked-browser")
  if (!existsSync(shared)) {
    const before = process.env["TMPDIR"]
    const own = mkdtempSync(join(tmpdir(), "unpacking-browser-"))
    process.env["TMPDIR"] = own
    const unpacking = chromium.executablePath()
    if (before === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = before
    await unpacking
    try {
      renameSync(own, shared)
    } catch (cause) {
      // Another process was first.
      if (!existsSync(join(shared, "chromium"))) throw cause
      rmSync(own, { recursive: true })
    }
  }
  return join(shared, "chromium")
}

export interface WatchedPage {
  readonly page: Page
  /** Errors of the console and of scripts. */
  readonly complaints: Array<string>
  /** Addresses at other origins that the page asked for. */
  readonly foreign: ReadonlyArray<string>
}

/** A page of `origin` in a profile of its own. */
export const openPage = async (browser: Browser, { url: origin }: Pick<ServerCalls, "url">): Promise<WatchedPage> => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } })
  context.setDefaultTimeout(patienceMillis)
  const page = await context.newPage()
  const complaints: Array<string> = []
  const foreign: Array<string> = []
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()))
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("request", (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !url.startsWith("data:")) foreign.push(url)
  })
  return { page, complaints, foreign }
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** What a page has against WCAG 2.2 AA, by axe: rule and elements. */
export const accessibilityFaults = async (page: Page): Promise<ReadonlyArray<string>> => {
  // Once for a document: the console changes its pages within one.
  if (await page.evaluate(`typeof axe === "undefined"`)) await page.evaluate(axeSource)
  return page.evaluate(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
      .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")))`
  )
}

/** Colours are the same at every width. */
const views = [
  { width: 380, theme: "light" },
  { width: 1_280, theme: "dark" },
  { width: 2_560, theme: "light" },
  { width: 380, theme: "dark" },
  { width: 1_280, theme: "light" },
  { width: 2_560, theme: "dark" }
] as const

/**
 * Opened anew in every view in the long run; in one of them every day, another for each place in a list of pages, and
 * from there turned to the other theme, widths and direction.
 */
const viewsAt = (at: number) => (isLongRun ? views : [views[at % views.length]!])

/** What is open has no fault against WCAG, and is not wider than the window, whatever theme, width and direction. */
export const expectAccessible = async (
  page: Page,
  at: number,
  open: () => Promise<unknown>,
  close: () => Promise<unknown> = async () => undefined
): Promise<void> => {
  for (const { theme, width } of viewsAt(at)) {
    await page.setViewportSize({ width, height: 860 })
    await turnTo(page, theme)
    await open()
    for (const shown of [theme, theme === "dark" ? "light" : "dark"] as const) {
      await turnTo(page, shown)
      expect(await accessibilityFaults(page), `${shown}, ${width}`).toEqual([])
    }
    for (const direction of ["rtl", "ltr"]) {
      await page.evaluate(`document.documentElement.dir = ${JSON.stringify(direction)}`)
      for (const wide of new Set(views.map((view) => view.width))) {
        await page.setViewportSize({ width: wide, height: 860 })
        const excess = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        expect(excess, `at ${wide} pixels, ${direction}`).toBeLessThanOrEqual(0)
      }
    }
    await page.setViewportSize({ width, height: 860 })
    await close()
  }
  await page.setViewportSize({ width: 1_280, height: 860 })
}

const turnTo = async (page: Page, theme: "light" | "dark"): Promise<void> => {
  await page.emulateMedia({ colorScheme: theme })
  await page.evaluate(`document.documentElement.dataset.theme = ${JSON.stringify(theme)}`)
}

/** A page of the console, with its operator signed in. */
export const openConsole = async (
  browser: Browser,
  { asOperator }: Pick<ServerCalls, "asOperator">
): Promise<WatchedPage> => {
  const { body } = await asOperator("POST", "/admin/console-links")
  const watched = await openPage(browser, { url: new URL(body.link.url).origin })
  await watched.page.goto(body.link.url)
  await watched.page.getByRole("navigation", { name: "Pages" }).waitFor()
  return watched
}

/** `hash` as in the address. Resolves once the console shows that page and no longer the one before it. */
export const showPage = async (page: Page, hash: string): Promise<void> => {
  const [name = ""] = hash.split("?")
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  // On a narrow screen the links are there and not seen.
  await page.locator(`nav a[aria-current=page]:is([href="${name}"], [href^="${name}?"])`).waitFor({ state: "attached" })
}

/** A browser for the tests of a file or of a describe block. */
export const useBrowser = (): Browser => beforeTests(openBrowser, (browser) => browser.close())

/** A page in it: of the console, with its operator signed in, unless `open` opens another. `then` is done on it first. */
export const usePage = (
  browser: Browser,
  server: ServerCalls,
  {
    open = openConsole,
    then = async () => undefined
  }: {
    readonly open?: (browser: Browser, server: ServerCalls) => Promise<WatchedPage>
    readonly then?: (page: Page) => Promise<unknown>
  } = {}
): { readonly page: Page; readonly watched: WatchedPage } => {
  const watched = beforeTests(async () => {
    const opened = await open(browser, server)
    await then(opened.page)
    return opened
  })
  return { page: beforeTests(async () => watched.page), watched }
}
