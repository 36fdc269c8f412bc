/** What the service writes down of requests and of its operators (contract: Operator routes): what, never content. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it, vi } from "vitest"
import type { SeriesPoint } from "@muniment/domain/Operations"
import { fact } from "../support/MemoryCalls.ts"
import { runsOnOneBox } from "../support/OneBox.ts"
import { patienceMillis, startServer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const dataDirectory = temporaryDirectory()
const server = useServer(() => ({
  dataDirectory,
  environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_REQUEST_LOG: "on" }
}))

interface Line {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly millis: number
  readonly account: string | null
}

/** Lines of the request log so far. */
const logged = (): ReadonlyArray<Line> =>
  server
    .output()
    .split("\n")
    .filter((line) => line.includes('"request"') && line.startsWith("{"))
    .flatMap((line) => (JSON.parse(line) as { readonly message: ReadonlyArray<Line | string> }).message)
    .filter((part): part is Line => typeof part === "object")

describe("the request log", () => {
  it("has method, route, status, time and account of each request, and nothing that was said", async () => {
    const key = await server.newAccount("loud")
    const body = { agentId: "agent-zyx", memories: [fact("wood", "xylographic")] }
    const { created } = (await server.call("POST", "/v1/memories", { key, body })).body
    await server.call("GET", `/v1/memories/${created[0].id}`, { key })
    await server.call("GET", "/v1/memories/search?query=xylographic", { key })
    await server.call("GET", "/v1/nothing/xylographic", { key })
    await server.call("GET", "/v1/memories", { key: "mun_nobody_xylographic_0000000000" })
    const { account } = (await server.call("GET", "/v1/account", { key })).body
    const expected: ReadonlyArray<Partial<Line>> = [
      { method: "POST", route: "/v1/memories", status: 200, account: account.id },
      { method: "GET", route: "/v1/memories/:id", status: 200, account: account.id },
      { method: "GET", route: "/v1/memories/search", status: 200, account: account.id },
      { method: "GET", route: "unknown", status: 404, account: null },
      { method: "GET", route: "/v1/memories", status: 401, account: null }
    ]
    await vi.waitFor(() => {
      for (const line of expected) expect(logged()).toContainEqual(expect.objectContaining(line))
    }, patienceMillis)
    for (const { millis } of logged()) expect(millis).toBeGreaterThanOrEqual(0)
    for (const secret of ["xylographic", "agent-zyx", created[0].id, key]) expect(server.output()).not.toContain(secret)
  })

  it("is off unless it is asked for", async () => {
    const quiet = await startServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
    await quiet.call("GET", "/v1/account")
    await quiet.stop()
    expect(quiet.output()).not.toContain('"request"')
  })
})

describe("the calls of accounts", () => {
  it("are listed with account, key, operation and outcome, and nothing that was said", async () => {
    const key = await server.newAccount("caller")
    const body = { agentId: "agent-zyx", memories: [fact("wood", "xylographic")] }
    expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
    await server.call("GET", "/v1/memories/search?query=xylographic", { key })
    await server.call("GET", "/v1/memories/mem_xylographic", { key })
    await server.call("GET", "/v1/schemas", { key: server.operatorToken, headers: { "x-account": "caller" } })
    await server.call("GET", "/v1/memories", { key: "mun_nobody_xylographic_0000000000" })
    const keyId = (await server.asOperator("GET", "/admin/keys?account=caller")).body.keys[0].id
    const [created, searched] = ["memories.create", "memories.search"].map(
      async (operation) =>
        (await server.asOperator("GET", `/admin/requests?account=caller&operation=${operation}`)).body.requests[0]
    )
    expect((await created).stages.storing).toBeGreaterThan(0)
    expect((await created).stages.storing).toBeLessThanOrEqual((await created).millis)
    expect(Object.keys((await searched).stages ?? {})).not.toContain("storing")
    const calls = async (query: string) => (await server.asOperator("GET", `/admin/requests?${query}`)).body.requests
    expect(await calls("account=caller")).toMatchObject([
      { operation: "schemas.listSchemas", status: 200, caller: "operator" },
      { operation: "memories.get", status: 404, caller: keyId, code: "memory_not_found" },
      { operation: "memories.search", status: 200, caller: keyId },
      {
        operation: "memories.create",
        status: 200,
        caller: keyId,
        account: "caller",
        method: "POST",
        agentId: "agent-zyx"
      }
    ])
    expect(await calls("account=caller&operator=true")).toMatchObject([{ caller: "operator" }])
    expect(await calls("account=caller&operator=false")).toEqual((await calls("account=caller")).slice(1))
    expect(await calls(`caller=${keyId}&operation=memories&refused=false&limit=1`)).toMatchObject([
      { operation: "memories.search" }
    ])
    expect((await calls("refused=true"))[0]).toMatchObject({ operation: "memories.list", status: 401, account: null })
    const all = JSON.stringify(await calls("limit=1000"))
    for (const secret of ["xylographic", key, server.operatorToken]) expect(all).not.toContain(secret)
    const own = async (query: string) =>
      (await server.call("GET", `/v1/account/requests?${query}`, { key })).body.requests
    expect(await own("refused=true")).toEqual(await calls("account=caller&refused=true"))
    const day = new Date().toISOString().slice(0, "2026-01-01".length)
    expect((await own(`operation=memories&from=${day}`)).length).toBe(3)
    expect(await own("to=2020-01-01")).toEqual([])
    const bound = await server.call("POST", "/v1/keys", { key, body: { agents: ["agent-zyx"] } })
    const refused = await server.call("GET", "/v1/account/requests", { key: bound.body.secret })
    expect([refused.status, refused.body.code]).toEqual([403, "key_scope"])
    expect((await server.asOperator("POST", "/admin/accounts/erase", { account: "caller" })).status).toBe(200)
    const left = await calls("limit=1000")
    expect(left.filter(({ caller }: { readonly caller: string | null }) => caller === keyId)).toEqual([])
    expect((await server.asOperator("GET", "/admin/requests?account=nobody-there")).status).toBe(404)
    const other = await server.newAccount("other-caller")
    expect((await server.call("GET", "/admin/requests", { key: other })).status).toBe(403)
  })
})

