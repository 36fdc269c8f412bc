/**
 * Each action of the console's pages for accounts of 20,000 memories, of one and of none, its effect seen in the API. On an
 * ordinary account `console-operator`, `console-pages` and `console-knowledge` do them every day.
 * Erasures come last, so that each action before them finds the account whole.
 */
import { readFileSync } from "node:fs"
import { beforeAll, describe, expect, it } from "vitest"
import { openPage, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { importShelves } from "../support/ShelfRecords.ts"
import { patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const sizes = { large: 20_000, single: 1, empty: 0 } as const
type Name = keyof typeof sizes
const names = ["empty", "single", "large"] as const
const patience = { timeout: patienceMillis }
const hookUrl = "https://hooks.example.com/sizes"
const keys = new Map<string, string>()

const server = useServer({ environment: withoutModel })
const browser = useBrowser()
beforeAll(async () => {
  for (const [at, name] of names.entries()) {
    keys.set(name, await server.newAccount(name))
    await importShelves(server, { account: name, count: sizes[name], namespace: at + 1 })
  }
})
const { page, watched } = usePage(browser, server)

const asOperator = async (method: string, path: string, body?: object) => {
  const answer = await server.asOperator(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}
const own = (name: Name, method: string, path: string, body?: object) =>
  server.call(method, path, { key: keys.get(name)!, body })
const total = async (name: Name, query = "") => (await own(name, "GET", `/v1/memories?limit=1${query}`)).body.total
const planOf = async (name: Name) => (await accountNamed(name))?.plan
const accountNamed = async (name: Name) =>
  (await asOperator("GET", "/admin/accounts")).accounts.find((one: { readonly name: string }) => one.name === name)

const open = (hash: string) => showPage(page, hash)
const panel = () => page.getByRole("complementary", { name: "Account" })
const dialog = () => page.getByRole("dialog")
const press = (name: string) => dialog().getByRole("button", { name, exact: true }).click()
const closed = () => dialog().waitFor({ state: "detached" })
const openAccount = async (name: Name) => {
  await open("#/accounts?account=")
  await open(`#/accounts?account=${name}`)
  await panel().getByText("Bytes of memories").waitFor()
}
const choose = (name: Name) => page.locator("header.top select").selectOption(name)
/** The one in the middle. */
const middle = (name: Name) => Math.floor(sizes[name] / 2)
const memories = (count: number) => `${count.toLocaleString("en-US")} ${count === 1 ? "memory" : "memories"}`

interface Action {
  readonly page: string
  readonly action: string
  /** Not of accounts that have nothing. */
  readonly needsMemory?: true
  readonly run: (name: Name) => Promise<void>
}

const accountActions: ReadonlyArray<Action> = [
  {
    page: "Accounts and keys",
    action: "change the plan",
    run: async (name) => {
      await openAccount(name)
      await panel().getByRole("button", { name: "Change plan …" }).click()
      await dialog().getByLabel("Plan").selectOption("owner")
      await press("Change")
      await expect.poll(() => planOf(name)).toBe("owner")
    }
  },
  {
    page: "Accounts and keys",
    action: "see what is used, and limit it",
    run: async (name) => {
      await openAccount(name)
      const quotas = async () => (await asOperator("GET", `/admin/quotas?account=${name}`)).account.quotas
      const agents = (await quotas()).find((quota: { readonly name: string }) => quota.name === "agents")
      expect(agents.used).toBe(sizes[name] === 0 ? 0 : 1)
      await panel().getByRole("button", { name: "Limit …" }).click()
      await dialog().getByLabel("Keys").fill("7")
      await press("Set limits")
      await closed()
      expect(await quotas()).toContainEqual(expect.objectContaining({ name: "keys", limit: 7 }))
    }
  },
  {
    page: "Accounts and keys",
    action: "make a key, which reads what there is, and revoke it",
    run: async (name) => {
      await openAccount(name)
      await panel().getByRole("button", { name: "New key …" }).click()
      await dialog().getByLabel("Label").fill("reader")
      await press("Create")
      const secret = await page.getByRole("dialog", { name: "The new key" }).locator("pre").innerText()
      await press("I have stored it")
      const read = () => server.call("GET", "/v1/memories?limit=1", { key: secret })
      expect((await read()).body.total).toBe(await total(name))
      await panel().getByRole("button", { name: "Revoke reader …" }).click()
      await press("Revoke")
      await expect.poll(async () => (await read()).status).toBe(401)
    }
  },
  {
    page: "Accounts and keys",
    action: "test, pause and resume a webhook, repeat what it was not given",
    run: async (name) => {
      const { id } = (await own(name, "POST", "/v1/webhooks", { url: hookUrl })).body.webhook
      const state = async () => (await own(name, "GET", `/v1/webhooks/${id}`)).body.webhook.state
      await openAccount(name)
      const hooks = panel().getByRole("region", { name: "Webhooks" })
      await hooks.getByRole("button", { name: `Test ${hookUrl}` }).click()
      await hooks.getByText("The receiver did not take it").waitFor()
      await hooks.getByRole("button", { name: `Pause ${hookUrl}` }).click()
      await expect.poll(state).toBe("paused")
      await hooks.getByRole("button", { name: `Repeat for ${hookUrl}` }).click()
      await hooks.getByText("messages are due again.").waitFor()
      await hooks.getByRole("button", { name: `Resume ${hookUrl}` }).click()
      await expect.poll(state).toBe("active")
      await own(name, "DELETE", `/v1/webhooks/${id}`)
    }
  },
  {
    page: "Accounts and keys",
    action: "suspend and resume",
    run: async (name) => {
      const status = async () => (await own(name, "GET", "/v1/memories?limit=1")).status
      await openAccount(name)
      await panel().getByRole("button", { name: "Suspend …" }).click()
      await press("Suspend")
      await expect.poll(status).toBe(403)
      await panel().getByRole("button", { name: "Resume …" }).click()
      await press("Resume")
      await expect.poll(status).toBe(200)
    }
  },
  {
    page: "Accounts and keys",
    action: "go to the account's memories",
    run: async (name) => {
      await openAccount(name)
      await panel().getByRole("link", { name: "Memories", exact: true }).click()
      await page.getByRole("heading", { name: memories(await total(name)) }).waitFor()
    }
  }
]

const moneyActions: ReadonlyArray<Action> = [
  {
    page: "Money",
    action: "give credits, and prove the ledger",
    run: async (name) => {
      await open("#/money?account=")
      await open(`#/money?account=${name}`)
      await page.getByText("The ledger adds up.").waitFor()
      await page.getByRole("button", { name: "Adjust …" }).click()
      await dialog().getByLabel("Credits; negative takes").fill("12.5")
      await dialog().getByLabel("Reason, for the ledger and the audit log").fill("for a test")
      await press("Give")
      await closed()
      expect((await own(name, "GET", "/v1/credits")).body.balance.credits).toBe(12.5)
      expect((await asOperator("GET", "/admin/ledger/check")).ok).toBe(true)
    }
  },
  {
    page: "Money",
    action: "save the statement",
    run: async (name) => {
      await open(`#/money?account=${name}&show=movements`)
      await page.getByRole("region", { name: "Movements" }).getByText("+12.5").waitFor()
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save as CSV" }).click()
      ])
      const whole = await asOperator("GET", `/admin/statement?account=${name}&format=csv`)
      expect(readFileSync(await download.path(), "utf8")).toBe(whole)
    }
  },
  {
    page: "Money",
    action: "see and save what each agent cost",
    run: async (name) => {
      await open(`#/money?account=${name}&show=agents`)
      const { agents } = await asOperator("GET", `/admin/costs?account=${name}`)
      const rows = page.getByRole("region", { name: "Costs by agent" }).locator("tbody tr")
      await expect.poll(() => rows.count()).toBe(agents.length)
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save as CSV" }).click()
      ])
      expect(readFileSync(await download.path(), "utf8")).toContain("agentId")
    }
  }
]

