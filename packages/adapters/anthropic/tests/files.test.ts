/** The memory tool beside the SDK's own for local files, with the SDK's runner of tools, over the real service. */
import assert from "node:assert/strict"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { test } from "node:test"
import { betaMemoryTool, type MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory"
import type { BetaMemoryTool20250818Command } from "@anthropic-ai/sdk/resources/beta"
import { BetaLocalFilesystemMemoryTool } from "@anthropic-ai/sdk/tools/memory/node"
import { MemoryFiles } from "@muniment/anthropic"
import { Muniment } from "@muniment/client"

const { MUNIMENT_API_KEY = "", MUNIMENT_URL = "" } = process.env
const client = new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY })
const newScope = () => ({ agentId: `anthropic-${crypto.randomUUID()}`, subjectId: "ann" })

const told = async (handlers: MemoryToolHandlers, command: BetaMemoryTool20250818Command): Promise<string> => {
  try {
    return String(await betaMemoryTool(handlers).run(command))
  } catch (error) {
    return `Error: ${(error as Error).message}`
  }
}

/** The size of a folder is what its files hold here, and what a file system says there. */
const comparable = (text: string): string => text.replaceAll(/^\S+\t(\/\S*\/|\/memories\S*)$/gm, "?\t$1")

const notes = "/memories/notes.md"
const commands: ReadonlyArray<BetaMemoryTool20250818Command> = [
  { command: "view", path: "/memories" },
  { command: "view", path: notes },
  { command: "create", path: notes, file_text: "one\ntwo\nthree\ntwo again\n" },
  { command: "create", path: notes, file_text: "other" },
  { command: "view", path: notes },
  { command: "view", path: notes, view_range: [2, 3] },
  { command: "view", path: notes, view_range: [3, -1] },
  { command: "str_replace", path: notes, old_str: "three", new_str: "3 $& three" },
  { command: "str_replace", path: notes, old_str: "two", new_str: "2" },
  { command: "str_replace", path: notes, old_str: "absent", new_str: "2" },
  { command: "str_replace", path: "/memories/none", old_str: "a", new_str: "b" },
  { command: "insert", path: notes, insert_line: 0, insert_text: "zero\n" },
  { command: "insert", path: notes, insert_line: 99, insert_text: "x" },
  { command: "insert", path: "/memories/none", insert_line: 0, insert_text: "x" },
  { command: "view", path: notes },
  { command: "create", path: "/memories/people/ann.md", file_text: "Ann" },
  { command: "create", path: "/memories/people/close/bob/deep.md", file_text: "Bob" },
  { command: "create", path: "/memories/.hidden", file_text: "h" },
  { command: "create", path: "/memories/empty", file_text: "" },
  { command: "create", path: "/memories/large", file_text: "x".repeat(2_500) },
  { command: "view", path: "/memories" },
  { command: "view", path: "/memories/people" },
  { command: "insert", path: "/memories/people", insert_line: 0, insert_text: "x" },
  { command: "rename", old_path: notes, new_path: "/memories/people/ann.md" },
  { command: "rename", old_path: "/memories/none", new_path: "/memories/new" },
  { command: "rename", old_path: notes, new_path: "/memories/archive/notes.md" },
  { command: "rename", old_path: "/memories/people", new_path: "/memories/team" },
  { command: "view", path: "/memories/team/close/bob/deep.md" },
  { command: "view", path: notes },
  { command: "delete", path: "/memories/team" },
  { command: "delete", path: "/memories/team" },
  { command: "delete", path: "/memories" },
  { command: "view", path: "/memories/archive/notes.md" },
  { command: "delete", path: "/memories/archive/notes.md" },
  { command: "view", path: "/memories/archive/notes.md" },
  { command: "view", path: "/etc/passwd" },
  { command: "view", path: "/memories/../../etc/passwd" }
]

test("says what the SDK's tool for local files says", async () => {
  const local = await BetaLocalFilesystemMemoryTool.init(await mkdtemp(join(tmpdir(), "memory-tool-")))
  const files = new MemoryFiles(client, newScope())
  for (const command of commands) {
    const said = comparable(await told(files, command))
    assert.equal(said, comparable(await told(local, command)), JSON.stringify(command))
  }
})

test("a part of several lines is replaced, which the tool for local files does not do", async () => {
  const files = new MemoryFiles(client, newScope())
  await told(files, { command: "create", path: notes, file_text: "a\nb\nc" })
  const said = await told(files, { command: "str_replace", path: notes, old_str: "b\nc", new_str: "d" })
  assert.match(said, /edited[^]*\td$/)
})

test("edits that come at once all hold", async () => {
  const scope = newScope()
  await told(new MemoryFiles(client, scope), { command: "create", path: notes, file_text: "" })
  const lines = ["one", "two", "three", "four", "five"]
  const insert = (insert_text: string) =>
    told(new MemoryFiles(client, scope), { command: "insert", path: notes, insert_line: 0, insert_text })
  assert.deepEqual(new Set(await Promise.all(lines.map(insert))), new Set([`The file ${notes} has been edited.`]))
  const shown = await told(new MemoryFiles(client, scope), { command: "view", path: notes })
  for (const line of lines) assert.match(shown, new RegExp(`\t${line}$`, "m"))
})

test("files are of one subject, survive a new client, and are found by a search", async () => {
  const scope = newScope()
  await told(new MemoryFiles(client, scope), { command: "create", path: notes, file_text: "Ann collects seashells" })
  const stranger = new MemoryFiles(client, { ...scope, subjectId: "bob" })
  assert.match(await told(stranger, { command: "view", path: notes }), /does not exist/)
  const again = new MemoryFiles(new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY }), scope)
  assert.match(await told(again, { command: "view", path: notes }), /seashells/)
  const { memories } = await client.search({ ...scope, query: "seashells" })
  assert.equal(memories[0]?.data["path"], notes)
})
