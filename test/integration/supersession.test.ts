/**
 * Facts that change (contract: Schemas): where a schema declares what makes two memories the same entity, a question
 * finds the newest state of its entity first and the one before it not at all, although all entities of the set lie in
 * one namespace and resemble each other.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { idsOf, schemaText, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

interface Kind {
  readonly name: string
  readonly uniqueOn: ReadonlyArray<string>
  readonly properties: object
}

interface State {
  readonly data: object
}

interface Case {
  readonly kind: string
  readonly question: string
  readonly older: State
  readonly newer: State
}

const { kinds, cases }: { readonly kinds: ReadonlyArray<Kind>; readonly cases: ReadonlyArray<Case> } = JSON.parse(
  readFileSync(join(repository, "test/vectors/recall/supersession.json"), "utf8")
)

const agentId = "changes"
const server = useSharedServer()
const alice = useAccount(server, "alice")
/** In the order of the cases. */
let older: ReadonlyArray<string>
let newer: ReadonlyArray<string>

beforeAll(async () => {
  for (const { name, uniqueOn, properties } of kinds) {
    await alice.post("/v1/schemas", { name, description: name, uniqueOn, schema: schemaText(properties) })
  }
  const store = async (state: "older" | "newer") =>
    idsOf(
      await alice.create(
        agentId,
        cases.map((one) => ({ kind: one.kind, data: one[state].data }))
      )
    )
  older = await store("older")
  newer = await store("newer")
})

describe("a fact that changed, of a kind that declares its unique fields", () => {
  it("has at least twenty cases, each with its own entity", () => {
    expect(cases.length).toBeGreaterThanOrEqual(20)
    expect(new Set([...older, ...newer]).size).toBe(2 * cases.length)
  })

  it.each(cases.map(({ question }, at) => ({ question, at })))("$question", async ({ question, at }) => {
    const found = idsOf(await alice.search({ query: question, agentId }))
    expect(found[0]).toBe(newer[at])
    expect(found.filter((id) => older.includes(id))).toEqual([])
  })

  it("keeps its history for those who ask for it", async () => {
    for (const at of [0, 12, 16, 20, 24]) {
      const all = await alice.search({ query: cases[at]!.question, agentId, includeSuperseded: "true", limit: "20" })
      expect(idsOf(all)).toEqual(expect.arrayContaining([older[at], newer[at]]))
    }
  })
})
