/**
 * What the console offers to operators who may not do everything, in a real browser: every button of every page is pressed
 * by a viewer and by a maintainer, and the service refuses none of it.
 */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import type { OperatorRole } from "@muniment/domain/Operator"
import { beforeTests } from "../support/beforeTests.ts"
import { openConsole, openPage, showPage, useBrowser, type WatchedPage } from "../support/Browser.ts"
import { fact, schemaText, text } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: withoutModel })
const browser = useBrowser()

const stored = beforeTests(async () => {
  const key = await server.newAccount("research")
  const ask = (path: string, body: object) => server.call("POST", path, { key, body })
  const place = { agentId: "shelves", subjectId: "alice", threadId: "hello" }
  await ask("/v1/memories", { ...place, conversation: [{ id: "m1", role: "user", content: "I live in Seattle." }] })
  await ask("/v1/schemas", {
    name: "contact",
    description: "d",
    uniqueOn: ["email"],
    schema: schemaText({ email: text, city: text }, { required: ["email"] })
  })
  const contact = (city: string) => ({ kind: "contact", data: { email: "ann@example.com", city } })
  await ask("/v1/memories", { ...place, memories: [contact("Oslo")] })
  const memories = [contact("Bergen"), fact("lamp", "on the desk")]
  const [latest, lamp] = (await ask("/v1/memories", { ...place, memories })).body.created
  await ask(`/v1/memories/${lamp.id}/feedback`, { useful: true, query: "where is the lamp" })
  await ask("/v1/webhooks", { url: "https://hooks.example.com/research" })
  return { key, latest: latest.id as string }
})

/** The pages, with one thing chosen where there is a choice. */
const pages = () => [
  ["#/overview", ".tile"],
  [`#/memories?id=${stored.latest}`, ".panel .timeline li"],
  ["#/search?query=lamp", ".hit"],
  [`#/search?query=nothing&expected=${stored.latest}`, "[aria-label='The memory that you expect'] .reasons"],
  ["#/context?query=lamp", ".card"],
  ["#/evaluate", "tbody tr"],
  ["#/map", ".card"],
  ["#/conversations?threadId=hello", ".thread li"],
  ["#/people", ".card"],
  ["#/people?subjectId=alice", "[aria-label=Profile] .head"],
  ["#/subjects?subjectId=alice", ".timeline li"],
  ["#/schemas?name=contact", "[aria-label=Schema]"],
  ["#/schemas", ".choices"],
  ["#/accounts?account=research", ".panel .keys li"],
  ["#/money", ".notice"],
  ["#/money?account=research", ".notice"],
  ["#/money?show=payments", "main"],
  ["#/live", "tbody tr"],
  ["#/live?show=events", ".badge"],
  ["#/system", ".card"],
  ["#/system?show=jobs", "main"],
  ["#/system?show=indexes", "main"],
  ["#/system?show=sessions", "tbody tr"],
  ["#/audit", "main"]
]

const ofMemories = /^#\/(?:memories|search|context|evaluate|map|conversations|people|subjects|schemas)/

const signedIn = async (name: string, role: OperatorRole): Promise<WatchedPage> => {
  const { secret } = (await server.asOperator("POST", "/admin/operators", { name, role })).body
  const links = { asOperator: (method: string, path: string) => server.call(method, path, { key: secret }) }
  const watched = await openConsole(browser, links as Parameters<typeof openConsole>[1])
  await watched.page.getByLabel("Account").selectOption("research")
  return watched
}

const settled = async (page: Page): Promise<void> => {
  await expect.poll(() => page.locator("main .spinner, dialog .spinner").count()).toBe(0)
}

const open = async (page: Page, [hash, ready]: ReadonlyArray<string>): Promise<void> => {
  await showPage(page, hash!)
  await page
    .locator(`main ${ready === "main" ? "h1" : ready}`)
    .first()
    .waitFor({ state: "attached" })
  await settled(page)
}

