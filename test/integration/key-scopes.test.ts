/**
 * Scoped keys (contract: Identity): every route that reads or changes memories, tried with every kind of scope against
 * what the scope says.
 */
import { describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { everyDay } from "../support/Repetitions.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, signedGrant, walletCalls } from "../support/TrustCalls.ts"

interface Scope {
  readonly readOnly?: boolean
  readonly agents?: ReadonlyArray<string>
  readonly subjects?: ReadonlyArray<string>
}

interface Place {
  readonly agentId: string
  readonly subjectId?: string
}

const agents = ["support", "sales"]
const subjects = ["ann", "bob", undefined]
const places: ReadonlyArray<Place> = agents.flatMap((agentId) =>
  subjects.map((subjectId) => ({ agentId, ...(subjectId !== undefined && { subjectId }) }))
)
const scopes: ReadonlyArray<Scope> = [undefined, ["support"], ["support", "sales"], ["elsewhere"]].flatMap((boundTo) =>
  [undefined, ["ann"], ["ann", "bob"]].flatMap((about) =>
    [false, true].map((readOnly) => ({
      ...(boundTo !== undefined && { agents: boundTo }),
      ...(about !== undefined && { subjects: about }),
      ...(readOnly && { readOnly })
    }))
  )
)

const sees = (scope: Scope, { agentId, subjectId }: Place): boolean =>
  (scope.agents?.includes(agentId) ?? true) &&
  (scope.subjects === undefined || (subjectId !== undefined && scope.subjects.includes(subjectId)))
const isBound = ({ agents: boundTo, subjects: about }: Scope): boolean => boundTo !== undefined || about !== undefined

const server = useSharedServer(withoutModel)

let accounts = 0

/** An account with one memory at each place, its unrestricted key, and one with the scope. */
const furnished = async (scope: Scope) => {
  const name = `scoped ${++accounts}`
  const whole = await server.newAccount(name)
  const ids = new Map<string, Place>()
  for (const place of places) {
    const body = { ...place, memories: [fact("tea", `jasmine for ${place.agentId} ${place.subjectId ?? "everybody"}`)] }
    const made = await server.call("POST", "/v1/memories", { key: whole, body })
    ids.set(made.body.created[0].id, place)
  }
  const created = await server.call("POST", "/admin/keys", {
    key: server.operatorToken,
    body: { account: server.nameOf(name), ...scope }
  })
  expect(created.status, JSON.stringify(created.body)).toBe(200)
  const key: string = created.body.secret
  const call = (method: string, path: string, body?: object): Promise<Answer> =>
    server.call(method, path, { key, body })
  return {
    name: server.nameOf(name),
    whole,
    ids,
    key,
    call,
    visible: [...ids].filter(([, place]) => sees(scope, place)).map(([id]) => id)
  }
}

const idsIn = (memories: ReadonlyArray<{ readonly id: string }>): ReadonlyArray<string> =>
  memories.map(({ id }) => id).toSorted()
const expectRefused = ({ body, status }: Answer): void =>
  expect([status, body.code], JSON.stringify(body)).toEqual([403, "key_scope"])

const tool = (name: string, given: object) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: given }
})
const toolAnswer = (answer: Answer) => JSON.parse(answer.body.result.content[0].text)

/** Every seventh has each value of each part. */
const mixed = scopes.map((_, at) => scopes[(at * 7) % scopes.length]!)

