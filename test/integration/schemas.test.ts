/** The schema endpoints (contract: Schemas). */
import { describe, expect, it } from "vitest"
import { accountCalls, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")

const plain = schemaText({ email: text, name: text })
const register = (body: object) => alice.post("/v1/schemas", { description: "d", schema: plain, ...body })
const get = (name: string) => alice.call("GET", `/v1/schemas/${name}`)
const patch = (name: string, body: object) => alice.call("PATCH", `/v1/schemas/${name}`, { body })
const store = (kind: string, data: object) => alice.post("/v1/memories", { agentId: "a", memories: [{ kind, data }] })

describe("registering a schema", () => {
  it("answers the record with its times, and uniqueOn only if it was given", async () => {
    const before = Date.now()
    const { status, body } = await register({ name: "contact", description: "A contact", uniqueOn: ["email"] })
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      schema: {
        name: "contact",
        description: "A contact",
        uniqueOn: ["email"],
        schema: plain,
        createdAt: expect.any(Number),
        updatedAt: body.schema.createdAt
      }
    })
    expect(body.schema.createdAt).toBeGreaterThanOrEqual(before)
    expect((await register({ name: "plain" })).body.schema).not.toHaveProperty("uniqueOn")
    expect((await register({ name: "none", uniqueOn: [] })).body.schema).not.toHaveProperty("uniqueOn")
  })

  it("takes 2020-12 with $schema and additionalProperties, draft-07, and no $schema at all", async () => {
    const dialects = {
      newest: "https://json-schema.org/draft/2020-12/schema",
      older: "http://json-schema.org/draft-07/schema#",
      unsaid: undefined
    }
    for (const [name, $schema] of Object.entries(dialects)) {
      const schema = schemaText({ n: { type: "integer" } }, { $schema, additionalProperties: false, required: ["n"] })
      expect((await register({ name, schema })).status).toBe(200)
      expect((await store(name, { n: 1 })).status).toBe(200)
      expect((await store(name, { n: "1" })).body.code).toBe("schema_validation_failed")
      expect((await store(name, { n: 1, more: 2 })).body.code).toBe("schema_validation_failed")
    }
  })

  it.each([
    ["text that is not JSON", "{"],
    ["a JSON text that is no object", "[]"],
    ["a type other than object", '{"type":"string"}'],
    ["no type", "{}"],
    ["a keyword of a wrong shape", '{"type":"object","properties":7}'],
    ["an unknown dialect", '{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object"}'],
    ["a remote reference", '{"type":"object","properties":{"a":{"$ref":"https://example.org/a.json"}}}'],
    ["a reference into nowhere", '{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}'],
    ["a pattern that is no pattern", '{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}'],
    ["more than 64 KiB", JSON.stringify({ type: "object", description: "x".repeat(65_536) })]
  ])("refuses %s", async (_, schema) => {
    expect(refusalOf(await register({ name: "refused", schema }))).toEqual([400, "invalid_schema"])
    expect((await get("refused")).status).toBe(404)
  })

  it.each([
    ["no name", { name: undefined }, "invalid_request"],
    ["no description", { description: undefined }, "invalid_request"],
    ["no schema", { schema: undefined }, "invalid_request"],
    ["a schema that is an object instead of a string", { schema: { type: "object" } }, "invalid_request"],
    ["uniqueOn that is a string", { uniqueOn: "email" }, "invalid_request"],
    ["a name that begins with a digit", { name: "1st" }, "invalid_schema"],
    ["a name with a slash", { name: "a/b" }, "invalid_schema"],
    ["a name of 65 characters", { name: "n".repeat(65) }, "invalid_schema"],
    ["uniqueOn on a property that is not declared", { uniqueOn: ["email", "phone"] }, "invalid_schema"],
    ["uniqueOn with an empty name", { uniqueOn: [""] }, "invalid_schema"]
  ])("refuses %s", async (_, change, code) => {
    expect(refusalOf(await register({ name: "refused", ...change }))).toEqual([400, code])
  })

  it("takes names of 1 to 64 characters with dots, dashes and underscores", async () => {
    for (const name of ["a", `A${"b".repeat(63)}`, "a.b-c_D9"]) expect((await register({ name })).status).toBe(200)
  })

  it("takes kind in uniqueOn, alone and beside declared properties", async () => {
    expect((await register({ name: "one", uniqueOn: ["kind"] })).status).toBe(200)
    expect((await register({ name: "both", uniqueOn: ["kind", "email"] })).status).toBe(200)
  })

  it("under a name that is taken or built in is a conflict", async () => {
    await register({ name: "taken" })
    for (const name of ["taken", "factual_memory", "preference_memory", "temporal_event"]) {
      expect(refusalOf(await register({ name }))).toEqual([409, "schema_exists"])
    }
  })

  it("is open to other accounts under the same name, and shows them nothing", async () => {
    const bob = await accountCalls(server, "bob")
    await register({ name: "mine", description: "of alice" })
    expect((await bob.call("GET", "/v1/schemas/mine")).body.code).toBe("schema_not_found")
    expect((await bob.call("PATCH", "/v1/schemas/mine", { body: { description: "x" } })).status).toBe(404)
    expect((await bob.call("DELETE", "/v1/schemas/mine")).status).toBe(404)
    expect((await bob.call("GET", "/v1/schemas")).body).toEqual({ success: true, schemas: [] })
    expect((await bob.post("/v1/schemas", { name: "mine", description: "of bob", schema: plain })).status).toBe(200)
    expect((await get("mine")).body.schema.description).toBe("of alice")
  })

  it("stops at 200 schemas of an account", async () => {
    const carol = await accountCalls(server, "carol")
    const make = (at: number) => carol.post("/v1/schemas", { name: `s${at}`, description: "d", schema: plain })
    for (let at = 0; at < 200; at++) expect((await make(at)).status).toBe(200)
    expect((await make(200)).body.code).toBe("limit_exceeded")
  })
})

