/** Versions of a memory and how they came about, and older ones made the latest again (contract: Memories, History). */
import { beforeAll, describe, expect, it } from "vitest"
import {
  accountCalls,
  fact,
  type MemoryCalls,
  schemaText,
  text,
  untilMoment,
  useAccount
} from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const calls = useAccount(server, "history")

const register = (own: MemoryCalls) =>
  own.post("/v1/schemas", {
    name: "person",
    description: "d",
    uniqueOn: ["email"],
    schema: schemaText({ email: text })
  })
const person = (city: string, rest: object = {}) => ({ kind: "person", data: { email: "ann", city }, ...rest })

beforeAll(async () => {
  await register(calls)
})

const historyOf = async (id: string, own: MemoryCalls = calls, query = "") => {
  const { body, status } = await own.call("GET", `/v1/memories/${id}/history${query}`)
  expect([status, body.error]).toEqual([200, undefined])
  return body as {
    readonly total: number
    readonly versions: ReadonlyArray<{
      readonly memory: { readonly id: string; readonly data: { readonly city?: string }; readonly context: object }
      readonly how: string
      readonly at: number
      readonly by?: string
      readonly restoredFrom?: string
    }>
  }
}
const told = ({ versions }: Awaited<ReturnType<typeof historyOf>>) =>
  versions.map(({ how, memory }) => `${how} ${memory.data.city}`)

describe("the history of a memory", () => {
  it("has every version, newest first, by the id of any of them, with how, when and by whom", async () => {
    const own = await accountCalls(server, "history-versions")
    await register(own)
    const [first] = await own.create("a", [person("Oslo", { tags: ["home"], metadata: { source: "form" } })])
    const [second] = await own.create("a", [person("Rome")])
    const data = { email: "ann", city: "Turin" }
    const corrected = await own.call("PATCH", `/v1/memories/${second.id}`, { body: { data } })
    const restored = await own.call("POST", `/v1/memories/${first.id}/restore`)
    expect(restored.status).toBe(200)
    expect(restored.body.memory).toMatchObject({
      data: { city: "Oslo" },
      context: { isLatest: true, tags: ["home"], metadata: { source: "form" } },
      metadata: { supersedes: corrected.body.memory.id }
    })
    expect([first.id, second.id]).not.toContain(restored.body.memory.id)
    const found = await historyOf(second.id, own)
    expect([found.total, told(found)]).toEqual([4, ["restored Oslo", "corrected Turin", "stored Rome", "stored Oslo"]])
    const key = (await own.call("GET", "/v1/keys")).body.keys[0].id
    expect(found.versions.map(({ by }) => by)).toEqual([key, key, undefined, undefined])
    expect(found.versions[0]).toMatchObject({ restoredFrom: first.id, memory: { context: { isLatest: true } } })
    expect(found.versions.every(({ at }, index) => index === 0 || at <= found.versions[index - 1]!.at)).toBe(true)
    expect(await historyOf(restored.body.memory.id, own)).toEqual(found)
    expect(told(await historyOf(first.id, own, "?limit=1"))).toEqual(["restored Oslo"])
    expect((await own.search({ query: "Oslo" })).map(({ id }) => id)).toEqual([restored.body.memory.id])
  })

  it("of a memory that changes in place is the memory as it is", async () => {
    const [{ id }] = (await calls.create("a", [fact("Ann", "old words")])) as [{ readonly id: string }]
    expect((await historyOf(id)).versions).toMatchObject([{ how: "stored" }])
    await calls.call("PATCH", `/v1/memories/${id}`, { body: { data: { subject: "Ann", fact: "new words" } } })
    const { total, versions } = await historyOf(id)
    expect([total, versions[0]?.how, JSON.stringify(versions).includes("old words")]).toEqual([1, "corrected", false])
  })

  it("says what was extracted, and loses what is deleted or has expired", async () => {
    const own = await accountCalls(server, "history-gone")
    await register(own)
    const conversation = [{ id: "m1", role: "user", content: "My name is Alice and I live in Seattle." }]
    const stored = await own.post("/v1/memories", { agentId: "a", conversation, wait: "extraction" })
    const [entry] = stored.body.created
    expect((await historyOf(entry.id, own)).versions).toMatchObject([{ how: "extracted" }])
    const [first] = await own.create("a", [person("Oslo")])
    const expiresAt = Date.now() + 4_000
    await own.create("a", [person("Rome", { expiresAt })])
    const [third] = await own.create("a", [person("Turin")])
    expect((await historyOf(first.id, own)).total).toBe(3)
    await untilMoment(expiresAt)
    expect(told(await historyOf(first.id, own))).toEqual(["stored Turin", "stored Oslo"])
    await own.call("DELETE", `/v1/memories/${third.id}`)
    expect(told(await historyOf(first.id, own))).toEqual(["stored Oslo"])
    expect((await own.call("GET", `/v1/memories/${third.id}/history`)).status).toBe(404)
  })
})

