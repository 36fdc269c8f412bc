/** `Idempotency-Key` on writes (contract: Idempotency). */
import { describe, expect, it } from "vitest"
import { fact, schemaText, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")

const headers = (key: string) => ({ "idempotency-key": key })
const creation = (agentId: string, text = "once") => ({ agentId, memories: [fact("a", text)] })
const create = (key: string, body: object, calls = alice) => calls.post("/v1/memories", body, headers(key))
const totalOf = async (agentId: string, calls = alice) =>
  (await calls.call("GET", `/v1/memories?agentId=${agentId}`)).body.total

describe("the same key and body", () => {
  it("give the first answer again, marked as replayed, and make no second memory", async () => {
    const first = await create("key-1", creation("same"))
    const second = await create("key-1", creation("same"))
    expect(first.headers.get("idempotency-replayed")).toBeNull()
    expect(second.headers.get("idempotency-replayed")).toBe("true")
    expect([second.status, second.body]).toEqual([first.status, first.body])
    expect(second.headers.get("content-type")).toMatch(/^application\/json/)
    expect(await totalOf("same")).toBe(1)
  })

  it("give the first answer even when the memory has changed or gone since", async () => {
    const first = await create("key-gone", creation("gone"))
    await alice.call("DELETE", `/v1/memories/${first.body.created[0].id}`)
    expect((await create("key-gone", creation("gone"))).body).toEqual(first.body)
    expect(await totalOf("gone")).toBe(0)
  })

  it("replay PATCH, DELETE, batches and schemas alike", async () => {
    const created = await alice.create("writes", [fact("a", "1"), fact("a", "2"), fact("a", "3")])
    const [first, second, third] = created.map(({ id }) => id)
    const schema = { name: "replayed", description: "d", schema: schemaText({}) }
    const writes = [
      ["PATCH", `/v1/memories/${first}`, { tags: ["t"] }],
      ["DELETE", `/v1/memories/${first}`, undefined],
      ["POST", "/v1/memories/batch/update", { ids: [second, third], update: { tags: ["t"] } }],
      ["POST", "/v1/memories/batch/delete", { ids: [second] }],
      ["POST", "/v1/memories/batch/delete", { filters: { agentId: "writes" } }],
      ["POST", "/v1/memories/batch/create", creation("writes")],
      ["POST", "/v1/schemas", schema],
      ["PATCH", "/v1/schemas/replayed", { description: "e" }],
      ["DELETE", "/v1/schemas/replayed", undefined]
    ] as const
    for (const [at, [method, path, body]] of writes.entries()) {
      const send = () => alice.call(method, path, { body, headers: headers(`write-${at}`) })
      const [once, again] = [await send(), await send()]
      expect(once.status).toBe(200)
      expect([again.status, again.body]).toEqual([200, once.body])
      expect(again.headers.get("idempotency-replayed")).toBe("true")
    }
  })
})

describe("a key", () => {
  it("with another body, or on another memory, is a conflict and changes nothing", async () => {
    await create("key-2", creation("other"))
    expect(refusalOf(await create("key-2", creation("other", "different")))).toEqual([409, "idempotency_conflict"])
    expect(await totalOf("other")).toBe(1)
    const [one, two] = await alice.create("other", [fact("a", "1"), fact("a", "2")])
    const remove = (id: string) => alice.call("DELETE", `/v1/memories/${id}`, { headers: headers("key-delete") })
    expect((await remove(one.id)).status).toBe(200)
    expect((await remove(two.id)).body.code).toBe("idempotency_conflict")
  })

  it("counts for its route alone", async () => {
    expect((await create("key-3", creation("route"))).status).toBe(200)
    const other = await alice.post("/v1/memories/batch/create", creation("route"), headers("key-3"))
    expect([other.status, other.headers.get("idempotency-replayed")]).toEqual([200, null])
    expect(await totalOf("route")).toBe(2)
  })

  it("is free again after a request that failed", async () => {
    const bad = { agentId: "failed", memories: [{ kind: "factual_memory", data: {} }] }
    expect((await create("key-5", bad)).status).toBe(400)
    const missing = { agentId: "failed", memories: [{ ...fact("a", "b"), id: "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T" }] }
    expect((await create("key-5", missing)).status).toBe(404)
    const good = await create("key-5", creation("failed"))
    expect([good.status, good.headers.get("idempotency-replayed")]).toEqual([200, null])
    expect(await totalOf("failed")).toBe(1)
  })

  it("has 1 to 128 characters", async () => {
    expect((await create("k".repeat(128), creation("length"))).status).toBe(200)
    for (const key of ["", "k".repeat(129)]) {
      expect(refusalOf(await create(key, creation("length")))).toEqual([400, "invalid_request"])
    }
    expect(await totalOf("length")).toBe(1)
  })

  it("means nothing on a read", async () => {
    const read = () => alice.call("GET", "/v1/memories?agentId=same", { headers: headers("key-read") })
    expect((await read()).headers.get("idempotency-replayed")).toBeNull()
    expect((await read()).headers.get("idempotency-replayed")).toBeNull()
  })
})

describe("concurrent twins", () => {
  it("make one memory and get the same answer", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create("key-twins", creation("twins"))))
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]!.body])
    expect(answers.filter(({ headers: got }) => got.get("idempotency-replayed") === "true")).toHaveLength(11)
    expect(await totalOf("twins")).toBe(1)
  })

  it("with different bodies let one through", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => create("key-rivals", creation("rivals", `text ${at}`)))
    )
    const statuses = answers.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([200, ...Array(7).fill(409)])
    expect(await totalOf("rivals")).toBe(1)
  })
})
