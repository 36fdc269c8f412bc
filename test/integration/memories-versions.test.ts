/** PATCH of data, and If-Match on PATCH and DELETE (contract: Memories): new versions, and none that nobody has seen. */
import { beforeAll, describe, expect, it } from "vitest"
import { Muniment } from "@muniment/client/Muniment"
import { fact } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"

const service = useSharedServer(withoutModel)
beforeAll(async () => {
  const schema = JSON.stringify({
    type: "object",
    properties: { email: { type: "string" }, city: { type: "string" } },
    required: ["email"]
  })
  const kind = { name: "person", description: "People", uniqueOn: ["email"], schema }
  expect((await service.call("POST", "/v1/schemas", { body: kind })).status).toBe(200)
})

const stored = async (memory: object, more: object = {}): Promise<string> => {
  const body = { agentId: "versions", memories: [memory], ...more }
  return (await service.call("POST", "/v1/memories", { body })).body.created[0].id
}
const person = (email: string, city: string) => ({ kind: "person", data: { email, city } })
const read = (id: string) => service.call("GET", `/v1/memories/${id}`)
const patch = (id: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  service.call("PATCH", `/v1/memories/${id}`, { body, headers })
const etagOf = async (id: string): Promise<string> => (await read(id)).headers.get("etag")!

describe("PATCH of data", () => {
  it("is a new version of a kind with unique fields, with the tags and expiry of the one before", async () => {
    const expiresAt = 4_000_000_000_000
    const first = await stored(person("ada@example.com", "London"), { expiresAt, subjectId: "ada", threadId: "t" })
    await patch(first, { tags: ["friend"] })
    const changed = await patch(first, { data: { email: "ada@example.com", city: "Turin" } })
    expect(changed.status).toBe(200)
    expect(changed.headers.get("x-credits-charged")).toBe("5")
    const { memory } = changed.body
    expect(memory.id).not.toBe(first)
    expect(memory).toMatchObject({
      data: { email: "ada@example.com", city: "Turin" },
      metadata: { subjectId: "ada", threadId: "t", supersedes: first, tags: ["friend"], expiresAt },
      context: { isLatest: true }
    })
    expect((await read(first)).body.memory).toMatchObject({
      data: { city: "London" },
      metadata: { supersededBy: memory.id },
      context: { isLatest: false }
    })
    const found = await service.call("GET", "/v1/memories/search?query=Turin&agentId=versions")
    expect(found.body.memories.map(({ id }: { readonly id: string }) => id)).toContain(memory.id)
  })

  it("is in place for other kinds, with tags and expiry in one change", async () => {
    const id = await stored(fact("Ebba", "rows on Sundays"))
    const data = { subject: "Ebba", fact: "rows on Mondays" }
    const { body } = await patch(id, { data, tags: ["sport"], expiresAt: 4_000_000_000_000 })
    expect(body.memory).toMatchObject({ id, data, metadata: { tags: ["sport"], expiresAt: 4_000_000_000_000 } })
    const { body: cleared } = await patch(id, { data, expiresAt: null })
    expect(cleared.memory.metadata).toMatchObject({ tags: ["sport"] })
    expect(cleared.memory.metadata.expiresAt).toBeUndefined()
    expect((await read(id)).body.memory).toEqual(cleared.memory)
    const events = (await service.call("GET", "/v1/events?agentId=versions&from=oldest&limit=500")).body.events
    const own = events.filter(
      ({ data: told }: { readonly data: { readonly memoryId?: string } }) => told.memoryId === id
    )
    expect(own.map(({ type }: { readonly type: string }) => type)).toEqual([
      "memory.created",
      "memory.updated",
      "memory.updated"
    ])
  })

  it("is refused where it does not fit, and leaves the memory as it is", async () => {
    const id = await stored(person("bob@example.com", "Oslo"))
    const before = (await read(id)).body
    for (const [data, code] of [
      [{ email: 1 }, "schema_validation_failed"],
      [{ city: "Oslo" }, "schema_validation_failed"],
      [{ email: "other@example.com" }, "invalid_request"]
    ] as const) {
      const { body, status } = await patch(id, { data })
      expect([data, status, body.code]).toEqual([data, 400, code])
    }
    const foreign = await patch("mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T", { data: { email: "x" } })
    expect([foreign.status, foreign.body.code]).toEqual([404, "memory_not_found"])
    expect((await read(id)).body).toEqual(before)
  })

  it("happens once for repeats of a request", async () => {
    const id = await stored(person("cid@example.com", "Rome"))
    const headers = { "idempotency-key": "move" }
    const data = { email: "cid@example.com", city: "Pisa" }
    const [first, again] = [await patch(id, { data }, headers), await patch(id, { data }, headers)]
    expect(again.body).toEqual(first.body)
    const conditional = await patch(id, { data }, { ...headers, "if-match": '"x"' })
    expect([conditional.status, conditional.body.code]).toEqual([409, "idempotency_conflict"])
    const all = await service.call("GET", "/v1/memories?agentId=versions&kind=person&includeSuperseded=true&limit=100")
    const own = all.body.memories.filter(
      ({ data: { email } }: { readonly data: { readonly email: string } }) => email === "cid@example.com"
    )
    expect(own).toHaveLength(2)
  })
})

describe("If-Match", () => {
  it("changes the version that was read, and no other", async () => {
    const id = await stored(fact("Ida", "paints"))
    const etag = await etagOf(id)
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/)
    expect((await read(id)).body.memory.version).toBe(etag.slice(1, -1))
    const first = await patch(id, { tags: ["art"] }, { "if-match": etag })
    expect(first.status).toBe(200)
    expect(first.headers.get("etag")).toBe(await etagOf(id))
    for (const body of [{ tags: ["late"] }, { data: { subject: "Ida", fact: "draws" } }]) {
      const late = await patch(id, body, { "if-match": etag })
      expect([late.status, late.body.code]).toEqual([412, "version_mismatch"])
      expect(late.headers.get("x-credits-charged")).toBeNull()
    }
    const now = first.headers.get("etag")!
    expect((await patch(id, { data: { subject: "Ida", fact: "draws" } }, { "if-match": `"x", ${now}` })).status).toBe(
      200
    )
    const remove = (tag: string) => service.call("DELETE", `/v1/memories/${id}`, { headers: { "if-match": tag } })
    expect((await remove(now)).status).toBe(412)
    expect((await remove(`W/${await etagOf(id)}`)).status).toBe(412)
    expect((await remove("not quoted")).body.code).toBe("invalid_request")
    expect((await remove(await etagOf(id))).status).toBe(200)
    expect(refusalOf(await remove(etag))).toEqual([404, "memory_not_found"])
  })

  it("knows that another version has superseded the memory", async () => {
    const id = await stored(person("dan@example.com", "Rome"))
    const etag = await etagOf(id)
    await stored(person("dan@example.com", "Bari"))
    const { status } = await patch(id, { data: { email: "dan@example.com", city: "Nola" } }, { "if-match": etag })
    expect(status).toBe(412)
  })

  it("lets one of many writers at once through", async () => {
    const id = await stored(person("eve@example.com", "Rome"))
    const etag = await etagOf(id)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        patch(id, { data: { email: "eve@example.com", city: `city ${at}` } }, { "if-match": etag })
      )
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(412)])
  })

  it("is an option of the client", async () => {
    const key = await service.newAccount("versions-client", "owner")
    const client = new Muniment({ baseUrl: service.url, apiKey: key, retries: 0 })
    const { created } = await client.create({ agentId: "a", memories: [fact("Ebba", "swims")] })
    const { id } = created[0]!
    const { memory } = await client.get(id)
    const data = { subject: "Ebba", fact: "dives" }
    await client.update(id, { data }, { ifMatch: memory.version })
    await expect(client.update(id, { data }, { ifMatch: memory.version })).rejects.toMatchObject({
      status: 412,
      code: "version_mismatch"
    })
    await expect(client.delete(id, { ifMatch: memory.version })).rejects.toMatchObject({ status: 412 })
    await client.delete(id, { ifMatch: (await client.get(id)).memory.version })
  })
})
