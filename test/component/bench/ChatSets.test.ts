/** Sets of chats as the fit of the ranking reads them. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { readChatSets } from "../../../bench/retrieval/ChatSets.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

it("sets of chats are read from hand-written cases, and public ones that are not there are left out", () => {
  const folder = temporaryDirectory()
  const written = {
    id: "c01",
    asked: "2026-06-30T18:00:00Z",
    messages: [{ id: "m1", role: "user", sentAt: "2026-01-04T09:12:00Z", content: "I teach maths" }],
    questions: [{ q: "What does the user teach?", evidence: ["m1"] }]
  }
  writeFileSync(join(folder, "c01.json"), JSON.stringify(written))
  const [{ chats, name } = { chats: [], name: "" }, ...others] = readChatSets(folder, folder)
  expect(others).toEqual([])
  expect(name).toBe("cases")
  expect(chats[0]?.messages[0]).toMatchObject({ text: "I teach maths", when: "2026-01-04T09:12:00Z" })
  expect(chats[0]?.questions).toEqual([
    { text: "What does the user teach?", evidence: ["m1"], askedAt: "2026-06-30T18:00:00Z", stored: 1 }
  ])
})
