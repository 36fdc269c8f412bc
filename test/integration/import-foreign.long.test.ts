/**
 * 10,000 messages or memories in each format through `muniment import --from` into a real service: counts, dates and
 * roles; killed half-way and repeated nothing is lost or doubled, and once more nothing changes.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { runMuniment, startMuniment } from "../support/CliProcess.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { operatorKey } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const count = 10_000
const perConversation = 100
const millisOf = (at: number): number => 1_700_000_000_000 + at * 1_000
const second = (at: number): string => new Date(millisOf(at)).toISOString()
const roleOf = (at: number): string => (at % 2 === 0 ? "user" : "assistant")
const textOf = (at: number): string => `Number ${at}: "quoted", and\nan end`
const numbers = Array.from({ length: count }, (_, at) => at)
const conversations = Array.from({ length: count / perConversation }, (_, at) =>
  numbers.slice(at * perConversation, (at + 1) * perConversation)
)

const chatgpt = () =>
  conversations.map((messages, at) => ({
    conversation_id: `c${at}`,
    current_node: `m${messages.at(-1)}`,
    mapping: Object.fromEntries(
      messages.map((id, place) => [
        `m${id}`,
        {
          id: `m${id}`,
          parent: place === 0 ? null : `m${id - 1}`,
          message: {
            id: `m${id}`,
            author: { role: roleOf(id) },
            content: { parts: [textOf(id)] },
            create_time: millisOf(id) / 1_000
          }
        }
      ])
    )
  }))
const claude = () =>
  conversations.map((messages, at) => ({
    uuid: `c${at}`,
    chat_messages: messages.map((id) => ({
      uuid: `m${id}`,
      sender: id % 2 === 0 ? "human" : "assistant",
      text: textOf(id),
      created_at: second(id)
    }))
  }))
const message = (id: number) => ({ id: `m${id}`, role: roleOf(id), content: textOf(id), timestamp: second(id) })
const zep = (id: number) => ({ uuid: `e${id}`, content: textOf(id), role_type: roleOf(id), created_at: second(id) })
const mem0 = (id: number) => ({ id: `f${id}`, memory: textOf(id), user_id: "kim", created_at: second(id) })
const row = (id: number) => `m${id},${roleOf(id)},"${textOf(id).replaceAll('"', '""')}",${second(id)}`

const files: Readonly<Record<string, () => string>> = {
  messages: () => numbers.map((id) => JSON.stringify(message(id))).join("\n"),
  chatgpt: () => JSON.stringify(chatgpt()),
  claude: () => JSON.stringify(claude()),
  mem0: () => JSON.stringify({ results: numbers.map(mem0) }),
  zep: () => JSON.stringify({ episodes: numbers.map(zep) }),
  csv: () => ["id,role,content,timestamp", ...numbers.map(row)].join("\n")
}

const server = useServer({ environment: withoutModel })
const directory = temporaryDirectory()

interface Page {
  readonly total: number
  readonly nextCursor?: string
  readonly memories: ReadonlyArray<{
    readonly data: Readonly<Record<string, string>>
    readonly context: { readonly when?: string }
  }>
}
const page = async (agent: string, limit: number, cursor = ""): Promise<Page> =>
  (
    await server.call("GET", `/v1/memories?agentId=${agent}&limit=${limit}${cursor && `&cursor=${cursor}`}`, {
      key: operatorKey
    })
  ).body
const said = async (agent: string): Promise<ReadonlyArray<string>> => {
  const lines: Array<string> = []
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const { memories, nextCursor } = await page(agent, 100, cursor)
    for (const { context, data } of memories)
      lines.push(`${data["role"] ?? data["subject"]} ${context.when} ${data["text"] ?? data["fact"]}`)
    cursor = nextCursor
  }
  return lines.toSorted()
}

const killedAndRepeated = async (format: string, file: string, expected: ReadonlyArray<string>): Promise<void> => {
  const args = ["import", "--account", "operator", "--from", format, "--agent", format, "--in", file]
  const environment = { ...withoutModel, MUNIMENT_DATA_DIR: server.dataDirectory }
  const { ended, process: child } = startMuniment(args, environment)
  let stored = 0
  while (stored === 0 && child.exitCode === null) stored = (await page(format, 1)).total
  child.kill("SIGKILL")
  await ended
  expect(stored).toBeGreaterThan(0)
  expect(await runMuniment(args, environment)).toMatchObject({ code: 0 })
  expect(await said(format)).toEqual(expected.toSorted())
  const again = await runMuniment(args, environment)
  expect(again.err).toContain(`0 memories imported into operator, ${expected.length} were there already`)
}

it.each(Object.entries(files))("10,000 of %s", async (format, text) => {
  const file = join(directory, format)
  writeFileSync(file, text())
  const who = (id: number): string => (format === "mem0" ? "kim" : roleOf(id))
  await killedAndRepeated(
    format,
    file,
    numbers.map((id) => `${who(id)} ${second(id)} ${textOf(id)}`)
  )
})

it("10,000 pieces of notes", async () => {
  const folder = join(directory, "markdown")
  mkdirSync(folder)
  for (const [at, ids] of conversations.entries()) {
    const sections = ids.map((id) => `## Part ${id}\n${textOf(id)}\n`).join("\n")
    writeFileSync(join(folder, `Note ${at}.md`), `---\ndate: ${second(at)}\n---\n${sections}`)
  }
  const expected = numbers.map((id) => {
    const at = Math.floor(id / perConversation)
    return `Note ${at} ${second(at)} Part ${id}: ${textOf(id)}`
  })
  await killedAndRepeated("markdown", folder, expected)
})
