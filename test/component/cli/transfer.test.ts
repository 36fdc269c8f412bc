/** `export` and `import`: complete files only, ids kept, bad lines named, interruption harmless. */
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { WireRequest } from "../client/WireServer.ts"
import { ok, refused, runCli } from "./runCli.ts"

const account = { id: "acc_1", name: "alice", plan: "free", createdAt: 1 }
const schema = { name: "contact", description: "A person", schema: "{}" }
const memoryId = (index: number) => `mem_${String(index).padStart(26, "0")}`

const recordOf = (index: number) => ({
  id: memoryId(index),
  agentId: "a",
  kind: "factual_memory",
  data: { subject: "s", fact: `fact ${index}` },
  tags: [],
  mentions: [],
  confidence: 1,
  createdAt: 1_700_000_000_000,
  updatedAt: 1_700_000_000_000,
  origin: "direct"
})
const header = {
  muniment: "export",
  version: 1,
  account,
  schemas: [schema, { ...schema, name: "factual_memory", builtin: true }]
}

let directory = ""
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "muniment-cli-"))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

interface ImportBody {
  readonly account: string
  readonly schemas?: ReadonlyArray<{ readonly name: string }>
  readonly records: ReadonlyArray<{ readonly id: string }>
}
const bodyOf = (request: WireRequest): ImportBody => request.body as ImportBody

describe("export", () => {
  const page = (index: number, more: boolean) =>
    ok({
      account,
      schemas: index === 0 ? [schema] : [],
      records: [recordOf(index)],
      total: 2,
      ...(more ? { nextCursor: "c" } : {})
    })

  it("writes a header and one line for each memory, readable by the owner alone", async () => {
    const out = join(directory, "all.jsonl")
    const run = await runCli(["export", "--account", "alice", "--out", out], (_, index) => page(index, index === 0))
    expect(run.err).toContain("2 memories of alice exported")
    const lines = (await readFile(out, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line): unknown => JSON.parse(line))
    expect(lines).toEqual([{ ...header, schemas: [schema] }, recordOf(0), recordOf(1)])
    expect((await stat(out)).mode & 0o777).toBe(0o600)
    expect(run.requests.map(({ url }) => url)).toEqual([
      "/admin/export?account=alice",
      "/admin/export?account=alice&cursor=c"
    ])
  })

  it("says as JSON what it wrote, beside the memories where these go to standard output", async () => {
    const out = join(directory, "told.jsonl")
    const toFile = await runCli(["export", "--account", "alice", "--out", out, "--json"], () => page(0, false))
    expect(JSON.parse(toFile.out)).toEqual({ account: "alice", memories: 1, file: out })
    const piped = await runCli(["export", "--account", "alice", "--out", "-", "--json"], () => page(0, false))
    expect(piped.out).toBe("")
    expect(JSON.parse(piped.err)).toEqual({ account: "alice", memories: 1, file: "-" })
  })

  it("leaves no file when it fails half-way", async () => {
    const run = await runCli(["export", "--account", "alice", "--out", join(directory, "half.jsonl")], (_, index) =>
      index === 0 ? page(0, true) : refused(503, "namespace_unavailable", "a file is damaged")
    )
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("a file is damaged") })
    expect((await readdir(directory)).filter((name) => name.startsWith("half"))).toEqual([])
  })
})

