/** Questions that searches should answer, asked in the console by one configuration or two, and what leads anywhere. */
import { beforeAll, expect, it } from "vitest"
import { expectAccessible, openPage, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { type Answer, patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

let key: string
let found: string
let hidden: string

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
const store = async (body: object): Promise<Array<Answer["body"]>> => {
  const answer = await server.call("POST", "/v1/memories", { key, body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.created
}
beforeAll(async () => {
  key = await server.newAccount("research")
  const memories = [fact("kite", "in the attic"), fact("ladder", "behind the shed"), fact("lamp", "on the desk")]
  const [kite, ladder] = await store({ agentId: "house", subjectId: "ann-7", memories })
  found = kite.id
  hidden = ladder.id
  const conversation = [{ role: "user", content: "My name is Annabel and I live in Leeds." }]
  await store({ agentId: "house", subjectId: "user-9", threadId: "greeting", conversation, wait: "extraction" })
})
const { page, watched } = usePage(browser, server, {
  then: (page) => page.getByLabel("Account").selectOption("research")
})

/** What is waited for is done soon, but for a machine with more to do. */
const patience = { timeout: patienceMillis }

const feedbackOf = async (id: string) => (await server.call("GET", `/v1/memories/${id}`, { key })).body.memory.feedback

/** Makes a question of it. */
const ask = async (id: string, query: string) =>
  expect(
    (await server.call("POST", `/v1/memories/${id}/feedback`, { key, body: { useful: true, query } })).status
  ).toBe(200)

const main = () => page.getByRole("main")
const dialog = () => page.getByRole("dialog")
const questions = () => page.getByRole("region", { name: "Questions" })
const past = () => page.getByRole("region", { name: "Runs over time" })
const row = (question: string) => questions().getByRole("row").filter({ hasText: question })
const run = async (name: string) => {
  await page.getByRole("button", { name, exact: true }).click()
  await page.getByRole("button", { name: "Run again" }).waitFor()
}
/** Names of those offered to compare with. */
const runs = async (text: string): Promise<ReadonlyArray<string>> =>
  (await page.getByLabel("Compared with").locator("option").allInnerTexts()).filter((name) => name.includes(text))
const add = async (question: string, words: string) => {
  await page.getByRole("button", { name: "Add a question …" }).click()
  await dialog().getByLabel("Question").fill(question)
  expect(await dialog().getByRole("button", { name: "Add" }).isDisabled()).toBe(true)
  await dialog().getByLabel("Words of the memory that it should find, or its id").fill(words)
  await dialog().getByRole("list", { name: "Memories with these words" }).getByRole("button").first().click()
  await dialog().getByRole("button", { name: "Add" }).click()
  await dialog().waitFor({ state: "detached" })
  await row(question).waitFor()
}

it("keeps questions with the memories that they should find: by its form, and from a search that missed one", async () => {
  await showPage(page, "#/evaluate")
  await page.getByText("No questions in this set").waitFor()
  await add("kite attic", found)
  await showPage(page, `#/search?query=umbrella&expected=${hidden}`)
  await page.getByRole("button", { name: "Keep as a question to evaluate" }).click()
  await page.getByText("Kept:").waitFor()
  await page.getByRole("link", { name: "Evaluate", exact: true }).last().click()
  await row("umbrella").waitFor()
  const { body } = await server.call("GET", `/v1/memories/${hidden}`, { key })
  expect(body.memory.feedback).toMatchObject([{ query: "umbrella", useful: true }])
})

it("runs a set: how many are found, why others are not, and how that changes over the runs", async () => {
  await showPage(page, "#/evaluate")
  await run("Run")
  await main().getByText("Found first").waitFor()
  await row("umbrella").getByText("not found").waitFor()
  await row("umbrella").getByText("Without filters it is not among the first 100 either").waitFor()
  expect(await row("kite attic").getByText("not found").count()).toBe(0)
  await past()
    .getByRole("img", { name: /hit@10: last 0.5/ })
    .waitFor()
  await server.call("PATCH", `/v1/memories/${hidden}`, {
    key,
    body: { data: { subject: "umbrella", fact: "behind the shed" } }
  })
  await run("Run again")
  await past()
    .getByRole("img", { name: /hit@10: last 1, lowest 0.5/ })
    .waitFor()
  await row("umbrella").getByText("not found").waitFor()
  await main().getByText("0 worse, 1 better, 1 as they were").waitFor()
  await row("umbrella").getByText("better").waitFor()
  await page.reload()
  await past()
    .getByRole("img", { name: /hit@10: last 1, lowest 0.5/ })
    .waitFor()
})

it("says which questions another configuration finds worse than the run before, and why", async () => {
  const searchedIn = page.getByLabel("What is searched")
  await searchedIn.selectOption("messages")
  await run("Run")
  await main().getByText("2 worse, 0 better, 0 as they were").waitFor()
  await row("kite attic").getByText("worse").waitFor()
  await row("kite attic").getByText("It is no message, and messages only are searched.").waitFor()
  await searchedIn.selectOption("")
  await page.getByLabel("Compared with").selectOption({ label: (await runs("messages only"))[0] ?? "" })
  await run("Run")
  await main().getByText("0 worse, 2 better, 0 as they were").waitFor()
})

it("keeps no question in the browser", async () => {
  const kept = String(await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })"))
  expect(kept).toContain(found)
  expect(kept).not.toContain("kite")
  expect(kept).not.toContain("umbrella")
})

it("asks two configurations side by side", async () => {
  await page.getByLabel("Beside another configuration").check()
  await page.getByLabel("B: What is searched").selectOption("messages")
  await run("Run")
  await questions().getByRole("columnheader", { name: "Place, A" }).waitFor()
  await row("kite attic").getByText("not found").waitFor()
  await past()
    .getByRole("img", { name: /^Configuration B.*hit@10: last 0,/ })
    .waitFor()
})

it("has sets by agent, subject and tags, and drops a question", async () => {
  await server.call("PATCH", `/v1/memories/${found}`, { key, body: { tags: ["toys"] } })
  await showPage(page, "#/evaluate?tags=toys")
  await row("kite attic").waitFor()
  expect(await row("umbrella").count()).toBe(0)
  await run("Run")
  await page.getByLabel("Set of questions").selectOption("all questions")
  await row("umbrella").waitFor()
  await page.getByLabel("Set of questions").selectOption("tags toys")
  await row("kite attic").getByRole("button", { name: "Drop kite attic" }).click()
  await page.getByText("No questions in this set").waitFor()
})

it("has no fault of accessibility on Evaluate", async () => {
  for (const at of [0, 1, 2]) {
    await expectAccessible(page, at, async () => {
      await showPage(page, "#/evaluate")
      await row("umbrella").waitFor()
      await run(at === 0 ? "Run" : "Run again")
    })
  }
})

it("ends a run whatever it meets: the limit of calls, which it waits for, and a memory that is gone meanwhile", async () => {
  const memories = [fact("hammer", "on the wall"), fact("saw", "under the bench"), fact("chisel", "in the drawer")]
  const [hammer, saw, chisel] = await store({ agentId: "tools", memories })
  const [mallet] = await store({ agentId: "tools", memories: [fact("mallet", "on the floor")] })
  await ask(mallet.id, "mallet floor")
  await ask(hammer.id, "hammer wall")
  await ask(saw.id, "saw bench")
  await showPage(page, "#/memories")
  await showPage(page, "#/evaluate?agentId=tools")
  await row("saw bench").waitFor()
  expect((await server.call("DELETE", `/v1/memories/${saw.id}`, { key })).status).toBe(200)
  let refusals = 1
  await page.route("**/v1/memories/search", (route) =>
    refusals-- > 0
      ? route.fulfill({
          status: 429,
          headers: { "retry-after": "8" },
          json: { success: false, error: "too many", code: "rate_limited" }
        })
      : route.continue()
  )
  await page.getByRole("button", { name: "Run", exact: true }).click()
  await page.getByText("3 questions, 0 asked, waits 8 s for the limit of calls").waitFor()
  await page.getByRole("button", { name: "Run again" }).waitFor()
  await page.unroute("**/v1/memories/search")
  await row("saw bench").getByText("not found").waitFor()
  await row("saw bench").getByText("Why is not known.").waitFor()
  await row("hammer wall").getByRole("cell", { name: "1", exact: true }).first().waitFor()
  await past()
    .getByRole("img", { name: /hit@1: last 0.6/ })
    .waitFor()
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("429"), expect.stringContaining("404")])
  // What the set has now is shown beside what the run found.
  await row("hammer wall").getByRole("button", { name: "Drop hammer wall" }).click()
  await row("hammer wall").waitFor({ state: "detached" })
  await row("mallet floor").getByRole("cell", { name: "1", exact: true }).first().waitFor()
  await page.getByRole("button", { name: "Add a question …" }).click()
  await dialog().getByLabel("Question").fill("chisel drawer")
  const words = dialog().getByLabel("Words of the memory that it should find, or its id")
  const offered = dialog().getByRole("list", { name: "Memories with these words" }).getByRole("button")
  await words.fill("hammer ")
  await offered.filter({ hasText: "on the wall" }).click()
  expect(await words.inputValue()).toBe("hammer ")
  const button = dialog().getByRole("button", { name: "Add" })
  await expect.poll(() => button.isEnabled(), patience).toBe(true)
  await words.fill(chisel.id)
  await offered.filter({ hasText: "in the drawer" }).waitFor()
  expect(await button.isDisabled()).toBe(true)
  await offered.click()
  await button.click()
  await dialog().waitFor({ state: "detached" })
  await row("chisel drawer").waitFor()
  expect(await feedbackOf(chisel.id)).toMatchObject([{ query: "chisel drawer", useful: true }])
})

it("keeps no set and no saved filter in the browser that names a subject who was erased", async () => {
  const place = { agentId: "desk", subjectId: "eve-3" }
  const [{ id }] = await store({ ...place, memories: [fact("Eve", "knows the vault")] })
  await ask(id, "vault")
  await showPage(page, "#/evaluate?subjectId=eve-3")
  await row("vault").waitFor()
  await run("Run")
  await page.getByRole("button", { name: "Save filters …" }).click()
  await dialog().getByLabel("Name").fill("hers")
  await dialog().getByRole("button", { name: "Save" }).click()
  await dialog().waitFor({ state: "detached" })
  const kept = async () => String(await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })"))
  expect((await kept()).split("eve-3").length).toBeGreaterThan(2)
  await showPage(page, "#/subjects?subjectId=eve-3")
  await page.getByRole("button", { name: "Erase …" }).click()
  await dialog().getByLabel("Type erase to go on").fill("erase")
  await dialog().getByRole("button", { name: "Erase" }).click()
  await page.getByText("1 memory about eve-3 is erased.").waitFor()
  expect(await kept()).not.toContain("eve-3")
  expect(await kept()).toContain("toys")
})

