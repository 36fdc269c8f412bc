/**
 * LoCoMo through the whole service over HTTP: every session is sent as a conversation, its messages are stored and read
 * by the rules; then every question is searched. Evidence among the hits, over messages alone and over messages and
 * extracted memories together; an extracted memory counts for the messages it was taken from.
 * `node bench/retrieval/conversations.ts --data DIR [--models DIR]`
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { BenchServer } from "../http/BenchServer.ts"
import { HttpClient } from "../http/HttpClient.ts"
import { tableText } from "../kit/Report.ts"
import { readRetold, type Corpus } from "./Locomo.ts"
import { MetricsSum, RANKING_DEPTH, type Metrics } from "./Metrics.ts"
import { dataDirOf, readOptions } from "./Options.ts"

interface Hits {
  readonly memories: ReadonlyArray<{ readonly id: string }>
}

interface Listed {
  readonly memories: ReadonlyArray<{
    readonly id: string
    readonly metadata: { readonly sourceMessageIds?: ReadonlyArray<string> }
  }>
  readonly nextCursor?: string
}

const searches = {
  "messages alone": { kind: "conversation_message" },
  "messages and extracted memories": {}
}
const pageSize = 100

const main = async (): Promise<void> => {
  const options = readOptions("conversations.ts")
  const corpora = readRetold(dataDirOf(options, "conversations.ts")).map(({ messages }) => messages)
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-conversations-"))
  const server = await BenchServer.start({
    dataDirectory,
    environment: { MUNIMENT_RATE_LIMITS: "off", MUNIMENT_MODELS_DIR: resolve(options.modelsDir) }
  })
  try {
    const client = new HttpClient(server.port)
    const sums = Object.keys(searches).map((name) => ({ name, all: new MetricsSum(), plain: new MetricsSum() }))
    let stored = 0
    for (const corpus of corpora) {
      await send(client, corpus)
      const turns = await turnsOf(client, corpus.name)
      stored += turns.size
      for (const [at, filter] of Object.values(searches).entries()) {
        for (const { evidence, isAdversarial, text } of corpus.questions) {
          const ranking = await ask(client, corpus.name, text, filter, turns, evidence)
          sums[at]!.all.add(ranking, evidence)
          if (!isAdversarial) sums[at]!.plain.add(ranking, evidence)
        }
      }
      process.stderr.write(`${corpus.name} `)
    }
    const rows = sums.map(({ all, name, plain }) => [name, figures(plain.mean()), figures(all.mean())])
    console.log(
      `${stored.toLocaleString("en-US")} memories of ${corpora.length} conversations; R@5 R@10 R@20 nDCG@10\n`
    )
    console.log(tableText(["searched", "without adversarial", "all questions"], rows))
  } finally {
    await server.stop()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}

const figures = ({ recall5, recall10, recall20, ndcg10 }: Metrics): string =>
  [recall5, recall10, recall20, ndcg10].map((value) => value.toFixed(3)).join(" ")

/** One request a session; the id of a message is its number in the corpus. */
const send = async (client: HttpClient, { memories, name }: Corpus): Promise<void> => {
  const sessions = Map.groupBy(memories.entries(), ([, { when }]) => when!)
  for (const [when, messages] of sessions) {
    const conversation = messages.map(([at, { data }]) => {
      const { name: speaker, text } = data as { readonly name: string; readonly text: string }
      return { id: String(at), role: "user", name: speaker, content: text, sentAt: when }
    })
    const conversationDate = when.slice(0, "2026-01-01".length)
    const body = { agentId: name, threadId: when.replaceAll(":", "-"), conversationDate, conversation, wait: "vectors" }
    await client.json("POST", "/v1/memories", body)
  }
}

/** The messages behind each memory of the agent. */
const turnsOf = async (client: HttpClient, agentId: string): Promise<ReadonlyMap<string, ReadonlyArray<number>>> => {
  const turns = new Map<string, ReadonlyArray<number>>()
  let cursor: string | undefined
  do {
    const query = new URLSearchParams({ agentId, limit: String(pageSize), ...(cursor !== undefined && { cursor }) })
    const { body } = await client.json<Listed>("GET", `/v1/memories?${query}`)
    for (const { id, metadata } of body.memories) turns.set(id, (metadata.sourceMessageIds ?? []).map(Number))
    cursor = body.nextCursor
  } while (cursor !== undefined)
  return turns
}

/** One turn per place: of an extracted memory the evidence behind it that was not found before. */
const ask = async (
  client: HttpClient,
  agentId: string,
  text: string,
  filter: Readonly<Record<string, string>>,
  turns: ReadonlyMap<string, ReadonlyArray<number>>,
  evidence: ReadonlySet<number>
): Promise<ReadonlyArray<number>> => {
  const query = new URLSearchParams({ agentId, query: text, limit: String(RANKING_DEPTH), scope: "own", ...filter })
  const { body } = await client.json<Hits>("GET", `/v1/memories/search?${query}`)
  const found = new Set<number>()
  return body.memories.map(({ id }) => {
    const turn = turns.get(id)?.find((one) => evidence.has(one) && !found.has(one))
    if (turn !== undefined) found.add(turn)
    return turn ?? -1
  })
}

await main()
