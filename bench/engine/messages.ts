/**
 * Costs of messages in the engine: bytes in the file, processor time of a store, an import and a removal, and of a
 * search among messages against one among direct memories of the same texts. Texts are LoCoMo's turns; long messages
 * are turns joined. Vectors are noise, since no result is judged. `node bench/engine/messages.ts --data DIR`
 */
import { join } from "node:path"
import { Database } from "@muniment/sqlite/Database"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { PreparedMemory } from "@muniment/engine/namespace/Commands"
import { passagesOf } from "@muniment/language/text/Passages"
import { contentHash, sha256Hex } from "@muniment/trust/CanonicalJson"
import { figure, tableText } from "../kit/Report.ts"
import { median } from "../kit/Measure.ts"
import { readRetold } from "../retrieval/Locomo.ts"
import { dataDirOf, readOptions } from "../retrieval/Options.ts"
import { memoriesPerBatch, namespaceKey, openEngine, type EngineUnderTest } from "./EngineUnderTest.ts"
import { modelId } from "./Memories.ts"

const importedCount = 10_000
const threadLength = 500
const storedAtOnce = 20
const rounds = 25
const dims = 384
const joinedLength = 2_300
const microsPerMilli = 1_000

type Form = "message" | "direct"

const main = async (): Promise<void> => {
  const data = dataDirOf(readOptions("messages.ts"), "messages.ts")
  const corpora = readRetold(data).map(({ messages }) => messages)
  const turns = corpora.flatMap(({ memories }) => memories.map((memory) => (memory.data as { text: string }).text))
  const questions = corpora.flatMap((corpus) => corpus.questions.map(({ text }) => text)).slice(0, 500)
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>, Form]> = [
    ["messages of chats", repeated(turns, importedCount), "message"],
    ["the same as direct memories", repeated(turns, importedCount), "direct"],
    ["long messages", repeated(joined(turns), importedCount / 10), "message"]
  ]
  const rows: Array<ReadonlyArray<string>> = []
  for (const [name, texts, form] of cases) rows.push([name, ...(await measured(texts, form, questions))])
  console.log(tableText(heads, rows))
}

const heads = [
  "",
  "characters",
  "units",
  "bytes: words",
  "vectors",
  "rows, marks",
  "import, s",
  "import, CPU us each",
  `store of ${storedAtOnce}, CPU ms`,
  "removal, CPU ms",
  "search p50, ms"
]

const measured = async (
  texts: ReadonlyArray<string>,
  form: Form,
  questions: ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  const engine = await openEngine()
  const key = namespaceKey("messages")
  try {
    const imported = await costOf(() => importAll(engine, texts, form))
    const bytes = bytesIn(join(engine.directory, "namespaces", `${key.tag}.db`))
    let next = texts.length
    const stores = await repeatedCost(() => {
      const memories = texts.slice(0, storedAtOnce).map((text, at) => prepared(text, next + at, form))
      next += storedAtOnce
      return engine.ask(key, { _tag: "StoreMemories", memories, idempotency: undefined })
    })
    const removals = await repeatedCost((round) =>
      engine.ask(key, { _tag: "RemoveMemories", ids: [idOf(100 + round * 7)], idempotency: undefined })
    )
    await engine.settled(key)
    const asked = questions.map((text) => ({ text, vector: noise(text.length) }))
    await engine.searchMillis(key, asked)
    const searches = await engine.searchMillis(key, asked)
    const count = texts.length
    const units = texts.reduce((sum, text) => sum + (form === "direct" ? 1 : passagesOf(text).length), 0)
    return [
      texts.reduce((sum, text) => sum + text.length, 0) / count,
      units / count,
      bytes.words / count,
      bytes.vectors / count,
      bytes.rest / count,
      imported.wallMillis / 1_000,
      (imported.cpuMillis * microsPerMilli) / count,
      median(stores),
      median(removals),
      median(searches)
    ].map(figure)
  } finally {
    await engine.close()
  }
}

