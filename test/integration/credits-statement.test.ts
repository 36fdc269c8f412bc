/**
 * Statements of accounts and revenue of the service over HTTP (contract: Credits, Operator routes). Movements of other
 * days are made by hand in the file, where times are the ledger's alone.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: "20" }
const dayMillis = 86_400_000
const dayOf = (atMillis: number) => new Date(atMillis).toISOString().slice(0, 10)

const directory = temporaryDirectory()
let server: TestServer
let key = ""
const reason = '=HYPERLINK("http://evil","a, b")'

const adjust = async (credits: number, name: string, why = reason) => {
  const body = { account: "alice", credits, reason: why, key: name }
  expect((await server.asOperator("POST", "/admin/ledger/adjustments", body)).status).toBe(200)
}

/** As if the corrections so far had been made so many days before. */
const makeOlder = async (days: number) => {
  await server.stop()
  const control = new DatabaseSync(join(directory, "control.db"))
  control.exec("DROP TRIGGER transfer_stays")
  control.prepare("UPDATE transfer SET at = at - ? WHERE kind = 'adjustment'").run(days * dayMillis)
  control.exec(
    "CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer BEGIN SELECT RAISE(ABORT, 'transfers never change'); END"
  )
  control.close()
  server = await startServer({ dataDirectory: directory, environment })
}

beforeAll(async () => {
  server = await startServer({ dataDirectory: directory, environment })
  key = await server.newAccount("alice")
  await adjust(100, "first")
  await makeOlder(40)
  await adjust(-30, "second")
  for (let made = 0; made < 5; made++) {
    const body = { agentId: "a", memories: [fact("a", `fact ${made}`)] }
    expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  }
})
afterAll(async () => {
  await server.stop()
})

const statement = (query: string, headers: Readonly<Record<string, string>> = {}) =>
  server.call("GET", `/v1/account/statement?${query}`, { key, headers })
const textOf = async (path: string, headers: Readonly<Record<string, string>>) => {
  const response = await fetch(server.url + path, { headers })
  return { response, text: await response.text() }
}
const recent = () => `from=${dayOf(Date.now() - dayMillis)}&to=${dayOf(Date.now() + dayMillis)}`

