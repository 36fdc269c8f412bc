import { expect, it } from "vitest"
import { DeleteFilters, type MemoryFilter } from "@muniment/domain/Search"
import { coversConversations } from "@muniment/engine/namespace/CommandPlanner"

const everyFilter: Required<MemoryFilter> = {
  agentId: "a",
  subjectId: "s",
  threadId: "t",
  kind: "factual_memory",
  tags: ["travel"],
  eventFrom: 0,
  eventTo: 1,
  includeSuperseded: true,
  include: "messages",
  data: { city: "Oslo" },
  where: { "data.city": "Oslo" },
  asOf: 1,
  feedback: "given",
  hasNoSubject: true,
  hasNoThread: true,
  anyOf: [{}]
}
const ofWholeConversations: ReadonlySet<string> = new Set(["agentId", "subjectId", "threadId", "includeSuperseded"])

it("only agent, subject and thread select whole conversations, with or without old versions", () => {
  const { agentId, subjectId, threadId } = everyFilter
  for (const [name, value] of Object.entries(everyFilter)) {
    expect([name, coversConversations({ [name]: value })]).toEqual([name, ofWholeConversations.has(name)])
    const together = coversConversations({ agentId, subjectId, threadId, [name]: value })
    expect([name, together]).toEqual([name, ofWholeConversations.has(name)])
  }
  expect(coversConversations({})).toBe(true)
  expect(coversConversations({ subjectId: "s", kind: undefined })).toBe(true)
})

it("a batch delete with any other filter of its schema leaves conversations alone", () => {
  for (const name of Object.keys(DeleteFilters.fields)) {
    const covers = coversConversations({ subjectId: "s", [name]: "value" })
    expect([name, covers]).toEqual([name, ofWholeConversations.has(name)])
  }
})
