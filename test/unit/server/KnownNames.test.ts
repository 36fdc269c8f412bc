/** Which names of a request are known, refused or ignored, from the schemas of the contract alone. */
import { Limits } from "@muniment/domain/Limits"
import { CreateMemories } from "@muniment/domain/Memory"
import { BatchSearch, SearchParameters } from "@muniment/domain/Search"
import { checkNames, knownNames, lookAlike } from "@muniment/server/http/KnownNames"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"

const parameters = knownNames(Schema.Struct(SearchParameters), "strict")!
const creation = knownNames(CreateMemories, "lenient")!
const search = knownNames(BatchSearch, "lenient")!

const refusedIn = (value: object, names = creation) => checkNames(value, names).refused.map(({ path }) => path)
const messageOf = (value: object, names = creation) => checkNames(value, names).refused[0]?.message

describe("a strict object", () => {
  it.each([
    ["subject_id", "subjectId"],
    ["SUBJECTID", "subjectId"],
    ["sbjectId", "subjectId"],
    ["userId", "subjectId"],
    ["session_id", "threadId"],
    ["top_k", "limit"],
    ["q", "query"],
    ["minRelevence", "minRelevance"]
  ])("names the nearest known name: %s is %s", (given, meant) => {
    expect(messageOf({ [given]: "x" }, parameters)).toContain(`"${meant}"`)
  })

  it("without known names refuses every name", () => {
    expect(messageOf({ a: 1 }, knownNames(undefined, "strict")!)).toBe("unknown name; none is known here")
  })
})

describe("a lenient object", () => {
  it("takes known names at every level, and anything in free-form objects", () => {
    const memory = { kind: "k", data: { agent_id: 1, filters: { subject_id: 1 } } }
    const check = checkNames({ agentId: "a", memories: [memory], force: true }, creation)
    expect([check.refused, [...check.ignored]]).toEqual([[], []])
  })

  it("refuses what looks like a known name, with the place", () => {
    expect(refusedIn({ "agent-id": "a", memories: [{}, { Kind: "k" }], conversations: [] })).toEqual([
      "/agent-id",
      "/memories/1/Kind",
      "/conversations"
    ])
  })

  it("refuses a narrowing name that the body takes elsewhere, and takes one that it does not know as any name", () => {
    expect(messageOf({ queries: [{ query: "q", agentId: "a" }] }, search)).toContain('"queries/filters/agentId"')
    expect(refusedIn({ agentId: "a", filters: {} })).toEqual([])
  })

  it("lists ignored names once, without the indexes of lists", () => {
    const { ignored } = checkNames({ memories: [{ note: 1 }, { note: 2 }], model: 1 }, creation)
    expect([...ignored]).toEqual(["memories/note", "model"])
  })

  it("with more unknown names than the limit is refused, whatever they are", () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, at]))
    expect(refusedIn(many(Limits.unknownNamesMax))).toEqual([])
    expect(messageOf({ ...many(Limits.unknownNamesMax), one: 1 })).toBe("more than 1000 unknown names")
  })

  it("looks at a value of another shape without a failure", () => {
    for (const value of [null, 1, "text", [1, [2]], { memories: { kind: 1 } }, { memories: "all" }]) {
      expect(checkNames(value, creation).refused).toEqual([])
    }
  })
})

it("a look-alike differs in case, underscores, hyphens or plural only", () => {
  const known = ["memories", "ids", "expiresAt", "ttl"]
  const found = ["memory", "ID", "expires_at", "TTLs", "expires", "subject"].map((name) => lookAlike(name, known))
  expect(found).toEqual(["memories", "ids", "expiresAt", "ttl", undefined, undefined])
  // Grants have a field `s`.
  expect(lookAlike("", ["p", "s", "c"])).toBeUndefined()
  expect(lookAlike("S", ["p", "s", "c"])).toBe("s")
})
