/** Every filter of the contract restricts, on every way in: a value that no memory has finds nothing, and deletes nothing. */
import { beforeAll, describe, expect, it } from "vitest"
import { DeleteFilters, ListParameters, SearchParameters } from "@muniment/domain/Search"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
beforeAll(async () => {
  const memories = ["Alice", "Bob"].map((subject) => ({
    kind: "factual_memory",
    data: { subject, fact: `${subject} grows figs` }
  }))
  const stored = await server.call("POST", "/v1/memories", { body: { agentId: "filters", memories } })
  expect(stored.status).toBe(200)
})

/** Parameters of a request that say how, not what. */
const notFilters = new Set([
  "query",
  "limit",
  "skip",
  "mode",
  "scope",
  "minRelevance",
  "now",
  "timeZone",
  "newerFirst",
  "context",
  "rerank",
  "recall",
  "order",
  "explain",
  "cursor"
])
/** A filter that adds memories, and so has no value that nobody has. */
const widening = "includeSuperseded"
const namesOf = (fields: object) => Object.keys(fields).filter((name) => !notFilters.has(name) && name !== widening)

/** A value that no memory has. */
const inUrl: Readonly<Record<string, string>> = {
  eventDateFrom: "2999-01-01",
  eventDateTo: "1999-01-01",
  include: "messages",
  feedback: "given",
  data: '{"subject":"nobody-has-this"}',
  where: '{"data.subject":"nobody-has-this"}',
  asOf: "1999-01-01T00:00:00Z"
}
const inBody: Readonly<Record<string, unknown>> = {
  tags: ["nobody-has-this"],
  where: { "data.subject": "nobody-has-this" }
}

describe.each([
  ["GET /v1/memories", "/v1/memories?", ListParameters],
  ["GET /v1/memories/search", "/v1/memories/search?query=figs&", SearchParameters]
] as const)("%s", (_name, path, parameters) => {
  it.each(namesOf(parameters))("restricts by %s", async (name) => {
    const { status, body } = await server.call("GET", `${path}${name}=${inUrl[name] ?? "nobody-has-this"}`)
    expect([status, body.memories]).toEqual([200, []])
  })
})

describe("POST /v1/memories/batch/search", () => {
  it.each(namesOf(DeleteFilters.fields))("restricts by %s", async (name) => {
    const filters = { [name]: inBody[name] ?? "nobody-has-this" }
    const { status, body } = await server.call("POST", "/v1/memories/batch/search", {
      body: { queries: [{ query: "figs", filters }] }
    })
    expect([status, body.results[0]?.memories]).toEqual([200, []])
  })
})

describe("POST /v1/memories/batch/delete", () => {
  it.each(namesOf(DeleteFilters.fields))("deletes nothing by %s", async (name) => {
    const filters = { [name]: inBody[name] ?? "nobody-has-this" }
    const { status, body } = await server.call("POST", "/v1/memories/batch/delete", { body: { filters } })
    expect([status, body.deleted]).toEqual([200, 0])
    expect((await server.call("GET", "/v1/memories?agentId=filters")).body.memories).toHaveLength(2)
  })
})