it("shows an account that signs in after another the runs of its own alone", async () => {
  const other = await server.newAccount("another")
  const own = await openPage(browser, server)
  const signIn = async (secret: string) => {
    await own.page.goto(`${server.url}/console`)
    await own.page.getByLabel("API key of an account").fill(secret)
    await own.page.getByRole("button", { name: "Sign in" }).click()
    await own.page.getByRole("navigation", { name: "Pages" }).waitFor()
  }
  const sets = () => own.page.getByLabel("Set of questions").locator("option").allInnerTexts()
  await signIn(key)
  await showPage(own.page, "#/evaluate?agentId=tools")
  await own.page.getByRole("button", { name: "Run", exact: true }).click()
  await own.page.getByRole("button", { name: "Run again" }).waitFor()
  await own.page.getByRole("button", { name: "Sign out" }).click()
  await own.page.getByText("You have signed out.").waitFor()
  await signIn(other)
  await showPage(own.page, "#/evaluate")
  await own.page.getByText("No questions in this set").waitFor()
  expect(await sets()).toEqual(["all questions"])
  await own.page.getByRole("button", { name: "Sign out" }).click()
  await own.page.getByText("You have signed out.").waitFor()
  await signIn(key)
  await showPage(own.page, "#/evaluate")
  await expect.poll(sets, patience).toContain("agent tools")
  expect([own.complaints, own.foreign]).toEqual([[], []])
  await own.page.context().close()
})

