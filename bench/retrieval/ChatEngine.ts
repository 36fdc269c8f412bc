/**
 * A chat in the service's own engine: its messages stored in order, as the service stores those of a conversation, and
 * each question asked when the messages that it may find are there.
 */
import { Effect, Layer, ManagedRuntime } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { conversationMessageKind, type MemoryRecord } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { MemorySearch, type MemoryHit } from "@muniment/engine/search/MemorySearch"
import { logFirstStore } from "@muniment/engine/store/logged/LogFirstStore"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { isForeign } from "@muniment/language/text/Language"
import { denseTexts } from "@muniment/engine/text/MemoryText"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { contentHash, sha256Hex } from "@muniment/trust/CanonicalJson"
import { vectorsOf } from "../kit/TextVectors.ts"
import type { Chat, ChatQuestion, ChatSet } from "./ChatSets.ts"

export interface AskedChat {
  readonly chat: Chat
  readonly questions: ReadonlyArray<AskedQuestion>
}

export interface AskedQuestion extends ChatQuestion {
  readonly chat: Chat
  /** Asked of another chat, so nothing here answers it. */
  readonly isForeign: boolean
  /** Best first. */
  readonly hits: ReadonlyArray<MemoryHit>
  /** Ids of the messages in the order of `hits`. */
  readonly found: ReadonlyArray<string>
}

export interface AskOptions {
  readonly modelsDir: string
  readonly modelId: string
  /** Whether questions are searched by words alone. */
  readonly isByWords: boolean
  /** Hits of each question. */
  readonly depth: number
}

/** Every question of a set, and questions without an answer: those of the next chat. */
export const askSet = async (
  { chats, isOfFacts }: ChatSet,
  { depth, isByWords, modelId, modelsDir }: AskOptions
): Promise<ReadonlyArray<AskedChat>> => {
  const records = chats.map((chat) => recordsOf(chat, isOfFacts))
  const questions = chats.map((chat, at) => askedOf(chat, chats[(at + foreignDistance) % chats.length]!))
  const texts = records.flat().map((record) => denseTexts(record))
  const passages = [...(await vectorsOf(modelsDir, modelId, "passage", texts.flat()))]
  const asked = questions.flat().map(({ text }) => text)
  const queries = [...(await vectorsOf(modelsDir, modelId, "query", asked))]
  const directory = mkdtempSync(join(tmpdir(), "muniment-chats-"))
  const runtime = ManagedRuntime.make(engineIn(directory))
  try {
    const found: Array<AskedChat> = []
    for (const [at, chat] of chats.entries()) {
      const memories = records[at]!.map((record) => {
        const [values, ...further] = passages.splice(0, denseTexts(record).length)
        const vector = { model: modelId, values: values!, ...(further.length > 0 && { passages: further }) }
        return { record, vector, isReplacement: false, setsExpiry: false }
      })
      const here = questions[at]!.map((question) => ({ ...question, vector: queries.shift()! }))
      found.push(await runtime.runPromise(askChat(chat, memories, here, { modelId, depth, isByWords })))
    }
    return found
  } finally {
    await runtime.dispose()
    rmSync(directory, { recursive: true, force: true })
  }
}

const engineIn = (directory: string) =>
  MemorySearch.layer.pipe(
    Layer.provideMerge(
      NamespaceHost.layer({
        dataDirectory: directory,
        index: { hnswlib: undefined, pin: "exact", slabs: new SlabPool(loadKernels()) }
      })
    ),
    Layer.provide(logFirstStore(directory)),
    Layer.provide(fileLogLayer({ directory: join(directory, logFolder) }))
  )

const perCommit = 100

const askChat = Effect.fnUntraced(function* (
  chat: Chat,
  memories: ReadonlyArray<{
    readonly record: MemoryRecord
    readonly vector: { readonly model: string; readonly values: Float32Array }
    readonly isReplacement: boolean
    readonly setsExpiry: boolean
  }>,
  asked: ReadonlyArray<WrittenQuestion & { readonly vector: Float32Array }>,
  { depth, isByWords, modelId }: Omit<AskOptions, "modelsDir">
) {
  const host = yield* NamespaceHost
  const searcher = yield* MemorySearch
  const key: NamespaceKey = { tag: sha256Hex(chat.name).slice(0, 12), account: "acc_bench", agentId: chat.name }
  const questions: Array<AskedQuestion> = []
  let stored = 0
  for (const question of asked) {
    while (stored < question.stored) {
      const some = memories.slice(stored, Math.min(question.stored, stored + perCommit))
      yield* host.ask(key, { _tag: "StoreMemories", memories: some, idempotency: undefined })
      stored += some.length
    }
    const { hits } = yield* searcher.search([key], {
      text: question.text,
      vectors: new Map(isByWords ? [] : [[modelId, question.vector]]),
      isMeaningful: !isForeign(question.text),
      filter: {},
      limit: depth,
      minRelevance: 0,
      askedAtMillis: Date.parse(question.askedAt)
    })
    const found = hits.map(({ memory }) => chat.messages[Number(memory.id.slice("mem_".length))]!.id)
    questions.push({ ...question, chat, hits, found })
  }
  return { chat, questions } satisfies AskedChat
})

type WrittenQuestion = ChatQuestion & Pick<AskedQuestion, "isForeign">

const foreignDistance = 1
/** One question of another chat for so many own ones. */
const ownPerForeign = 2

/** Own questions, and some of another chat with the names of the speakers exchanged, in the order of `stored`. */
const askedOf = (chat: Chat, other: Chat): ReadonlyArray<WrittenQuestion> => {
  const names = namesIn(chat)
  const own = chat.questions.map((question) => ({ ...question, isForeign: false }))
  const foreign = other.questions.flatMap(({ text }, at): ReadonlyArray<WrittenQuestion> => {
    const beside = own[at % own.length]
    if (at % ownPerForeign !== 0 || beside === undefined) return []
    const here = namesIn(other).reduce((said, name, which) => said.replaceAll(name, names[which] ?? name), text)
    return [{ ...beside, text: here, evidence: [], isForeign: true }]
  })
  return [...own, ...foreign].sort((left, right) => left.stored - right.stored)
}

const namesIn = ({ messages }: Chat): ReadonlyArray<string> => [...new Set(messages.flatMap(({ name }) => name ?? []))]

const recordsOf = ({ messages, name: agentId }: Chat, isOfFacts: boolean): ReadonlyArray<MemoryRecord> =>
  messages.map(({ id, name, role, session, text, when }, number) => {
    const content = isOfFacts
      ? { kind: "factual_memory", data: { subject: name ?? role, fact: text } }
      : { kind: conversationMessageKind, data: { role, ...(name !== undefined && { name }), text } }
    const createdAt = Date.parse(when) + number
    return {
      id: `mem_${String(number).padStart(26, "0")}`,
      agentId,
      threadId: session,
      ...content,
      tags: [],
      mentions: [],
      when,
      confidence: 1,
      contentHash: contentHash({ agentId, ...content }),
      createdAt,
      updatedAt: createdAt,
      ...(isOfFacts
        ? { origin: "direct" }
        : { origin: "conversation", sources: [{ key: sha256Hex(`${agentId} ${id}`), id }] })
    }
  })