/** Two of one person, two of nobody. */
const remember = async (key: string) => {
  const memories = [fact("wood", "xylographic"), fact("ink", "xylographic")]
  for (const about of [{ subjectId: "person-q" }, {}]) {
    const body = { agentId: "shelves", ...about, memories }
    expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
  }
}

it("The calls of accounts say how long an answer and a map took", async () => {
  const key = await server.newAccount("asker")
  await remember(key)
  const asked = { query: "Where is the wood?", agentId: "shelves" }
  const stagesOf = async (mode: string) => {
    const answer = await server.call("POST", "/v1/memories/search", { key, body: { ...asked, mode } })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return (await server.asOperator("GET", "/admin/requests?account=asker&limit=1")).body.requests[0].stages
  }
  expect((await stagesOf("answer")).answering).toBeGreaterThan(0)
  expect((await stagesOf("map")).drawing).toBeGreaterThan(0)
})

describe("a deletion of memories", () => {
  const deletions = [
    { subjectId: "person-q", memories: 2, dryRun: true },
    { subjectId: "person-q", memories: 2 },
    { agentId: "shelves", memories: 1 },
    { memories: 1 },
    { memories: 0 }
  ]

  it("says whom it named and how many it met, in the calls of the account, and nothing that was said", async () => {
    const key = await server.newAccount("forgetful")
    await remember(key)
    const remove = (body: object) => server.call("POST", "/v1/memories/batch/delete", { key, body })
    await remove({ filters: { subjectId: "person-q" }, dryRun: true })
    await remove({ filters: { subjectId: "person-q" } })
    const [tagged, left] = (await server.call("GET", "/v1/memories", { key })).body.memories
    await server.call("PATCH", `/v1/memories/${tagged.id}`, { key, body: { tags: ["xylographic"] } })
    await remove({ filters: { agentId: "shelves", tags: ["xylographic"] } })
    await server.call("DELETE", `/v1/memories/${left.id}`, { key })
    await remove({ filters: { subjectId: "nobody-known" } })
    const calls = (await server.asOperator("GET", "/admin/requests?account=forgetful")).body.requests
    const noted = calls.flatMap(({ deleted }: { readonly deleted?: object }) => deleted ?? []).toReversed()
    expect(noted).toEqual(deletions)
    expect(calls.at(-1)).not.toHaveProperty("deleted")
    expect(JSON.stringify(calls)).not.toContain("xylographic")
    expect(JSON.stringify(calls)).not.toContain("nobody-known")
  })

  it("is kept of tools, too", async () => {
    const key = await server.newAccount("forgetful-tool")
    await remember(key)
    const call = { name: "memory_batch_delete", arguments: { filters: { subjectId: "person-q" } } }
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call }
    expect((await server.call("POST", "/mcp", { key, body })).status).toBe(200)
    const [last] = (await server.asOperator("GET", "/admin/requests?account=forgetful-tool&limit=1")).body.requests
    expect(last).toMatchObject({ operation: "mcp.message", deleted: { subjectId: "person-q", memories: 2 } })
  })

  it("by an operator is in the audit log, with whom it named and how many it met, and not what was run dry", async () => {
    const key = await server.newAccount("acted-for")
    await remember(key)
    const options = { key: server.operatorToken, headers: { "x-account": "acted-for" } }
    const filters = { subjectId: "person-q" }
    await server.call("POST", "/v1/memories/batch/delete", { ...options, body: { filters, dryRun: true } })
    await server.call("POST", "/v1/memories/batch/delete", { ...options, body: { filters } })
    const { events } = (await server.asOperator("GET", "/admin/audit?subject=acted-for&action=memories")).body
    expect(events).toMatchObject([{ action: "memories.batchDelete", detail: { subjectId: "person-q", memories: 2 } }])
    expect(events).toHaveLength(1)
    expect(JSON.stringify(events)).not.toContain("xylographic")
  })
})

