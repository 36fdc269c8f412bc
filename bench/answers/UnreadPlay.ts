/**
 * Sends the unread conversations to a running service as a client would, window by window, and asks their questions by
 * search and by answer. Fields that an older service does not know (`name`, `sentAt`, `wait`) are ignored by it.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import { read, saysAll } from "../extraction/Wordings.ts"
import type { Service, ServiceAnswer } from "./Service.ts"
import type { UnreadConversation, UnreadQuestion, UnreadSet } from "./UnreadSet.ts"

const windowMessages = 20
const searchedHits = 10
const pendingPollMillis = 1_000
const pendingPollsMax = 60
/** What a message that is stored as it was said is called. */
const messageKind = "conversation_message"

interface Hit {
  readonly id: string
  readonly quality: { readonly relevance: number }
}

interface ListedMemory {
  readonly id: string
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: { readonly sourceMessageIds?: ReadonlyArray<string> }
}

export interface Remembered {
  readonly kind: string
  readonly text: string
  /** Ids of the messages that it was taken from. */
  readonly sources: ReadonlyArray<string>
}

/** A hit, with what the labels say of it. */
export interface JudgedHit {
  readonly memory: Remembered
  readonly relevance: number
  /** It comes from a message that gives the answer and, unless it is that message, says the answer itself. */
  readonly isAnswer: boolean
  /** It comes from a message with an earlier value. */
  readonly isOutdated: boolean
}

export interface PlayedQuestion {
  readonly label: UnreadQuestion
  /** Best first, at most ten. */
  readonly hits: ReadonlyArray<JudgedHit>
  readonly answer: ServiceAnswer
  /** By wording alone; whether it is right is judged by reading. */
  readonly saysExpected: boolean
}

export interface PlayedConversation {
  readonly conversation: UnreadConversation
  readonly extracted: ReadonlyArray<Remembered>
  readonly storedMessages: number
  readonly questions: ReadonlyArray<PlayedQuestion>
}

interface Created {
  readonly extraction?: "done" | "pending" | "off"
}

export const playUnread = async (
  service: Service,
  { conversations, questions }: UnreadSet
): Promise<ReadonlyArray<PlayedConversation>> => {
  // A running service may have seen the set before.
  const run = randomUUID().slice(0, 8)
  const takesClock = await searchTakesClock(service)
  const agentOf = (conversation: UnreadConversation): string => `${conversation.id}-${run}`
  for (const conversation of conversations) await sendConversation(service, agentOf(conversation), conversation)
  await service.settle()
  const played: Array<PlayedConversation> = []
  for (const conversation of conversations) {
    const agentId = agentOf(conversation)
    const now = conversation.messages.at(-1)?.sentAt ?? ""
    const asker: Asker = { service, parameters: { agentId, ...(takesClock && { now }) } }
    const memories = await remembered(service, agentId)
    const asked: Array<PlayedQuestion> = []
    for (const label of questions.filter((one) => one.conversation === conversation.id))
      asked.push(await ask(asker, label, memories))
    const all = [...memories.values()]
    const extracted = all.filter(({ kind }) => kind !== messageKind)
    played.push({ conversation, extracted, storedMessages: all.length - extracted.length, questions: asked })
  }
  return played
}

export const sendConversation = async (
  service: Service,
  agentId: string,
  { id, messages }: UnreadConversation
): Promise<void> => {
  for (let start = 0; start < messages.length; start += windowMessages) {
    const window = messages.slice(start, start + windowMessages)
    const body = {
      agentId,
      threadId: id,
      wait: "vectors",
      conversation: window.map(({ text, ...rest }) => ({ ...rest, content: text })),
      ...(window.at(-1) !== undefined && { conversationDate: window.at(-1)?.sentAt.slice(0, 10) })
    }
    for (let polls = 0; ; polls++) {
      const { extraction } = await service.call<Created>("/v1/memories", body)
      if (extraction !== "pending") break
      if (polls === pendingPollsMax) throw new Error(`${id}: extraction is still pending`)
      await pause(pendingPollMillis)
    }
  }
}

/** Older services refuse a parameter that they do not know. */
const searchTakesClock = async (service: Service): Promise<boolean> => {
  const { paths } = await service.call<OpenApi>("/openapi.json")
  return paths["/v1/memories/search"]?.get.parameters.some(({ name }) => name === "now") ?? false
}

interface OpenApi {
  readonly paths: Readonly<
    Record<string, { readonly get: { readonly parameters: ReadonlyArray<{ readonly name: string }> } }>
  >
}

interface Asker {
  readonly service: Service
  /** Sent with every search. */
  readonly parameters: Readonly<Record<string, string>>
}

const ask = async (
  { service, parameters }: Asker,
  label: UnreadQuestion,
  remembered: ReadonlyMap<string, Remembered>
): Promise<PlayedQuestion> => {
  const asked = { ...parameters, query: label.question }
  const search = <A>(more: Readonly<Record<string, string>>): Promise<A> =>
    service.call<A>(`/v1/memories/search?${new URLSearchParams({ ...asked, ...more })}`)
  const { memories } = await search<{ readonly memories: ReadonlyArray<Hit> }>({ limit: String(searchedHits) })
  const answer = await search<ServiceAnswer>({ mode: "answer" })
  return {
    label,
    hits: memories.map(({ id, quality }) => {
      const memory = remembered.get(id)
      if (memory === undefined) throw new Error(`${label.id}: ${id} is found and not listed`)
      return { memory, relevance: quality.relevance, ...verdictOf(memory, label) }
    }),
    answer,
    saysExpected: isExpected(answer.answer, label)
  }
}

const verdictOf = (
  { kind, text, sources }: Remembered,
  label: UnreadQuestion
): Pick<JudgedHit, "isAnswer" | "isOutdated"> => {
  if (label.type === "unanswerable") return { isAnswer: false, isOutdated: false }
  const isGold = sources.some((id) => label.gold.includes(id))
  return {
    isAnswer: isGold && (kind === messageKind || isExpected(text, label)),
    isOutdated: !isGold && sources.some((id) => label.outdated?.includes(id))
  }
}

const isExpected = (text: string, label: UnreadQuestion): boolean =>
  label.type !== "unanswerable" && saysAll(read(text), label.expected)

/** Everything that is stored for the agent, by id. */
const remembered = async (service: Service, agentId: string): Promise<ReadonlyMap<string, Remembered>> => {
  const byId = new Map<string, Remembered>()
  for (let cursor: string | undefined; ;) {
    const page = new URLSearchParams({ agentId, limit: "100", includeSuperseded: "true", ...(cursor && { cursor }) })
    const { memories, nextCursor } = await service.call<{
      readonly memories: ReadonlyArray<ListedMemory>
      readonly nextCursor?: string | null
    }>(`/v1/memories?${page}`)
    for (const { id, kind, data, metadata } of memories)
      byId.set(id, { kind, text: textOf(data), sources: metadata.sourceMessageIds ?? [] })
    if (nextCursor === undefined || nextCursor === null) return byId
    cursor = nextCursor
  }
}

const textOf = (data: ListedMemory["data"]): string =>
  Object.entries(data)
    .map(([field, value]) => `${field}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("; ")
