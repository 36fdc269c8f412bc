/**
 * The playground of the console in a real browser, with a model's server on this machine: what each turn shows as recalled
 * and as stored is what the API has, and the key of the model reaches no page.
 */
import { expect, it } from "vitest"
import { beforeTests } from "../support/beforeTests.ts"
import {
  accessibilityFaults,
  expectAccessible,
  openConsole,
  showPage,
  useBrowser,
  usePage
} from "../support/Browser.ts"
import { sectionOf } from "../support/FencedPrompt.ts"
import { fact } from "../support/MemoryCalls.ts"
import { ModelServer } from "../support/ModelServer.ts"
import { answer, status } from "../support/ModelServerReplies.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis, startServer } from "../support/TestServer.ts"
import { told } from "../support/ToldMemory.ts"
import { useServer } from "../support/useServer.ts"

const model = beforeTests(
  () => ModelServer.start(),
  (started) => started.close()
)
const server = useServer(() => ({
  environment: { ...withoutModel, ...model.environment(), MUNIMENT_LLM_API_KEY: "sk-a-key-of-the-model" }
}))
const key = beforeTests(async () => {
  model.otherwise = ({ prompt }) =>
    prompt.includes("BEGIN CHAT")
      ? answer({ reply: "\u05e9\u05dc\u05d5\u05dd! In Quimper, a loft." })
      : answer({
          memories: prompt.includes("Still in the loft")
            ? [told("Alice lives in a loft in Quimper", "loft in Quimper")]
            : []
        })
  const made = { key: await server.newAccount("research") }
  const body = { agentId: "playground", subjectId: "alice", memories: [fact("Alice", "plays the harp")] }
  await server.call("POST", "/v1/memories", { ...made, body })
  return made
})
const browser = useBrowser()
const { page, watched } = usePage(browser, server, {
  then: async (page) => {
    void key.key
    await page.getByLabel("Account").selectOption("research")
  }
})

const patience = { timeout: patienceMillis }
const total = async (query: string) =>
  (await server.call("GET", `/v1/memories?limit=1&${query}`, { key: key.key })).body.total
const chat = () => page.getByRole("list", { name: "Chat" })
const say = async (text: string) => {
  await page.getByLabel("Your turn").fill(text)
  await page.getByRole("button", { name: "Send" }).click()
}

it("shows beside a turn what was recalled for it and what was stored of it, as the API has it", async () => {
  const secrets: Array<string> = []
  page.on("response", async (response) => {
    const text = await response.text().catch(() => "")
    if (text.includes("sk-a-key-of-the-model")) secrets.push(response.url())
  })
  await showPage(page, "#/playground?subjectId=alice")
  await say("Still in the loft in Quimper, says Alice. Which instrument do I play?")
  await chat().getByText("In Quimper, a loft.").waitFor()
  const turn = chat().getByRole("listitem").first()
  const recalled = turn.getByRole("region", { name: "Recalled" })
  await recalled.getByText("The context that it was given").click()
  await recalled.locator("pre").getByText("plays the harp").waitFor()
  const asked = model.requests.find(({ prompt }) => prompt.includes("BEGIN CHAT"))!
  expect(sectionOf(asked.prompt, "REMEMBERED")).toEqual([await recalled.locator("pre").innerText()])
  const stored = turn.getByRole("region", { name: "Stored" })
  await stored.getByText("Stored: 2 messages, 1 memory").waitFor()
  await stored.getByRole("link", { name: "Alice lives in a loft in Quimper" }).waitFor()
  expect(await total("agentId=playground&subjectId=alice&include=messages")).toBe(2)
  expect(await total("agentId=playground&subjectId=alice&include=extracted")).toBe(2)
  expect(await accessibilityFaults(page)).toEqual([])
  const direction = `getComputedStyle([...document.querySelectorAll(".said p")].at(-1)).direction`
  expect(await page.evaluate(direction)).toBe("rtl")
  // The next turn has the one before, and what was stored of it.
  await say("And where do I live?")
  await expect.poll(() => chat().getByRole("region", { name: "Recalled" }).count(), patience).toBe(2)
  const [, next] = model.requests.filter(({ prompt }) => prompt.includes("BEGIN CHAT"))
  expect(sectionOf(next!.prompt, "CHAT")).toHaveLength(3)
  expect(sectionOf(next!.prompt, "REMEMBERED").join()).toContain("loft in Quimper")
  await expect.poll(() => page.locator("main .spinner").count(), patience).toBe(0)
  expect(secrets).toEqual([])
  await page.getByRole("link", { name: "As a thread" }).click()
  await page.getByRole("region", { name: "Thread" }).getByText("4 messages").waitFor()
})

it("stores nothing where told so, and begins anew", async () => {
  await showPage(page, "#/playground?subjectId=alice")
  const before = await total("agentId=playground")
  await page.getByLabel("Store each turn").uncheck()
  await say("Nothing of this.")
  await chat().getByText("Nothing of this turn is stored.").waitFor()
  expect(await total("agentId=playground")).toBe(before)
  await page.getByRole("button", { name: "New chat" }).click()
  await page.getByRole("heading", { name: "Say something that is worth remembering" }).waitFor()
})

