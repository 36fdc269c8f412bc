/** Changes taken back in the console, and its bin, in a real browser. */
import type { Route } from "playwright-core"
import { beforeAll, expect, it } from "vitest"
import { expectAccessible, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact, schemaText, text } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { type Answer, patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

let key: string

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  key = await server.newAccount("research")
  await server.newAccount("other")
  const schema = schemaText({ email: text, city: text }, { required: ["email"] })
  const contact = { name: "contact", description: "A person", uniqueOn: ["email"], schema }
  expect((await server.call("POST", "/v1/schemas", { key, body: contact })).status).toBe(200)
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

const patience = { timeout: patienceMillis }

const store = async (agentId: string, memories: ReadonlyArray<object>): Promise<Array<Answer["body"]>> => {
  const body = { agentId, subjectId: "ann", memories }
  const answer = await server.call("POST", "/v1/memories", { key, body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.created
}
const listed = async (query: string): Promise<Array<Answer["body"]>> =>
  (await server.call("GET", `/v1/memories?limit=100&order=asc&${query}`, { key })).body.memories
const stored = async (id: string) => (await server.call("GET", `/v1/memories/${id}`, { key })).body.memory
const contact = (city: string) => ({ kind: "contact", data: { email: "ann@example.com", city } })
const dataOf = (memories: Array<Answer["body"]>) => memories.map(({ data }) => data)

const panel = () => page.getByRole("complementary", { name: "Memory" })
const offer = () => page.getByRole("region", { name: "Last change" })
const dialog = () => page.getByRole("dialog")
const bulk = () => page.getByRole("region", { name: "Chosen memories" })
const bin = () => page.getByRole("region", { name: "Deleted memories" })

const openMemory = async (agentId: string, id: string) => {
  await showPage(page, `#/memories?agentId=${agentId}&id=${id}`)
  await panel().getByText("Content hash").waitFor()
}
const chooseAll = async (agentId: string) => {
  await showPage(page, `#/memories?agentId=${agentId}`)
  await page.locator(".rows .line:not(.waiting)").first().waitFor()
  await page.getByLabel("Choose all that match").click()
}
const takeBack = async (said: string) => {
  await offer().getByText(said, { exact: true }).waitFor()
  await offer().getByRole("button", { name: "Take back" }).click()
  await offer().getByText(`Taken back: ${said}`).waitFor()
  await expect.poll(() => page.evaluate("document.activeElement.textContent.trim()"), patience).toBe("Close the notice")
  await offer().getByRole("button", { name: "Close the notice" }).click()
  await offer().waitFor({ state: "detached" })
}
const edit = async (agentId: string, id: string, data: object) => {
  await openMemory(agentId, id)
  await panel().getByRole("button", { name: "Edit data" }).click()
  await panel().getByLabel("As JSON").check()
  await panel().getByLabel("Data, as JSON").fill(JSON.stringify(data))
  await panel().getByRole("button", { name: "Save data" }).click()
  // Its history is read.
  await panel().getByRole("button", { name: "Edit data" }).waitFor()
}

it("takes back changed data and tags of a memory", async () => {
  const [{ id }] = await store("edited", [{ ...fact("lamp", "on the desk"), tags: ["light"] }])
  await edit("edited", id, { subject: "lamp", fact: "on the floor" })
  await takeBack("Data changed.")
  expect((await stored(id)).data).toEqual({ subject: "lamp", fact: "on the desk" })
  await panel().getByText("on the desk").first().waitFor()
  await panel().getByLabel("Tags, separated by commas").fill("dark")
  await panel().getByRole("button", { name: "Save tags" }).click()
  await takeBack("Tags changed.")
  expect((await stored(id)).context.tags).toEqual(["light"])
  await expect.poll(() => panel().getByLabel("Tags, separated by commas").inputValue(), patience).toBe("light")
})

it("says that something was taken back on its page alone", async () => {
  const [{ id }] = await store("said", [fact("clock", "on the wall")])
  await edit("said", id, { subject: "clock", fact: "in the hall" })
  await offer().getByRole("button", { name: "Take back" }).click()
  await offer().getByText("Taken back: Data changed.").waitFor()
  await showPage(page, "#/people")
  await offer().waitFor({ state: "detached" })
})

it("takes back a new version and a restored one: the one before is the latest again", async () => {
  const [{ id }] = await store("versions", [contact("Oslo")])
  const all = async () => dataOf(await listed("agentId=versions&includeSuperseded=true"))
  await edit("versions", id, { email: "ann@example.com", city: "Bergen" })
  await takeBack("Data changed.")
  expect(await all()).toEqual([contact("Oslo").data])
  await panel().getByText("Oslo").first().waitFor()
  await edit("versions", id, { email: "ann@example.com", city: "Bergen" })
  const restore = panel().getByRole("button", { name: /^Restore/ })
  const asked = Promise.withResolvers<void>()
  await page.route("**/restore", async (route) => {
    await asked.promise
    await route.continue()
  })
  await restore.click()
  await expect.poll(() => restore.isDisabled(), patience).toBe(true)
  asked.resolve()
  await offer().getByText("A version restored.").waitFor()
  await page.unroute("**/restore")
  await takeBack("A version restored.")
  expect(dataOf(await listed("agentId=versions"))).toEqual([contact("Bergen").data])
})

it("takes nothing back of what somebody else has changed since", async () => {
  const [{ id }] = await store("contested", [fact("kettle", "on the stove")])
  await edit("contested", id, { subject: "kettle", fact: "in the sink" })
  await offer().getByText("Data changed.").waitFor()
  await server.call("PATCH", `/v1/memories/${id}`, { key, body: { tags: ["theirs"] } })
  await offer().getByRole("button", { name: "Take back" }).click()
  await offer().getByText("Changed meanwhile (412).").waitFor()
  expect((await stored(id)).data.fact).toBe("in the sink")
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("412")])
  await offer().getByRole("button", { name: "Close the notice" }).click()
})

it("takes back tags, an end, a move and a deletion of many", async () => {
  await store("many", [{ ...fact("a", "1"), tags: ["x"] }, fact("b", "2"), fact("c", "3")])
  const before = await listed("agentId=many")
  const shown = (memories: Array<Answer["body"]>) =>
    memories.map(({ context, data, metadata }) => [data, context.tags, metadata.expiresAt, metadata.subjectId])
  const isAsBefore = async () => expect(shown(await listed("agentId=many"))).toEqual(shown(before))
  await chooseAll("many")
  await bulk().getByRole("button", { name: "Tag …" }).click()
  await dialog().getByLabel("Tags to add").fill("y")
  await dialog().getByRole("button", { name: "Change tags" }).click()
  await takeBack("3 memories changed.")
  await isAsBefore()
  await chooseAll("many")
  await bulk().getByRole("button", { name: "Expire …" }).click()
  await dialog().getByRole("button", { name: "Set the end" }).click()
  await takeBack("3 memories changed.")
  await isAsBefore()
  await chooseAll("many")
  await bulk().getByRole("button", { name: "Move …" }).click()
  await dialog().getByLabel("Subject that they are about").fill("bob")
  await dialog().getByRole("button", { name: "Move" }).click()
  await takeBack("3 memories moved.")
  expect(await listed("agentId=many&subjectId=bob")).toEqual([])
  await chooseAll("many")
  await bulk().getByRole("button", { name: "Delete …" }).click()
  await dialog().getByRole("button", { name: "Delete" }).click()
  await offer().getByText("3 memories deleted.").waitFor()
  expect(await listed("agentId=many")).toEqual([])
  await takeBack("3 memories deleted.")
  expect((await listed("agentId=many")).length).toBe(3)
})

it("restores a deleted memory from the bin with its versions, in the account that it was deleted in", async () => {
  await store("binned", [contact("Oslo")])
  await store("binned", [contact("Bergen")])
  const [latest] = await listed("agentId=binned")
  await openMemory("binned", latest.id)
  await panel().getByRole("button", { name: "Delete …" }).click()
  await dialog().getByText("with its other versions").waitFor()
  await dialog().getByRole("button", { name: "Delete" }).click()
  await offer().getByText("1 memory deleted.").waitFor()
  expect(await listed("agentId=binned&includeSuperseded=true")).toEqual([])
  await page.getByLabel("Account").selectOption("other")
  await showPage(page, "#/bin")
  await page.getByText("The bin is empty").waitFor()
  expect(await offer().count()).toBe(0)
  await page.getByLabel("Account").selectOption("research")
  await bin()
    .getByRole("button", { name: /^Restore .*city: Bergen/ })
    .click()
  await page.getByText("The bin is empty").waitFor()
  const restored = await listed("agentId=binned&includeSuperseded=true")
  expect(dataOf(restored)).toEqual([contact("Oslo").data, contact("Bergen").data])
  expect(restored.map(({ context }) => context.isLatest)).toEqual([false, true])
  await takeBack("1 memory restored, stored anew.")
  expect(await listed("agentId=binned&includeSuperseded=true")).toEqual([])
  await bin().getByText("city: Bergen").waitFor()
})

const lost = (route: Route) => route.fetch().then(() => route.abort())
const refused = (route: Route) =>
  route.fulfill({ status: 429, json: { success: false, error: "too many calls", code: "rate_limited" } })
const total = async (agentId: string): Promise<number> =>
  (await server.call("GET", `/v1/memories?limit=1&includeSuperseded=true&agentId=${agentId}`, { key })).body.total
/** Once, for a request after `passed` others. */
const answerOnce = async (path: string, passed: number, how: (route: Route) => Promise<void>) => {
  let left = passed
  await page.route(path, (route) => {
    if (left-- === 0) return how(route)
    return route.continue()
  })
}

it("keeps in the bin what is deleted before a refusal, and doubles nothing when it goes on after one", async () => {
  await showPage(page, "#/bin")
  await page.getByRole("button", { name: "Empty the bin" }).click()
  for (const from of [0, 100]) {
    await store(
      "parts",
      Array.from({ length: 100 }, (_, at) => fact(`part ${from + at}`, "here"))
    )
  }
  await chooseAll("parts")
  await bulk().getByText("200 chosen", { exact: true }).waitFor()
  await bulk().getByRole("button", { name: "Delete …" }).click()
  await dialog().getByText("This deletes 200 memories").waitFor()
  await answerOnce("**/v1/memories/batch/delete", 1, refused)
  await dialog().getByRole("button", { name: "Delete" }).click()
  await dialog().getByText("Before that, 100 memories were put in the bin, and stay so.").waitFor()
  expect(await total("parts")).toBe(100)
  await dialog().getByRole("button", { name: "Delete" }).click()
  await offer().getByText("100 memories deleted.").waitFor()
  await page.unroute("**/v1/memories/batch/delete")
  await showPage(page, "#/bin")
  await page.getByRole("heading", { name: "200 memories in the bin" }).waitFor()
  await answerOnce("**/v1/memories", 1, refused)
  await page.getByRole("button", { name: "Restore all" }).click()
  await page.getByRole("alert").getByText("Before that, 100 memories were stored, and stay so.").waitFor()
  await page.getByRole("heading", { name: "100 memories in the bin" }).waitFor()
  await page.getByRole("button", { name: "Restore all" }).click()
  await page.getByText("The bin is empty").waitFor()
  await page.unroute("**/v1/memories")
  expect(await total("parts")).toBe(200)
  expect(watched.complaints.splice(0)).toEqual(Array(2).fill(expect.stringContaining("429")))
})

it.each([
  ["whose deletion was done without an answer", "**/v1/memories/*?versions=all", lost],
  ["whose deletion was never done", "**/v1/memories/*?versions=all", (route: Route) => route.abort()],
  ["whose restoration was done without an answer", "**/v1/memories", lost]
])("has a memory once in the bin and once restored, %s", async (_, path, how) => {
  const isDeletion = path.includes("versions")
  await store("lost", [contact("Oslo")])
  await store("lost", [contact("Bergen")])
  const before = dataOf(await listed("agentId=lost&includeSuperseded=true"))
  const [latest] = await listed("agentId=lost")
  await openMemory("lost", latest.id)
  await panel().getByRole("button", { name: "Delete …" }).click()
  await dialog().getByText("with its other versions").waitFor()
  await answerOnce(path, 0, how)
  await dialog().getByRole("button", { name: "Delete" }).click()
  if (isDeletion) {
    await dialog().getByText("What may be deleted is in the bin.").waitFor()
    await dialog().getByRole("button", { name: "Cancel" }).click()
  } else await offer().getByText("1 memory deleted.").waitFor()
  await showPage(page, "#/bin")
  await page.getByRole("heading", { name: "1 memory in the bin" }).waitFor()
  await page.getByRole("button", { name: "Restore all" }).click()
  if (!isDeletion) {
    await page.getByRole("alert").getByText("The service does not answer.").waitFor()
    await page.getByRole("button", { name: "Restore all" }).click()
  }
  await page.getByText("The bin is empty").waitFor()
  await page.unroute(path)
  expect(dataOf(await listed("agentId=lost&includeSuperseded=true"))).toEqual(before)
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("ERR_FAILED")])
  await takeBack("1 memory restored, stored anew.")
  expect(await total("lost")).toBe(0)
  await page.getByRole("button", { name: "Empty the bin" }).click()
})