describe("listing and reading", () => {
  it("lists what the account registered, without the built-in kinds, sorted by name", async () => {
    const dora = await accountCalls(server, "dora")
    for (const name of ["b", "a", "C"]) await dora.post("/v1/schemas", { name, description: "d", schema: plain })
    const { body } = await dora.call("GET", "/v1/schemas")
    expect(body.schemas.map(({ name }: { name: string }) => name)).toEqual(["C", "a", "b"])
    expect(body.schemas[0]).toEqual((await dora.call("GET", "/v1/schemas/C")).body.schema)
  })

  it("reads a built-in kind, marked as such", async () => {
    for (const name of ["factual_memory", "preference_memory", "temporal_event"]) {
      const { status, body } = await get(name)
      expect(status).toBe(200)
      expect(body.schema).toMatchObject({ name, builtin: true, description: expect.any(String) })
      expect(JSON.parse(body.schema.schema).type).toBe("object")
      expect(body.schema).not.toHaveProperty("uniqueOn")
    }
  })

  it("does not find what is not there", async () => {
    expect((await get("nothing")).body.code).toBe("schema_not_found")
  })
})

describe("built-in kinds", () => {
  it("know their required fields and choices, and allow more properties", async () => {
    const preference = { subject: "Ann", preferenceType: "avoids", preference: "noise", domain: "home", mood: 3 }
    expect((await store("preference_memory", preference)).status).toBe(200)
    expect((await store("factual_memory", { subject: "a", fact: "b", source: "inferred" })).status).toBe(200)
    const event = { event: "e", eventDate: "2026-01-01", endDate: "2026-01-02T00:00:00Z", participants: ["x"] }
    expect((await store("temporal_event", event)).status).toBe(200)
    const bad = [
      ["preference_memory", { ...preference, preferenceType: "adores" }],
      ["factual_memory", { fact: "no subject" }],
      ["temporal_event", { event: "e", eventDate: "tomorrow" }]
    ] as const
    for (const [kind, data] of bad) expect((await store(kind, data)).body.code).toBe("schema_validation_failed")
  })

  it("cannot be changed or deleted", async () => {
    for (const answer of [
      await patch("factual_memory", { description: "mine" }),
      await alice.call("DELETE", "/v1/schemas/factual_memory")
    ]) {
      expect([answer.status, answer.body.code]).toEqual([403, "builtin_schema"])
    }
  })
})

