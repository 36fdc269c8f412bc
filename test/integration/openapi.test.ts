/**
 * The OpenAPI document that the service serves: valid 3.1, complete, and true to the contract and to the routes. Its
 * schemas are checked against the meta-schema of JSON Schema 2020-12, its examples against its schemas.
 */
import { Ajv2020 } from "ajv/dist/2020.js"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { Limits } from "@muniment/domain/Limits"
import { beforeAll, describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, signedGrant, walletCalls } from "../support/TrustCalls.ts"

interface Media {
  readonly schema: JsonSchema
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: JsonSchema
}
interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly tags: ReadonlyArray<string>
  readonly parameters: ReadonlyArray<Parameter>
  readonly security: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string
        readonly headers?: Readonly<Record<string, unknown>>
        readonly content?: Readonly<Record<string, Media>>
      }
    >
  >
  readonly "x-price-credits": unknown
}
interface JsonSchema {
  readonly [keyword: string]: unknown
}
interface Route {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

const server = useSharedServer(withoutModel)
let document: {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: ReadonlyArray<{ readonly url: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly securitySchemes: Readonly<
      Record<string, { readonly type: string; readonly scheme?: string; readonly description?: string }>
    >
  }
  readonly tags: ReadonlyArray<{ readonly name: string }>
}
let routes: ReadonlyArray<Route>

beforeAll(async () => {
  document = (await server.call("GET", "/openapi.json", { key: null })).body
  routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
  )
})

const declared = Object.values(MunimentApi.groups).flatMap((group) =>
  Object.values(group.endpoints).map(({ method, path, query }) => ({
    route: `${method} ${path.replace(/:(\w+)/g, "{$1}")}`,
    query
  }))
)

/** The schemas of a document with the place they stand at. */
const schemasOf = ({ method, path, operation }: Route): ReadonlyArray<readonly [string, JsonSchema]> => [
  ...operation.parameters.map(({ name, schema }) => [`${method} ${path} ?${name}`, schema] as const),
  ...Object.values(operation.requestBody?.content ?? {}).map(
    ({ schema }) => [`${method} ${path} body`, schema] as const
  ),
  ...Object.entries(operation.responses).flatMap(([status, { content }]) =>
    Object.values(content ?? {}).map(({ schema }) => [`${method} ${path} ${status}`, schema] as const)
  )
]

const refsIn = (node: unknown): ReadonlyArray<string> => {
  if (typeof node !== "object" || node === null) return []
  return Object.entries(node).flatMap(([key, value]) =>
    key === "$ref" && typeof value === "string" ? [value] : refsIn(value)
  )
}

const resolve = (ref: string): unknown =>
  ref
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((node, key) => (node as Readonly<Record<string, unknown>> | undefined)?.[key], document)

/** A validator that knows the document's components. */
const validatorOf = (schema: JsonSchema) =>
  new Ajv2020({ strict: false, validateFormats: false }).compile({ ...schema, components: document.components })

