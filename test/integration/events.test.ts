/** GET /v1/events (contract: Events): pages and streams, where they go on, who sees what, and what ends them. */
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import type { AccountEvent } from "@muniment/domain/Events"
import { Muniment } from "@muniment/client/Muniment"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { evmWallet, walletHeaders } from "../support/TrustCalls.ts"

const service = useSharedServer(withoutModel)

interface Told {
  readonly type: string
  readonly agentId: string | undefined
  readonly memoryId: string | undefined
}

const toldOf = ({ data, type }: AccountEvent): Told => ({ type, agentId: data.agentId, memoryId: data.memoryId })

/** An account of its own. */
const accountOf = async (name: string) => {
  const key = await service.newAccount(name, "owner")
  const call = (method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}) =>
    service.call(method, path, { key, headers, ...(body !== undefined && { body }) })
  const create = async (agentId: string, fact: string, more: object = {}): Promise<string> => {
    const memories = [{ kind: "factual_memory", data: { subject: "Ebba", fact } }]
    const { body, status } = await call("POST", "/v1/memories", { agentId, memories, ...more })
    expect(status).toBe(200)
    return body.created[0].id
  }
  const page = async (query = "") => (await call("GET", `/v1/events${query}`)).body
  const client = new Muniment({ baseUrl: service.url, apiKey: key, retries: 0 })
  return { key, call, create, page, client }
}