it("keeps nothing of an erased person, whose memories were in the bin, nor offers to take it back", async () => {
  const body = { agentId: "private", subjectId: "eve", memories: [fact("eve", "a secret"), fact("eve", "another")] }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  const [{ id }] = await listed("agentId=private")
  await openMemory("private", id)
  await panel().getByRole("button", { name: "Delete …" }).click()
  await dialog().getByRole("button", { name: "Delete" }).click()
  await offer().getByText("1 memory deleted.").waitFor()
  await showPage(page, "#/subjects?subjectId=eve")
  await page.getByRole("button", { name: "Erase …" }).click()
  await dialog().getByLabel("Type erase to go on").fill("erase")
  await dialog().getByRole("button", { name: "Erase" }).click()
  await page.getByText("1 memory about eve is erased.").waitFor()
  expect(await offer().count()).toBe(0)
  await showPage(page, "#/bin")
  await page.getByText("The bin is empty").waitFor()
  expect(await bin().getByText("a secret").count()).toBe(0)
})

it.each([0, 1, 2])("has no fault of accessibility in the bin and beside an offer, view %i", async (at) => {
  await store("seen", [fact("seen", `item ${at}`)])
  await chooseAll("seen")
  await bulk().getByRole("button", { name: "Delete …" }).click()
  await dialog().getByRole("button", { name: "Delete" }).click()
  await offer().waitFor()
  await expectAccessible(page, at, async () => {
    await showPage(page, "#/bin")
    await bin().waitFor()
  })
})

it("is emptied by its button", async () => {
  await showPage(page, "#/bin")
  await page.getByRole("button", { name: "Empty the bin" }).click()
  await page.getByText("The bin is empty").waitFor()
})

it("complains of nothing and asks no other origin", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