const systemActions: ReadonlyArray<Action> = [
  {
    page: "System",
    action: "say what the daily job would do, and run it",
    run: async (name) => {
      await open("#/system")
      await open("#/system?show=jobs")
      const runs = async () =>
        (await asOperator("GET", "/admin/audit?action=money.runJobs&limit=1000")).events.filter(
          ({ detail }: { readonly detail: { readonly dryRun?: boolean } }) => detail.dryRun === false
        ).length
      const before = await runs()
      await page.getByRole("button", { name: "Dry run …" }).click()
      const planned = dialog().getByRole("region", { name: "What it would do" })
      const row = planned.getByRole("row", { name: new RegExp(`^${name}\\b`) })
      await row
        .getByText((await total(name)).toLocaleString("en-US"), { exact: true })
        .first()
        .waitFor()
      expect(await runs()).toBe(before)
      await press("Run it now")
      await closed()
      expect(await runs()).toBe(before + 1)
    }
  },
  {
    page: "System",
    action: "see what its agents hold",
    run: async (name) => {
      await open(`#/system?show=indexes&of=${name}`)
      const { agents } = await asOperator("GET", `/admin/indexes?account=${name}`)
      expect(agents.map((agent: { readonly memories: number }) => agent.memories)).toEqual(
        sizes[name] === 0 ? [] : [await total(name)]
      )
      await (
        sizes[name] === 0
          ? page.getByText("No agent has stored anything yet.")
          : page.getByRole("region", { name: "Indexes" }).getByText((await total(name)).toLocaleString("en-US"))
      )
        .first()
        .waitFor()
    }
  },
  {
    page: "System",
    action: "make missing vectors",
    run: async () => {
      const started = async () =>
        (await asOperator("GET", "/admin/audit?limit=1000")).events.filter(
          ({ detail }: { readonly detail: { readonly path?: string } }) => detail.path === "/admin/reembed"
        ).length
      const before = await started()
      await open("#/system")
      const models = page.getByRole("region", { name: "Models" })
      await models.getByRole("button", { name: "Make missing vectors now" }).click()
      await expect.poll(started).toBe(before + 1)
      const { pending, total: texts } = await asOperator("GET", "/admin/reembed")
      await models.getByText(`${pending.toLocaleString("en-US")} of ${texts.toLocaleString("en-US")}`).waitFor()
    }
  },
  {
    page: "System",
    action: "end a session of the account",
    run: async (name) => {
      const other = await openPage(browser, server)
      await other.page.goto(`${server.url}/console`)
      await other.page.getByLabel("API key of an account").fill(keys.get(name)!)
      await other.page.getByRole("button", { name: "Sign in" }).click()
      await other.page.getByRole("heading", { name: memories(await total(name)) }).waitFor()
      await open("#/system")
      await open("#/system?show=sessions")
      const sessions = page.getByRole("region", { name: "Sessions" })
      await sessions.getByRole("row", { name: /operator.*this session/ }).waitFor()
      expect(await sessions.getByText("this session").count()).toBe(1)
      await page.getByRole("button", { name: `End the session of ${name}` }).click()
      await press("End it")
      await closed()
      const left = (await asOperator("GET", "/admin/sessions")).sessions
      expect(left.map(({ account }: { readonly account: string | null }) => account)).not.toContain(name)
      await other.page.reload()
      await other.page.getByLabel("API key of an account").waitFor()
      await other.page.context().close()
    }
  }
]

