/** Facts of a person that contradict each other, in the console of a real browser: found, understood, corrected, taken back. */
import { beforeAll, expect, it, vi } from "vitest"
import { expectAccessible, openPage, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const patience = { timeout: patienceMillis }
const server = useServer({ environment: withoutModel })
const browser = useBrowser()
let key: string

const list = async (query: string) => (await server.call("GET", `/v1/memories?${query}`, { key })).body
beforeAll(async () => {
  key = await server.newAccount("research")
  const conversation = [{ id: "m1", role: "user", content: "My name is Alice and I live in Seattle." }]
  const place = { agentId: "assistant", subjectId: "alice", threadId: "hello" }
  await server.call("POST", "/v1/memories", { key, body: { ...place, conversation, wait: "extraction" } })
  await vi.waitUntil(async () => (await list("threadId=hello&include=extracted")).total > 1, patience)
  const store = (subjectId: string, memory: object) =>
    server.call("POST", "/v1/memories", { key, body: { agentId: "crm", subjectId, memories: [memory] } })
  expect((await store("alice", fact("Alice", "lives in Oslo"))).status).toBe(200)
  await store("bob", fact("Bob", "lives in Riga"))
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

const homes = async () =>
  (await list("subjectId=alice&include=extracted")).memories
    .map(({ data }: { readonly data: { readonly fact?: string } }) => data.fact)
    .filter((said: string | undefined) => /live/.test(said ?? ""))
const conflicts = () => page.getByRole("region", { name: "Conflicts" })

it("counts them in the list of people, and lists those who have any", async () => {
  await showPage(page, "#/people")
  const everyone = page.getByRole("region", { name: "Everyone" })
  await everyone.getByRole("button", { name: /Alice/ }).getByText("1 conflict").waitFor()
  await everyone.getByText("2 people").waitFor()
  await everyone.getByLabel("Who").selectOption("only")
  await everyone.getByText("1 person").waitFor()
  await everyone.getByRole("button", { name: /Alice/ }).click()
  await conflicts().getByRole("heading", { name: "home" }).waitFor()
})

it("shows each with the messages that it comes from, or that it was stored", async () => {
  await showPage(page, "#/people?subjectId=alice")
  const seattle = conflicts().getByRole("listitem").filter({ hasText: "Seattle" })
  await seattle.getByText("Where it comes from").click()
  await seattle.getByText("My name is Alice and I live in Seattle.").waitFor()
  const oslo = conflicts().getByRole("listitem").filter({ hasText: "Oslo" })
  await oslo.getByText("Where it comes from").click()
  await oslo.getByText(/^Stored as it is/).waitFor()
  await expectAccessible(page, 0, () => showPage(page, "#/people?subjectId=alice"))
  await expectAccessible(page, 1, () => conflicts().waitFor())
})

it("deletes all but the one that holds, and takes that back", async () => {
  await showPage(page, "#/people?subjectId=alice")
  expect(await homes()).toHaveLength(2)
  await conflicts()
    .getByRole("button", { name: /^Keep this, delete the other: .*Seattle/ })
    .click()
  await conflicts().waitFor({ state: "detached" })
  await expect.poll(homes, patience).toEqual([expect.stringContaining("Seattle")])
  await page.getByRole("button", { name: "Take back" }).click()
  await conflicts().getByRole("heading", { name: "home" }).waitFor()
  expect(await homes()).toHaveLength(2)
})

it("deletes what says the same as those that do not hold, whichever agent knows it", async () => {
  for (const [agentId, said] of [
    ["crm", "lives in Riga"],
    ["crm", "lives in Oslo"],
    ["notes", "lives in Oslo"]
  ] as const) {
    const body = { agentId, subjectId: "carol", memories: [fact("Carol", said)] }
    expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  }
  await showPage(page, "#/people?subjectId=carol")
  await conflicts()
    .getByRole("button", { name: /^Keep this, delete the other: .*Riga/ })
    .click()
  await conflicts().waitFor({ state: "detached" })
  const { memories } = await list("subjectId=carol")
  expect(memories.map(({ data }: { readonly data: object }) => data)).toEqual([fact("Carol", "lives in Riga").data])
})

it("leads to the memory, where one is corrected", async () => {
  await showPage(page, "#/people?subjectId=alice")
  await conflicts()
    .getByRole("listitem")
    .filter({ hasText: "Oslo" })
    .getByRole("link", { name: "Look or correct" })
    .click()
  const panel = page.getByRole("complementary", { name: "Memory" })
  await panel.getByRole("button", { name: "Edit data" }).click()
  await panel.getByLabel("As JSON").check()
  await panel.getByLabel("Data, as JSON").fill(JSON.stringify({ subject: "Alice", fact: "used to live in Oslo" }))
  await panel.getByRole("button", { name: "Save data" }).click()
  await page.getByRole("region", { name: "Last change" }).getByText("Data changed.").waitFor()
  await expect.poll(homes, patience).toContainEqual("used to live in Oslo")
  await showPage(page, "#/people?subjectId=alice")
  await page.getByRole("region", { name: "Profile" }).getByText("used to live in Oslo").waitFor()
  expect(await conflicts().count()).toBe(0)
  await page.getByRole("button", { name: "Take back" }).click()
  await conflicts().getByRole("heading", { name: "home" }).waitFor()
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})

it("lets a viewer look and not change", async () => {
  const { secret } = (await server.asOperator("POST", "/admin/operators", { name: "vera", role: "viewer" })).body
  const viewer = await openPage(browser, server)
  await viewer.page.goto(`${server.url}/console`)
  await viewer.page.getByLabel(/API key/).fill(secret)
  await viewer.page.getByRole("button", { name: "Sign in", exact: true }).click()
  await viewer.page.getByRole("navigation", { name: "Pages" }).waitFor()
  await viewer.page.getByLabel("Account").selectOption("research")
  await showPage(viewer.page, "#/people?subjectId=alice")
  const seen = viewer.page.getByRole("region", { name: "Conflicts" })
  await seen.getByRole("link", { name: "Look" }).first().waitFor()
  expect(await seen.getByRole("button", { name: /Keep this/ }).count()).toBe(0)
  await viewer.page.context().close()
})
