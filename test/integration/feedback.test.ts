/** Feedback on memories (contract: Memories, Feedback): kept, shown, found by lists, held to who may write, erased. */
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { done, environmentOf, restored, scratch } from "../support/BackupRun.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { filesWith } from "../support/filesWith.ts"
import {
  accountCalls,
  fact,
  idsOf,
  type MemoryCalls,
  schemaText,
  text,
  untilMoment,
  useAccount
} from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { refusalOf, startServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const server = useSharedServer(withoutModel)
const calls = useAccount(server, "feedback")

const stored = async (words: string, own = calls, rest: object = {}, agentId = "a") => {
  const [{ id }] = (await own.create(agentId, [{ ...fact("Ann", words), ...rest }])) as [{ readonly id: string }]
  return id
}

const give = (id: string, body: object, own = calls, headers: Readonly<Record<string, string>> = {}) =>
  own.post(`/v1/memories/${id}/feedback`, body, headers)

const given = async (id: string, body: object, own = calls) => {
  const answer = await give(id, body, own)
  expect([answer.status, answer.body.error]).toEqual([200, undefined])
  return answer.body.memory
}

const listed = async (own: MemoryCalls, query: string) => {
  const { body, status } = await own.call("GET", `/v1/memories?${query}`)
  expect([status, body.error]).toEqual([200, undefined])
  return body as {
    readonly memories: Array<{ readonly id: string }>
    readonly nextCursor?: string
    readonly total: number
  }
}

describe("feedback on a memory", () => {
  it("is kept with its query, when and by whom, and shown with the memory wherever it is read, not in searches", async () => {
    const id = await stored("Ann grows figs")
    expect(await calls.get(id)).not.toHaveProperty("feedback")
    const before = Date.now()
    const memory = await given(id, { useful: true, query: "  Who grows figs? " })
    const key = (await calls.call("GET", "/v1/keys")).body.keys[0].id
    expect(memory.feedback).toEqual([{ useful: true, query: "Who grows figs?", at: expect.any(Number), by: key }])
    expect(memory.feedback[0].at).toBeGreaterThanOrEqual(before - 1_000)
    const twice = await given(id, { useful: false })
    expect(twice.feedback).toEqual([...memory.feedback, { useful: false, at: expect.any(Number), by: key }])
    expect((await calls.get(id)).feedback).toEqual(twice.feedback)
    const history = await calls.call("GET", `/v1/memories/${id}/history`)
    expect(history.body.versions).toMatchObject([{ how: "stored", memory: { id, feedback: twice.feedback } }])
    const [hit] = await calls.search({ query: "figs", agentId: "a" })
    expect(hit.id).toBe(id)
    expect(JSON.stringify(hit)).not.toMatch(/feedback|Who grows/)
  })

  it("on the same query takes the place of the earlier, and changes neither version, times, ranking nor what is found", async () => {
    const own = await accountCalls(server, "feedback-still")
    const [first, second] = [await stored("Ann grows figs", own), await stored("Ann likes figs", own)]
    const search = async () =>
      (await own.search({ query: "figs", explain: "true" })).map(({ explain, id, quality }) => [
        id,
        quality,
        explain.score
      ])
    const [before, found] = [await own.get(second), await search()]
    for (const useful of [false, true, false]) await given(second, { useful, query: "figs" }, own)
    await given(first, { useful: true, query: "hedgehogs" }, own)
    const { feedback, ...after } = await own.get(second)
    expect(after).toEqual(before)
    expect(feedback).toMatchObject([{ useful: false, query: "figs" }])
    expect(await search()).toEqual(found)
    expect(await own.search({ query: "hedgehogs" })).toEqual([])
    const patched = await own.call("PATCH", `/v1/memories/${second}`, {
      body: { tags: ["t"] },
      headers: { "if-match": `"${before.version}"` }
    })
    expect([patched.status, patched.body.memory.feedback]).toEqual([200, feedback])
  })

  it("is found by lists, of an agent, in pages, by what it says", async () => {
    const own = await accountCalls(server, "feedback-lists")
    const ids: Array<string> = []
    for (let at = 0; at < 5; at++) ids.push(await stored(`Ann has ${at} cats`, own))
    const other = await stored("Ann has a dog", own, {}, "b")
    for (const [at, id] of ids.entries()) if (at > 0) await given(id, { useful: at % 2 === 0, query: `q${at}` }, own)
    await given(ids[1]!, { useful: true, query: "another" }, own)
    await given(other, { useful: true }, own)
    const newest = ids.slice(1).toReversed()
    const [page, rest] = [await listed(own, "agentId=a&feedback=given&limit=3"), ["useful", "not_useful"] as const]
    const next = await listed(own, `agentId=a&feedback=given&limit=3&cursor=${page.nextCursor}`)
    expect([...idsOf(page.memories), ...idsOf(next.memories)]).toEqual(newest)
    expect([page.total, next.nextCursor]).toEqual([4, undefined])
    const [useful, not] = await Promise.all(rest.map((said) => listed(own, `agentId=a&feedback=${said}`)))
    expect([idsOf(useful!.memories), idsOf(not!.memories)]).toEqual([
      [ids[4], ids[2], ids[1]],
      [ids[3], ids[1]]
    ])
    expect(idsOf((await listed(own, "feedback=useful&order=asc")).memories)).toEqual([ids[1], ids[2], ids[4], other])
    expect((await own.call("GET", "/v1/memories?feedback=loved")).body.code).toBe("invalid_request")
    expect((await own.call("GET", "/v1/memories/search?query=x&feedback=given")).body.code).toBe("unknown_parameter")
  })

  it("stays with its version: a new one has none, data that changes in place keeps it", async () => {
    const own = await accountCalls(server, "feedback-versions")
    const schema = schemaText({ email: text })
    await own.post("/v1/schemas", { name: "person", description: "d", uniqueOn: ["email"], schema })
    const person = (city: string) => ({ kind: "person", data: { email: "ann", city } })
    const [first] = await own.create("a", [person("Oslo")])
    await given(first.id, { useful: true, query: "where is Ann" }, own)
    const { data } = person("Rome")
    const corrected = (await own.call("PATCH", `/v1/memories/${first.id}`, { body: { data } })).body.memory
    const back = (await own.call("POST", `/v1/memories/${first.id}/restore`)).body.memory
    for (const memory of [corrected, back]) expect(memory).not.toHaveProperty("feedback")
    const { versions } = (await own.call("GET", `/v1/memories/${back.id}/history`)).body
    const said = versions.map(({ memory }: { memory: { feedback?: ReadonlyArray<object> } }) => memory.feedback?.length)
    expect(said).toEqual([undefined, undefined, 1])
    expect((await listed(own, "feedback=given")).total).toBe(0)
    expect(idsOf((await listed(own, "feedback=given&includeSuperseded=true")).memories)).toEqual([first.id])
    const id = await stored("Ann grows figs", own)
    await given(id, { useful: true }, own)
    const change = { data: { subject: "Ann", fact: "Ann grows pears" } }
    const changed = await own.call("PATCH", `/v1/memories/${id}`, { body: change })
    expect(changed.body.memory).toMatchObject({ ...change, feedback: [{ useful: true }] })
  })

  it("is kept on a bounded number of queries, however many ask at once; on one of these it is replaced", async () => {
    const id = await stored("Ann grows figs", await accountCalls(server, "feedback-limit"))
    expect((await give(id, { useful: true })).body.code).toBe("memory_not_found")
    const own = await accountCalls(server, "feedback-limit-own")
    const full = await stored("Ann grows figs", own)
    const answers = await Promise.all(
      Array.from({ length: Limits.feedbackPerMemoryMax + 3 }, (_, at) =>
        give(full, { useful: true, query: `q${at}` }, own)
      )
    )
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.map(({ body, status }) => [status, body.code])).toEqual(
      Array.from({ length: 3 }, () => [400, "limit_exceeded"])
    )
    const { feedback } = await own.get(full)
    expect(feedback).toHaveLength(Limits.feedbackPerMemoryMax)
    expect((await given(full, { useful: false, query: feedback[0].query }, own)).feedback).toHaveLength(feedback.length)
    expect((await give(full, { useful: true, query: "one more" }, own)).status).toBe(400)
  })

  it.each([
    [{}, "/useful"],
    [{ useful: "yes" }, "/useful"],
    [{ useful: true, query: " " }, "/query"],
    [{ useful: true, query: "x".repeat(Limits.queryLengthMax + 1) }, "/query"],
    [{ useful: true, rating: 5 }, "/rating"]
  ])("is refused where it is wrong: %j", async (body, path) => {
    const id = await stored("Ann grows figs")
    const answer = await give(id, body)
    expect([answer.status, answer.body.details[0].path]).toEqual([400, path])
    expect(await calls.get(id)).not.toHaveProperty("feedback")
  })

  it("counts as bytes of the account, and costs what a look-up costs, once by its key", async () => {
    const own = await accountCalls(server, "feedback-price")
    const id = await stored("Ann grows figs", own)
    const bytesUsed = async (): Promise<number> => {
      const { quotas } = (await own.call("GET", "/v1/account")).body
      return quotas.find(({ name }: { readonly name: string }) => name === "bytes").used
    }
    const before = await bytesUsed()
    const headers = { "idempotency-key": "said once" }
    const once = await give(id, { useful: true, query: "q" }, own, headers)
    const again = await give(id, { useful: true, query: "q" }, own, headers)
    expect([once.status, again.body]).toEqual([200, once.body])
    expect((await give(id, { useful: false, query: "q" }, own, headers)).body.code).toBe("idempotency_conflict")
    expect(Number(once.headers.get("x-credits-charged"))).toBe(1)
    expect((await bytesUsed()) - before).toBe(Buffer.byteLength(JSON.stringify(once.body.memory.feedback)))
    await own.call("DELETE", `/v1/memories/${id}`)
    expect(await bytesUsed()).toBe(0)
  })
})

