/** `muniment eval` against the real service: figures, reports, two configurations side by side, and complaints. */
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { runMuniment } from "../support/CliProcess.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const server = useSharedServer(withoutModel)
const folder = temporaryDirectory()

const said = (id: string, day: string, content: string) => ({
  id,
  role: "user",
  sentAt: `2026-03-${day}T10:00:00Z`,
  content
})

const garden = {
  id: "garden",
  kind: "assistant",
  user: "Mira Halloran",
  asked: "2026-04-01T10:00:00Z",
  timeZone: "UTC",
  messages: [
    said("m1", "01", "My name is Mira and I live in Galway."),
    said("m2", "02", "The greenhouse needs new glass, the hail broke nine panes."),
    said("m3", "03", "My neighbour Tomas keeps bees behind the church.")
  ],
  questions: [
    { q: "How many panes did the hail break?", type: "number", evidence: ["m2"], answer: ["\\bnine\\b"] },
    { q: "What does Tomas keep behind the church?", type: "other", evidence: ["m3"], answer: ["\\bbees\\b"] },
    { q: "Which instrument does Ottokar play?", type: "none", evidence: [], answer: [], wrong: ["."] }
  ],
  facts: [
    { about: "Mira", says: ["galway"], true: true },
    { about: "Mira", says: ["zanzibar"], true: false }
  ]
}

const write = (name: string, content: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
  return path
}

const user = async (name: string) => {
  const key = await server.newAccount(name)
  const environment = { MUNIMENT_URL: server.url, MUNIMENT_API_KEY: key }
  return { key, run: (...args: ReadonlyArray<string>) => runMuniment(args, environment) }
}

describe("an evaluation", () => {
  it("says of a conversation what is found, answered and held, writes a report, and leaves nothing behind", async () => {
    const mira = await user("eval-conversation")
    const out = join(folder, "conversation")
    const cases = write("garden.json", garden)
    const { code, err, out: printed } = await mira.run("eval", "--cases", cases, "--against", server.url, "--out", out)
    expect(code, err).toBe(0)
    expect(printed).toMatch(
      /configuration +questions +hit@1[^]* 3 +\S+ +\S+ +1\.000 +[01]\.\d+ +[12] +0 +[12] +1\.000 .* [1-9]\d* +1 of 1 +0 of 1$/
    )
    expect(readdirSync(out).toSorted()).toEqual(["found.svg", "report.json", "report.md", "types.svg"])
    const report = readFileSync(join(out, "report.md"), "utf8")
    expect(report).toContain("## By type")
    expect(report).toContain("![found.svg](found.svg)")
    expect(readFileSync(join(out, "found.svg"), "utf8")).toMatch(/^<svg[^]*hit@10[^]*1\.000[^]*<\/svg>\n$/)
    const [
      {
        cases: [played]
      }
    ] = JSON.parse(readFileSync(join(out, "report.json"), "utf8"))
    expect(played.questions.map(({ found }: { readonly found?: unknown }) => found !== undefined)).toEqual([
      true,
      true,
      false
    ])
    expect(played.questions[2].answer.verdict).toBe("withheld")
    expect(JSON.parse((await mira.run("search", "hail", "--json")).out).memories).toEqual([])
  })

  it("asks queries of what is there, and shows two configurations beside each other", async () => {
    const mira = await user("eval-queries")
    await mira.run("remember", "--kind", "factual_memory", '{"subject": "Mira", "fact": "The ferry leaves at six"}')
    const [{ id }] = JSON.parse((await mira.run("search", "ferry", "--json")).out).memories
    const lines = [
      { query: "When does the ferry leave?", expected: [id], agentId: "assistant" },
      { query: "ferry", expected: ["the FERRY  leaves", "the bus leaves"] }
    ]
    const cases = write("queries.jsonl", `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`)
    const out = join(folder, "queries")
    const run = await mira.run("eval", "--cases", cases, "--vary", "recall=fast,strict", "--out", out, "--json")
    expect(run.code, run.err).toBe(0)
    const { configurations } = JSON.parse(run.out)
    expect(configurations.map(({ name }: { readonly name: string }) => name)).toEqual(["recall=fast", "recall=strict"])
    for (const { queries } of configurations) {
      expect(queries.map(({ found }: { readonly found: unknown }) => found)).toEqual([
        { shares: [1, 1, 1], reciprocalRank: 1 },
        { shares: [0.5, 0.5, 0.5], reciprocalRank: 1 }
      ])
    }
    expect(readFileSync(join(out, "report.md"), "utf8")).toContain(
      "## recall=fast, then recall=strict: 0 better, 0 worse"
    )
  })

  it("reads a folder of both forms and compares two accounts by their keys", async () => {
    const [mira, ben] = [await user("eval-one"), await user("eval-other")]
    await ben.run("remember", "--kind", "factual_memory", '{"subject": "Ben", "fact": "The piano is in tune"}')
    const mixed = mkdtempSync(join(folder, "mixed-"))
    writeFileSync(join(mixed, "a.json"), JSON.stringify(garden))
    writeFileSync(join(mixed, "b.json"), JSON.stringify([{ query: "piano", expected: ["piano is in tune"] }]))
    const out = join(folder, "two")
    const keys = ["--api-key", mira.key, "--api-key", ben.key]
    const urls = ["--against", server.url, "--against", server.url]
    const run = await mira.run("eval", "--cases", mixed, ...urls, ...keys, "--no-answers", "--keep", "--out", out)
    expect(run.code, run.err).toBe(0)
    const report = readFileSync(join(out, "report.md"), "utf8")
    expect(report).toContain(": 1 better, 0 worse")
    expect(report).toContain("queries: piano (not found, then place 1)")
    expect(JSON.parse((await mira.run("search", "hail", "--json")).out).memories).not.toEqual([])
  })
})