it("keeps feedback for the question whose hits are shown, and shows none of another question's", async () => {
  const [{ id }] = await store({ agentId: "shed", memories: [fact("rake", "in the shed")] })
  await showPage(page, "#/search?query=rake+shed&agentId=shed")
  const hit = page.getByRole("region", { name: "Found" }).getByRole("listitem").filter({ hasText: "in the shed" })
  const isOfUse = hit.getByRole("button", { name: "of use", exact: true })
  await isOfUse.waitFor()
  // The next search does not answer until what its page shows meanwhile was marked.
  const { promise: marked, resolve: mark } = Promise.withResolvers<void>()
  await page.route("**/v1/memories/search", async (route) => {
    await marked
    await route.continue()
  })
  await showPage(page, "#/search?query=rake&agentId=shed")
  await page.getByRole("region", { name: "The same call" }).getByText("query=rake&").waitFor()
  await isOfUse.click()
  const kept = () => feedbackOf(id)
  await expect.poll(kept, patience).toMatchObject([{ query: "rake shed", useful: true }])
  await expect.poll(() => isOfUse.getAttribute("aria-pressed"), patience).toBe("true")
  mark()
  await expect.poll(() => isOfUse.getAttribute("aria-pressed"), patience).toBe("false")
  await page.unroute("**/v1/memories/search")
})