describe("changing a schema", () => {
  it("changes what is given, answers updated and the record, and renews updatedAt", async () => {
    const { schema: old } = (await register({ name: "change", uniqueOn: ["email"] })).body
    const { status, body } = await patch("change", { description: "new words" })
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      updated: true,
      schema: { ...old, description: "new words", updatedAt: expect.any(Number) }
    })
    expect(body.schema.updatedAt).toBeGreaterThanOrEqual(old.updatedAt)
    expect((await get("change")).body.schema).toEqual(body.schema)
  })

  it("clears uniqueOn by null and by an empty list", async () => {
    for (const cleared of [null, []]) {
      const name = `clear_${cleared === null ? "null" : "list"}`
      await register({ name, uniqueOn: ["email"] })
      expect((await patch(name, { uniqueOn: cleared })).body.schema).not.toHaveProperty("uniqueOn")
      await store(name, { email: "a" })
      expect((await store(name, { email: "a" })).body.created[0].metadata).not.toHaveProperty("supersedes")
    }
  })

  it("holds for memories to come and leaves the stored ones alone", async () => {
    await register({ name: "strict" })
    const [entry] = (await store("strict", { name: "no mail" })).body.created
    await patch("strict", { schema: schemaText({ email: text }, { required: ["email"] }) })
    expect((await store("strict", { name: "no mail" })).body.code).toBe("schema_validation_failed")
    expect((await alice.get(entry.id)).data).toEqual({ name: "no mail" })
  })

  it("refuses an unknown field, nothing, a bad document, and uniqueOn that the document does not declare", async () => {
    await register({ name: "rules", uniqueOn: ["email"] })
    const tries = [
      [{ name: "other" }, "unknown_parameter"],
      [{}, "invalid_request"],
      [{ schema: "{" }, "invalid_schema"],
      [{ uniqueOn: ["phone"] }, "invalid_schema"],
      [{ schema: schemaText({ phone: text }) }, "invalid_schema"]
    ] as const
    for (const [body, code] of tries) expect((await patch("rules", body)).body.code).toBe(code)
    expect((await get("rules")).body.schema).toMatchObject({ uniqueOn: ["email"], schema: plain })
  })
})

describe("deleting a schema", () => {
  it("refuses new memories of the kind, while stored ones stay found, read, tagged and deleted", async () => {
    await register({ name: "gone" })
    const [entry] = (await store("gone", { name: "Quasimodo" })).body.created
    expect((await alice.call("DELETE", "/v1/schemas/gone")).body).toEqual({ success: true, deleted: 1 })
    expect((await store("gone", { name: "x" })).body.code).toBe("unknown_kind")
    expect((await store("gone", { name: "x", id: entry.id })).body.code).toBe("unknown_kind")
    expect((await alice.search({ query: "Quasimodo", kind: "gone" }))[0].id).toBe(entry.id)
    const tagged = await alice.call("PATCH", `/v1/memories/${entry.id}`, { body: { tags: ["t"] } })
    expect(tagged.body.memory.context.tags).toEqual(["t"])
    expect((await alice.call("DELETE", `/v1/memories/${entry.id}`)).status).toBe(200)
    expect((await alice.call("DELETE", "/v1/schemas/gone")).body.code).toBe("schema_not_found")
  })

  it("frees its name", async () => {
    await register({ name: "again" })
    await alice.call("DELETE", "/v1/schemas/again")
    expect((await register({ name: "again" })).status).toBe(200)
  })
})