describe("feedback as cases", () => {
  it("are the queries for which memories were useful, and eval plays them", async () => {
    const mira = await user("eval-feedback")
    const store = async (fact: string, ...scope: ReadonlyArray<string>) => {
      const data = JSON.stringify({ subject: "Mira", fact })
      const { out } = await mira.run("remember", "--kind", "factual_memory", data, ...scope, "--json")
      return JSON.parse(out).created[0].id as string
    }
    const bees = await store("Mira keeps bees", "--subject", "mira")
    const hives = await store("Mira has nine hives", "--subject", "mira")
    const piano = await store("Mira plays the piano", "--agent", "other")
    const out = join(folder, "feedback.jsonl")
    const none = await mira.run("memories", "cases", "--out", out)
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining("No feedback names a query") })
    const judge = (id: string, said: string, ...query: ReadonlyArray<string>) =>
      mira.run("memories", "feedback", id, said, ...query)
    await judge(bees, "useful", "--query", "bees and hives")
    await judge(hives, "useful", "--query", "bees and hives")
    await judge(hives, "not_useful", "--query", "who is Mira")
    await judge(hives, "useful")
    await judge(piano, "useful", "--query", "which instrument")
    const written = await mira.run("memories", "cases", "--out", out, "--json")
    expect(JSON.parse(written.out)).toEqual({ cases: 2, file: out })
    expect(statSync(out).mode & 0o777).toBe(0o600)
    const lines = readFileSync(out, "utf8").trim().split("\n")
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { query: "which instrument", expected: [piano], agentId: "other" },
      { query: "bees and hives", expected: [hives, bees], agentId: "assistant", subjectId: "mira" }
    ])
    const run = await mira.run("eval", "--cases", out, "--out", join(folder, "feedback"), "--json")
    expect(run.code, run.err).toBe(0)
    const [{ queries }] = JSON.parse(run.out).configurations
    expect(
      queries.map(({ found }: { readonly found: { readonly shares: ReadonlyArray<number> } }) => found.shares[2])
    ).toEqual([0, 1])
    const narrowed = await mira.run("memories", "cases", "--agent", "other", "-o", out, "--json")
    expect(JSON.parse(narrowed.out).cases).toBe(1)
  })
})

describe("what cannot be evaluated is told", () => {
  const twice = { ...garden, messages: [garden.messages[0], garden.messages[0]] }
  const lost = { ...garden, messages: garden.messages.slice(0, 1) }
  const broken = { ...garden, questions: [{ q: "?", type: "fact", evidence: [], answer: ["("] }] }
  it.each([
    ["no file", () => join(folder, "none.json"), /none\.json/],
    ["no JSON", () => write("text.json", "hello"), /text\.json is not JSON/],
    [
      "a line that is none",
      () => write("lines.jsonl", '{"query": "a", "expected": []}\n{'),
      /lines\.jsonl, line 2 is not JSON/
    ],
    ["a form that is none", () => write("other.json", { query: 3 }), /other\.json: it is no case: .*expected/i],
    ["evidence that is not there", () => write("lost.json", lost), /no message m2, the evidence of "How many/],
    ["two messages with one id", () => write("twice.json", twice), /two messages have one id/],
    ["a broken pattern", () => write("broken.json", broken), /"\(", of "\?", is no regular expression/],
    ["an empty folder", () => mkdtempSync(join(folder, "empty-")), /has no cases/]
  ])("%s", async (_, cases, complaint) => {
    const mira = await user("eval-refused")
    expect(await mira.run("eval", "--cases", cases())).toMatchObject({ code: 1, err: expect.stringMatching(complaint) })
  })

  it("a parameter that no request has, and a key that is none", async () => {
    const mira = await user("eval-parameters")
    const cases = write("query.json", { query: "a", expected: ["b"] })
    for (const vary of ["weights=1,2", "recall=fast", "recall"]) {
      const { code, err } = await mira.run("eval", "--cases", cases, "--vary", vary)
      expect({ code, err }).toMatchObject({
        code: 1,
        err: expect.stringContaining("start two and give --against twice")
      })
    }
    const wrong = await mira.run("eval", "--cases", cases, "--api-key", "mun_wrong")
    expect(wrong).toMatchObject({ code: 1, err: expect.stringMatching(/key/i) })
  })
})