describe.each(everyDay(8, mixed).map((scope) => [JSON.stringify(scope), scope] as const))(
  "a key with the scope %s",
  (_, scope) => {
    it("reads what is inside on every way, and nothing else", async () => {
      const { call, ids, visible } = await furnished(scope)
      const wanted = visible.toSorted()
      const listed = await call("GET", "/v1/memories")
      expect([idsIn(listed.body.memories), listed.body.total]).toEqual([wanted, wanted.length])
      for (const mode of ["llm", "raw"]) {
        const found = await call("GET", `/v1/memories/search?query=jasmine&limit=20&mode=${mode}`)
        expect(idsIn(found.body.memories)).toEqual(wanted)
      }
      const map = await call("GET", "/v1/memories/search?query=jasmine&mode=map")
      expect(
        JSON.stringify(map.body)
          .match(/mem_\w{26}/g)
          ?.every((id) => visible.includes(id)) ?? true
      ).toBe(true)
      const answered = await call("GET", "/v1/memories/search?query=what+tea+for+sales+bob&mode=answer")
      expect(
        [...(answered.body.memories ?? []), ...(answered.body.hits ?? [])].every(({ id }) => visible.includes(id))
      ).toBe(true)
      const queries = [
        { query: "jasmine", filters: {}, limit: 20 },
        ...places.map((filters) => ({ query: "jasmine", filters }))
      ]
      const batch = await call("POST", "/v1/memories/batch/search", { queries })
      expect(idsIn(batch.body.results[0].memories)).toEqual(wanted)
      for (const { memories } of batch.body.results) {
        for (const { id } of memories) expect(visible).toContain(id)
      }
      for (const [id] of ids) {
        expect((await call("GET", `/v1/memories/${id}`)).status).toBe(visible.includes(id) ? 200 : 404)
      }
      const whoami = await call("GET", "/v1/account")
      const counts = Object.fromEntries(
        whoami.body.agents.map(({ agentId, memories }: { agentId: string; memories: number }) => [agentId, memories])
      )
      if (scope.subjects !== undefined && scope.agents === undefined) {
        for (const { memories } of whoami.body.agents) expect(memories).toBeGreaterThan(0)
      }
      for (const agentId of agents) {
        const inside = [...ids].filter(([id, place]) => place.agentId === agentId && visible.includes(id)).length
        expect(counts[agentId] ?? 0).toBe(inside)
      }
      const searched = toolAnswer(await call("POST", "/mcp", tool("memory_search", { query: "jasmine", limit: 20 })))
      expect(idsIn(searched.memories)).toEqual(wanted)
      const [first] = ids.keys()
      const got = await call("POST", "/mcp", tool("memory_get", { id: first! }))
      expect(got.body.result.isError === true).toBe(!visible.includes(first!))
    })

    it("changes what is inside on every way, and nothing else", async () => {
      const { call, ids, visible, whole } = await furnished(scope)
      const mayChange = scope.readOnly !== true
      for (const place of [...places, { agentId: "nowhere" }]) {
        const isAllowed = mayChange && sees(scope, place)
        const memories = [fact("tea", "oolong")]
        const conversation = [{ role: "user", content: "My favourite colour is green." }]
        const writes = [
          await call("POST", "/v1/memories", { ...place, memories }),
          await call("POST", "/v1/memories/batch/create", { ...place, memories }),
          await call("POST", "/v1/memories", { ...place, conversation })
        ]
        for (const answer of writes) {
          if (isAllowed) expect(answer.status, JSON.stringify(answer.body)).toBe(200)
          else expectRefused(answer)
        }
        for (const given of [
          { ...place, memories },
          { ...place, conversation }
        ]) {
          const created = await call("POST", "/mcp", tool("memory_create", given))
          expect(created.body.result.isError === true).toBe(!isAllowed)
        }
        const written = await call(
          "POST",
          "/mcp",
          tool("write_factual_memory", { ...place, subject: "tea", fact: "mate" })
        )
        expect(written.body.result.isError === true).toBe(!isAllowed)
      }
      const every = [...ids.keys()]
      const update = await call("POST", "/v1/memories/batch/update", { ids: every, update: { tags: ["x"] } })
      if (mayChange) expect(update.body.updated).toBe(visible.length)
      else expectRefused(update)
      for (const id of every) {
        const patched = await call("PATCH", `/v1/memories/${id}`, { tags: ["y"] })
        expect(patched.status).toBe(mayChange ? (visible.includes(id) ? 200 : 404) : 403)
      }
      const [first, ...others] = every
      const removed = await call("DELETE", `/v1/memories/${first!}`)
      expect(removed.status).toBe(mayChange ? (visible.includes(first!) ? 200 : 404) : 403)
      const dryRun = await call("POST", "/v1/memories/batch/delete", {
        filters: { kind: "factual_memory" },
        dryRun: true
      })
      const deleted = await call("POST", "/v1/memories/batch/delete", { ids: others })
      if (mayChange) expect(deleted.body.deleted).toBe(others.filter((id) => visible.includes(id)).length)
      else for (const answer of [dryRun, deleted]) expectRefused(answer)
      await call("POST", "/v1/memories/batch/delete", { filters: { kind: "factual_memory" } })
      await call("POST", "/mcp", tool("memory_batch_delete", { filters: { kind: "factual_memory" } }))
      const left = await server.call("GET", "/v1/memories?limit=100&kind=factual_memory", { key: whole })
      const inside = left.body.memories.filter(({ id }: { id: string }) => visible.includes(id))
      expect(inside).toHaveLength(mayChange ? 0 : visible.length)
      for (const id of every) {
        if (!visible.includes(id)) expect(idsIn(left.body.memories)).toContain(id)
      }
    })

    it("leaves to others what is the whole account's", async () => {
      const { call, ids, key, name } = await furnished(scope)
      const schema = { name: "note", description: "d", schema: '{"type":"object"}' }
      const isWhole = !isBound(scope) && scope.readOnly !== true
      const registered = await call("POST", "/v1/schemas", schema)
      if (isWhole) expect(registered.status).toBe(200)
      else expectRefused(registered)
      for (const [method, body] of [["PATCH", { description: "e" }], ["DELETE"]] as const) {
        const changed = await call(method, "/v1/schemas/note", body)
        if (isWhole) expect(changed.status).toBe(200)
        else expectRefused(changed)
      }
      const attested = await call("POST", "/v1/attestations", { claim: "memory_count_gte", threshold: 1 })
      if (isBound(scope)) expectRefused(attested)
      else expect(attested.body.attestation.result.matchCount).toBe(ids.size)
      for (const path of ["/v1/account/statement", "/v1/account/statement?format=csv", "/v1/credits/transactions"]) {
        const read = await call("GET", path)
        if (isBound(scope)) expectRefused(read)
        else expect(read.status).toBe(200)
      }
      const receipt = await call("GET", "/v1/credits/payments/unknown/receipt")
      if (isBound(scope)) expectRefused(receipt)
      else expect([receipt.status, receipt.body.code]).toEqual([404, "payment_not_found"])
      const grantor = evmWallet(`grantor to ${name}`)
      await walletCalls(server, grantor).create("support", [fact("tea", "jasmine of a grantor")], { subjectId: "ann" })
      const body = { account: name, address: evmWallet(name).wallet.address }
      await server.asOperator("POST", "/admin/wallets", body)
      const headers = grantsHeader([await signedGrant(grantor, { g: evmWallet(name).wallet.address })])
      const path = "/v1/memories/search?query=jasmine&scope=shared"
      const shared = await server.call("GET", path, { key, headers })
      expect(shared.body.memories).toHaveLength(isBound(scope) ? 0 : 1)
      const grant = await signedGrant(evmWallet(name), { g: "somebody" })
      const revoked = await call("POST", "/v1/grants/revoke", { grant })
      if (isWhole) expect(revoked.status).toBe(200)
      else expectRefused(revoked)
    })
  }
)

