/**
 * Processor time of a context beside that of a search for as many hits, of one person's chats. Both ask the same questions
 * of one service without an encoder, in turns.
 *
 *   node bench/request/context.ts [--messages 10000] [--rounds 7] [--requests 40]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Limits } from "@muniment/domain/Limits"
import { BenchServer } from "../http/BenchServer.ts"
import { HttpClient } from "../http/HttpClient.ts"
import { machineFacts, machineText } from "../kit/Machine.ts"
import { median } from "../kit/Measure.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"

interface Told {
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
  readonly questions: ReadonlyArray<{ readonly question: string }>
}

const cases = join(import.meta.dirname, "../cases/open")
const scope = { agentId: "bench", subjectId: "person" }
const asked = `agentId=${scope.agentId}&subjectId=${scope.subjectId}&limit=${Limits.contextHits}`
const perThread = 50
/** Rounds before the first that counts: until then the code is still being compiled. */
const warmRounds = 10

const measured = async (messages: number, rounds: number, requests: number): Promise<void> => {
  const root = mkdtempSync(join(tmpdir(), "muniment-bench-context-"))
  const server = await BenchServer.start({
    dataDirectory: join(root, "data"),
    environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_RATE_LIMITS: "off" }
  })
  const client = new HttpClient(server.port)
  try {
    const told = readdirSync(cases).map((name) => JSON.parse(readFileSync(join(cases, name), "utf8")) as Told)
    const said = told.flatMap((one) => one.messages)
    const questions = told.flatMap((one) => one.questions)
    for (let from = 0; from < messages; from += perThread) {
      const conversation = Array.from({ length: perThread }, (_, at) => {
        const { content, role } = said[(from + at) % said.length]!
        return { role, content, sentAt: new Date(Date.UTC(2026, 0, 1) + (from + at) * 600_000).toISOString() }
      })
      await client.json("POST", "/v1/memories", { ...scope, threadId: `thread ${from / perThread}`, conversation })
    }
    const calls = {
      search: (query: string) => client.json("GET", `/v1/memories/search?${asked}&query=${encodeURIComponent(query)}`),
      context: (query: string) => client.json("POST", "/v1/context", { ...scope, query })
    }
    const millisOf = async (call: (query: string) => Promise<unknown>): Promise<number> => {
      const before = server.processorMillis()
      for (let at = 0; at < requests; at++) await call(questions[(at * 7) % questions.length]!.question)
      return (server.processorMillis() - before) / requests
    }
    for (let round = 0; round < warmRounds; round++) for (const call of Object.values(calls)) await millisOf(call)
    const beyond: Array<number> = []
    const searches: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      const search = await millisOf(calls.search)
      searches.push(search)
      beyond.push((await millisOf(calls.context)) - search)
    }
    const shown = (millis: number): string => millis.toFixed(1)
    const [least, most] = [Math.min(...beyond), Math.max(...beyond)]
    process.stdout.write(
      `${machineText(machineFacts())}\n${messages} messages: a search takes ${shown(median(searches))} ms of processor time, a context ${shown(median(beyond))} more (${shown(least)} to ${shown(most)})\n`
    )
  } finally {
    client.close()
    await server.stop()
    rmSync(root, { recursive: true, force: true })
  }
}

answerHelp("node bench/request/context.ts [--messages 10000] [--rounds 7] [--requests 40]")
const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "10000" },
    rounds: { type: "string", default: "7" },
    requests: { type: "string", default: "40" }
  }
})
await measured(
  wholeNumber("messages", values.messages),
  wholeNumber("rounds", values.rounds),
  wholeNumber("requests", values.requests)
)
