/**
 * Schemas that cost more than they should: they are refused, or they check data within their budget; either way other
 * requests do not wait for them.
 */
import { describe, expect, it } from "vitest"
import { withoutBlocking } from "../support/LivenessProbe.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })

const nestedSchema = (depth: number): object =>
  depth === 0 ? { type: "object" } : { type: "object", properties: { a: nestedSchema(depth - 1) } }

const doublingRefs = () => {
  const $defs: Record<string, object> = { d0: { type: "string" } }
  for (let at = 1; at <= 24; at++) {
    const $ref = `#/$defs/d${at - 1}`
    $defs[`d${at}`] = { type: "object", properties: { l: { $ref }, r: { $ref } } }
  }
  return { type: "object", $defs, properties: { x: { $ref: "#/$defs/d24" } } }
}

const refusedSchemas: Readonly<Record<string, () => object>> = {
  "24 doubling $refs": doublingRefs,
  "a recursive $ref": () => ({ type: "object", properties: { x: { $ref: "#" } } }),
  "two $refs that name each other": () => ({
    type: "object",
    $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
    properties: { x: { $ref: "#/$defs/a" } }
  }),
  "a remote $ref": () => ({ type: "object", properties: { x: { $ref: "http://127.0.0.1:9/schema.json" } } }),
  "a $ref to a file": () => ({ type: "object", properties: { x: { $ref: "file:///etc/passwd" } } }),
  "a $ref to nothing": () => ({ type: "object", properties: { x: { $ref: "#/$defs/none" } } }),
  "a remote $schema": () => ({ $schema: "http://127.0.0.1:9/meta.json", type: "object" }),
  "72 KB of allOf": () => ({
    type: "object",
    allOf: Array.from({ length: 1_500 }, (_, at) => ({ properties: { [`p${at}`]: { type: "string" } } }))
  }),
  "500 levels": () => nestedSchema(500),
  "10,000 properties": () => ({
    type: "object",
    properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`p${at}`, {}]))
  }),
  "a pattern that does not parse": () => ({ type: "object", properties: { x: { type: "string", pattern: "(" } } }),
  "a pattern with a back reference": () => ({
    type: "object",
    properties: { x: { type: "string", pattern: "^(a*)*\\1$" } }
  })
}

const register = (name: string, schema: object) =>
  server.call("POST", "/v1/schemas", { body: { name, description: "hostile", schema: JSON.stringify(schema) } })

describe("a hostile schema", () => {
  it.each(Object.keys(refusedSchemas))("is refused with nothing stored and nobody blocked: %s", async (what) => {
    const schema = refusedSchemas[what]!()
    const { status, body } = await withoutBlocking(server, () => register("hostile", schema))
    expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_schema" })
    expect((await server.call("GET", "/v1/schemas")).body.schemas).toEqual([])
  })

  it.each(["{", "[]", "null", "1", '"object"', '{"type":"string"}', '{"type":"object","type":"object"}', ""])(
    "is refused when it is no schema of an object: %s",
    async (schema) => {
      const { status } = await server.call("POST", "/v1/schemas", {
        body: { name: "hostile", description: "d", schema }
      })
      expect(status).toBe(400)
      expect((await server.call("GET", "/v1/schemas")).body.schemas).toEqual([])
    }
  )

  it.each([
    ["^(a+)+$", `${"a".repeat(5_000)}!`],
    ["(x+x+)+y", "x".repeat(5_000)],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(5_000)],
    ["(.*a){12}$", `${"a".repeat(2_000)}b`],
    ["^(?:(?:a?){200}){200}$", "a".repeat(500)]
  ])("with a pattern that backtracks is refused, or checks a long text in its budget: %s", async (pattern, text) => {
    const name = "pattern"
    const schema = { type: "object", properties: { x: { type: "string", pattern } } }
    const made = await withoutBlocking(server, () => register(name, schema))
    expect([200, 400, 409]).toContain(made.status)
    if (made.status !== 400) {
      const body = { agentId: "a", memories: [{ kind: name, data: { x: text } }] }
      const { status } = await withoutBlocking(server, () => server.call("POST", "/v1/memories", { body }))
      expect(status).toBe(400)
      expect((await server.call("DELETE", `/v1/schemas/${name}`)).status).toBe(200)
    }
    expect((await server.call("GET", "/v1/account")).body.agents).toEqual([])
  })

  it("that is costly to check by its shape is refused, or checks hostile data in its budget", async () => {
    const object = { type: "object" }
    const costly: ReadonlyArray<readonly [object, object]> = [
      [
        { ...object, properties: { x: { type: "array", uniqueItems: true } } },
        { x: Array.from({ length: 6_000 }, (_, at) => ({ at })) }
      ],
      [
        {
          ...object,
          properties: { x: { type: "array", contains: { const: 1 }, items: { anyOf: [{ const: 2 }, { const: 3 }] } } }
        },
        { x: new Array<number>(20_000).fill(2) }
      ],
      [
        { ...object, patternProperties: { "^a": { type: "string" }, a$: { type: "string" } } },
        Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [`a${at}a`, at]))
      ]
    ]
    for (const [schema, data] of costly) {
      const made = await withoutBlocking(server, () => register("costly", schema))
      expect([200, 400, 409]).toContain(made.status)
      if (made.status === 400) continue
      const body = { agentId: "a", memories: [{ kind: "costly", data }] }
      const { status } = await withoutBlocking(server, () => server.call("POST", "/v1/memories", { body }))
      expect([200, 400, 429]).toContain(status)
      expect((await server.call("DELETE", "/v1/schemas/costly")).status).toBe(200)
    }
  })

  it("whose check took too long is not tried for a while, and data that it would allow is not called wrong", async () => {
    const key = await server.newAccount("slow")
    const costly = { allOf: Array.from({ length: 400 }, () => ({ uniqueItems: true })) }
    const schema = { type: "object", properties: { a: costly } }
    const body = { name: "slow", description: "slow", schema: JSON.stringify(schema) }
    expect((await server.call("POST", "/v1/schemas", { key, body })).status).toBe(200)
    const write = (data: object) =>
      server.call("POST", "/v1/memories", { key, body: { agentId: "a", memories: [{ kind: "slow", data }] } })
    const overran = await write({ a: Array.from({ length: 12_000 }, (_, at) => at) })
    expect([overran.status, overran.body.code]).toEqual([400, "schema_validation_failed"])
    const { body: told, headers, status } = await write({ a: [] })
    expect([status, told.code, told.details[0].path]).toEqual([429, "rate_limited", "schema_quarantine"])
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(10)
  })
})
