/** Direct memories that carry the id of a stored one (contract: Memories). */
import { describe, expect, it } from "vitest"
import { accountCalls, fact, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")

const replace = (agentId: string, memory: object, rest: object = {}) =>
  alice.post("/v1/memories", { agentId, memories: [memory], ...rest })

describe("a memory with the id of a stored one", () => {
  it("replaces its data as a whole, renews hash and updatedAt and is listed as updated", async () => {
    const [old] = await alice.create("whole", [
      { kind: "factual_memory", data: { subject: "Ann", fact: "Ann is in Oslo", source: "user" } }
    ])
    const { body } = await replace("whole", { ...fact("Ann", "Ann is in Rome"), id: old.id })
    expect(body.created).toEqual([])
    expect(body.updated).toHaveLength(1)
    const [entry] = body.updated
    expect(entry).toMatchObject({ id: old.id, data: { subject: "Ann", fact: "Ann is in Rome" } })
    expect(entry.data).not.toHaveProperty("source")
    expect(entry.metadata.createdAt).toBe(old.metadata.createdAt)
    expect(entry.metadata.updatedAt).toBeGreaterThanOrEqual(old.metadata.updatedAt)
    expect(entry.metadata.contentHash).not.toBe(old.metadata.contentHash)
    expect((await alice.get(old.id)).data).toEqual({ subject: "Ann", fact: "Ann is in Rome" })
  })

  it("is found by its new words and no longer by its old ones", async () => {
    const [old] = await alice.create("words", [fact("Bo", "Bo plays the xylophone")])
    await replace("words", { ...fact("Bo", "Bo plays the harmonium"), id: old.id })
    const explained = async (query: string) =>
      // Found by nothing at all as long as its vector is not there.
      (await alice.search({ query, agentId: "words", explain: "true" }))[0]?.explain.lexical ?? 0
    expect(await explained("harmonium")).toBeGreaterThan(0)
    expect(await explained("xylophone")).toBe(0)
  })

  it("keeps its expiry unless the request gives one", async () => {
    const expiresAt = 4_102_444_800_000
    const [old] = await alice.create("expiry", [{ ...fact("a", "b"), expiresAt }])
    const kept = await replace("expiry", { ...fact("a", "c"), id: old.id })
    expect(kept.body.updated[0].metadata.expiresAt).toBe(expiresAt)
    const given = await replace("expiry", { ...fact("a", "d"), id: old.id, expiresAt: expiresAt + 1 })
    expect(given.body.updated[0].metadata.expiresAt).toBe(expiresAt + 1)
  })

  it("keeps its tags", async () => {
    const [old] = await alice.create("tags", [fact("a", "b")])
    await alice.call("PATCH", `/v1/memories/${old.id}`, { body: { tags: ["kept"] } })
    const { body } = await replace("tags", { ...fact("a", "c"), id: old.id })
    expect(body.updated[0].metadata.tags).toEqual(["kept"])
  })

  it("is validated again", async () => {
    const [old] = await alice.create("valid", [fact("a", "b")])
    const { body } = await replace("valid", { kind: "factual_memory", data: { subject: "a" }, id: old.id })
    expect(body.code).toBe("schema_validation_failed")
    expect((await alice.get(old.id)).data.fact).toBe("b")
  })

  it("of another kind is a conflict and changes nothing, not even its neighbours in the request", async () => {
    const [old, other] = await alice.create("kinds", [fact("a", "b"), fact("c", "d")])
    const event = { kind: "temporal_event", data: { event: "e" }, id: old.id }
    const { status, body } = await alice.post("/v1/memories", {
      agentId: "kinds",
      memories: [{ ...fact("c", "changed"), id: other.id }, fact("new", "new"), event]
    })
    expect([status, body.code]).toEqual([409, "kind_mismatch"])
    expect((await alice.get(other.id)).data.fact).toBe("d")
    expect((await alice.call("GET", "/v1/memories?agentId=kinds")).body.total).toBe(2)
  })

  it("that is unknown, expired, or of another account, agent or subject is not found", async () => {
    const bob = await accountCalls(server, "bob")
    const [foreign] = await bob.create("agent", [fact("a", "b")])
    const [other] = await alice.create("other-agent", [fact("a", "b")])
    const [subject] = await alice.create("agent", [fact("a", "b")], { subjectId: "u1" })
    const expired = await alice.createExpired("agent", fact("a", "b"))
    const unknown = "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"
    for (const id of [unknown, "not an id", foreign.id, other.id, subject.id, expired.id]) {
      const { status, body } = await replace("agent", { ...fact("a", "stolen"), id }, { subjectId: "u2" })
      expect([status, body.code]).toEqual([404, "memory_not_found"])
    }
    expect((await bob.get(foreign.id)).data.fact).toBe("b")
    expect((await alice.get(subject.id)).data.fact).toBe("b")
  })

  it("that is not found leaves no trace of its agent in the account", async () => {
    const { status } = await replace("never-stored", { ...fact("a", "b"), id: "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T" })
    expect(status).toBe(404)
    const { agents } = (await alice.call("GET", "/v1/account")).body
    expect(agents.map(({ agentId }: { agentId: string }) => agentId)).not.toContain("never-stored")
  })
})