const memoryActions: ReadonlyArray<Action> = [
  {
    page: "Schemas",
    action: "register, try, change and delete one",
    run: async (name) => {
      await choose(name)
      await open("#/memories")
      await open("#/schemas")
      const form = page.getByRole("region", { name: "New schema" })
      await form.getByLabel("Name, the kind of its memories").fill("boat")
      await form.getByLabel("Description, read by the reader of conversations").fill("A boat")
      await form.getByRole("button", { name: "Register" }).click()
      const shown = page.getByRole("region", { name: "Schema", exact: true })
      await shown.getByRole("heading", { name: "boat" }).waitFor()
      await shown.getByLabel("Data to try, as JSON").fill('{"name": 2}')
      await shown.getByRole("button", { name: "Try" }).click()
      await shown.getByText("It would be refused.").waitFor()
      await shown.getByLabel("Description, read by the reader of conversations").fill("A boat that floats")
      await shown.getByRole("button", { name: "Save" }).click()
      const stored = async () => (await own(name, "GET", "/v1/schemas/boat")).body
      await expect.poll(stored).toMatchObject({ schema: { description: "A boat that floats" } })
      await shown.getByRole("button", { name: "Delete …" }).click()
      await press("Delete")
      await expect.poll(async () => (await own(name, "GET", "/v1/schemas/boat")).status).toBe(404)
    }
  },
  {
    page: "Conversations",
    action: "try the reader, which stores nothing",
    run: async (name) => {
      await choose(name)
      await open("#/memories")
      await open("#/conversations")
      const before = await total(name)
      const trial = page.getByRole("region", { name: "Try the reader" })
      await trial.getByRole("textbox").fill("user: My name is Clara and I live in Leeds.")
      await trial.getByRole("button", { name: "Read" }).click()
      await trial.getByText("Clara lives in Leeds").waitFor()
      expect(await total(name)).toBe(before)
    }
  },
  {
    page: "Memories",
    action: "change tags and data",
    needsMemory: true,
    run: async (name) => {
      await choose(name)
      const id = (await own(name, "GET", `/v1/memories?limit=1&subjectId=person-${middle(name)}`)).body.memories[0].id
      const stored = async () => (await own(name, "GET", `/v1/memories/${id}`)).body.memory
      await open(`#/memories?id=${id}`)
      const memory = page.getByRole("complementary", { name: "Memory" })
      await memory.getByLabel("Tags, separated by commas").fill("counted")
      await memory.getByRole("button", { name: "Save tags" }).click()
      await expect.poll(async () => (await stored()).context.tags, patience).toEqual(["counted"])
      const data = { subject: `item ${middle(name)}`, fact: "It lies in the cellar." }
      await memory.getByRole("button", { name: "Edit data" }).click()
      await memory.getByLabel("As JSON").check()
      await memory.getByLabel("Data, as JSON").fill(JSON.stringify(data))
      await memory.getByRole("button", { name: "Save data" }).click()
      await expect.poll(async () => (await stored()).data, patience).toEqual(data)
    }
  },
  {
    page: "Search",
    action: "ask, and see why one is not found",
    needsMemory: true,
    run: async (name) => {
      await choose(name)
      await open("#/search?query=cellar")
      await page.getByRole("region", { name: "Found" }).getByRole("link", { name: "It lies in the cellar." }).waitFor()
      const id = (await own(name, "GET", "/v1/memories?limit=1&tags=counted")).body.memories[0].id
      await open(`#/search?query=cellar&subjectId=nobody&expected=${id}`)
      const reasons = page.getByRole("region", { name: "The memory that you expect" })
      await reasons.getByText("The filter subject “nobody” leaves it out").waitFor()
      await reasons.getByText("Without filters it stands at place 1").waitFor()
    }
  },
  {
    page: "Map",
    action: "draw, and open a point",
    needsMemory: true,
    run: async (name) => {
      await choose(name)
      await open("#/map?query=cellar")
      const map = page.getByRole("application", { name: "Map of 1 memory" })
      await map.waitFor()
      await open(
        `#/map?query=cellar&id=${(await own(name, "GET", "/v1/memories?limit=1&tags=counted")).body.memories[0].id}`
      )
      await page.getByRole("complementary", { name: "Memory" }).getByText("It lies in the cellar.").waitFor()
    }
  },
  {
    page: "Subjects",
    action: "export one, and erase it",
    needsMemory: true,
    run: async (name) => {
      await choose(name)
      const before = await total(name)
      const person = `person-${middle(name)}`
      await open(`#/subjects?subjectId=${person}`)
      const subject = page.getByRole("region", { name: "Subject" })
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        subject.getByRole("button", { name: "Export" }).click()
      ])
      const lines = readFileSync(await download.path(), "utf8")
        .trim()
        .split("\n")
      expect(lines.map((line) => JSON.parse(line).metadata.subjectId)).toEqual([person])
      await subject.getByRole("button", { name: "Erase …" }).click()
      await dialog().getByText("This deletes 1 memory for good").waitFor()
      await dialog().getByLabel("Type erase to go on").fill("erase")
      await press("Erase")
      await page.getByText(`1 memory about ${person} is erased.`).waitFor()
      expect(await total(name)).toBe(before - 1)
    }
  },
  {
    page: "Audit",
    action: "say whom an erasure concerned, and how many",
    needsMemory: true,
    run: async (name) => {
      await open("#/overview")
      await open(`#/audit?subject=${name}&action=memories.batchDelete`)
      const rows = page.getByRole("region", { name: "Changes by operators" }).locator("tbody tr")
      const said = `subject person-${middle(name)}: 1 memory`
      await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining(`${said} deleted`)])
      await open(`#/audit?show=requests&account=${name}&operation=memories.batchDelete&by=all`)
      const calls = page.getByRole("region", { name: "Calls of accounts" }).locator("tbody tr")
      await expect.poll(async () => (await calls.allInnerTexts())[0]).toContain(`${said} deleted`)
    }
  },
  {
    page: "Conversations",
    action: "erase a thread",
    needsMemory: true,
    run: async (name) => {
      if (sizes[name] === 1) await importAgain(name)
      await choose(name)
      const before = await total(name)
      await open("#/conversations?threadId=thread-0")
      await page.getByRole("region", { name: "Thread" }).getByRole("button", { name: "Erase …" }).click()
      await dialog().getByText("This deletes 1 memory for good").waitFor()
      await dialog().getByLabel("Type erase to go on").fill("erase")
      await press("Erase")
      await page.getByText("1 memory of the thread thread-0 is erased.").waitFor()
      expect(await total(name)).toBe(before - 1)
    }
  },
  {
    page: "Memories",
    action: "delete all of a filter, once it is said how many",
    needsMemory: true,
    run: async (name) => {
      if (sizes[name] === 1) await importAgain(name)
      await choose(name)
      const before = await total(name)
      await open("#/overview")
      await open("#/memories?agentId=shelves")
      await page.getByRole("button", { name: "Delete all of these …" }).click()
      await dialog()
        .getByText(`This deletes ${memories(before)} for good`)
        .waitFor(patience)
      expect(await total(name)).toBe(before)
      await dialog().getByLabel("Type delete to go on").fill("delete")
      await press("Delete")
      await expect.poll(() => total(name), patience).toBe(0)
      await closed()
      const [event] = (await asOperator("GET", `/admin/audit?subject=${name}&action=memories.batchDelete&limit=1`))
        .events
      expect(event.detail).toMatchObject({ agentId: "shelves", memories: before })
    }
  }
]