/** Names of the buttons of a page that are pressed, with those of the dialogs that they open. */
const pressAll = async (
  page: Page,
  place: ReadonlyArray<string>,
  another = "#/audit?show=requests"
): Promise<ReadonlyArray<string>> => {
  const pressed: Array<string> = []
  // Another page first, so that each begins as the address says.
  const start = async () => {
    await showPage(page, another)
    await open(page, place)
    return page.getByRole("main").getByRole("button", { disabled: false })
  }
  const total = await (await start()).count()
  for (let at = 0; at < total; at++) {
    const buttons = await start()
    if (at >= (await buttons.count())) break
    const button = buttons.nth(at)
    pressed.push((await button.textContent())!.trim())
    await button.click()
    await settled(page)
    const dialog = page.getByRole("dialog")
    for (let round = 0; (await dialog.count()) > 0 && round < 3; round++) {
      const action = dialog.locator("button.primary:enabled")
      if ((await action.count()) > 0 && round === 0) {
        pressed.push((await action.first().textContent())!.trim())
        await action.first().click()
        await settled(page)
      } else await page.keyboard.press("Escape")
    }
  }
  return pressed
}

const changes =
  /^(?:Delete|Erase|Edit|Restore|Add|Drop|Register|Save$|Save tags|New|Tag|Expire|Move|Suspend|Revoke|of use)/

/** Statuses 403 that the page meets from now on. */
const refusedTo = (page: Page): ReadonlyArray<string> => {
  const refused: Array<string> = []
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(`${response.request().method()} ${new URL(response.url()).pathname}`)
  })
  return refused
}

describe("a viewer", () => {
  const viewer = beforeTests(() => signedIn("vera", "viewer"))

  it("is offered no page whose only use is a change, and told so behind its address", async () => {
    const links = await viewer.page.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents()
    const names = links.map((link) => link.trim())
    expect(names).toContain("Memories")
    for (const name of ["Add", "Bin"]) expect(names).not.toContain(name)
    await viewer.page.evaluate(`location.hash = "#/add"`)
    await viewer.page.getByRole("heading", { name: "This page is not for your role" }).waitFor()
  })

  it("presses every button of every page, and none is refused", async () => {
    const refused = refusedTo(viewer.page)
    const offered: Array<string> = []
    for (const place of pages()) {
      offered.push(...(await pressAll(viewer.page, place)))
      expect([place[0], ...refused]).toEqual([place[0]])
    }
    expect(offered).toEqual(expect.arrayContaining(["Try the reader", "Copy"]))
    expect(offered.filter((name) => changes.test(name))).toEqual([])
    const { events } = (await server.asOperator("GET", "/admin/audit?operator=vera")).body
    // A link signed the viewer in.
    expect(events.map(({ action }: { readonly action: string }) => action)).toEqual(["sessions.createConsoleLink"])
  })

  it("chooses no rows, for which there would be nothing to do", async () => {
    await open(viewer.page, ["#/memories", ".rows .line:not(.waiting)"])
    expect(await viewer.page.locator(".tick input:visible").count()).toBe(0)
    await viewer.page.locator(".rows .line").first().focus()
    await viewer.page.keyboard.press("Shift+ArrowDown")
    await viewer.page.keyboard.press("Control+a")
    expect(await viewer.page.getByRole("button", { name: "Choose none" }).count()).toBe(0)
    expect(await viewer.page.locator(".rows .selected").count()).toBe(0)
    // As any button it is pressed by Space.
    await viewer.page.keyboard.press("Space")
    await viewer.page.getByRole("complementary", { name: "Memory" }).waitFor()
  })
})

describe("a maintainer", () => {
  const maintainer = beforeTests(() => signedIn("mo", "maintainer"))

  it("is offered changes, and neither money, erasures of accounts, plans nor operators", async () => {
    const { page } = maintainer
    const names = async (place: ReadonlyArray<string>) => {
      await open(page, place)
      return (await page.getByRole("main").locator("button, nav.tabs a").allTextContents()).map((name) => name.trim())
    }
    const account = await names(["#/accounts?account=research", ".panel .keys li"])
    expect(account).toEqual(expect.arrayContaining(["Limit …", "Suspend …", "New key …", "Pause"]))
    expect(account.filter((name) => /plan|Erase/.test(name))).toEqual([])
    expect(await names(["#/money?account=research", ".notice"])).not.toContain("Adjust …")
    expect(await names(["#/system", ".card"])).not.toContain("Operators")
    expect(await names([`#/memories?id=${stored.latest}`, ".panel .timeline li"])).toEqual(
      expect.arrayContaining(["Edit data", "Restore", "Delete …"])
    )
    await page.getByRole("link", { name: "Accounts and keys" }).click()
    await page.getByRole("button", { name: "New account …" }).click()
    expect(await page.getByRole("dialog").getByLabel("Plan").count()).toBe(0)
    await page.keyboard.press("Escape")
  })
})