describe("import", () => {
  const importFile = async (
    lines: ReadonlyArray<unknown>,
    answer: (request: WireRequest) => ReturnType<typeof ok>,
    ...more: ReadonlyArray<string>
  ) => {
    const file = join(directory, "in.jsonl")
    await writeFile(file, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"))
    return await runCli(["import", "--account", "bob", "--in", file, ...more], answer)
  }
  const accepted = (request: WireRequest) => ok({ imported: bodyOf(request).records.length, skipped: 0 })

  it("sends the schemas before the records, ids kept, built-in kinds left out", async () => {
    const run = await importFile([header, recordOf(1), recordOf(2)], accepted)
    expect(run).toMatchObject({ isSuccess: true, err: expect.stringContaining("2 memories imported into bob") })
    expect(run.requests.map(bodyOf)).toEqual([
      { account: "bob", schemas: [schema], records: [] },
      { account: "bob", records: [recordOf(1), recordOf(2)], onDuplicate: "store" }
    ])
  })

  it("names bad lines by their number and imports the rest", async () => {
    const run = await importFile([header, "{not json", recordOf(1), { id: memoryId(2) }, recordOf(3)], accepted)
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("line 2: not JSON") })
    expect(run.err).toContain("line 4: ")
    expect(run.err).toContain("2 memories imported")
  })

  it("says as JSON what became of the lines, also when some were refused", async () => {
    const run = await importFile([header, "{not json", recordOf(1)], accepted, "--json")
    expect(run.isSuccess).toBe(false)
    expect(JSON.parse(run.out)).toEqual({
      account: "bob",
      imported: 1,
      skipped: 0,
      leftOut: {},
      refused: [{ first: 2, last: 2, reason: expect.stringContaining("not JSON") }]
    })
  })

  it("says as JSON what was left out of another product's export", async () => {
    const messages = [{ role: "user", content: "I row.", id: "m1" }, { role: "user" }]
    const run = await importFile(messages, accepted, "--from", "messages", "--json")
    expect(run.isSuccess, run.err).toBe(true)
    const { leftOut, ...told } = JSON.parse(run.out)
    expect(told).toMatchObject({
      account: "bob",
      imported: 1,
      skipped: 0,
      refused: [],
      from: "messages",
      memories: 1,
      kinds: { conversation_message: 1 },
      unkeptFields: {}
    })
    expect(Object.values(leftOut)).toEqual([1])
    const rehearsed = await importFile(messages, accepted, "--from", "messages", "--json", "--dry-run")
    expect(JSON.parse(rehearsed.out)).toMatchObject({ account: "bob", dryRun: true, memories: 1, leftOut })
    expect(rehearsed.requests).toEqual([])
  })

  it("finds the line that the service refuses and imports the rest", async () => {
    const records = Array.from({ length: 150 }, (_, index) => recordOf(index + 1))
    const run = await importFile([header, ...records], (request) =>
      bodyOf(request).records.some(({ id }) => id === memoryId(77))
        ? refused(409, "id_conflict", "the id belongs to another account")
        : accepted(request)
    )
    expect(run.isSuccess).toBe(false)
    expect(run.err).toContain("line 78: the id belongs to another account")
    expect(run.err).toContain("149 memories imported")
    expect(Math.max(...run.requests.map((request) => bodyOf(request).records.length))).toBe(100)
  })

  it("names a run of lines with the same fault in one line", async () => {
    const run = await importFile([header, recordOf(1), recordOf(2), recordOf(3)], () =>
      refused(409, "id_conflict", "the ids belong to another account")
    )
    expect(run.err).toContain("line 2 to 4: the ids belong to another account")
    expect(run.err).toContain("line 1: schema contact: the ids belong to another account")
  })

  it("counts what was there already and succeeds", async () => {
    const run = await importFile([header, recordOf(1)], () => ok({ imported: 0, skipped: 1 }))
    expect(run).toMatchObject({ isSuccess: true, err: expect.stringContaining("1 were there already") })
  })

  it("stops when the service is in trouble and says how to go on", async () => {
    const records = Array.from({ length: 101 }, (_, index) => recordOf(index))
    const run = await importFile(records, (request) =>
      bodyOf(request).records.length === 100
        ? accepted(request)
        : refused(507, "insufficient_storage", "the disk is full")
    )
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("the disk is full") })
    expect(run.err).toContain("Repeat the command")
  })

  it("refuses a file of another format version by its first line", async () => {
    const run = await importFile([{ ...header, version: 2 }], accepted)
    expect(run.err).toContain("line 1: not a header of format version 1")
  })
})
