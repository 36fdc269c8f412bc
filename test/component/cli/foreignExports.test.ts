/**
 * What `muniment import --dry-run` makes of the exports of other products: samples in the shapes that these products
 * write, each read as named and found by `--from auto`. Nothing is stored, so no service runs.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { zipSync } from "fflate"
import { afterAll, describe, expect, it } from "vitest"
import { runMuniment } from "../../support/CliProcess.ts"
import { day, foreignSamples, node } from "../../support/ForeignExports.ts"

const directory = mkdtempSync(join(tmpdir(), "muniment-exports-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const written = (name: string, files: Readonly<Record<string, unknown>>): string => {
  const folder = join(directory, name.replaceAll(/\W+/g, "-"))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), typeof content === "string" ? content : JSON.stringify(content))
  }
  return folder
}

interface Stored {
  readonly agentId: string
  readonly subjectId?: string
  readonly kind: string
  readonly when?: string
  readonly metadata?: object
  readonly data: Readonly<Record<string, string>>
}
const shown = ({ agentId, data, kind, subjectId = "", when }: Stored): string => {
  const name = data["name"] === undefined ? "" : ` (${data["name"]})`
  const at = when === undefined ? "" : ` @ ${when}`
  const who = data["subject"] ?? data["role"]
  const words = data["fact"] ?? data["text"]
  return `${agentId}/${subjectId} ${kind}${who === undefined ? "" : ` ${who}`}${name}: ${words}${at}`
}

describe.each(Object.entries(foreignSamples))(
  "%s",
  (name, { files, from, kept, leftOut = {}, metadata = [], unkept = {} }) => {
    it.each([from, "auto"])("is read with --from %s", async (given) => {
      const folder = written(name, files)
      const args = ["import", "--account", "a", "--from", given, "--in", folder, "--dry-run", "--json"]
      const { code, err, out } = await runMuniment(args)
      expect(err).toBe("")
      expect(code).toBe(0)
      const report = JSON.parse(out)
      expect(report.first.map(shown)).toEqual(kept.slice(0, 5))
      expect(report).toMatchObject({ from, memories: kept.length })
      expect(report.leftOut).toEqual(leftOut)
      expect(report.unkeptFields).toEqual(unkept)
      expect(report.first.flatMap((record: Stored) => record.metadata ?? [])).toEqual(metadata)
    })
  }
)

const imported = (from: string, input: string, ...more: ReadonlyArray<string>) =>
  runMuniment(["import", "--account", "a", "--from", from, "--in", input, "--dry-run", ...more])

describe("a zip", () => {
  const bytes = new TextEncoder()
  const conversations = JSON.stringify([
    { uuid: "c", chat_messages: [{ uuid: "1", sender: "human", text: "From a zip", created_at: day(1) }] }
  ])
  const zip = zipSync({
    "conversations.json": bytes.encode(conversations),
    "users.json": bytes.encode("[]"),
    "picture.png": new Uint8Array([1, 0, 2])
  })

  it("is read like its folder, also beside others in a folder; the first records are shown as they will be stored", async () => {
    const folder = written("zips", {})
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "conversations-000.zip"), zip)
    for (const input of [join(folder, "conversations-000.zip"), folder]) {
      const { code, err, out } = await imported("auto", input)
      expect(code).toBe(0)
      expect(err).toMatch(/^Reading as claude: \S*conversations\.json; 2 files beside them are not read\.$/m)
      expect(err).toContain("kept 1: conversation_message\n1 memories would be imported into a.")
      expect(JSON.parse(out)).toMatchObject({
        agentId: "imported",
        kind: "conversation_message",
        data: { role: "user", text: "From a zip", sentAt: day(1) },
        when: day(1)
      })
    }
  })

  it("that is damaged, or holds nothing known, is refused", async () => {
    const damaged = join(directory, "damaged.zip")
    writeFileSync(damaged, zip.slice(0, 60))
    expect(await imported("auto", damaged)).toMatchObject({
      code: 1,
      err: expect.stringContaining("cannot be read as a zip")
    })
    const wrong = join(directory, "wrong.zip")
    writeFileSync(wrong, zipSync({ "a.png": new Uint8Array([1, 0, 2]), "b.json": bytes.encode("[]") }))
    const { code, err } = await imported("auto", wrong)
    expect(code).toBe(1)
    expect(err).toContain("wrong.zip is of no known form. Expected one of these:\n  chatgpt: the export of ChatGPT")
    expect(await imported("chatgpt", wrong)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/No file of \S*wrong\.zip is of chatgpt: expected the export of ChatGPT/)
    })
  })
})

describe("what cannot be read is refused with what was expected", () => {
  it.each([
    ["mem0", "a text", "hello", /expected JSON of memories of mem0 .*; found nothing like it/],
    [
      "zep",
      "another product",
      JSON.stringify([{ a: 1 }]),
      /expected JSON of a graph of Zep .*; found an element without uuid/
    ],
    [
      "messages",
      "another product",
      JSON.stringify([{ a: 1 }]),
      /expected JSONL or JSON of chat .*; found a message without role/
    ],
    ["claude-code", "a text", "hello", /expected a session of Claude Code .*; found nothing like it/],
    ["csv", "a table without texts", "a,b\n1,2\n", /expected CSV .*; found a table without a column of texts/],
    ["chatgpt", "an empty export", "[]", /expected the export of ChatGPT.*; found nothing like it/]
  ])("as %s: %s", async (from, _, text, reason) => {
    const file = join(directory, `unreadable-${from}`)
    writeFileSync(file, text)
    const { code, err } = await imported(from, file)
    expect(code).toBe(1)
    expect(err).toMatch(reason)
  })

  it("nothing at that place, in one sentence", async () => {
    for (const from of ["auto", "chatgpt"])
      expect(await imported(from, "/no/such.json")).toMatchObject({
        code: 1,
        err: expect.stringContaining("There is no file or folder /no/such.json.")
      })
    const own = await runMuniment(["import", "--account", "a", "--in", "/no/such.jsonl"])
    expect(own.code).toBe(1)
  })

  it("a text that looks like nothing, by --from auto; a file without an ending that looks like something is read", async () => {
    const file = join(directory, "nameless")
    writeFileSync(file, "- hello\n- there\n")
    expect(await imported("auto", file)).toMatchObject({ code: 1, err: expect.stringContaining("is of no known form") })
    writeFileSync(file, JSON.stringify([{ id: "a", memory: "Likes tea", user_id: "kim" }]))
    expect(await imported("auto", file)).toMatchObject({ code: 0, err: expect.stringContaining("Reading as mem0") })
  })

  it("exports of several products are named", async () => {
    const folder = written("two products", {
      "chatgpt.json": [{ id: "c", mapping: Object.fromEntries([node("b", null, "user", "Hello", 4)]) }],
      "claude.json": [{ uuid: "c", chat_messages: [{ uuid: "1", sender: "human", text: "Hi", created_at: day(1) }] }]
    })
    const { code, err } = await imported("auto", folder)
    expect(code).toBe(1)
    expect(err).toContain("the exports of several products: chatgpt (chatgpt.json), claude (claude.json)")
  })
})
