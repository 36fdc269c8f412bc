/**
 * Outputs of the rules on chats without labels: outputs per message by family, and the outputs with the messages they
 * came from, for a person to judge. `node bench/extraction/chats.ts --help` names the options.
 *
 * LoCoMo's conversations are between two people; each is read twice, with either speaker as the user.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import type { Candidate, Turn } from "@muniment/insight/extraction/Extractor"
import { readConversation } from "@muniment/insight/rules/ConversationReader"
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { answerHelp, wholeNumber } from "../Usage.ts"

const usage =
  "node bench/extraction/chats.ts --data DIR [--half tune|held-out] [--sample N]\n" +
  "  DIR holds locomo10.json; --sample  every n-th output, so that N are printed (default: all)"

interface Spoken {
  readonly speaker: string
  readonly text: string
}

interface Conversation {
  readonly sample_id: string
  readonly conversation: Readonly<Record<string, ReadonlyArray<Spoken> | string>>
}

interface Output {
  readonly conversation: string
  readonly candidate: Candidate
  readonly message: string
}

const main = (): void => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      half: { type: "string", default: "tune" },
      sample: { type: "string" }
    }
  })
  const file = join(values.data ?? "", "locomo10.json")
  if (values.data === undefined || !existsSync(file)) throw new Error(`no locomo10.json\nusage: ${usage}`)
  const conversations: ReadonlyArray<Conversation> = JSON.parse(readFileSync(file, "utf8"))
  // Halves by conversation: those with an even number are tuned on.
  const half = conversations.filter((_, at) => at % 2 === (values.half === "tune" ? 0 : 1))
  const read = half.flatMap(readBothSides)
  const outputs = read.flatMap(({ outputs }) => outputs)
  const messages = read.reduce((sum, one) => sum + one.messages, 0)
  print(`${values.half}: ${half.map(({ sample_id }) => sample_id).join(", ")}`)
  print(`${outputs.length} outputs of ${messages} messages (${((100 * outputs.length) / messages).toFixed(1)} %)`)
  for (const kind of builtinKinds) {
    print(`  ${kind.name}: ${outputs.filter(({ candidate }) => candidate.kind === kind.name).length}`)
  }
  print(
    `  with a slot: ${outputs.filter(({ candidate: { slot } }) => slot !== undefined && !isOfWords(slot.attribute)).length}\n`
  )
  const wanted = values.sample === undefined ? outputs.length : wholeNumber("sample", values.sample)
  const step = Math.max(1, outputs.length / wanted)
  for (let at = 0; at < outputs.length; at += step) print(lineOf(outputs[Math.floor(at)]!))
}

const readBothSides = ({ conversation, sample_id }: Conversation) =>
  [conversation["speaker_a"], conversation["speaker_b"]].map((user) => {
    const outputs: Array<Output> = []
    let summary: string | undefined
    let messages = 0
    for (let session = 1; conversation[`session_${session}_date_time`] !== undefined; session++) {
      const spoken = conversation[`session_${session}`]
      if (!Array.isArray(spoken)) continue
      const turns = (spoken as ReadonlyArray<Spoken>).map(({ speaker, text }): Turn => ({
        role: speaker === user ? "user" : "assistant",
        content: text
      }))
      const conversationDate = dayOf(String(conversation[`session_${session}_date_time`]))
      const extraction = readConversation({
        kinds: builtinKinds,
        messages: turns,
        context: [],
        summary,
        conversationDate
      })
      summary = extraction.summary
      messages += turns.filter(({ role }) => role === "user").length
      for (const candidate of extraction.candidates) {
        outputs.push({ conversation: sample_id, candidate, message: turns[candidate.sources[0]!]!.content })
      }
    }
    return { outputs, messages }
  })

/** "1:56 pm on 8 May, 2023" */
const dayOf = (said: string): string => new Date(`${said.split(" on ").at(-1)} UTC`).toISOString().slice(0, 10)

const lineOf = ({ candidate, conversation, message }: Output): string => {
  const { source: _, ...data } = candidate.data
  const slot =
    candidate.slot === undefined || isOfWords(candidate.slot.attribute) ? "" : ` {${candidate.slot.attribute}}`
  return `${conversation} ${Object.values(data).join(" | ")}${slot}\n    < ${message.replace(/\s+/g, " ").slice(0, 240)}`
}

/** What has no attribute goes by its own words, for corrections. */
const isOfWords = (attribute: string): boolean => attribute.startsWith("said ")

const print = (text: string): void => void process.stdout.write(`${text}\n`)

main()