describe("the audit log", () => {
  it("has every change of an operator, with what was changed and without secrets", async () => {
    const made = await server.asOperator("POST", "/admin/keys", {
      account: "watched",
      plan: "pro",
      readOnly: true,
      agents: ["a"]
    })
    await server.asOperator("DELETE", `/admin/keys/${made.body.key.id}`)
    await server.asOperator("POST", "/admin/accounts/suspend", { account: "watched" })
    await server.asOperator("POST", "/admin/accounts/suspend", { account: "nobody" })
    await server.asOperator("GET", "/admin/accounts")
    await server.asOperator("POST", "/admin/ledger/adjustments", {
      account: "watched",
      credits: 5,
      reason: "gift",
      key: "g1"
    })
    const { body } = await server.asOperator("GET", "/admin/audit?limit=4")
    expect(body.events).toMatchObject([
      { action: "money.adjust", subject: "watched", detail: { credits: 5, reason: "gift", key: "g1" } },
      { action: "accounts.suspend", subject: "watched" },
      { action: "admin.revokeKey", subject: null, detail: { keyId: made.body.key.id } },
      {
        action: "admin.createKey",
        subject: "watched",
        detail: { plan: "pro", readOnly: true, agents: ["a"], keyId: made.body.key.id }
      }
    ])
    expect(JSON.stringify(body)).not.toContain(made.body.secret)
    const older = await server.asOperator("GET", `/admin/audit?limit=1&before=${body.events[0].id}`)
    expect(older.body.events).toEqual([body.events[1]])
  })

  it("is filtered by action or its group, subject and days", async () => {
    const day = new Date().toISOString().slice(0, "2026-01-01".length)
    const actions = async (query: string) =>
      (await server.asOperator("GET", `/admin/audit?limit=4&${query}`)).body.events.map(
        ({ action }: { readonly action: string }) => action
      )
    expect(await actions("action=accounts")).toEqual(["accounts.suspend", "accounts.erase"])
    expect(await actions("action=money.adjust&subject=watched")).toEqual(["money.adjust"])
    expect(await actions("action=mon")).toEqual([])
    expect(await actions("subject=nobody")).toEqual([])
    expect(await actions(`action=accounts.suspend&from=${day}&to=${day}`)).toEqual(["accounts.suspend"])
    expect(await actions("to=2020-01-01")).toEqual([])
    expect((await server.asOperator("GET", "/admin/audit?from=yesterday")).status).toBe(400)
  })

  it("is the operator's alone", async () => {
    expect((await server.call("GET", "/admin/audit")).status).toBe(403)
  })

  it.runIf(runsOnOneBox("directoryFiles"))("cannot be changed", () => {
    const database = new DatabaseSync(join(dataDirectory, "control.db"))
    try {
      expect(() => database.exec("UPDATE audit_event SET action = 'x'")).toThrow("never change")
      expect(() => database.exec("DELETE FROM audit_event")).toThrow("never deleted")
    } finally {
      database.close()
    }
  })
})

describe("the series of the service", () => {
  it("counts calls, how they ended and how long they took, and what is stored", async () => {
    const key = await server.newAccount("measured")
    const body = { agentId: "measured", memories: [fact("pump", "in the cellar"), fact("valve", "in the attic")] }
    await server.call("POST", "/v1/memories", { key, body })
    await server.call("GET", "/v1/memories/search?query=pump", { key })
    const points = async () => {
      const answer = await server.asOperator("GET", "/admin/series?window=hour&points=3600")
      expect(answer.status).toBe(200)
      expect(answer.body.stepMillis).toBe(1_000)
      return answer.body.points as ReadonlyArray<SeriesPoint>
    }
    const calls = async () => (await points()).reduce((total, point) => total + point.calls, 0)
    await expect.poll(calls, { timeout: patienceMillis }).toBeGreaterThanOrEqual(2)
    const called = (await points()).filter((point) => point.calls > 0)
    for (const point of called) {
      expect(point.p99Millis).toBeGreaterThanOrEqual(point.p50Millis ?? Infinity)
      expect(point.residentBytes).toBeGreaterThan(1_000_000)
    }
    expect((await server.asOperator("GET", "/admin/series?window=month")).body.points).toEqual(expect.any(Array))
    expect((await server.asOperator("GET", "/admin/series?window=year")).status).toBe(400)
    expect((await server.call("GET", "/admin/series", { key })).status).toBe(403)
  })
})