describe("who may give feedback", () => {
  it("is the account itself, by keys that write and see the memory; not one who was granted it", async () => {
    const own = await accountCalls(server, "feedback-keys")
    const [memory] = await own.create("a", [fact("Ann", "Ann grows figs")], { subjectId: "u1" })
    const { id } = memory
    const keyFor = async (scope: object) => (await own.post("/v1/keys", scope)).body.secret as string
    const [reading, other, same] = [
      await keyFor({ readOnly: true }),
      await keyFor({ subjects: ["u2"] }),
      await keyFor({ subjects: ["u1"] })
    ]
    const path = `/v1/memories/${id}/feedback`
    const body = { useful: true, query: "q" }
    expect(refusalOf(await server.call("POST", path, { key: reading, body }))).toEqual([403, "key_scope"])
    expect((await server.call("POST", path, { key: other, body })).status).toBe(404)
    expect((await calls.post(path, body)).body.code).toBe("memory_not_found")
    expect(await own.get(id)).not.toHaveProperty("feedback")
    expect((await server.call("POST", path, { key: same, body })).status).toBe(200)
    expect((await server.call("GET", "/v1/memories?feedback=given", { key: other })).body.total).toBe(0)
    expect((await server.call("GET", "/v1/memories?feedback=given", { key: reading })).body.total).toBe(1)
  })

  it("is no suspended account, and no one once the memory has expired or is deleted", async () => {
    const name = "feedback-suspended"
    const own = await accountCalls(server, name)
    const id = await stored("Ann grows figs", own)
    const expiresAt = Date.now() + 4_000
    const brief = await stored("Ann is at the well", own, { expiresAt })
    await given(brief, { useful: true }, own)
    await untilMoment(expiresAt)
    expect((await give(brief, { useful: true }, own)).status).toBe(404)
    expect((await listed(own, "feedback=given")).total).toBe(0)
    const { account } = (await own.call("GET", "/v1/account")).body
    await server.asOperator("POST", "/admin/accounts/suspend", { account: account.name ?? account.id })
    expect((await give(id, { useful: true }, own)).body.code).toBe("account_suspended")
    await server.asOperator("POST", "/admin/accounts/resume", { account: account.name ?? account.id })
    expect((await give(id, { useful: true }, own)).status).toBe(200)
    await own.call("DELETE", `/v1/memories/${id}`)
    expect((await give(id, { useful: true }, own)).status).toBe(404)
  })
})