const importAll = async (engine: EngineUnderTest, texts: ReadonlyArray<string>, form: Form): Promise<void> => {
  for (let from = 0; from < texts.length; from += memoriesPerBatch) {
    const memories = texts.slice(from, from + memoriesPerBatch).map((text, at) => prepared(text, from + at, form))
    await engine.ask(namespaceKey("messages"), { _tag: "StoreMemories", memories, idempotency: undefined })
  }
}

const idOf = (number: number): string => `mem_${String(number).padStart(26, "0")}`

const prepared = (text: string, number: number, form: Form): PreparedMemory => {
  const speaker = number % 2 === 0 ? "Caroline" : "Melanie"
  const base = {
    id: idOf(number),
    agentId: "messages",
    tags: [],
    mentions: [],
    when: new Date(1_700_000_000_000 + number * 60_000).toISOString(),
    confidence: 1,
    createdAt: number,
    updatedAt: number,
    threadId: `thread-${Math.floor(number / threadLength)}`
  }
  const content =
    form === "direct"
      ? { kind: "factual_memory", data: { subject: speaker, fact: text } }
      : { kind: "conversation_message", data: { role: "user", name: speaker, text } }
  const hashed = { ...base, ...content, contentHash: contentHash({ agentId: base.agentId, ...content }) }
  const record: MemoryRecord =
    form === "direct"
      ? { ...hashed, origin: "direct" }
      : {
          ...hashed,
          origin: "conversation",
          sources: [{ key: sha256Hex(String(number)) }]
        }
  const further = form === "direct" ? 0 : passagesOf(text).length - 1
  const passages = Array.from({ length: further }, (_, at) => noise(number + at + 1))
  return {
    record,
    vector: { model: modelId, values: noise(number), ...(further > 0 && { passages }) },
    isReplacement: false,
    setsExpiry: false
  }
}

/** A unit vector that follows from the seed. */
const noise = (seed: number): Float32Array => {
  const values = new Float32Array(dims)
  let state = seed * 2_654_435_761 + 1
  let squared = 0
  for (let at = 0; at < dims; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    values[at] = state / 2 ** 32 - 0.5
    squared += values[at]! ** 2
  }
  return values.map((value) => value / Math.sqrt(squared))
}

const repeated = (texts: ReadonlyArray<string>, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => texts[at % texts.length]!)

const joined = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const text of texts) {
    const last = found.at(-1)
    if (last === undefined || last.length >= joinedLength) found.push(text)
    else found[found.length - 1] = `${last} ${text}`
  }
  return found
}

interface Cost {
  readonly wallMillis: number
  /** Of the whole process: the loop and the thread that commits. */
  readonly cpuMillis: number
}

const costOf = async (work: () => Promise<unknown>): Promise<Cost> => {
  const started = performance.now()
  const before = process.cpuUsage()
  await work()
  const { system, user } = process.cpuUsage(before)
  return { wallMillis: performance.now() - started, cpuMillis: (system + user) / microsPerMilli }
}

const repeatedCost = async (work: (round: number) => Promise<unknown>): Promise<ReadonlyArray<number>> => {
  const costs: Array<number> = []
  for (let round = 0; round < rounds; round++) costs.push((await costOf(() => work(round))).cpuMillis)
  return costs
}

/** Bytes of the pages of each part of a file. */
const bytesIn = (filename: string) => {
  const database = new Database({ filename })
  database.checkpoint("PASSIVE")
  const sizes = database.prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name").all()
  database.close()
  const sum = (isWanted: (name: string) => boolean): number =>
    sizes.reduce((total, { bytes, name }) => total + (isWanted(String(name)) ? Number(bytes) : 0), 0)
  const isWords = (name: string) => name.startsWith("fulltext")
  const isVectors = (name: string) => name === "vector" || name === "vector_model" || name.startsWith("passage")
  return { words: sum(isWords), vectors: sum(isVectors), rest: sum((name) => !isWords(name) && !isVectors(name)) }
}

await main()
