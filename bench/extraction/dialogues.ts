/**
 * Outputs of the rules on long chats of our own (`test/vectors/chats`), request by request as a thread is sent: each
 * memory with its message, and which earlier one it replaces, for a person to judge. `node
 * bench/extraction/dialogues.ts --help` names the options.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import type { Candidate, Turn } from "@muniment/insight/extraction/Extractor"
import { readConversation } from "@muniment/insight/rules/ConversationReader"
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { answerHelp } from "../Usage.ts"

const usage =
  "node bench/extraction/dialogues.ts [--half tune|held-out] [--only NAME] [--unread]\n" +
  "  --only  chats whose file name contains NAME; --unread  also the user's messages that give no memory"

const main = (): void => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      half: { type: "string", default: "tune" },
      only: { type: "string", default: "" },
      unread: { type: "boolean", default: false }
    }
  })
  const folder = join(import.meta.dirname, "../../test/vectors/chats", values.half)
  let messages = 0
  let outputs = 0
  let millis = 0
  for (const file of readdirSync(folder).filter((name) => name.includes(values.only))) {
    const requests = requestsOf(readFileSync(join(folder, file), "utf8"))
    print(`\n# ${file}`)
    const start = performance.now()
    const read = readThread(requests)
    millis += performance.now() - start
    for (const { created, turn } of read) {
      messages += turn.role === "user" ? 1 : 0
      outputs += created.length
      for (const line of created) print(line)
      if (turn.role === "user" && (created.length > 0 || values.unread))
        print(`    < ${turn.name ?? ""} ${turn.content}`)
    }
  }
  print(`\n${outputs} memories of ${messages} messages of users; ${(millis / messages).toFixed(1)} ms a message`)
}

interface ReadTurn {
  readonly turn: Turn
  readonly created: ReadonlyArray<string>
}

/** Requests are divided by `==`; `@` gives the time of the messages that follow, one minute apart. */
const requestsOf = (text: string): ReadonlyArray<ReadonlyArray<Turn>> =>
  text.split(/^==\s*$/m).map((part) => {
    let sentAt = 0
    return part.split("\n").flatMap((line): ReadonlyArray<Turn> => {
      if (line.startsWith("@")) sentAt = Date.parse(line.slice(1))
      const said = /^(\w+): (.+)$/.exec(line)
      if (said?.[1] === undefined || said[2] === undefined) return []
      const role = said[1] === "assistant" ? "assistant" : "user"
      sentAt += 60_000
      const name = role === "user" && said[1] !== "user" ? { name: said[1] } : {}
      return [{ role, ...name, content: said[2], sentAt: new Date(sentAt).toISOString() }]
    })
  })

const contextMax = 20

const readThread = (requests: ReadonlyArray<ReadonlyArray<Turn>>): ReadonlyArray<ReadTurn> => {
  const slots = new Map<string, string>()
  const before: Array<Turn> = []
  let summary: string | undefined
  return requests.flatMap((messages) => {
    const conversationDate = (messages[0]?.sentAt ?? "").slice(0, 10)
    const context = before.slice(-contextMax)
    const extraction = readConversation({ kinds: builtinKinds, messages, context, summary, conversationDate })
    summary = extraction.summary
    before.push(...messages)
    const lines = extraction.candidates.map((candidate) => lineOf(candidate, messages, slots))
    return messages.map((turn, at) => ({
      turn,
      created: lines.filter((_, index) => extraction.candidates[index]!.sources[0] === at)
    }))
  })
}

const lineOf = (
  { data, slot, sources }: Candidate,
  messages: ReadonlyArray<Turn>,
  slots: Map<string, string>
): string => {
  const { source: _, ...told } = data
  const text = Object.values(told).join(" | ")
  if (slot === undefined) return text
  const key = `${messages[sources[0]!]?.name ?? "user"} ${slot.person ?? ""} ${slot.attribute}`.toLowerCase()
  const old = slots.get(key)
  slots.set(key, text)
  const shown = slot.attribute.startsWith("said ") ? "" : ` {${key}}`
  return `${text}${shown}${old === undefined ? "" : `\n  REPLACES ${old}`}`
}

const print = (text: string): void => void process.stdout.write(`${text}\n`)

main()
