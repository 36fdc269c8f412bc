/**
 * Exports of other products through `muniment import --from` into a real service: counts, dates and roles; a second
 * import and one that was killed half-way add nothing twice and lose nothing.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { runMuniment, startMuniment, type CliEnd } from "../support/CliProcess.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { operatorKey } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const server = useServer({ environment: withoutModel })
const directory = temporaryDirectory()

const environment = () => ({ ...withoutModel, MUNIMENT_DATA_DIR: server.dataDirectory })
const argsOf = (from: string, agent: string, file: string, ...more: ReadonlyArray<string>) => [
  "import",
  "--account",
  "operator",
  "--from",
  from,
  "--agent",
  agent,
  "--in",
  file,
  ...more
]
const importing = (...args: Parameters<typeof argsOf>): Promise<CliEnd> => runMuniment(argsOf(...args), environment())

const fileOf = (name: string, text: string): string => {
  const file = join(directory, name)
  writeFileSync(file, text)
  return file
}

interface Memory {
  readonly id: string
  readonly kind: string
  readonly data: Readonly<Record<string, string>>
  readonly context: { readonly when?: string; readonly tags: ReadonlyArray<string>; readonly threadId?: string }
}
const memoriesOf = async (agent: string, limit = 100): Promise<{ total: number; memories: ReadonlyArray<Memory> }> =>
  (await server.call("GET", `/v1/memories?agentId=${agent}&limit=${limit}`, { key: operatorKey })).body

const second = (at: number): string => new Date(1_700_000_000_000 + at * 1_000).toISOString()
const node = (id: string, parent: string | null, role: string, text: string, at: number) => [
  id,
  {
    id,
    parent,
    message: { id, author: { role }, content: { content_type: "text", parts: [text] }, create_time: 1_700_000_000 + at }
  }
]

const cases: ReadonlyArray<readonly [format: string, text: string, messages: ReadonlyArray<string>, skipped: string]> =
  [
    [
      "messages",
      [
        { role: "user", content: 'I moved to "Lisbon" {today}.', timestamp: second(0), thread_id: "t" },
        { role: "assistant", content: [{ type: "text", text: "Nice!" }], timestamp: second(1), thread_id: "t" },
        { role: "narrator", content: "42", timestamp: second(2), thread_id: "t" }
      ]
        .map((one) => JSON.stringify(one))
        .join("\n"),
      [`user ${second(0)} I moved to "Lisbon" {today}.`, `assistant ${second(1)} Nice!`],
      "skipped 1: the role narrator"
    ],
    [
      "chatgpt",
      JSON.stringify(
        [
          {
            conversation_id: "c1",
            current_node: "m2",
            mapping: Object.fromEntries([
              ["root", { id: "root", parent: null, message: null }],
              node("m1", "root", "user", "Ünïcode [ und ] \\ Fragen", 0),
              node("m2", "m1", "assistant", "Antwort", 1),
              node("m3", "m1", "assistant", "Verworfen", 2)
            ])
          }
        ],
        null,
        2
      ),
      [`user ${second(0)} Ünïcode [ und ] \\ Fragen`, `assistant ${second(1)} Antwort`],
      "skipped 1: a message of an abandoned branch"
    ],
    [
      "claude",
      JSON.stringify([
        {
          uuid: "c2",
          chat_messages: [
            { uuid: "1", sender: "human", text: "Hello", created_at: second(0) },
            { uuid: "2", sender: "assistant", content: [{ type: "text", text: "Hi" }], created_at: second(1) },
            { uuid: "3", sender: "human", text: "", created_at: second(2) }
          ]
        }
      ]),
      [`user ${second(0)} Hello`, `assistant ${second(1)} Hi`],
      "skipped 1: a message without text"
    ],
    [
      "mem0",
      JSON.stringify({
        results: [
          {
            id: "a",
            memory: "Likes tea",
            user_id: "kim",
            created_at: second(0),
            categories: ["food"],
            metadata: { mood: "calm" }
          },
          { id: "b", memory: "Plays the oboe", user_id: "kim", created_at: second(1) },
          { id: "c", memory: "", user_id: "kim" }
        ]
      }),
      [`kim ${second(0)} Likes tea`, `kim ${second(1)} Plays the oboe`],
      "skipped 1: a memory without text"
    ],
    [
      "zep",
      JSON.stringify({
        nodes: [{ uuid: "n", name: "Kim" }],
        edges: [
          { uuid: "e1", fact: "Kim works at Acme", source_node_name: "Kim", valid_at: second(0) },
          {
            uuid: "e2",
            fact: "Kim worked at Beta",
            source_node_name: "Kim",
            valid_at: second(0),
            invalid_at: second(1)
          }
        ],
        episodes: [{ uuid: "p", content: "I work at Acme now", role_type: "user", created_at: second(1) }]
      }),
      [
        `Kim ${second(0)} Kim works at Acme`,
        `Kim ${second(1)} Until ${second(1).slice(0, 10)}: Kim worked at Beta`,
        `user ${second(1)} I work at Acme now`
      ],
      "skipped 1: a node without a summary"
    ],
    [
      "csv",
      [
        "\uFEFFid;role;content;timestamp;thread_id",
        `1;user;"I moved to ""Lisbon"";\nit is warm";${second(0)};t`,
        `2;assistant;5" of rain;${second(1)};t`,
        `3;narrator;42;${second(2)};t`
      ].join("\r\n"),
      [`user ${second(0)} I moved to "Lisbon";\nit is warm`, `assistant ${second(1)} 5" of rain`],
      "skipped 1: the role narrator"
    ]
  ]

const saidOf = ({ context, data }: Memory): string =>
  `${data["role"] ?? data["subject"]} ${context.when} ${data["text"] ?? data["fact"]}`

describe.each(cases)("an export of %s", (format, text, expected, skipped) => {
  it("keeps texts, roles and dates, says what it leaves out, and adds nothing when repeated", async () => {
    const file = fileOf(`${format}.json`, text)
    const dry = await importing(format, format, file, "--dry-run")
    const versions = format === "zep" ? 1 : 0
    const count = expected.length + versions
    expect(dry).toMatchObject({ code: 0, err: expect.stringContaining(`${count} memories would be imported`) })
    expect((await memoriesOf(format)).total).toBe(0)
    const first = await importing(format, format, file)
    expect(first).toMatchObject({ code: 0, err: expect.stringContaining(`${count} memories imported`) })
    expect(first.err).toContain(skipped)
    const { memories } = await memoriesOf(format)
    expect(memories.map(saidOf).toSorted()).toEqual([...expected].toSorted())
    const again = await importing(format, format, file)
    expect(again.err).toContain(`0 memories imported into operator, ${count} were there already`)
    expect((await memoriesOf(format)).total).toBe(expected.length)
  })
})

it("a fact that is no longer valid is the history of the memory that says so", async () => {
  const { memories } = await memoriesOf("zep")
  const { id } = memories.find(({ data }) => data["fact"]?.startsWith("Until"))!
  const superseded = (await server.call("GET", "/v1/memories?agentId=zep&includeSuperseded=true", { key: operatorKey }))
    .body
  const earlier = superseded.memories.find(({ data }: Memory) => data["fact"] === "Kim worked at Beta")
  expect(earlier.context).toMatchObject({ isLatest: false, when: second(0) })
  expect(superseded.memories.find((one: Memory) => one.id === id).metadata.supersedes).toBe(earlier.id)
})

it("what mem0 notes beside a memory is its metadata, which filters reach", async () => {
  const where = encodeURIComponent(JSON.stringify({ "metadata.mood": "calm" }))
  const { body } = await server.call("GET", `/v1/memories?agentId=mem0&where=${where}`, { key: operatorKey })
  expect(body.memories.map(saidOf)).toEqual([`kim ${second(0)} Likes tea`])
})

describe("a folder of notes", () => {
  const note = `---
created: ${second(0)}
tags: [travel, "city"]
---
Packed in a hurry.

# Lisbon
Lived there in 2019. #home

## Food
- custard tarts
- grilled sardines

\`\`\`sh
# no heading
\`\`\`
`
  const expected = [
    `Trips ${second(0)} Packed in a hurry.`,
    `Trips ${second(0)} Lisbon: Lived there in 2019. #home`,
    `Trips ${second(0)} Lisbon > Food: - custard tarts\n- grilled sardines\n\n\`\`\`sh\n# no heading\n\`\`\``
  ]

  it("becomes facts by heading, with tags and dates; a changed note adds what is new in it", async () => {
    const folder = join(directory, "notes")
    mkdirSync(join(folder, "sub", ".obsidian"), { recursive: true })
    writeFileSync(join(folder, "sub", "Trips.md"), note)
    writeFileSync(join(folder, "Empty.md"), "# Nothing\n")
    writeFileSync(join(folder, "sub", ".obsidian", "hidden.md"), "Hidden")
    writeFileSync(join(folder, "picture.txt"), "No note")
    const dry = await importing("markdown", "notes", folder, "--dry-run")
    expect(dry.err).toContain("skipped 1: a note without text\n3 memories would be imported into operator.")
    const first = await importing("markdown", "notes", folder)
    expect(first).toMatchObject({ code: 0, err: expect.stringContaining("3 memories imported") })
    const { memories } = await memoriesOf("notes")
    expect(memories.map(saidOf).toSorted()).toEqual(expected.toSorted())
    for (const { context } of memories) expect(context.tags).toEqual(["travel", "city", "home"])
    writeFileSync(join(folder, "sub", "Trips.md"), `${note}\n# Oslo\nPlanned for May.\n`)
    const again = await importing("markdown", "notes", folder)
    expect(again.err).toContain("1 memories imported into operator, 3 were there already")
  })
})

it("a table says by --columns what its columns mean", async () => {
  const file = fileOf("facts.csv", `person,note,written,labels\nKim,Likes tea,${second(0)},"food, drink"\n`)
  const args = ["--columns", "text=note,time=written,subject=person,tags=labels"] as const
  const imported = await importing("csv", "table", file, ...args)
  expect(imported.err).toContain("1 memories imported")
  const { memories } = await memoriesOf("table")
  expect(memories.map(saidOf)).toEqual([`Kim ${second(0)} Likes tea`])
  expect(memories[0]!.context.tags).toEqual(["food", "drink"])
  const wrong = await importing("csv", "table", file, "--columns", "words=note")
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('"words=note" is not one of id, role, text') })
  const open = await importing("csv", "open", fileOf("open.csv", 'role,text\nuser,"Hello'))
  expect(open).toMatchObject({ code: 1, err: expect.stringContaining("the file ends within a quoted cell") })
})

it("an import that is killed half-way goes on when repeated, with nothing lost or doubled", async () => {
  const count = 2_000
  const lines = Array.from({ length: count }, (_, at) =>
    JSON.stringify({ role: at % 2 === 0 ? "user" : "assistant", content: `message ${at}`, timestamp: second(at) })
  )
  const file = fileOf("long.jsonl", lines.join("\n"))
  const { ended, process: child } = startMuniment(argsOf("messages", "long", file), environment())
  let stored = 0
  while (stored === 0 && child.exitCode === null) stored = (await memoriesOf("long", 1)).total
  child.kill("SIGKILL")
  await ended
  expect(stored).toBeGreaterThan(0)
  expect(await importing("messages", "long", file)).toMatchObject({ code: 0 })
  expect((await memoriesOf("long", 1)).total).toBe(count)
  const { body } = await server.call("GET", "/v1/memories/search?query=message+1999&agentId=long&limit=1", {
    key: operatorKey
  })
  expect(body.memories[0].data).toEqual({ role: "assistant", text: "message 1999", sentAt: second(1_999) })
})

it("a file that is cut off is named, and what came before is kept", async () => {
  const file = fileOf(
    "cut.json",
    '[{"uuid":"c","chat_messages":[{"uuid":"1","sender":"human","text":"Hello"}]},{"uuid"'
  )
  expect(await importing("claude", "cut", file)).toMatchObject({
    code: 1,
    err: expect.stringContaining("the file ends within a value, after 1 elements")
  })
})
