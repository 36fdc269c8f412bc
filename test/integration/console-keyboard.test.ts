/**
 * The console by keyboard alone, in a real browser: Tab reaches every control of every page in the order of reading, with
 * a focus that is seen; dialogs keep the focus, Escape closes them, and the focus comes back.
 */
import { beforeAll, describe, expect, it, vi } from "vitest"
import { expectAccessible, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  const key = await server.newAccount("research")
  const place = { agentId: "assistant", subjectId: "alice", threadId: "hello" }
  const conversation = [{ id: "m1", role: "user", content: "My name is Alice and I live in Seattle." }]
  await server.call("POST", "/v1/memories", { key, body: { ...place, conversation, wait: "extraction" } })
  // A busy machine may read it later.
  const extracted = "/v1/memories?limit=1&threadId=hello&include=extracted"
  const isRead = async () => (await server.call("GET", extracted, { key })).body.total > 0
  await vi.waitUntil(isRead, { timeout: patienceMillis })
  const contrary = { agentId: "assistant", subjectId: "alice", memories: [fact("Alice", "lives in Oslo")] }
  await server.call("POST", "/v1/memories", { key, body: contrary })
  const memories = Array.from({ length: 30 }, (_, at) => fact(`item ${at}`, `shelf ${at}`))
  await server.call("POST", "/v1/memories", { key, body: { agentId: "shelves", memories } })
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

const open = async (hash: string, ready: string): Promise<void> => {
  await showPage(page, hash)
  await page.locator(ready).first().waitFor()
  // What a page asks for at its start is there, so that no control comes or goes meanwhile.
  await expect.poll(() => page.locator("main .spinner").count()).toBe(0)
}

/** In the order of the document: what Tab has to reach. Of radio buttons of one name the chosen one. */
const controls = `[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
  .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }))
  .filter((one) => one.type !== "radio" || one.checked)`

interface Stop {
  readonly at: number
  readonly name: string
  readonly isSeen: boolean
}

/** The stop that has the focus, by its place among the controls. */
const stopNow = (): Promise<Stop> =>
  page.evaluate(`(() => {
    const one = document.activeElement
    const marked = one.type === "radio" ? one.nextElementSibling : one
    const { outlineStyle, outlineWidth } = getComputedStyle(marked)
    const box = marked.getBoundingClientRect()
    const isOutlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1
    const isInside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth
    return { at: ${controls}.indexOf(one), name: one.outerHTML.slice(0, 120), isSeen: isOutlined && isInside }
  })()`)

/** Stops within controls. */
const partsMax = 12

const pages: ReadonlyArray<readonly [string, string]> = [
  ["#/overview", "main .tile"],
  ["#/memories", "main .rows .line:not(.waiting)"],
  ["#/search?query=shelf", "main .hit"],
  ["#/map", "main .card"],
  ["#/conversations?threadId=hello", "main .thread li"],
  ["#/people?subjectId=alice", "main .conflict"],
  ["#/subjects?subjectId=alice", "main .timeline li"],
  ["#/schemas", "main .choices"],
  ["#/accounts?account=research", "main .panel .meter"],
  ["#/money", "main .notice"],
  ["#/money?show=revenue", "main .notice"],
  ["#/live", "main tbody tr"],
  ["#/live?show=events", "main .filters"],
  ["#/add", "main form"],
  ["#/add?show=many", "main section"],
  ["#/bin", "main .card"],
  ["#/evaluate", "main .card"],
  ["#/playground", "main .card"],
  ["#/system?show=backups", "main [aria-label=Restore]"],
  ["#/system?show=sessions", "main tbody tr"],
  ["#/system?show=operators", "main .head"],
  ["#/system", "main .card"],
  ["#/audit", "main tbody tr"]
]

describe("Tab alone", () => {
  it.each(pages)(
    "reaches every control of %s once, in the order of reading, with a focus that is seen",
    async (hash, ready) => {
      await open(hash, ready)
      await page.evaluate(`document.activeElement?.blur?.(); getSelection().removeAllRanges(); scrollTo(0, 0)`)
      await page.locator(".skip").focus()
      const total = Number(await page.evaluate(`${controls}.length`))
      const stops = [await stopNow()]
      for (let press = 0; stops.at(-1)!.at < total - 1 && press < total + partsMax; press++) {
        await page.keyboard.press("Tab")
        const stop = await stopNow()
        // A date has several stops of its own.
        if (stop.at !== stops.at(-1)!.at || !stop.isSeen) stops.push(stop)
      }
      expect(stops.filter(({ isSeen }) => !isSeen).map(({ name }) => name)).toEqual([])
      expect(stops.map(({ at }) => at)).toEqual(Array.from({ length: total }, (_, at) => at))
    }
  )

  it("goes past the pages to the page itself", async () => {
    await open("#/search", "main .card")
    await page.locator(".skip").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    expect(await page.evaluate(`document.activeElement.type`)).toBe("search")
  })

  it("stops at one row of a long list, from which arrow keys go on", async () => {
    await open("#/memories", ".rows .line:not(.waiting)")
    await page.getByLabel("Choose all that match").focus()
    await page.keyboard.press("Tab")
    const row = () =>
      page.evaluate(`document.activeElement.classList.contains("line") && document.activeElement.offsetTop / 44`)
    expect(await row()).toBe(0)
    for (let press = 0; press < 25; press++) await page.keyboard.press("ArrowDown")
    expect(await row()).toBe(25)
    await page.keyboard.press("ArrowUp")
    expect(await row()).toBe(24)
  })
})

describe("the focus", () => {
  const inDialog = () =>
    page.evaluate(`document.activeElement.closest("dialog") !== null || document.activeElement === document.body`)

  it.each([
    ["#/accounts", "New account …", "Escape"],
    ["#/accounts", "New account …", "Cancel"],
    ["#/subjects?subjectId=alice", "Erase …", "Escape"],
    ["#/conversations?threadId=hello", "Erase …", "Cancel"]
  ])("stays in the dialog of %s, %s, and comes back by %s", async (hash, opener, way) => {
    await open(hash, "main .head button")
    const button = page.getByRole("button", { name: opener })
    await button.focus()
    await page.keyboard.press("Enter")
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("button", { name: "Cancel" }).waitFor()
    for (let press = 0; press < 12; press++) {
      await page.keyboard.press("Tab")
      expect(await inDialog()).toBe(true)
    }
    if (way === "Escape") await page.keyboard.press("Escape")
    else {
      await dialog.getByRole("button", { name: "Cancel" }).focus()
      await page.keyboard.press("Enter")
    }
    await dialog.waitFor({ state: "detached" })
    expect(await page.evaluate(`document.activeElement.textContent`)).toBe(opener)
  })

  it("is in the finder that Ctrl+K opens, stays there, and comes back by Escape", async () => {
    await open("#/schemas", "main .choices")
    await page.locator("main .choices button").first().focus()
    await page.keyboard.press("Control+k")
    await page.getByRole("dialog").waitFor()
    expect(await page.evaluate(`document.activeElement.matches("dialog input")`)).toBe(true)
    for (let press = 0; press < 6; press++) {
      await page.keyboard.press("Tab")
      expect(await inDialog()).toBe(true)
    }
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    expect(await page.evaluate(`document.activeElement === document.querySelector("main .choices button")`)).toBe(true)
  })

  it("comes back from a memory to its row, by Escape", async () => {
    await open("#/memories", ".rows .line:not(.waiting)")
    await page.locator(".rows .line").nth(3).focus()
    await page.keyboard.press("Enter")
    const panel = page.getByRole("complementary", { name: "Memory" })
    await panel.getByLabel("Tags, separated by commas").focus()
    await page.keyboard.press("Escape")
    await panel.waitFor({ state: "detached" })
    expect(await page.evaluate(`document.activeElement.offsetTop / 44`)).toBe(3)
  })
})

describe("Escape", () => {
  const panel = () => page.getByRole("complementary", { name: "Memory" })
  const editor = () => panel().getByLabel("fact", { exact: true })

  it("closes a memory after a click on its row, and not while a field outside has the focus", async () => {
    await open("#/memories", ".rows .line:not(.waiting)")
    await page.locator(".rows .line").nth(2).click()
    await panel().getByText("Content hash").waitFor()
    await page.getByLabel("Tags", { exact: true }).focus()
    await page.keyboard.press("Escape")
    expect(await panel().count()).toBe(1)
    await page.locator(".rows .line").nth(2).focus()
    await page.keyboard.press("Escape")
    await panel().waitFor({ state: "detached" })
  })

  it("ends a change of data that changes nothing, with the focus there and back, and keeps what was typed", async () => {
    await open("#/memories?agentId=shelves", ".rows .line:not(.waiting)")
    await page.locator(".rows .line").nth(1).click()
    const edit = panel().getByRole("button", { name: "Edit data" })
    await edit.click()
    await editor().waitFor()
    const focused = () =>
      page.evaluate(`document.activeElement.tagName + " " + document.activeElement.textContent.trim()`)
    expect(await focused()).toMatch(/^INPUT/)
    const box = (await editor().boundingBox())!
    expect(box.y).toBeGreaterThanOrEqual(0)
    expect(box.y + box.height).toBeLessThanOrEqual(860)
    await page.keyboard.press("Escape")
    await edit.waitFor()
    expect(await focused()).toBe("BUTTON Edit data")
    await edit.click()
    await editor().fill("typed")
    await page.keyboard.press("Escape")
    expect(await editor().inputValue()).toBe("typed")
    await panel().getByRole("button", { name: "Cancel" }).click()
  })

  it("leaves a key open that is shown only once", async () => {
    await open("#/accounts?account=research", "main .panel .meter")
    await page.getByRole("button", { name: "New key …" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click()
    const secret = page.getByRole("dialog", { name: "The new key" })
    await secret.locator("pre").waitFor()
    for (const _ of [1, 2, 3]) await page.keyboard.press("Escape")
    expect(await secret.locator("pre").isVisible()).toBe(true)
    await secret.getByRole("button", { name: "I have stored it" }).click()
    await secret.waitFor({ state: "detached" })
  })

  it("and Cancel leave a dialog open until what was sent has its answer, which is shown", async () => {
    await open("#/accounts?account=research", "main .panel .meter")
    let release = () => undefined as void
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route("**/admin/keys", async (route) => {
      if (route.request().method() === "POST") await held
      await route.continue()
    })
    await page.getByRole("button", { name: "New key …" }).click()
    const dialog = page.getByRole("dialog", { name: "New key of research" })
    await dialog.getByRole("button", { name: "Create" }).click()
    await dialog.getByRole("button", { name: "Working …" }).waitFor()
    for (const _ of [1, 2, 3]) await page.keyboard.press("Escape")
    expect(await dialog.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true)
    release()
    const secret = page.getByRole("dialog", { name: "The new key" })
    await secret.locator("pre").waitFor()
    await page.unroute("**/admin/keys")
    await secret.getByRole("button", { name: "I have stored it" }).click()
    await secret.waitFor({ state: "detached" })
  })
})

describe("axe", () => {
  it.each(pages.map(([hash, ready], at) => [hash, ready, at] as const))(
    "finds nothing on %s, light and dark, at 380, 1,280 and 2,560 pixels",
    (hash, ready, at) => expectAccessible(page, at, () => open(hash, ready))
  )

  it.each([
    ["#/accounts", "New account …"],
    ["#/accounts?account=research", "Change plan …"],
    ["#/accounts?account=research", "Limit …"],
    ["#/accounts?account=research", "New key …"],
    ["#/accounts?account=research", "Suspend …"],
    ["#/accounts?account=research", /^Revoke /],
    ["#/accounts?account=research", "Erase …"],
    ["#/subjects?subjectId=alice", "Erase …"],
    ["#/conversations?threadId=hello", "Erase …"],
    ["#/memories?agentId=shelves", "Delete all of these …"],
    ["#/memories?agentId=shelves", "Tag …"],
    ["#/memories?agentId=shelves", "Expire …"],
    ["#/memories?agentId=shelves", "Move …"],
    ["#/memories?agentId=shelves", "Delete …"],
    ["#/money?account=research", "Adjust …"],
    ["#/system?show=jobs", "Dry run …"],
    ["#/system?show=sessions", /^End the session/],
    ["#/system?show=operators", "New operator …"]
  ])("finds nothing in the dialog of %s, %s, light and dark, narrow and wide", (hash, opener) => {
    const dialog = page.getByRole("dialog")
    return expectAccessible(
      page,
      hash.length,
      async () => {
        await open(hash, "main")
        if (hash.startsWith("#/memories")) await page.locator(".rows .tick input").first().check()
        await page.getByRole("main").getByRole("button", { name: opener }).first().click()
        await dialog.getByRole("button", { name: "Cancel" }).waitFor()
        await expect.poll(() => dialog.locator(".spinner").count()).toBe(0)
      },
      async () => {
        await page.keyboard.press("Escape")
        await dialog.waitFor({ state: "detached" })
        if (hash.startsWith("#/memories")) await page.getByRole("button", { name: "Choose none" }).click()
      }
    )
  })

  it("leaves nothing in the console of the browser", () => {
    expect([watched.complaints, watched.foreign]).toEqual([[], []])
  })
})
