/** Many memories at once in the console, in a real browser: chosen by mouse and keyboard, changed after a look at the effect. */
import { beforeAll, expect, it } from "vitest"
import { expectAccessible, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

let key: string

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  key = await server.newAccount("research")
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

const store = async (agentId: string, total: number, rest: object = {}) => {
  const memories = Array.from({ length: total }, (_, at) => ({ ...fact(`item ${at}`, `shelf ${at}`), ...rest }))
  const { body, status } = await server.call("POST", "/v1/memories", {
    key,
    body: { agentId, subjectId: "ann", memories }
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.created.map(({ id }: { id: string }) => id)
}

const listed = async (query: string): Promise<Array<Answer["body"]>> =>
  (await server.call("GET", `/v1/memories?limit=100&${query}`, { key })).body.memories

const open = async (agentId: string) => {
  await showPage(page, `#/memories?agentId=${agentId}`)
  await page.locator(".rows .line:not(.waiting)").first().waitFor()
}
const bulk = () => page.getByRole("region", { name: "Chosen memories" })
const dialog = () => page.getByRole("dialog")
const says = (said: string) => bulk().getByText(said, { exact: true }).waitFor()
const box = (at: number) => page.locator(".rows .tick input").nth(at)

it("chooses rows by their boxes, a range with Shift, and none again by other filters", async () => {
  await store("boxes", 12)
  await open("boxes")
  await box(2).click()
  await says("1 chosen")
  await box(6).click({ modifiers: ["Shift"] })
  await says("5 chosen")
  await box(3).click()
  await says("4 chosen")
  await page.getByLabel("Agent", { exact: true }).fill("none")
  await bulk().waitFor({ state: "detached" })
})

it("chooses rows by the keyboard: one, a range, all that match beyond those that are loaded", async () => {
  for (let page = 0; page < 3; page++) await store("keys", 100)
  await open("keys")
  await page.locator(".rows button.line").first().focus()
  await page.keyboard.press("Space")
  await says("1 chosen")
  expect(await page.getByRole("complementary", { name: "Memory" }).count()).toBe(0)
  await page.keyboard.press("Shift+ArrowDown")
  await page.keyboard.press("Shift+ArrowDown")
  await says("3 chosen")
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("Space")
  await says("4 chosen")
  await page.keyboard.press("Space")
  await says("3 chosen")
  await page.keyboard.press("Control+a")
  await says("300 chosen")
  await page.getByLabel("Choose all that match").click()
  await bulk().waitFor({ state: "detached" })
})

it("tags those that have not the tags yet, after it has said how many", async () => {
  await store("tagged", 4, { tags: ["old"] })
  const [first] = await listed("agentId=tagged")
  await server.call("PATCH", `/v1/memories/${first.id}`, { key, body: { tags: ["new"] } })
  await open("tagged")
  await page.getByLabel("Choose all that match").click()
  await bulk().getByRole("button", { name: "Tag …" }).click()
  const change = dialog().getByRole("button", { name: "Change tags" })
  expect(await change.isDisabled()).toBe(true)
  await dialog().getByLabel("Tags to add").fill("new")
  await dialog().getByLabel("Tags to take away").fill("old")
  await dialog().getByText("This changes the tags of 3 memories; 1 is so already.").waitFor()
  expect((await listed("agentId=tagged&tags=old")).length).toBe(3)
  await change.click()
  await dialog().waitFor({ state: "detached" })
  expect((await listed("agentId=tagged")).map(({ context }) => context.tags)).toEqual([
    ["new"],
    ["new"],
    ["new"],
    ["new"]
  ])
})

it("ends a choice once a chosen memory is changed beside it, so that its newer tags are kept", async () => {
  await store("newer", 2)
  await open("newer")
  await page.getByLabel("Choose all that match").click()
  await says("2 chosen")
  await page.locator(".rows button.line").last().click()
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel.getByLabel("Tags, separated by commas").fill("x")
  await panel.getByRole("button", { name: "Save tags" }).click()
  await bulk().waitFor({ state: "detached" })
  await page.getByLabel("Choose all that match").click()
  await bulk().getByRole("button", { name: "Tag …" }).click()
  await dialog().getByLabel("Tags to add").fill("y")
  await dialog().getByRole("button", { name: "Change tags" }).click()
  await dialog().waitFor({ state: "detached" })
  const tags = (await listed("agentId=newer")).map(({ context }) => context.tags)
  expect(tags.toSorted((one, other) => other.length - one.length)).toEqual([["x", "y"], ["y"]])
})

it("keeps the place in a long list while it is read anew after a change", async () => {
  for (let part = 0; part < 4; part++) await store("long", 100)
  await open("long")
  await page.getByRole("heading", { name: "400 memories" }).waitFor()
  const top = () => page.locator(".rows").evaluate((rows) => rows.scrollTop)
  await page.locator(".rows").evaluate((rows) => rows.scrollTo(0, 250 * 44))
  const row = page.locator(".rows button.line").filter({ hasText: "shelf 45" })
  await row.first().click()
  const before = await top()
  expect(before).toBeGreaterThan(200 * 44)
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel.getByLabel("Tags, separated by commas").fill("seen")
  const [answer] = await Promise.all([
    page.waitForResponse((response) => new URL(response.url()).pathname === "/v1/memories"),
    panel.getByRole("button", { name: "Save tags" }).click()
  ])
  await answer.finished()
  await row.first().waitFor()
  expect(await top()).toBe(before)
})

it("says that a list cannot be read, and reads it when it is asked again", async () => {
  await store("again", 3)
  await showPage(page, "#/overview")
  await page.route("**/v1/memories?*agentId=again*", (route) => route.abort(), { times: 1 })
  await showPage(page, "#/memories?agentId=again")
  await page.getByRole("alert").getByText("The service does not answer.").waitFor()
  expect(await page.locator(".rows .waiting").count()).toBe(0)
  await page.getByRole("button", { name: "Ask again" }).click()
  await page.getByRole("heading", { name: "3 memories" }).waitFor()
  await page.getByText("shelf 2").waitFor()
  expect(await page.getByRole("alert").count()).toBe(0)
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("ERR_FAILED")])
})

it("sets an end, and takes it away", async () => {
  await store("ending", 3)
  const ends = async () => (await listed("agentId=ending")).map(({ metadata }) => metadata.expiresAt)
  const set = async (end: string) => {
    await open("ending")
    await page.getByLabel("Choose all that match").click()
    await bulk().getByRole("button", { name: "Expire …" }).click()
    await dialog().getByLabel("They end").selectOption(end)
    await dialog().getByText("This changes the end of 3 memories.").waitFor()
    await dialog().getByRole("button", { name: "Set the end" }).click()
    await dialog().waitFor({ state: "detached" })
  }
  await set("week")
  const [end] = await ends()
  expect(await ends()).toEqual([end, end, end])
  expect(end).toBeGreaterThan(6 * 86_400_000)
  await set("never")
  expect(await ends()).toEqual([undefined, undefined, undefined])
})

it("moves memories to another subject, with what was given for them, and no message", async () => {
  const rest = { tags: ["kept"], metadata: { page: 7 } }
  const old = await store("moving", 3, rest)
  const message = { kind: "conversation_message", data: { role: "user", text: "hello" } }
  const body = { agentId: "moving", subjectId: "ann", memories: [message] }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  await open("moving")
  await page.getByLabel("Choose all that match").click()
  await bulk().getByRole("button", { name: "Move …" }).click()
  await dialog().getByLabel("Subject that they are about").fill("bob")
  await dialog()
    .getByText("This moves 3 memories to bob; 1 stays: messages, older versions, or there already.")
    .waitFor()
  await dialog().getByRole("button", { name: "Move" }).click()
  await dialog().waitFor({ state: "detached" })
  const moved = await listed("agentId=moving&subjectId=bob&order=asc")
  expect(moved.map(({ data }) => data.subject)).toEqual(["item 0", "item 1", "item 2"].toReversed())
  expect(moved.map(({ context }) => context)).toEqual(Array(3).fill(expect.objectContaining(rest)))
  expect((await listed("agentId=moving&subjectId=ann")).map(({ kind }) => kind)).toEqual(["conversation_message"])
  expect((await server.call("GET", `/v1/memories/${old[0]}`, { key })).status).toBe(404)
})

it("deletes the chosen alone, with their versions, after it has counted them", async () => {
  await store("deleted", 5)
  await open("deleted")
  await box(1).click()
  await box(3).click({ modifiers: ["Shift"] })
  await bulk().getByRole("button", { name: "Delete …" }).click()
  await dialog().getByText("This deletes 3 memories.").waitFor()
  expect((await listed("agentId=deleted")).length).toBe(5)
  await dialog().getByRole("button", { name: "Delete" }).click()
  await dialog().waitFor({ state: "detached" })
  expect((await listed("agentId=deleted")).map(({ data }) => data.subject)).toEqual(["item 4", "item 0"])
  await page.getByRole("heading", { name: "2 memories" }).waitFor()
})

it("shows the refusal of the service, and keeps what was asked for", async () => {
  await store("refused", 2)
  await open("refused")
  await page.getByLabel("Choose all that match").click()
  await bulk().getByRole("button", { name: "Tag …" }).click()
  await dialog().getByLabel("Tags to add").fill("x".repeat(33))
  await dialog().getByRole("button", { name: "Change tags" }).click()
  await dialog().getByRole("alert").waitFor()
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("400")])
  expect(await dialog().getByLabel("Tags to add").inputValue()).toBe("x".repeat(33))
  await dialog().getByRole("button", { name: "Cancel" }).click()
})

it.each([0, 1, 2])("has no fault of accessibility with rows chosen, view %i", async (at) => {
  await expectAccessible(
    page,
    at,
    async () => {
      await open("deleted")
      await box(0).check()
      await says("1 chosen")
    },
    () => bulk().getByRole("button", { name: "Choose none" }).click()
  )
})

it("complains of nothing and asks no other origin", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