/** The one that was erased, anew. */
const importAgain = (name: Name) => importShelves(server, { account: name, count: 1, namespace: 7 })

const lastAction: Action = {
  page: "Accounts and keys",
  action: "erase the account, once it is said how much that is",
  run: async (name) => {
    if (sizes[name] > 0) await importShelves(server, { account: name, count: sizes[name], namespace: 8 })
    await openAccount(name)
    await panel().getByRole("button", { name: "Erase …" }).click()
    const there = dialog().locator("dl.facts dd").first()
    await expect.poll(() => there.innerText(), patience).toBe(sizes[name].toLocaleString("en-US"))
    await dialog().getByLabel(`Type ${name} to go on`).fill(name)
    expect(await accountNamed(name)).toBeDefined()
    await press("Erase")
    await dialog().getByText("looked for afterwards, none is left").waitFor(patience)
    await press("Close")
    await expect.poll(() => accountNamed(name)).toBeUndefined()
    expect((await own(name, "GET", "/v1/memories")).status).toBe(401)
  }
}

const actions = [...accountActions, ...moneyActions, ...systemActions, ...memoryActions, lastAction]

describe.each(names)("an account, %s,", (name) => {
  it.each(actions.filter(({ needsMemory }) => sizes[name] > 0 || needsMemory === undefined))(
    "$page: $action",
    async ({ run }) => {
      await page.locator("header.top select").waitFor()
      await run(name)
    }
  )
})

it("complains of nothing and asks no other origin", () => {
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})