describe("an account that signs in itself", () => {
  const signIn = async (key: string) => {
    const { page } = await openPage(browser, server)
    await page.goto(`${server.url}/console`)
    await page.getByLabel("API key of an account").fill(key)
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("navigation", { name: "Pages" }).waitFor()
    return page
  }

  it("is offered the changes of its memories", async () => {
    const page = await signIn(stored.key)
    await page.getByRole("link", { name: "Add", exact: true }).waitFor()
    await open(page, ["#/own?show=keys", "[aria-label=Keys] li"])
    await page.getByRole("button", { name: "New key …" }).waitFor()
    await page.context().close()
  })

  it("is offered none by a key that may only look, and presses no button that is refused", async () => {
    const { secret } = (await server.call("POST", "/v1/keys", { key: stored.key, body: { readOnly: true } })).body
    const page = await signIn(secret)
    const refused = refusedTo(page)
    expect(await page.getByRole("link", { name: "Add", exact: true }).count()).toBe(0)
    const offered: Array<string> = []
    const own = ["keys", "webhooks", "usage"].map((name) => [`#/own?show=${name}`, ".card"])
    for (const place of [...pages().filter(([hash]) => ofMemories.test(hash!)), ...own]) {
      offered.push(...(await pressAll(page, place)))
      expect([place[0], ...refused]).toEqual([place[0]])
    }
    expect(offered).toContain("Try the reader")
    expect(offered.filter((name) => changes.test(name))).toEqual([])
    await open(page, ["#/own?show=export", "[aria-label=Export] button"])
    expect(await page.getByRole("link", { name: "Import" }).count()).toBe(0)
    await page.context().close()
  })

  it.each([{ agents: ["shelves"] }, { subjects: ["alice"] }])(
    "is offered by a key bound to %j what such a key may, and meets no refusal",
    async (bounds) => {
      const { secret } = (await server.call("POST", "/v1/keys", { key: stored.key, body: bounds })).body
      const page = await signIn(secret)
      const refused = refusedTo(page)
      for (const gone of ["Money", "Audit"]) {
        expect(await page.getByRole("link", { name: gone, exact: true }).count()).toBe(0)
      }
      for (const place of pages().filter(([hash]) => ofMemories.test(hash!))) {
        await open(page, place)
        expect([place[0], ...refused]).toEqual([place[0]])
      }
      const another = "#/own?show=export"
      const onSchemas = pages().filter(([hash]) => hash!.startsWith("#/schemas"))
      const offered: Array<string> = []
      for (const place of onSchemas) offered.push(...(await pressAll(page, place, another)))
      expect(offered).toContain("Close")
      expect(offered.filter((name) => changes.test(name))).toEqual([])
      await open(page, ["#/memories", ".rows .line:not(.waiting)"])
      await page.getByRole("link", { name: "Add", exact: true }).waitFor()
      await open(page, ["#/own?show=usage", "[aria-label=Quotas] h3"])
      await page.locator(".tile", { hasText: "Plan" }).waitFor()
      const parts = page.getByRole("navigation", { name: "Parts of this page" })
      expect(await parts.getByRole("link").allInnerTexts()).toEqual(["Keys", "Usage", "Export"])
      await open(page, ["#/own?show=keys", "[aria-label=Keys] li"])
      await page.evaluate(`location.hash = "#/money"`)
      await page.getByRole("heading", { name: "This page is not for your key" }).waitFor()
      expect(refused).toEqual([])
      await page.context().close()
    }
  )
})