describe("restoring", () => {
  it("of the latest version changes and costs nothing, and happens once by its key", async () => {
    const own = await accountCalls(server, "history-once")
    await register(own)
    const [first] = await own.create("a", [person("Oslo")])
    const latest = await own.call("POST", `/v1/memories/${first.id}/restore`)
    expect([latest.status, latest.body.memory.id]).toEqual([200, first.id])
    expect((await historyOf(first.id, own)).total).toBe(1)
    await own.create("a", [person("Rome")])
    const headers = { "idempotency-key": "once" }
    const once = await own.call("POST", `/v1/memories/${first.id}/restore`, { headers })
    const again = await own.call("POST", `/v1/memories/${first.id}/restore`, { headers })
    expect([once.status, again.body]).toEqual([200, once.body])
    expect((await historyOf(first.id, own)).total).toBe(3)
  })

  it("keeps to If-Match, to keys that only read and to the subjects of a key", async () => {
    const own = await accountCalls(server, "history-keys")
    await register(own)
    const [first] = await own.create("a", [person("Oslo")], { subjectId: "u1" })
    await own.create("a", [person("Rome")], { subjectId: "u1" })
    const path = `/v1/memories/${first.id}`
    const headers = { "if-match": '"another"' }
    expect((await own.call("POST", `${path}/restore`, { headers })).status).toBe(412)
    const keyFor = async (scope: object) => (await own.post("/v1/keys", scope)).body.secret as string
    const [reading, other] = [await keyFor({ readOnly: true }), await keyFor({ subjects: ["u2"] })]
    expect((await server.call("GET", `${path}/history`, { key: reading })).body.total).toBe(2)
    expect((await server.call("POST", `${path}/restore`, { key: reading })).body.code).toBe("key_scope")
    expect((await server.call("GET", `${path}/history`, { key: other })).status).toBe(404)
    expect((await server.call("POST", `${path}/restore`, { key: other })).status).toBe(404)
    expect((await historyOf(first.id, own)).total).toBe(2)
  })

  it("of what a message said goes with the message", async () => {
    const own = await accountCalls(server, "history-erased")
    const say = (id: string, content: string) =>
      own.post("/v1/memories", {
        agentId: "a",
        threadId: "t",
        conversation: [{ id, role: "user", content }],
        wait: "extraction"
      })
    const { body: before } = await say("m1", "I live in Oslo.")
    await say("m2", "I moved to Rome.")
    const older = before.created.find(({ data }: { data: object }) => JSON.stringify(data).includes("Oslo"))
    const history = await historyOf(older.id, own)
    expect(history.total).toBe(2)
    const restored = await own.call("POST", `/v1/memories/${older.id}/restore`)
    expect(restored.body.memory.data).toEqual(older.data)
    const messages = (await own.call("GET", "/v1/memories?include=messages")).body.memories
    const first = messages.find(({ data }: { data: { text: string } }) => data.text.includes("Oslo"))
    await own.call("DELETE", `/v1/memories/${first.id}`)
    expect((await own.call("GET", `/v1/memories/${restored.body.memory.id}`)).status).toBe(404)
    expect(JSON.stringify((await own.call("GET", "/v1/memories?includeSuperseded=true")).body)).not.toContain("Oslo")
  })
})