describe("feedback on disk", () => {
  const query = "Where is the xylotheque?"

  if (isLongRun)
    it("outlives a kill, and its key gives the first answer again", async () => {
      const dataDirectory = temporaryDirectory()
      const first = await startServer({ environment: withoutModel, dataDirectory })
      const own = await accountCalls(first, "kept")
      const id = await stored("Ann grows figs", own)
      const headers = { "idempotency-key": "before the kill" }
      const { body } = await give(id, { useful: true, query }, own, headers)
      await first.kill()
      const second = await startServer({ environment: withoutModel, dataDirectory })
      const as = { key: own.key }
      expect((await second.call("GET", `/v1/memories/${id}`, as)).body.memory).toEqual(body.memory)
      expect((await second.call("GET", "/v1/memories?feedback=useful", as)).body.total).toBe(1)
      const repeat = { ...as, body: { useful: true, query }, headers }
      const again = await second.call("POST", `/v1/memories/${id}/feedback`, repeat)
      expect([again.status, again.body.memory.feedback]).toEqual([200, body.memory.feedback])
      expect(second.output()).not.toContain("xylotheque")
      expect((await second.call("GET", "/metrics", { key: null })).body).not.toContain("xylotheque")
      await second.stop()
    })

  it("moves with backups and exports, and leaves no byte when its memory is forgotten", async () => {
    const dataDirectory = temporaryDirectory()
    const own = await startServer({ environment: withoutModel, dataDirectory })
    const user = await accountCalls(own, "moved")
    const ways: ReadonlyArray<(id: string) => Promise<unknown>> = [
      (id) => user.call("DELETE", `/v1/memories/${id}?versions=all`),
      (id) => user.post("/v1/memories/batch/delete", { ids: [id] }),
      () => user.post("/v1/memories/batch/delete", { filters: { subjectId: "u3" } }),
      () => user.post("/v1/memories/batch/delete", { filters: { agentId: "b" } })
    ]
    const ids: Array<string> = []
    for (const [at, agentId] of ["a", "a", "a", "b"].entries()) {
      const memories = [fact("Ann", `Ann has ${at} figs`)]
      const [{ id }] = (await user.create(agentId, memories, { subjectId: `u${at + 1}` })) as [{ readonly id: string }]
      await given(id, { useful: true, query: `${query} ${at}` }, user)
      ids.push(id)
    }
    const to = scratch("backup")
    await done(["backup", "create", "--to", to], environmentOf(own))
    expect(filesWith(to, "xylotheque")).not.toEqual([])
    const again = await restored(to)
    const moved = (await again.call("GET", `/v1/memories/${ids[0]}`, { key: user.key })).body.memory
    expect(moved).toEqual(await user.get(ids[0]!))
    await again.stop()

    const { records } = (await own.asOperator("GET", "/admin/export?account=moved")).body
    for (const [at, way] of ways.entries()) await way(ids[at]!)
    expect((await user.call("GET", "/v1/memories")).body.total).toBe(0)
    const [record] = records
    const imported = await own.asOperator("POST", "/admin/import", { account: "moved", records: [record] })
    expect(imported.body).toMatchObject({ imported: 1 })
    const back = (await user.call("GET", "/v1/memories?feedback=given")).body.memories
    expect(back).toMatchObject([{ id: record.id, feedback: record.feedback }])
    await own.asOperator("POST", "/admin/accounts/erase", { account: "moved" })
    expect(await own.stop()).toBe(0)
    expect(filesWith(dataDirectory, "xylotheque")).toEqual([])

    const last = await startServer({ environment: withoutModel, dataDirectory })
    const later = scratch("backup")
    await done(["backup", "create", "--to", later], environmentOf(last))
    expect(filesWith(later, "xylotheque")).toEqual([])
    await last.stop()
  })
})