describe("a statement", () => {
  it("has what stood in the purses before and after, and each movement between, oldest first", async () => {
    const { body } = await statement(recent())
    expect(body).toMatchObject({
      account: "alice",
      opening: { balance: 100, allowance: 0, receivable: 0 },
      closing: { balance: 65, allowance: 0, receivable: 0 }
    })
    const { entries, opening, closing } = body
    expect(entries.map(({ at }: { readonly at: number }) => at)).toEqual(
      entries.map(({ at }: { readonly at: number }) => at).toSorted((one: number, other: number) => one - other)
    )
    for (const purse of ["balance", "allowance"]) {
      const moved = entries
        .filter((entry: { readonly purse: string }) => entry.purse === purse)
        .reduce((sum: number, { credits }: { readonly credits: number }) => sum + credits, 0)
      expect(closing[purse] - opening[purse], purse).toBe(moved)
    }
    expect((await server.call("GET", "/v1/credits", { key })).body.balance.credits).toBe(65)
  })

  it("of an earlier period closes with what stood then", async () => {
    const day = dayOf(Date.now() - 40 * dayMillis)
    const { body } = await statement(`from=${day}&to=${dayOf(Date.now() - 39 * dayMillis)}`)
    expect(body).toMatchObject({ opening: { balance: 0 }, closing: { balance: 100 } })
    expect(body.entries).toMatchObject([{ kind: "adjustment", credits: 100, operation: reason }])
  })

  it("comes in pages, which together are the whole, and each has the period's purses", async () => {
    const { body: whole } = await statement(recent())
    const all: Array<unknown> = []
    let cursor = ""
    do {
      const { body } = await statement(`${recent()}&limit=2${cursor}`)
      expect(body.entries.length).toBeLessThanOrEqual(2)
      expect([body.opening, body.closing]).toEqual([whole.opening, whole.closing])
      all.push(...body.entries)
      cursor = body.nextCursor === undefined ? "" : `&cursor=${encodeURIComponent(body.nextCursor)}`
    } while (cursor !== "")
    expect(all).toEqual(whole.entries)
    expect(whole.entries.length).toBeGreaterThan(4)
  })

  it("is CSV for those who ask for it, in pages too, and no text of it is a formula", async () => {
    const path = `/v1/account/statement?${recent()}`
    const headers = { authorization: `Bearer ${key}` }
    const whole = await textOf(`${path}&format=csv`, headers)
    expect(whole.response.headers.get("content-type")).toContain("text/csv")
    const byAccept = await textOf(path, { ...headers, accept: "text/csv" })
    expect(byAccept.text).toBe(whole.text)
    expect(whole.text).toContain(`"'=HYPERLINK(""http://evil"",""a, b"")"`)
    const lines = whole.text.trimEnd().split("\r\n")
    expect(lines[0]).toBe("at,id,kind,operation,purse,calls,credits,agentId")
    expect(lines[1]).toMatch(/,opening,,balance,,100,$/)
    expect(lines.at(-3)).toMatch(/,closing,,balance,,65,$/)
    let text = ""
    let cursor = ""
    do {
      const page = await textOf(`${path}&format=csv&limit=3${cursor}`, headers)
      text += page.text
      const next = page.response.headers.get("x-next-cursor")
      cursor = next === null ? "" : `&cursor=${encodeURIComponent(next)}`
    } while (cursor !== "")
    expect(text).toBe(whole.text)
  })

  it("refuses a period that ends before it begins, a cursor of another, a day that is none", async () => {
    for (const query of [
      "from=2026-02-02&to=2026-02-01",
      "cursor=nonsense",
      "from=2026-02-30",
      "limit=0",
      "user_id=x"
    ]) {
      expect((await statement(query)).status, query).toBe(400)
    }
  })

  it("of a day to come is empty", async () => {
    const { body, status } = await statement("from=2200-12-31")
    expect([status, body.entries, body.to]).toEqual([200, [], "2200-12-31"])
  })

  it("is the account's own: others get theirs, the operator any", async () => {
    const other = await server.newAccount("bob")
    const { body } = await server.call("GET", `/v1/account/statement?${recent()}`, { key: other })
    expect(body).toMatchObject({ account: "bob", opening: { balance: 0 }, closing: { balance: 0 } })
    const { body: own } = await statement(recent())
    const { body: asked } = await server.asOperator("GET", `/admin/statement?account=alice&${recent()}`)
    expect(asked).toEqual(own)
    expect((await server.asOperator("GET", "/admin/statement?account=nobody")).status).toBe(404)
    expect((await server.call("GET", "/admin/revenue", { key })).status).toBe(403)
  })
})

describe("revenue", () => {
  it("sums by day, week and month what was charged and by which purse, and what operators gave", async () => {
    const of = async (by: string) => (await server.asOperator("GET", `/admin/revenue?by=${by}&${recent()}`)).body.rows
    const charged = { kind: "charged", network: null, operation: "create" }
    const today = await of("day")
    expect(today).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: "adjusted", credits: 30, usd: 0.03, count: 1 }),
        expect.objectContaining({ ...charged, purse: "allowance", credits: 20, count: 4 }),
        expect.objectContaining({ ...charged, purse: "balance", credits: 5, usd: 0.005, count: 1 })
      ])
    )
    const periods = async (by: string) =>
      new Set((await of(by)).map(({ period }: { readonly period: string }) => period))
    const now = Date.now()
    const monday = dayOf(now - ((new Date(now).getUTCDay() + 6) % 7) * dayMillis)
    expect([...(await periods("week"))]).toContain(monday)
    expect([...(await periods("month"))]).toContain(dayOf(now).slice(0, 7))
    const { text } = await textOf(`/admin/revenue?format=csv&${recent()}`, {
      authorization: `Bearer ${server.operatorToken}`
    })
    expect(text.split("\r\n")[0]).toBe("period,kind,network,asset,operation,purse,count,credits,usd")
  })
})
