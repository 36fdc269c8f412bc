/**
 * Time of a whole search without the encoder, at 10,000 messages of conversations and at 10,000 direct memories with the
 * same texts and vectors (LoCoMo, repeated), by turns in one process; and bytes on disk per memory.
 * `node bench/engine/messageSearch.ts --data DIR [--models DIR] [--model ID]`
 */
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { denseText } from "@muniment/engine/text/MemoryText"
import { contentHash, sha256Hex } from "@muniment/trust/CanonicalJson"
import { memoriesPerBatch, namespaceKey, openEngine, type EngineUnderTest } from "./EngineUnderTest.ts"
import type { Question } from "./Memories.ts"
import { median, quantile } from "../kit/Measure.ts"
import { tableText } from "../kit/Report.ts"
import { vectorsOf } from "../kit/TextVectors.ts"
import { readRetold } from "../retrieval/Locomo.ts"
import { dataDirOf, readOptions } from "../retrieval/Options.ts"
import { defaultModels } from "../retrieval/suite.ts"

const memoryCount = 10_000
const questionCount = 500
const rounds = 6

interface Told {
  readonly name: string
  readonly text: string
  readonly when: string
  readonly vector: Float32Array
}

const recordOf = (kind: "message" | "direct", number: number, told: Told, agentId: string): MemoryRecord => {
  const { name, text, when } = told
  const shared = {
    id: `mem_${String(number).padStart(26, "0")}`,
    agentId,
    tags: [],
    mentions: [],
    when,
    confidence: 1,
    createdAt: Date.parse(when) + number,
    updatedAt: Date.parse(when) + number
  }
  if (kind === "direct") {
    const content = { kind: "factual_memory", data: { subject: name, fact: text } }
    return { ...shared, ...content, contentHash: contentHash({ agentId, ...content }), origin: "direct" }
  }
  const content = { kind: "conversation_message", data: { role: "user", name, text } }
  return {
    ...shared,
    ...content,
    contentHash: contentHash({ agentId, ...content }),
    threadId: `${when}-${Math.floor(number / memoryCount)}`,
    origin: "conversation",
    sources: [{ key: sha256Hex(`key${number}`), id: String(number) }]
  }
}

const main = async (): Promise<void> => {
  const options = readOptions("../engine/messageSearch.ts")
  const modelId = options.modelIds[0] ?? defaultModels[0]!
  const corpora = readRetold(dataDirOf(options, "../engine/messageSearch.ts")).map(({ messages }) => messages)
  const memories = corpora.flatMap((corpus) => corpus.memories)
  const vectors = await vectorsOf(options.modelsDir, modelId, "passage", memories.map(denseText))
  const told = memories.map(({ data, when }, at): Told => {
    const { name, text } = data as { readonly name: string; readonly text: string }
    return { name, text, when: when!, vector: vectors[at]! }
  })
  const asked = corpora.flatMap(({ questions }) => questions.map(({ text }) => text))
  const queries = await vectorsOf(options.modelsDir, modelId, "query", asked)
  const step = Math.floor(asked.length / questionCount)
  const questions = Array.from({ length: questionCount }, (_, at): Question => ({
    text: asked[at * step]!,
    vector: queries[at * step]!
  }))
  const kinds = ["direct", "message"] as const
  const opened = await Promise.all(
    kinds.map(async (kind) => {
      const engine = await openEngine()
      const fillMillis = await fill(engine, kind, told, modelId)
      return { kind, engine, fillMillis, times: new Array<Float64Array>() }
    })
  )
  try {
    for (let round = 0; round <= rounds; round++)
      for (const { engine, kind, times } of opened) {
        const millis = await engine.searchMillis(namespaceKey(kind), questions)
        if (round > 0) times.push(millis)
      }
    const rows = opened.map(({ engine, fillMillis, kind, times }) => {
      const all = times.flatMap((one) => [...one])
      const bytes = sizeOf(engine.directory) / memoryCount
      return [kind, median(all).toFixed(2), quantile(all, 0.99).toFixed(2), fillMillis.toFixed(0), bytes.toFixed(0)]
    })
    console.log(
      tableText(["10,000 memories", "p50 ms", "p99 ms", "stored in ms, vectors given", "bytes on disk each"], rows)
    )
  } finally {
    for (const { engine } of opened) await engine.close()
  }
}

const fill = async (
  engine: EngineUnderTest,
  kind: "message" | "direct",
  told: ReadonlyArray<Told>,
  modelId: string
): Promise<number> => {
  const key = namespaceKey(kind)
  const started = performance.now()
  for (let from = 0; from < memoryCount; from += memoriesPerBatch) {
    const batch = Array.from({ length: memoriesPerBatch }, (_, at) => {
      const one = told[(from + at) % told.length]!
      const record = recordOf(kind, from + at, one, key.agentId)
      return { record, vector: { model: modelId, values: one.vector }, isReplacement: false, setsExpiry: false }
    })
    await engine.ask(key, { _tag: "StoreMemories", memories: batch, idempotency: undefined })
  }
  await engine.settled(key)
  return performance.now() - started
}

const sizeOf = (directory: string): number =>
  readdirSync(directory, { recursive: true, encoding: "utf8" }).reduce((sum, name) => {
    const file = statSync(join(directory, name))
    return sum + (file.isFile() ? file.size : 0)
  }, 0)

await main()
