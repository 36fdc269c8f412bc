/**
 * Windows of a conversation over HTTP, one after the other as an agent sends them: alone, then while others import
 * conversations. Prints the time of a window, the share of windows that are read later, and when the service has read
 * everything. Messages are LoCoMo's turns.
 * `node bench/engine/windows.ts --data DIR [--windows N] [--importers N] [--model ID] [--cpu-prof DIR]`
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { readRetold } from "../retrieval/Locomo.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { BenchServer } from "../http/BenchServer.ts"
import { HttpClient } from "../http/HttpClient.ts"
import { Reading } from "../http/Prometheus.ts"
import { machineFacts, spread } from "../http/Report.ts"

const usage = "node bench/engine/windows.ts --data DIR [--windows N] [--importers N] [--model ID|none] [--cpu-prof DIR]"

/** Messages of a window, all of them new. */
const windowLength = 20
/** Messages of an imported conversation. */
const importedLength = 100
/** Between two windows, as if somebody typed. */
const pauseMillis = 100

interface Message {
  readonly role: "user"
  readonly name: string
  readonly content: string
}

interface Phase {
  readonly millis: ReadonlyArray<number>
  readonly pending: number
}

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      windows: { type: "string", default: "200" },
      importers: { type: "string", default: "4" },
      model: { type: "string", default: "e5-small-v2-q8" },
      "cpu-prof": { type: "string" }
    }
  })
  if (values.data === undefined) throw new Error(`--data is missing; usage: ${usage}`)
  const [count, importers] = [wholeNumber("windows", values.windows), wholeNumber("importers", values.importers)]
  const messages = messagesOf(values.data)
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-windows-bench-"))
  const server = await BenchServer.start({
    dataDirectory,
    environment: { MUNIMENT_EMBEDDING_MODEL: values.model },
    profileDirectory: values["cpu-prof"]
  })
  const client = new HttpClient(server.port)
  console.log(machineFacts())
  try {
    await windows(client, messages, "warm-up", windowLength)
    await settled(client)
    console.log(phaseLine("alone", await windows(client, messages, "alone", count)))
    await settled(client)
    let isOver = false
    const clients = Array.from({ length: importers }, (_, at) =>
      importing(new HttpClient(server.port), messages, `import-${at}`, () => isOver)
    )
    // Reading starts a new interval of the loop's delay.
    await Reading.take(client)
    const beside = await windows(client, messages, "beside", count)
    isOver = true
    const imported = await Promise.all(clients)
    console.log(phaseLine(`beside ${importers} importers`, beside))
    console.log(`  imports of ${importedLength}: ${spread(imported.flatMap(({ millis }) => millis))}`)
    const delaySeconds = (await Reading.take(client)).gauge("muniment_event_loop_delay_max_seconds")
    console.log(`  longest wait of the server's loop: ${(delaySeconds * 1_000).toFixed(0)} ms`)
    const started = performance.now()
    await settled(client)
    console.log(`all read and embedded ${((performance.now() - started) / 1_000).toFixed(1)} s after the last import`)
  } finally {
    client.close()
    await server.stop()
    rmSync(dataDirectory, { recursive: true })
  }
}

const messagesOf = (data: string): ReadonlyArray<Message> =>
  readRetold(data).flatMap(({ messages }) =>
    messages.memories.map(({ data }) => {
      const { name, text } = data as { readonly name: string; readonly text: string }
      return { role: "user", name, content: text }
    })
  )

/** The messages from a place of the corpus on, around its end. */
const cut = (messages: ReadonlyArray<Message>, from: number, length: number): ReadonlyArray<Message> =>
  Array.from({ length }, (_, at) => messages[(from + at) % messages.length]!)

interface Answered {
  readonly extraction: "done" | "pending"
  readonly messages: { readonly stored: number }
}

const send = async (client: HttpClient, agentId: string, threadId: string, conversation: ReadonlyArray<Message>) => {
  const { body, millis } = await client.json<Answered>("POST", "/v1/memories", { agentId, threadId, conversation })
  if (body.messages.stored === 0) throw new Error("the service knew all messages of a new window")
  return { millis, isPending: body.extraction === "pending" }
}

const windows = async (
  client: HttpClient,
  messages: ReadonlyArray<Message>,
  threadId: string,
  count: number
): Promise<Phase> => {
  const sent: Array<Awaited<ReturnType<typeof send>>> = []
  for (let at = 0; at < count; at++) {
    const window = cut(messages, at * windowLength, windowLength)
    sent.push(await send(client, "agent", `${threadId}-${at}`, window))
    await pause(pauseMillis)
  }
  return { millis: sent.map(({ millis }) => millis), pending: sent.filter(({ isPending }) => isPending).length }
}

const importing = async (
  client: HttpClient,
  messages: ReadonlyArray<Message>,
  agentId: string,
  isOver: () => boolean
): Promise<Phase> => {
  const millis: Array<number> = []
  let pending = 0
  for (let at = 0; !isOver(); at++) {
    const sent = await send(client, agentId, `thread-${at}`, cut(messages, at * importedLength, importedLength))
    millis.push(sent.millis)
    if (sent.isPending) pending++
  }
  client.close()
  return { millis, pending }
}

/** Until every conversation is read and every memory has its vector. */
const settled = async (client: HttpClient): Promise<void> => {
  for (;;) {
    const reading = await Reading.take(client)
    const waiting = reading.gauge("muniment_conversations_pending") + reading.gauge("muniment_vectors_pending")
    if (waiting === 0) return
    await pause(settledPollMillis)
  }
}

const settledPollMillis = 250

const phaseLine = (name: string, { millis, pending }: Phase): string =>
  `windows of ${windowLength}, ${name}: ${spread(millis)}, pending ${((100 * pending) / millis.length).toFixed(0)} %`

await main()