it("keeps what was typed when the model fails, and says why", async () => {
  await showPage(page, "#/memories")
  await showPage(page, "#/playground")
  const usual = model.otherwise
  model.otherwise = () => status(400)
  await say("Hello there")
  await page.getByRole("alert").getByText("model_unavailable").waitFor()
  expect(await page.getByLabel("Your turn").inputValue()).toBe("Hello there")
  expect(watched.complaints.splice(0)).toEqual([expect.stringContaining("503")])
  model.otherwise = usual
  await page.getByLabel("Your turn").press("Control+Enter")
  await chat().getByText("In Quimper, a loft.").waitFor()
})

/** Replies of the model reach the page once the function is called that it gives. */
const holdReplies = async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route("**/v1/chat", async (route) => {
    const response = await route.fetch()
    await released
    await route.fulfill({ response })
  })
  return async () => {
    release()
    await page.unrouteAll({ behavior: "wait" })
  }
}
const waits = () => page.getByRole("button", { name: "The model replies …" })
const spoken = async (account: { readonly key: string }) =>
  (await server.call("GET", "/v1/memories?limit=1&include=messages", account)).body.total

it("keeps what is typed while the model replies, and lets a new chat have nothing of the one before", async () => {
  await showPage(page, "#/memories")
  await showPage(page, "#/playground")
  let release = await holdReplies()
  await say("The first turn")
  await chat().getByText("The first turn").waitFor()
  await waits().waitFor()
  await page.getByLabel("Your turn").fill("The second turn")
  await release()
  await chat().getByRole("region", { name: "Stored" }).waitFor()
  expect(await page.getByLabel("Your turn").inputValue()).toBe("The second turn")
  const before = await spoken(key)
  release = await holdReplies()
  await page.getByLabel("Your turn").press("Control+Enter")
  await waits().waitFor()
  await page.getByRole("button", { name: "New chat" }).click()
  await release()
  await say("A turn of the new chat")
  await chat().getByRole("region", { name: "Stored" }).waitFor()
  expect(await chat().innerText()).not.toContain("The second turn")
  expect(await spoken(key)).toBe(before + 2)
})

it("stores no turn in the account that is chosen while the model replies", async () => {
  const other = { key: await server.newAccount("elsewhere") }
  await page.reload()
  await showPage(page, "#/playground")
  await page.getByLabel("Account").selectOption("research")
  const before = await spoken(key)
  const release = await holdReplies()
  await say("A secret of research")
  await waits().waitFor()
  await page.getByLabel("Account").selectOption("elsewhere")
  await page.getByRole("heading", { name: "Say something that is worth remembering" }).waitFor()
  await release()
  await say("Hello from elsewhere")
  await chat().getByRole("region", { name: "Stored" }).getByText("Stored: 2 messages").waitFor()
  expect(await chat().innerText()).not.toContain("secret")
  expect(await spoken(other)).toBe(2)
  expect(await spoken(key)).toBe(before)
  await page.getByLabel("Account").selectOption("research")
})

it("lets a viewer chat, and stores nothing for them", async () => {
  const { secret } = (await server.asOperator("POST", "/admin/operators", { name: "vera", role: "viewer" })).body
  const asOperator = (method: string, path: string) => server.call(method, path, { key: secret })
  const viewer = await openConsole(browser, { asOperator } as Parameters<typeof openConsole>[1])
  await viewer.page.getByLabel("Account").selectOption("research")
  await showPage(viewer.page, "#/playground")
  const before = await total("agentId=playground")
  expect(await viewer.page.getByLabel("Store each turn").count()).toBe(0)
  await viewer.page.getByLabel("Your turn").fill("Hello")
  await viewer.page.getByRole("button", { name: "Send" }).click()
  await viewer.page.getByText("Nothing of this turn is stored.").waitFor()
  expect(await total("agentId=playground")).toBe(before)
  expect([viewer.complaints, viewer.foreign]).toEqual([[], []])
  await viewer.page.context().close()
})

it("has no fault against WCAG with turns, and no line wider than the window", async () => {
  await showPage(page, "#/memories")
  await showPage(page, "#/playground")
  await say(`Still in the loft in Quimper, ${"w".repeat(400)}`)
  await chat().getByRole("region", { name: "Stored" }).waitFor()
  for (const at of [0, 1, 2, 3]) await expectAccessible(page, at, async () => undefined)
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})

it("says plainly where no language model is configured", async () => {
  const plain = await startServer({ environment: withoutModel })
  const other = await openConsole(browser, plain)
  await plain.newAccount("research")
  await other.page.reload()
  await other.page.getByLabel("Account").selectOption("research")
  await showPage(other.page, "#/playground")
  await other.page.getByRole("heading", { name: "No language model is configured" }).waitFor()
  expect(await accessibilityFaults(other.page)).toEqual([])
  await other.page.context().close()
  await plain.stop()
})