describe("a key", () => {
  it("sees what is left to spend, and of the storage of the whole account nothing unless it is unbound", async () => {
    const { call, name, whole } = await furnished({ subjects: ["ann"] })
    const gift = { account: name, credits: 10, key: `gift to ${name}`, reason: "test" }
    const given = await server.asOperator("POST", "/admin/ledger/adjustments", gift)
    expect(given.status, JSON.stringify(given.body)).toBe(200)
    const seen = await call("GET", "/v1/credits")
    expect(seen.body.balance.credits).toBe(10)
    expect(Object.keys(seen.body)).not.toContain("insuredUntil")
    expect((await server.call("GET", "/v1/credits", { key: whole })).body.insuredUntil).toBeGreaterThan(0)
    const paid = await call("GET", "/v1/memories")
    expect(Number(paid.headers.get("x-credits-charged"))).toBe(1)
    expect(paid.headers.get("x-credits-remaining")).not.toBeNull()
  })

  it("is told what it is bound to where the whole account is concerned", async () => {
    const { call } = await furnished({ agents: ["support"], subjects: ["ann"] })
    const refused = await call("GET", "/v1/account/statement")
    expect(refused.body.error).toBe("this key is bound to agents and subjects, and this is the whole account's")
  })

  it("names agents and subjects outside in filters of a deletion in vain", async () => {
    const { call } = await furnished({ agents: ["support"], subjects: ["ann"] })
    for (const filters of [{ agentId: "sales" }, { subjectId: "bob" }]) {
      expectRefused(await call("POST", "/v1/memories/batch/delete", { filters }))
    }
  })

  it("with an end fails after it, and shows it before", async () => {
    const body = { account: server.nameOf("ending"), expiresIn: "1s" }
    const { body: made } = await server.asOperator("POST", "/admin/keys", body)
    expect(made.key.expiresAt - made.key.createdAt).toBeLessThanOrEqual(1_100)
    while (Date.now() <= made.key.expiresAt) await new Promise((wake) => setTimeout(wake, 50))
    expect(refusalOf(await server.call("GET", "/v1/account", { key: made.secret }))).toEqual([401, "invalid_api_key"])
  })

  it("is not given the kept answer to another key's request", async () => {
    const { name, whole } = await furnished({})
    const scoped = { account: name, readOnly: true }
    const { body: made } = await server.asOperator("POST", "/admin/keys", scoped)
    const request = {
      body: { agentId: "support", memories: [fact("tea", "sencha")] },
      headers: { "idempotency-key": "same" }
    }
    expect((await server.call("POST", "/v1/memories", { key: whole, ...request })).status).toBe(200)
    expectRefused(await server.call("POST", "/v1/memories", { key: made.secret, ...request }))
  })

  it.each([{ agents: [] }, { subjects: [""] }, { expiresIn: "soon" }, { agents: ["a"], read_only: true }])(
    "is refused with a wrong restriction: %j",
    async (restriction) => {
      const body = { account: server.nameOf("wrong"), ...restriction }
      const refused = await server.asOperator("POST", "/admin/keys", body)
      expect(refused.status).toBe(400)
    }
  )
})
