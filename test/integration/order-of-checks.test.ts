/**
 * Which failure is told when a request has several: route, method, size, authentication, validation, existence
 * (contract: Errors). Each request has a fault of its own step and of all later ones.
 */
import { expect, it } from "vitest"
import { fact, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { evmWallet, walletHeaders } from "../support/TrustCalls.ts"

const server = useSharedServer(withoutModel)
const alice = useAccount(server, "alice")

const tooLarge = "x".repeat(1_048_577)
const badPatch = { body: { tags: [""] } }
const missing = "/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"

it("the route comes before the method, the size and the credentials", async () => {
  const { status } = await server.call("PUT", "/v1/nothing", { rawBody: tooLarge, key: null })
  expect(status).toBe(404)
})

it("the method comes before the size and the credentials", async () => {
  expect((await server.call("PUT", "/v1/memories", { rawBody: tooLarge, key: null })).status).toBe(405)
})

it("the size comes before the credentials", async () => {
  expect((await server.call("POST", "/v1/memories", { rawBody: tooLarge, key: null })).status).toBe(413)
})

it("the credentials come before the body and the existence", async () => {
  expect((await server.call("POST", "/v1/memories", { rawBody: "{", key: null })).status).toBe(401)
  expect((await server.call("PATCH", missing, { ...badPatch, key: "mun_wrong" })).status).toBe(401)
  expect((await server.call("GET", missing, { key: null })).status).toBe(401)
  expect((await server.call("GET", "/v1/memories/search", { key: null })).status).toBe(401)
})

it("a wallet's signature comes before the body, and the size before both", async () => {
  const signer = evmWallet("order")
  const bad = { ...(await walletHeaders(signer, "POST", "/v1/memories", "{")), "x-wallet-signature": "0x00" }
  for (const rawBody of ["{", '{"agentId":"a"}', "[1"]) {
    const { status, body } = await server.call("POST", "/v1/memories", { rawBody, key: null, headers: bad })
    expect([status, body.code]).toEqual([401, "invalid_signature"])
  }
  const good = await walletHeaders(signer, "POST", "/v1/memories", "{")
  expect((await server.call("POST", "/v1/memories", { rawBody: "{", key: null, headers: good })).body.code).toBe(
    "invalid_json"
  )
  const large = await server.call("POST", "/v1/memories", { rawBody: tooLarge, key: null, headers: bad })
  expect(large.status).toBe(413)
})

it("the time of a signature comes before what it is over", async () => {
  const late = await walletHeaders(evmWallet("late"), "GET", "/v1/schemas", "", {
    timestampMillis: Date.now() - 200_000
  })
  expect((await server.call("GET", "/v1/account", { key: null, headers: late })).body.code).toBe(
    "timestamp_out_of_range"
  )
})

it("the credentials come before the grants, the parameters before them too, and their form before their use", async () => {
  const headers = { "x-grants": "not Base64!" }
  const search = "/v1/memories/search"
  expect((await server.call("GET", `${search}?query=q`, { key: null, headers })).status).toBe(401)
  expect((await alice.call("GET", `${search}?query=`, { headers })).body.code).toBe("invalid_request")
  expect((await alice.call("GET", `${search}?query=q&tags=,`, { headers })).body.code).toBe("invalid_tag")
  expect((await alice.call("GET", `${search}?query=q&scope=shared`, { headers })).body.code).toBe(
    "invalid_grants_header"
  )
  const batch = { queries: [{ query: "" }], scope: "shared" }
  expect((await alice.post("/v1/memories/batch/search", batch, headers)).body.code).toBe("invalid_request")
})

it("of a revocation the form comes before whether the caller made the grant", async () => {
  const grant = { p: { f: "0x00", g: "x", e: 1 }, s: "", c: "evm" }
  expect((await alice.post("/v1/grants/revoke", { grant: { ...grant, c: 1 } })).body.code).toBe("invalid_request")
  expect((await alice.post("/v1/grants/revoke", { grant })).body.code).toBe("not_grantor")
})

it("the body comes before the existence", async () => {
  expect((await alice.call("PATCH", missing, badPatch)).body.code).toBe("invalid_tag")
  expect((await alice.call("PATCH", "/v1/schemas/missing", { body: { schema: "{" } })).body.code).toBe("invalid_schema")
  const replacement = { ...fact("a", "b"), id: "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T", ttl: "0s" }
  const answer = await alice.post("/v1/memories", { agentId: "a", memories: [replacement] })
  expect(answer.body.code).toBe("invalid_duration")
  const invalid = { kind: "factual_memory", data: {}, id: "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T" }
  const refused = await alice.post("/v1/memories", { agentId: "a", memories: [invalid] })
  expect(refused.body.code).toBe("schema_validation_failed")
})

it("the body comes before what is stored contradicts", async () => {
  const schema = { name: "factual_memory", description: "d", schema: "{" }
  expect((await alice.post("/v1/schemas", schema)).body.code).toBe("invalid_schema")
  const [entry] = await alice.create("a", [fact("a", "b")])
  const invalid = { kind: "temporal_event", data: {}, id: entry.id }
  const answer = await alice.post("/v1/memories", { agentId: "a", memories: [invalid] })
  expect(answer.body.code).toBe("schema_validation_failed")
})

it("the existence comes before an idempotent repetition is kept: a 404 frees the key", async () => {
  const headers = { "idempotency-key": "order" }
  const missed = await alice.call("PATCH", missing, { body: { tags: ["x"] }, headers })
  expect(missed.status).toBe(404)
  const [entry] = await alice.create("b", [fact("a", "b")])
  const found = await alice.call("PATCH", `/v1/memories/${entry.id}`, { body: { tags: ["x"] }, headers })
  expect(found.status).toBe(200)
})