describe("the document", () => {
  it("is OpenAPI 3.1 with a title and a version, served as JSON without credentials", async () => {
    const { status, headers } = await server.call("GET", "/openapi.json", { key: null })
    expect(status).toBe(200)
    expect(headers.get("content-type")).toMatch(/^application\/json/)
    expect(document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(document.info).toMatchObject({ title: "Muniment", version: expect.stringMatching(/\S/) })
  })

  it("says how many keys and values a body may have", () => {
    const { description } = document.info
    expect(description).toContain(`at most ${Limits.jsonObjectKeysMax} keys`)
    expect(description).toContain(`at most ${Limits.jsonValuesMax} values`)
  })

  it("has every route of the contract and no other", () => {
    expect(routes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
      declared.map(({ route }) => route).toSorted()
    )
  })

  it("has only routes that the service serves", async () => {
    for (const { method, path } of routes) {
      const { status } = await server.call(method, path.replace(/\{\w+\}/, "x"), { key: null })
      expect([method, path, status]).toEqual([method, path, 401])
    }
  })

  it("gives each operation an id of its own, a summary, a declared tag, a price and its credentials", () => {
    expect(new Set(routes.map(({ operation }) => operation.operationId)).size).toBe(routes.length)
    for (const { path, operation } of routes) {
      expect(operation.summary).toMatch(/\S/)
      expect(document.tags.map(({ name }) => name)).toEqual(expect.arrayContaining([...operation.tags]))
      expect(operation["x-price-credits"]).toEqual(expect.any(Number))
      const schemes = path.startsWith("/admin") ? ["operator"] : ["bearer", "wallet"]
      expect(operation.security).toEqual(schemes.map((scheme) => ({ [scheme]: [] })))
    }
    const { wallet, ...bearers } = document.components.securitySchemes
    expect(Object.keys(bearers).toSorted()).toEqual(["bearer", "operator"])
    for (const scheme of Object.values(bearers)) {
      expect([scheme.type, scheme.scheme?.toLowerCase()]).toEqual(["http", "bearer"])
    }
    expect(wallet).toMatchObject({ type: "apiKey", in: "header", name: "x-wallet-signature" })
    for (const word of ["x-wallet-address", "x-wallet-timestamp", "METHOD|PATH|BODYHASH|TIMESTAMP", "120 s"]) {
      expect(wallet?.description).toContain(word)
    }
  })

  it("has the prices of the contract", () => {
    const prices = Object.fromEntries(
      routes
        .filter(({ path }) => /^\/v1\/(?:memories|context|chat|subjects)/.test(path))
        .map(({ method, path, operation }) => [`${method} ${path}`, operation["x-price-credits"]])
    )
    expect(prices).toEqual({
      "POST /v1/memories": 5,
      "GET /v1/memories": 1,
      "GET /v1/memories/facets": 1,
      "POST /v1/memories/extract": 2,
      "POST /v1/memories/lookup": 1,
      "GET /v1/memories/search": 2,
      "POST /v1/memories/search": 2,
      "GET /v1/memories/{id}": 1,
      "GET /v1/memories/{id}/history": 1,
      "POST /v1/memories/{id}/restore": 5,
      "POST /v1/memories/{id}/feedback": 1,
      "PATCH /v1/memories/{id}": 2,
      "DELETE /v1/memories/{id}": 1,
      "POST /v1/memories/batch/search": 4,
      "POST /v1/memories/batch/delete": 2,
      "POST /v1/memories/batch/update": 4,
      "POST /v1/memories/batch/create": 10,
      "POST /v1/context": 2,
      "POST /v1/chat": 2,
      "GET /v1/subjects": 1,
      "GET /v1/subjects/{id}/profile": 1
    })
    for (const { path, operation } of routes) {
      if (/^\/v1\/(?:memories|context|chat|subjects)/.test(path)) continue
      expect([path, operation["x-price-credits"]]).toEqual([path, path === "/v1/attestations" ? 3 : 0])
    }
  })

  it("declares exactly the parameters of each path, required, and no parameter twice", () => {
    for (const { path, operation } of routes) {
      const names = operation.parameters.filter((parameter) => parameter.in === "path")
      expect(names.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
      for (const { required } of names) expect(required).toBe(true)
      const places = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`)
      expect(new Set(places).size).toBe(places.length)
    }
  })

  it("says which fields a body needs, beyond the required ones", () => {
    const bodyOf = (method: string, path: string) =>
      validatorOf(
        routes.find((route) => route.method === method && route.path === path)!.operation.requestBody!.content[
          "application/json"
        ]!.schema
      )
    const create = bodyOf("POST", "/v1/memories")
    const conversation = [{ role: "user", content: "Hello" }]
    const memories = [{ kind: "factual_memory", data: { subject: "Ada", fact: "Ada sails" } }]
    expect(
      [{}, { conversation }, { memories }, { conversation, memories }].map((body) => create({ agentId: "a", ...body }))
    ).toEqual([false, true, true, false])
    const remove = bodyOf("POST", "/v1/memories/batch/delete")
    const both = { ids: ["mem_1"], filters: { kind: "k" } }
    expect(
      [{}, { ids: both.ids }, { filters: both.filters }, both, { filters: {} }].map((body) => remove(body))
    ).toEqual([false, true, true, false, false])
    const attest = bodyOf("POST", "/v1/attestations")
    expect(attest({ claim: "has_schema", schemaName: "contact" })).toBe(true)
    expect(attest({ claim: "has_schema", query: "contact" })).toBe(false)
    expect(bodyOf("PATCH", "/v1/memories/{id}")({})).toBe(false)
    expect(bodyOf("PATCH", "/v1/schemas/{name}")({})).toBe(false)
    expect(bodyOf("POST", "/v1/memories/batch/update")({ ids: ["mem_1"], update: {} })).toBe(false)
  })

  it("says what text a field takes: lengths in code points, forms, and names of forms that no pattern can say", () => {
    const bodyOf = (path: string) =>
      routes.find((route) => route.method === "POST" && route.path === path)!.operation.requestBody!.content[
        "application/json"
      ]!.schema["properties"] as Readonly<Record<string, JsonSchema>>
    expect(bodyOf("/v1/schemas")).toMatchObject({
      name: { pattern: "^[A-Za-z][A-Za-z0-9_.-]{0,63}$" },
      schema: { format: "json-schema-text" }
    })
    expect(bodyOf("/admin/attestation-keys/revoke")["publicKey"]).toMatchObject({ pattern: "^0x[0-9a-f]{64}$" })
    expect(bodyOf("/admin/wallets")["address"]).toMatchObject({ format: "wallet-address" })
    expect(bodyOf("/admin/ledger/adjustments")["credits"]).toMatchObject({ maximum: 1_000_000, not: { const: 0 } })
    const cursors = routes.flatMap(({ operation }) => operation.parameters.filter(({ name }) => name === "cursor"))
    expect(cursors.length).toBeGreaterThan(3)
    for (const { schema } of cursors) expect(schema).toMatchObject({ format: "cursor" })
  })

  it("types every query parameter, numbers as numbers and choices as choices", () => {
    for (const { route, query } of declared) {
      const { operation } = routes.find(({ method, path }) => `${method} ${path}` === route)!
      const documented = operation.parameters.filter((parameter) => parameter.in === "query")
      expect(documented.length > 0).toBe(query !== undefined)
      for (const { name, schema } of documented) {
        expect([name, schema["type"]]).toEqual([name, expect.stringMatching(/^(string|integer|number|boolean)$/)])
        // Of a number, the form of its text would be the pattern.
        if (schema["type"] !== "string") expect(schema).not.toHaveProperty("pattern")
      }
    }
    const search = routes.find(({ path }) => path === "/v1/memories/search")!.operation.parameters
    const typeOf = (name: string) => search.find((parameter) => parameter.name === name)?.schema
    expect(typeOf("limit")).toMatchObject({ type: "integer", minimum: 1, maximum: 5_000 })
    expect(typeOf("minRelevance")).toMatchObject({ type: "number", minimum: 0, maximum: 1 })
    expect(typeOf("explain")).toMatchObject({ type: "boolean" })
    expect(typeOf("scope")).toMatchObject({ enum: ["own", "shared", "all"] })
    expect(search.filter(({ required }) => required === true).map(({ name }) => name)).toEqual(["query"])
  })

  /** A search answers in one of three shapes, by its mode. */
  const shapesOf = (schema: JsonSchema): ReadonlyArray<JsonSchema> => {
    const shape = (typeof schema["$ref"] === "string" ? resolve(schema["$ref"]) : schema) as JsonSchema
    return Array.isArray(shape["anyOf"]) ? (shape["anyOf"] as ReadonlyArray<JsonSchema>).flatMap(shapesOf) : [shape]
  }

  it("describes every answer, successes with success true, failures with the error's shape", () => {
    for (const { operation } of routes) {
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        expect(status).toMatch(/^[1-5]\d\d$/)
        expect(description).toMatch(/\S/)
        const { schema } = content!["application/json"]!
        for (const shape of shapesOf(schema)) {
          expect(shape["required"]).toEqual(expect.arrayContaining(status === "200" ? ["success"] : ["error", "code"]))
          // A 402 has the payment protocol's shape (contract: Payments).
          expect(shape["properties"]).toMatchObject(
            status === "402" ? { x402Version: { enum: [1] } } : { success: { enum: [status === "200"] } }
          )
        }
      }
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["200", "401", "500"]))
    }
  })
})

describe("what generators of clients need", () => {
  const nodesIn = (node: unknown): ReadonlyArray<JsonSchema> => {
    if (typeof node !== "object" || node === null) return []
    const inner = Object.entries(node).flatMap(([key, value]) => (key === "examples" ? [] : nodesIn(value)))
    return Array.isArray(node) ? inner : [node as JsonSchema, ...inner]
  }
  const bodyOf = (method: string, path: string): JsonSchema =>
    routes.find((route) => route.method === method && route.path === path)!.operation.requestBody!.content[
      "application/json"
    ]!.schema
  const at = (schema: JsonSchema, ...names: ReadonlyArray<string>): JsonSchema =>
    names.reduce((node, name) => (node["properties"] as Readonly<Record<string, JsonSchema>>)[name]!, schema)

  it("a body with a choice of fields is a choice of whole bodies", () => {
    const choicesOf = (path: string) =>
      (bodyOf("POST", path)["oneOf"] as ReadonlyArray<JsonSchema>).map(({ properties, required, type }) => ({
        type,
        names: Object.keys(properties as object),
        required
      }))
    expect(choicesOf("/v1/memories")).toMatchObject([
      { type: "object", names: expect.not.arrayContaining(["memories"]), required: ["agentId", "conversation"] },
      { type: "object", names: expect.not.arrayContaining(["conversation"]), required: ["agentId", "memories"] }
    ])
    expect(choicesOf("/v1/memories/batch/delete").map(({ names }) => names)).toEqual([
      ["ids", "dryRun", "versions"],
      ["filters", "dryRun", "versions"]
    ])
    const claims = bodyOf("POST", "/v1/attestations")["oneOf"] as ReadonlyArray<JsonSchema>
    expect(claims.map((claim) => at(claim, "claim")["enum"])).toEqual([
      ["has_memories_matching"],
      ["memory_count_gte"],
      ["has_schema"]
    ])
    expect(claims.map(({ required }) => required)).toEqual([
      ["claim", "query"],
      ["claim", "threshold"],
      ["claim", "schemaName"]
    ])
  })

  it("is there: the address of the service, and the scheme in lower case", async () => {
    expect(document.servers).toEqual([{ url: server.url }])
    for (const name of ["bearer", "operator"]) {
      expect(document.components.securitySchemes[name]).toMatchObject({ type: "http", scheme: "bearer" })
    }
  })

  it("lists have one kind of item, and objects without fields take any", () => {
    const nodes = nodesIn(document)
    expect(nodes.filter((node) => "prefixItems" in node)).toEqual([])
    const lists = nodes.filter((node) => node["type"] === "array")
    expect(lists.filter((node) => typeof node["items"] !== "object")).toEqual([])
    const free = nodes.filter((node) => node["type"] === "object" && node["properties"] === undefined)
    expect(free.length).toBeGreaterThan(5)
    for (const { additionalProperties } of free) expect(additionalProperties ?? false).not.toBe(false)
    const [, direct] = bodyOf("POST", "/v1/memories")["oneOf"] as [JsonSchema, JsonSchema]
    const memory = at(direct, "memories")["items"] as JsonSchema
    expect(at(memory, "data")).toMatchObject({ type: "object", additionalProperties: true })
  })

  it("objects of requests are closed where unknown names are refused, and only there", () => {
    const closed = (schema: JsonSchema) => nodesIn(schema).filter((node) => node["additionalProperties"] === false)
    expect(closed(bodyOf("POST", "/v1/memories"))).toEqual([])
    expect(closed(bodyOf("POST", "/v1/memories/batch/create"))).toEqual([])
    expect(closed(bodyOf("POST", "/v1/schemas"))).toEqual([])
    const search = bodyOf("POST", "/v1/memories/batch/search")
    expect(closed(search)).toEqual([at(at(search, "queries")["items"] as JsonSchema, "filters")])
    const remove = bodyOf("POST", "/v1/memories/batch/delete")
    const [, byFilters] = remove["oneOf"] as [JsonSchema, JsonSchema]
    expect(closed(remove)).toEqual([at(byFilters, "filters")])
    for (const change of [bodyOf("PATCH", "/v1/memories/{id}"), bodyOf("POST", "/v1/memories/batch/update")]) {
      expect(change["additionalProperties"]).toBe(false)
    }
  })

  it("200 is the only success of every operation but the deposit, whose payment may be on its way", () => {
    const successes = routes.map(({ method, operation, path }) => [
      `${method} ${path}`,
      Object.keys(operation.responses).filter((status) => status.startsWith("2"))
    ])
    const expected = routes.map(({ method, path }) => {
      const name = `${method} ${path}`
      return [name, name === "POST /v1/credits/deposit" ? ["200", "202"] : ["200"]]
    })
    expect(successes).toEqual(expected)
  })

  it("answers to bodies that may have unknown fields have the header that lists these", () => {
    const listing = routes.filter(({ operation }) => "x-ignored-fields" in (operation.responses["200"]!.headers ?? {}))
    const taking = routes.filter(({ operation }) => operation.requestBody !== undefined)
    const closed = new Set([
      "PATCH /v1/memories/{id}",
      "POST /v1/memories/batch/update",
      "POST /v1/memories/search",
      "POST /v1/context",
      "POST /v1/chat",
      "PATCH /v1/schemas/{name}",
      "POST /admin/quotas",
      "POST /v1/keys",
      "POST /v1/webhooks",
      "PATCH /v1/webhooks/{id}",
      "POST /v1/memories/{id}/feedback",
      "POST /v1/webhooks/{id}/deliveries/repeat"
    ])
    expect(listing.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
      taking
        .map(({ method, path }) => `${method} ${path}`)
        .filter((name) => !closed.has(name))
        .toSorted()
    )
    expect(document.info.description).toContain("unknown_parameter")
  })
})

describe("its schemas", () => {
  it("are valid JSON Schema 2020-12", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const all = [...routes.flatMap(schemasOf), ...Object.entries(document.components.schemas)]
    expect(all.length).toBeGreaterThan(100)
    for (const [place, schema] of all) {
      expect([place, ajv.validateSchema(schema), ajv.errors]).toEqual([place, true, null])
    }
  })

  it("have no reference that leads nowhere", () => {
    const refs = new Set(refsIn(document))
    expect(refs.size).toBeGreaterThan(5)
    for (const ref of refs) expect([ref, typeof resolve(ref)]).toEqual([ref, "object"])
  })

  it("give every request body at least one example, and examples fit their schemas", () => {
    const bodies = routes.flatMap(({ operation, method, path }) =>
      Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) => ({ method, path, type, schema }))
    )
    expect(bodies.length).toBeGreaterThanOrEqual(10)
    for (const { method, path, type, schema } of bodies) {
      expect(type).toBe("application/json")
      const examples = schema["examples"] as ReadonlyArray<unknown> | undefined
      expect([method, path, (examples ?? []).length > 0]).toEqual([method, path, true])
      const validate = validatorOf(schema)
      for (const example of examples ?? [])
        expect([path, validate(example), validate.errors]).toEqual([path, true, null])
    }
  })

  it("give examples of bodies that the service takes", async () => {
    const exampleOf = (method: string, path: string) => {
      const { operation } = routes.find((route) => route.method === method && route.path === path)!
      return operation.requestBody!.content["application/json"]!.schema["examples"] as ReadonlyArray<unknown>
    }
    for (const path of ["/v1/schemas", "/v1/memories", "/v1/memories/batch/create", "/v1/memories/batch/search"]) {
      for (const body of exampleOf("POST", path)) {
        expect([path, (await server.call("POST", path, { body })).status]).toEqual([path, 200])
      }
    }
    for (const path of ["/v1/memories/batch/update", "/v1/memories/batch/delete"]) {
      for (const body of exampleOf("POST", path)) {
        expect([path, (await server.call("POST", path, { body })).status]).toEqual([path, 200])
      }
    }
    for (const body of exampleOf("POST", "/v1/attestations")) {
      expect([body, (await server.call("POST", "/v1/attestations", { body })).status]).toEqual([body, 200])
    }
    // Nobody here is the grantor of the example, though its form is right.
    const [revocation] = exampleOf("POST", "/v1/grants/revoke")
    expect((await server.call("POST", "/v1/grants/revoke", { body: revocation })).body.code).toBe("not_grantor")
    const [change] = exampleOf("PATCH", "/v1/schemas/{name}")
    expect((await server.call("PATCH", "/v1/schemas/contact", { body: change })).status).toBe(200)
    const listed = await server.call("GET", "/v1/memories")
    const [patch] = exampleOf("PATCH", "/v1/memories/{id}")
    const path = `/v1/memories/${listed.body.memories[0].id}`
    expect((await server.call("PATCH", path, { body: patch })).status).toBe(200)
  })

  it("describe what trust answers: attestations, revocations, searches over what is shared", async () => {
    const signer = evmWallet("documented")
    const calls = walletCalls(server, signer)
    const { body: who } = await server.call("GET", "/v1/account")
    await calls.create("a", [fact("tea", "jasmine")])
    const grant = await signedGrant(signer, { g: who.account.id })
    const headers = grantsHeader([grant])
    const queries = { queries: [{ query: "jasmine" }] }
    const answers: ReadonlyArray<readonly [string, string, Answer]> = [
      ["GET", "/v1/memories/search", await server.call("GET", "/v1/memories/search?query=jasmine", { headers })],
      [
        "POST",
        "/v1/memories/batch/search",
        await server.call("POST", "/v1/memories/batch/search", { headers, body: queries })
      ],
      ["POST", "/v1/attestations", await calls.post("/v1/attestations", { claim: "has_schema", schemaName: "s" })],
      ["POST", "/v1/grants/revoke", await calls.post("/v1/grants/revoke", { grant })]
    ]
    for (const [method, path, { status, body }] of answers) {
      const { operation } = routes.find((route) => route.method === method && route.path === path)!
      const validate = validatorOf(operation.responses["200"]!.content!["application/json"]!.schema)
      expect([path, status, validate(body), validate.errors]).toEqual([path, 200, true, null])
      const takesGrants = operation.parameters.some(
        (parameter) => parameter.in === "header" && parameter.name === "x-grants"
      )
      expect([path, takesGrants]).toEqual([path, path.endsWith("search")])
    }
    expect(JSON.stringify(answers[0]![2].body)).toContain("shared_memories_from")
    expect(JSON.stringify(answers[1]![2].body)).toContain("shared_memories_from")
  })

  it("describe the answers that the service gives", async () => {
    const body = { agentId: "a", memories: [fact("s", "f")] }
    const { body: made } = await server.call("POST", "/v1/memories", { body })
    const { id } = made.created[0]
    const calls = [
      ["GET", "/v1/memories"],
      ["GET", "/v1/memories/search", "?query=f&explain=true"],
      ["GET", "/v1/schemas"],
      ["GET", "/v1/schemas/{name}", "", "factual_memory"],
      ["GET", "/v1/memories/{id}", "", id],
      ["GET", "/v1/account"],
      ["GET", "/admin/status"],
      ["GET", "/admin/accounts"],
      ["GET", "/admin/keys"],
      ["GET", "/admin/reembed"],
      ["GET", "/admin/export", "?account=operator"]
    ] as const
    for (const [method, path, query = "", parameter = ""] of calls) {
      const key = path.startsWith("/admin") ? server.operatorToken : undefined
      const url = `${path.replace(/\{\w+\}/, parameter)}${query}`
      const answer = await server.call(method, url, key === undefined ? {} : { key })
      const { operation } = routes.find((route) => route.method === method && route.path === path)!
      const validate = validatorOf(operation.responses["200"]!.content!["application/json"]!.schema)
      expect([path, answer.status, validate(answer.body), validate.errors]).toEqual([path, 200, true, null])
    }
  })
})
