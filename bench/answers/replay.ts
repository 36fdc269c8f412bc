/**
 * A language model's server whose replies were written by readers who saw nothing but the prompts of the conversations
 * in a folder of cases: a change of prompts and checks is measured without a reader. A reply is found by the hash of its
 * prompt; what has none is answered with nothing, and counted, as the reply is stale then.
 *
 * `node bench/answers/replay.ts`, then a service with `MUNIMENT_LLM_BASE_URL` at it, the messages of the cases in
 * requests of twelve with `wait: "extraction"`, and their questions in mode `answer`.
 */
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import { parseArgs } from "node:util"
import { answerHelp, wholeNumber } from "../Usage.ts"

const usage = `node bench/answers/replay.ts [options]
  --port N        port on 127.0.0.1 (28100)
  --missing DIR   writes prompts without a reply there, named by their hash`

interface Completion {
  readonly messages: ReadonlyArray<{ readonly content: string }>
}

interface Counts {
  replied: number
  stale: number
  repairs: number
}

const recorded = join(import.meta.dirname, "recorded")

const recordedReplies = (): ReadonlyMap<string, unknown> =>
  new Map(Object.entries(JSON.parse(readFileSync(join(recorded, "careful.json"), "utf8")) as object))

/** Of the prompt without the code of its fence. */
const hashOf = (prompt: string): { readonly hash: string; readonly plain: string } => {
  const code = /^The code of this request is (\S+)\./.exec(prompt)?.[1]
  const plain = code === undefined ? prompt : prompt.replaceAll(code, "CODE")
  return { plain, hash: createHash("sha256").update(plain).digest("hex").slice(0, 16) }
}

const noMemories = { memories: [], withhold: [] }
const unknown = { known: "no", sentences: [] }

const main = (): void => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "28100" },
      missing: { type: "string" },
      help: { type: "boolean" }
    }
  })
  const replies = recordedReplies()
  const counts: Counts = { replied: 0, stale: 0, repairs: 0 }
  if (values.missing !== undefined) mkdirSync(values.missing, { recursive: true })
  const contentOf = (prompt: string): unknown => {
    const { hash, plain } = hashOf(prompt)
    if (prompt.includes("BEGIN FAULTS ")) counts.repairs += 1
    const reply = replies.get(hash)
    if (reply !== undefined) {
      counts.replied += 1
      return reply
    }
    counts.stale += 1
    if (values.missing !== undefined) writeFileSync(join(values.missing, `${hash}.txt`), plain)
    return prompt.includes("BEGIN QUESTION ") ? unknown : noMemories
  }
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const prompt = (body as Completion).messages.at(-1)?.content ?? ""
      const content = JSON.stringify(contentOf(prompt))
      response.setHeader("content-type", "application/json")
      response.end(
        JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }], usage: {} })
      )
    })
  })
  server.listen(wholeNumber("port", values.port, 1), "127.0.0.1")
  process.once("SIGINT", () => {
    process.stdout.write(`${JSON.stringify(counts)}\n`)
    process.exit(0)
  })
}

main()