it("says of the memory that is expected now why it is not found, and keeps the question for that one", async () => {
  const memories = [fact("hoe", "by the gate"), fact("spade", "in the barn")]
  const [hoe, spade] = await store({ agentId: "garden", memories })
  await showPage(page, `#/search?query=trowel&agentId=garden&expected=${hoe.id}`)
  const reasons = page.getByRole("region", { name: "The memory that you expect" })
  await reasons.getByText("by the gate").waitFor()
  await reasons.getByRole("button", { name: "Keep as a question to evaluate" }).click()
  await reasons.getByText("Kept:").waitFor()
  await page.route(`**/v1/memories/${spade.id}`, (route) => route.abort())
  await showPage(page, `#/search?query=trowel&agentId=garden&expected=${spade.id}`)
  await reasons.getByRole("alert").waitFor()
  expect(await reasons.innerText()).not.toContain("by the gate")
  await page.unroute(`**/v1/memories/${spade.id}`)
  await showPage(page, `#/search?query=trowel&agentId=garden&expected=${hoe.id}`)
  await reasons.getByText("by the gate").waitFor()
  await showPage(page, `#/search?query=trowel&agentId=garden&expected=${spade.id}`)
  await reasons.getByText("in the barn").waitFor()
  await reasons.getByRole("button", { name: "Keep as a question to evaluate" }).click()
  await expect.poll(() => feedbackOf(spade.id), patience).toMatchObject([{ query: "trowel" }])
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("ERR_FAILED")])
})

it("looks for a missing memory by the question asked last, though its page was left before it was drawn", async () => {
  await showPage(page, "#/search?query=first+question&agentId=house")
  const call = page.getByRole("region", { name: "The same call" })
  await call.getByText("first").waitFor()
  await page.evaluate(`{
    const leaveAtOnce = new MutationObserver(() => {
      if (!document.querySelector("pre")?.textContent.includes("second")) return
      leaveAtOnce.disconnect()
      location.hash = "#/memories?agentId=house&id=${found}"
      dispatchEvent(new Event("hashchange"))
    })
    leaveAtOnce.observe(document.body, { childList: true, characterData: true, subtree: true })
    location.hash = "#/search?query=second+question&agentId=house"
  }`)
  await page.getByRole("link", { name: "Why is it not found?" }).click()
  await expect.poll(() => page.getByRole("searchbox").inputValue(), patience).toBe("second question")
})

const finder = () => page.getByRole("combobox", { name: /Page, subject, person/ })
const target = (name: RegExp | string) => page.getByRole("option", { name })

it("goes anywhere from the keyboard: pages, people by name, agents, threads, a memory by its id", async () => {
  const go = async (typed: string, to: RegExp | string) => {
    await page.keyboard.press("Control+k")
    await finder().fill(typed)
    await target(to).waitFor()
    await page.keyboard.press("Enter")
    await dialog().waitFor({ state: "detached" })
  }
  await showPage(page, "#/overview")
  await go("schem", /^Schemas/)
  await main().getByRole("heading", { name: "Schemas", level: 2 }).waitFor()
  await go("annab", /^Annabel/)
  await page.getByRole("region", { name: "Profile" }).getByRole("heading", { name: "Annabel" }).waitFor()
  await go("greet", /^greeting/)
  await page.getByRole("region", { name: "Thread", exact: true }).waitFor()
  await go("gdpr", /^Erase or export a person/)
  await main().getByRole("heading", { name: "Subjects", level: 2 }).waitFor()
  await go("kite in the", /^kite in the.*search memories/)
  await expect.poll(() => page.getByRole("searchbox").inputValue()).toBe("kite in the")
  await go(found, found)
  await page.getByRole("complementary", { name: "Memory" }).getByText("in the attic").first().waitFor()
  await page.keyboard.press("Control+k")
  await finder().fill("ann")
  await target(/^ann-7/).waitFor()
  const selected = () => page.evaluate(`document.querySelector('[role=option][aria-selected=true]').textContent`)
  const first = await selected()
  await page.keyboard.press("ArrowDown")
  expect(await selected()).not.toBe(first)
  await page.keyboard.press("ArrowUp")
  expect(await selected()).toBe(first)
  await page.keyboard.press("Escape")
  await dialog().waitFor({ state: "detached" })
})

it("says when nothing is called so, and opens by its button, at every width", async () => {
  for (const at of [0, 1, 2]) {
    await expectAccessible(
      page,
      at,
      async () => {
        await showPage(page, "#/overview")
        await page.getByRole("button", { name: "Go to …" }).click()
        await finder().fill(at === 1 ? "zzzz" : "ann")
        await (at === 1 ? dialog().getByText("Nothing is called so.") : target(/^Annabel/)).waitFor()
      },
      async () => {
        await page.keyboard.press("Escape")
        await dialog().waitFor({ state: "detached" })
      }
    )
  }
})

it("complains of nothing and asks no other origin", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