const open = (key: string, query = "", headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${service.url}/v1/events${query}`, {
    headers: { authorization: `Bearer ${key}`, accept: "text/event-stream", ...headers }
  })

/** The text of a stream until it holds `part`, or ends. */
const textUntil = async (response: Response, part: string): Promise<string> => {
  let text = ""
  for await (const chunk of response.body!) {
    text += new TextDecoder().decode(chunk)
    if (text.includes(part)) return text
  }
  return `${text}[ended]`
}

describe("pages of events", () => {
  it("tell what happened to which memory, from the oldest on, each once", async () => {
    const { call, create, page } = await accountOf("pages")
    const first = await create("a", "rows on Sundays", { subjectId: "ebba", threadId: "t" })
    const second = await create("b", "swims")
    await call("PATCH", `/v1/memories/${first}`, { tags: ["sport"] })
    await call("DELETE", `/v1/memories/${second}`)
    const all = await page("?from=oldest")
    const events: ReadonlyArray<AccountEvent> = all.events
    const of = (agentId: string) => events.map(toldOf).filter((event) => event.agentId === agentId)
    expect(of("a")).toEqual([
      { type: "memory.created", agentId: "a", memoryId: first },
      { type: "memory.updated", agentId: "a", memoryId: first }
    ])
    expect(of("b")).toEqual([
      { type: "memory.created", agentId: "b", memoryId: second },
      { type: "memory.deleted", agentId: "b", memoryId: second }
    ])
    expect(events.find(({ data }) => data.agentId === "a")?.data).toMatchObject({
      kind: "factual_memory",
      subjectId: "ebba",
      threadId: "t"
    })
    expect(all.hasMore).toBe(false)
    const gathered: Array<AccountEvent> = []
    let { events: some, hasMore, nextCursor } = await page("?from=oldest&limit=1")
    while (hasMore) {
      gathered.push(...some)
      ;({ events: some, hasMore, nextCursor } = await page(`?limit=1&cursor=${nextCursor}`))
    }
    gathered.push(...some)
    expect(gathered.map(toldOf).toSorted(byText)).toEqual(events.map(toldOf).toSorted(byText))
  })

  it("begin now by default, and go on with agents that are new", async () => {
    const { create, page } = await accountOf("now")
    await create("a", "before")
    const start = await page()
    expect(start.events).toEqual([])
    const [after, other] = [await create("a", "after"), await create("new", "another agent")]
    const { events } = await page(`?cursor=${start.nextCursor}`)
    expect(events.map(toldOf)).toEqual([
      { type: "memory.created", agentId: "a", memoryId: after },
      { type: "memory.created", agentId: "new", memoryId: other }
    ])
    const ofOne = await page("?agentId=new&from=oldest")
    expect(ofOne.events.map(toldOf)).toEqual([{ type: "memory.created", agentId: "new", memoryId: other }])
  })

  it("tell which version takes a memory's place", async () => {
    const { call, page } = await accountOf("versions")
    const schema = JSON.stringify({ type: "object", properties: { key: { type: "string" }, n: { type: "number" } } })
    await call("POST", "/v1/schemas", { name: "counter", description: "d", uniqueOn: ["key"], schema })
    const store = async (n: number): Promise<string> =>
      (await call("POST", "/v1/memories", { agentId: "a", memories: [{ kind: "counter", data: { key: "k", n } }] }))
        .body.created[0].id
    const [one, two] = [await store(1), await store(2)]
    const { events } = await page("?from=oldest")
    expect(events.map(({ data, type }: AccountEvent) => [type, data.memoryId, data.supersededBy])).toEqual([
      ["memory.created", one, undefined],
      ["memory.created", two, undefined],
      ["memory.superseded", one, two]
    ])
  })

  it("say that events are lost where the cursor names an agent that is gone", async () => {
    const { create, page } = await accountOf("gone")
    const other = await accountOf("gone-other")
    await Promise.all([create("a", "fact"), other.create("a", "fact")])
    const foreign = (await other.page()).nextCursor
    const { events } = await page(`?cursor=${foreign}`)
    expect(events.map(({ data, type }: AccountEvent) => [type, data.agentId])).toEqual([
      ["events.lost", undefined],
      ["memory.created", "a"]
    ])
  })

  it("refuse cursors of another form, and too many agents at once", async () => {
    const { call, create } = await accountOf("refused")
    for (const cursor of ["x", "AAAA", "%00"])
      expect((await call("GET", `/v1/events?cursor=${cursor}`)).body).toMatchObject({ code: "invalid_request" })
    await Promise.all(Array.from({ length: Limits.eventAgentsMax + 1 }, (_, at) => create(`agent ${at}`, "fact")))
    expect((await call("GET", "/v1/events")).body).toMatchObject({ success: false, code: "invalid_request" })
    expect((await call("GET", "/v1/events?agentId=agent%201&from=oldest")).body.events).toHaveLength(1)
  })

  it("show a scoped key its own agents and subjects alone, deletions too", async () => {
    const { call, create, page } = await accountOf("scoped")
    const mine = await create("a", "mine", { subjectId: "ebba" })
    const others = [await create("a", "another subject", { subjectId: "ida" }), await create("a", "no subject")]
    const elsewhere = await create("b", "another agent", { subjectId: "ebba" })
    for (const id of [mine, ...others, elsewhere]) await call("DELETE", `/v1/memories/${id}`)
    const keyFor = async (scope: object): Promise<string> => (await call("POST", "/v1/keys", scope)).body.secret
    const seenBy = async (key: string) =>
      (await service.call("GET", "/v1/events?from=oldest", { key })).body.events.map(toldOf)
    const of = (agentId: string, memoryId: string) =>
      ["memory.created", "memory.deleted"].map((type) => ({ type, agentId, memoryId }))
    expect(await seenBy(await keyFor({ agents: ["a"], subjects: ["ebba"] }))).toEqual(of("a", mine))
    expect(await seenBy(await keyFor({ agents: ["b"] }))).toEqual(of("b", elsewhere))
    expect((await page("?from=oldest")).events).toHaveLength(8)
  })
})

describe("a stream of events", () => {
  it("tells changes as they happen, and goes on behind the last event that a client has", async () => {
    const { client, create } = await accountOf("stream")
    const ids = [await create("a", "one"), await create("b", "two")]
    const seen: Array<AccountEvent> = []
    const take = async (count: number, cursor?: string) => {
      const query = cursor === undefined ? { from: "oldest" as const } : { cursor }
      for await (const event of client.followEvents(query)) {
        seen.push(event)
        if (seen.length === count) return
        if (seen.length === 2) ids.push(await create("b", "three"))
      }
    }
    await take(3)
    ids.push(await create("a", "four"))
    await take(4, seen.at(-1)!.id)
    expect(seen.map(({ data }) => data.memoryId)).toEqual(ids)
    expect(new Set(seen.map(({ id }) => id)).size).toBe(4)
  })

  it("is an event stream by its headers, and begins with a position", async () => {
    const { create, key } = await accountOf("headers")
    await create("a", "one")
    const response = await open(key)
    expect(response.headers.get("content-type")).toBe("text/event-stream")
    expect(response.headers.get("cache-control")).toBe("no-store")
    const text = await textUntil(response, "\n\n")
    const [, id] = /^retry: \d+\nid: (\S+)\n\n$/.exec(text) ?? []
    const added = await create("a", "two")
    const resumed = await textUntil(await open(key, "", { "last-event-id": id! }), "event:")
    expect(resumed).toContain(added)
  })

  it("ends with its key, before the next event", async () => {
    const { call, create } = await accountOf("revoked")
    const { body } = await call("POST", "/v1/keys", {})
    await create("a", "one")
    const response = await open(body.secret, "?from=oldest")
    const reading = textUntil(response, "no such text")
    await call("DELETE", `/v1/keys/${body.key.id}`)
    const secret = await create("a", "two")
    const text = await reading
    expect(text).toContain("[ended]")
    expect(text).not.toContain(secret)
  })

  it("ends when the account is suspended", async () => {
    const { create, key, call } = await accountOf("suspended")
    await create("a", "one")
    const reading = textUntil(await open(key, "?from=oldest"), "no such text")
    const { body } = await call("GET", "/v1/account")
    const suspended = await service.call("POST", "/admin/accounts/suspend", {
      key: service.operatorToken,
      body: { account: body.account.name }
    })
    expect(suspended.status).toBe(200)
    expect(await reading).toContain("[ended]")
    // An operator who looks at the account goes on, and begins.
    const looks = await open(service.operatorToken, "?from=oldest", { "x-account": service.nameOf("suspended") })
    expect(await textUntil(looks, "event: memory.created")).toContain("event: memory.created")
  })

  it("ends when its wallet is unlinked, before the next event", async () => {
    const { create, call } = await accountOf("unlinked")
    const { body } = await call("GET", "/v1/account")
    const signer = evmWallet("follows")
    const operate = (path: string, wallet: object) => service.asOperator("POST", `/admin/wallets${path}`, wallet)
    const { address } = signer.wallet
    expect((await operate("", { account: body.account.name, address })).status).toBe(200)
    await create("a", "one")
    const headers = { accept: "text/event-stream", ...(await walletHeaders(signer, "GET", "/v1/events")) }
    const response = await fetch(`${service.url}/v1/events?from=oldest`, { headers })
    const reading = textUntil(response, "no such text")
    expect((await operate("/unlink", { address })).status).toBe(200)
    const secret = await create("a", "two")
    const text = await reading
    expect(text).toContain("[ended]")
    expect(text).not.toContain(secret)
  })

  it("holds no place of admission, and an account has a bounded number of them", async () => {
    const { create, key, page } = await accountOf("bounded")
    await create("a", "one")
    const readers = await Promise.all(
      Array.from({ length: Limits.eventStreamsPerAccount }, async () => {
        const reader = (await open(key)).body!.getReader()
        await reader.read()
        return reader
      })
    )
    const refused = await open(key)
    expect(refused.status).toBe(429)
    expect(refused.headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
    expect(await refused.json()).toMatchObject({
      code: "rate_limited",
      details: [{ path: "account_streams", message: expect.stringContaining("try again in") }]
    })
    // More streams than places for reads: a read is still answered.
    expect((await page("?from=oldest")).events).toHaveLength(1)
    for (const reader of readers) await reader.cancel()
    await expect.poll(async () => (await open(key)).status, { timeout: 30_000 }).toBe(200)
  })
})

const byText = (left: Told, right: Told): number => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1)
