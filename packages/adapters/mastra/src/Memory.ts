/**
 * Memory for Mastra. `MunimentStorage` is the memory domain of a storage: what users and assistants say is a
 * `conversation_message` of the thread and of its resource (the subject), found by every search; other messages are of
 * the kind `agent_item`, threads and resources of the kind `mastra_record`. `MunimentRecall` puts the context of
 * a prompt before it: what is known of the resource, and what other threads say that bears on it. Filters, order and pages are those of Mastra's own store in memory, which is
 * given the threads in question. Saves of one thread are not serialised: of two at once the later one counts.
 */
import type { ProcessInputArgs, Processor } from "@mastra/core/processors"
import { InMemoryDB, InMemoryMemory, MemoryStorage } from "@mastra/core/storage"
import { type Memory, type Muniment, MunimentError } from "@muniment/client"
import { callLimits, requestsOf } from "@muniment/client/CallLimits"

export interface StorageOptions {
  /** Separates storages; `mastra`. */
  readonly agentId?: string
}

export interface RecallOptions extends StorageOptions {
  /** Tokens of what is put before a prompt, at most; 1,500. */
  readonly maxTokens?: number
  /** IANA time zone of the days in it; UTC. */
  readonly timeZone?: string
}

type Of<Method extends keyof MemoryStorage> = MemoryStorage[Method] extends (
  ...args: infer Args
) => Promise<infer Answer>
  ? { readonly args: Args[0]; readonly answer: Answer }
  : never
type Thread = Of<"saveThread">["answer"]
type Message = Of<"saveMessages">["answer"]["messages"][number]
type Resource = Of<"saveResource">["answer"]
type ListQuery = NonNullable<Parameters<Muniment["listAll"]>[0]>

const agentDefault = "mastra"
const recordKind = "mastra_record"
const itemKind = "agent_item"
const pageSize = 100
/** Characters of an item, as JSON in ASCII, and of its words in one memory: escaped again, both fit into its data. */
const partLength = 24_000
const textLength = 5_000
const turnsMax = 50

const kinds = [
  {
    name: recordKind,
    description: "A thread or a resource of a Mastra storage.",
    schema: {
      "x-tool": false,
      type: "object",
      properties: { mastraRecord: { type: "string" }, id: { type: "string" }, value: { type: "object" } },
      required: ["mastraRecord", "id", "value"]
    },
    uniqueOn: ["mastraRecord", "id"]
  },
  {
    name: itemKind,
    description: "An item of an agent's run that is no message, as JSON.",
    schema: {
      "x-tool": false,
      type: "object",
      properties: { item: { type: "string" }, part: { type: "integer" }, parts: { type: "integer" } },
      required: ["item"]
    }
  }
]

/** For `new MastraCompositeStore({ id, domains: { memory: new MunimentStorage(client) } })`. */
export class MunimentStorage extends MemoryStorage {
  override readonly supportsPartialThreadUpdate = true
  readonly #client: Muniment
  readonly #agentId: string

  constructor(client: Muniment, { agentId = agentDefault }: StorageOptions = {}) {
    super()
    this.#client = client
    this.#agentId = agentId
  }

  /** Erases all memories of the agent. */
  async dangerouslyClearAll(): Promise<void> {
    await this.#client.batchDelete({ filters: { agentId: this.#agentId } })
  }

  async getThreadById({ resourceId, threadId }: Of<"getThreadById">["args"]): Promise<Thread | null> {
    const place = { threadId, ...(resourceId !== undefined && { subjectId: resourceId }) }
    const [record] = await this.#records("thread", place)
    return record === undefined ? null : threadOf(record)
  }

  async saveThread({ thread }: Of<"saveThread">["args"]): Promise<Thread> {
    await this.#create({ subjectId: thread.resourceId, threadId: thread.id }, [recordOf("thread", thread)])
    return thread
  }

  async updateThread({ id, metadata, title }: Of<"updateThread">["args"]): Promise<Thread> {
    const thread = await this.getThreadById({ threadId: id })
    if (thread === null) throw new Error(`Thread with id ${id} not found`)
    const named = title === undefined ? thread : { ...thread, title }
    const changed = { ...named, metadata: { ...thread.metadata, ...metadata }, updatedAt: new Date() }
    return await this.saveThread({ thread: changed })
  }

  /** Erases all memories in the thread. */
  async deleteThread({ threadId }: Of<"deleteThread">["args"]): Promise<void> {
    await this.#client.batchDelete({ filters: { agentId: this.#agentId, threadId } })
  }

  async listThreads(args: Of<"listThreads">["args"]): Promise<Of<"listThreads">["answer"]> {
    const resourceId = args.filter?.resourceId
    const records = await this.#records("thread", resourceId === undefined ? {} : { subjectId: resourceId })
    return await copyOf(records.map(threadOf), []).listThreads(args)
  }

  async listMessages(args: Of<"listMessages">["args"]): Promise<Of<"listMessages">["answer"]> {
    const asked = Array.isArray(args.threadId) ? args.threadId : [args.threadId]
    const included = await this.#withIds((args.include ?? []).map(({ id }) => id))
    const threads = new Set([...asked, ...included.map(({ message }) => message.threadId ?? "")])
    const found = await Promise.all([...threads].filter((id) => id.trim() !== "").map((id) => this.#inThread(id)))
    return await copyOf([], found.flat()).listMessages(args)
  }

  override async listMessagesByResourceId(
    args: Of<"listMessagesByResourceId">["args"]
  ): Promise<Of<"listMessages">["answer"]> {
    const found = await this.#messages({ subjectId: args.resourceId })
    return await copyOf([], found).listMessagesByResourceId(args)
  }

  async listMessagesById(args: Of<"listMessagesById">["args"]): Promise<Of<"listMessagesById">["answer"]> {
    return await copyOf([], await this.#withIds(args.messageIds)).listMessagesById(args)
  }

  /** A message with the id of another takes its place. */
  async saveMessages({ messages }: Of<"saveMessages">["args"]): Promise<Of<"saveMessages">["answer"]> {
    const earlier = await this.#withIds(messages.map(({ id }) => id))
    const groups = new Map<string, Array<Message>>()
    for (const message of messages) {
      const key = JSON.stringify([message.threadId, message.resourceId])
      groups.set(key, [...(groups.get(key) ?? []), message])
    }
    for (const group of groups.values()) {
      const { resourceId, threadId } = group[0]!
      if (threadId === undefined) throw new Error("A message that is saved has a threadId")
      const place = { threadId, ...(resourceId !== undefined && { subjectId: resourceId }) }
      await this.#create(place, group.flatMap(memoriesOf))
    }
    await this.#erase(earlier.flatMap(({ memories }) => memories))
    await this.#touch([...messages, ...earlier.map(({ message }) => message)])
    return { messages }
  }

  async updateMessages(args: Of<"updateMessages">["args"]): Promise<Message[]> {
    const found = await this.#withIds(args.messages.map(({ id }) => id))
    const changed = await copyOf([], found).updateMessages(args as Parameters<InMemoryMemory["updateMessages"]>[0])
    await this.saveMessages({ messages: changed })
    return changed
  }

  override async deleteMessages(messageIds: string[]): Promise<void> {
    const found = await this.#withIds(messageIds)
    await this.#erase(found.flatMap(({ memories }) => memories))
    await this.#touch(found.map(({ message }) => message))
  }

  override async copyThread(args: Of<"copyThread">["args"]): Promise<Of<"copyThread">["answer"]> {
    const ids = [args.sourceThreadId, ...(args.newThreadId === undefined ? [] : [args.newThreadId])]
    const threads = await Promise.all(ids.map((threadId) => this.getThreadById({ threadId })))
    const database = databaseOf(
      threads.filter((thread) => thread !== null),
      await this.#inThread(args.sourceThreadId)
    )
    const copy = new InMemoryMemory({ db: database })
    const answer = await copy.copyThread(args)
    const { messages } = await copy.listMessages({ threadId: answer.thread.id, perPage: false })
    await this.saveThread({ thread: answer.thread })
    if (messages.length > 0) await this.saveMessages({ messages })
    return answer
  }

  override async getResourceById({ resourceId }: Of<"getResourceById">["args"]): Promise<Resource | null> {
    const [record] = await this.#records("resource", { subjectId: resourceId })
    return record === undefined ? null : resourceOf(record)
  }

  override async saveResource({ resource }: Of<"saveResource">["args"]): Promise<Resource> {
    await this.#create({ subjectId: resource.id }, [recordOf("resource", resource)])
    return resource
  }

  override async updateResource(args: Of<"updateResource">["args"]): Promise<Resource> {
    const resource = await this.getResourceById(args)
    const database = new InMemoryDB()
    if (resource !== null) database.resources.set(resource.id, resource)
    return await this.saveResource({ resource: await new InMemoryMemory({ db: database }).updateResource(args) })
  }

  async #records(type: string, place: ListQuery): Promise<ReadonlyArray<Memory>> {
    const data = JSON.stringify({ mastraRecord: type })
    const found: Array<Memory> = []
    for await (const memory of this.#client.listAll({ ...place, agentId: this.#agentId, data, limit: pageSize }))
      found.push(memory)
    return found
  }

  #inThread(threadId: string): Promise<ReadonlyArray<Stored>> {
    return this.#messages({ threadId })
  }

  async #withIds(ids: ReadonlyArray<string>): Promise<ReadonlyArray<Stored>> {
    return (
      await Promise.all([...new Set(ids)].map((id) => this.#messages({ data: JSON.stringify({ messageId: id }) })))
    ).flat()
  }

  /** Oldest first; of several with one id, which a save that broke off leaves, the newest. */
  async #messages(place: ListQuery): Promise<ReadonlyArray<Stored>> {
    const query = { ...place, agentId: this.#agentId, order: "asc" as const, limit: pageSize }
    const byId = new Map<string, Stored>()
    let parts: Array<Memory> = []
    for await (const memory of this.#client.listAll(query)) {
      const { item, messageId, part = 0, parts: count = 1 } = memory.data as Partial<Item>
      if (item === undefined || messageId === undefined) continue
      parts = part === 0 ? [memory] : [...parts, memory]
      if (parts.length !== count) continue
      const earlier = byId.get(messageId)?.memories ?? []
      byId.delete(messageId)
      byId.set(messageId, { message: messageOf(parts), memories: [...earlier, ...parts.map(({ id }) => id)] })
    }
    return [...byId.values()]
  }

  async #create(place: Place, memories: ReadonlyArray<NewMemory>): Promise<void> {
    for (const part of requestsOf(memories, callLimits.memoriesPerRequestMax)) {
      const body = { agentId: this.#agentId, ...place, memories: part }
      try {
        await this.#client.create(body)
      } catch (error) {
        if (!(error instanceof MunimentError) || error.code !== "unknown_kind") throw error
        await this.#registerKinds()
        await this.#client.create(body)
      }
    }
  }

  async #erase(ids: ReadonlyArray<string>): Promise<void> {
    for (let at = 0; at < ids.length; at += pageSize) {
      await this.#client.batchDelete({ ids: ids.slice(at, at + pageSize) as [string, ...string[]] })
    }
  }

  async #touch(messages: ReadonlyArray<Message>): Promise<void> {
    for (const threadId of new Set(messages.map((message) => message.threadId ?? ""))) {
      const thread = await this.getThreadById({ threadId })
      if (thread !== null) await this.saveThread({ thread: { ...thread, updatedAt: new Date() } })
    }
  }

  async #registerKinds(): Promise<void> {
    for (const { schema, ...kind } of kinds) {
      try {
        await this.#client.register({ ...kind, schema: JSON.stringify(schema) } as Parameters<Muniment["register"]>[0])
      } catch (error) {
        if (!(error instanceof MunimentError) || error.code !== "schema_exists") throw error
      }
    }
  }
}

/** For `new Agent({ inputProcessors: [new MunimentRecall(client)], memory })`. */
export class MunimentRecall implements Processor<"muniment-recall"> {
  readonly id = "muniment-recall"
  readonly #client: Muniment
  readonly #options: RecallOptions

  constructor(client: Muniment, options: RecallOptions = {}) {
    this.#client = client
    this.#options = options
  }

  async processInput({ messages, systemMessages }: ProcessInputArgs) {
    const said = messages.findLast(({ role }) => role === "user")
    // Without a resource it is not known whose memories these would be.
    if (said?.resourceId === undefined || wordsOf(said).trim() === "") return messages
    const turns = messages.slice(-turnsMax).flatMap((message) => {
      const content = wordsOf(message).slice(0, textLength)
      return (message.role === "user" || message.role === "assistant") && content.trim() !== ""
        ? [{ role: message.role, content }]
        : []
    })
    const { agentId = agentDefault, ...options } = this.#options
    const { text } = await this.#client.context({ agentId, subjectId: said.resourceId, messages: turns, ...options })
    if (text === "") return messages
    return { messages, systemMessages: [...systemMessages, { role: "system" as const, content: text }] }
  }
}

interface Place {
  readonly subjectId?: string
  readonly threadId?: string
}
interface Item {
  readonly item: string
  readonly messageId: string
  readonly part: number
  readonly parts: number
}
type NewMemory = NonNullable<Parameters<Muniment["create"]>[0]["memories"]>[number]
interface Stored {
  readonly message: Message
  readonly memories: ReadonlyArray<string>
}

const recordOf = (type: string, { id, ...value }: Thread | Resource): NewMemory => ({
  kind: recordKind,
  data: { mastraRecord: type, id, value: JSON.parse(JSON.stringify(value)) as NewMemory["data"] }
})

const threadOf = ({ data }: Memory): Thread => dated<Thread>(data)
const resourceOf = ({ data }: Memory): Resource => dated<Resource>(data)

const dated = <Kind extends Thread | Resource>({ id, value }: Memory["data"]): Kind => {
  const fields = JSON.parse(JSON.stringify(value)) as Kind
  return { ...fields, id, createdAt: new Date(fields.createdAt), updatedAt: new Date(fields.updatedAt) } as Kind
}

/** The words are in the first of a message's memories. */
const memoriesOf = (message: Message): ReadonlyArray<NewMemory> => {
  const text = asciiOf(JSON.stringify(message))
  const words =
    message.role === "signal"
      ? ""
      : wordsOf(message)
          .slice(0, textLength)
          .replaceAll(/\p{Surrogate}/gu, "\ufffd")
  const count = Math.ceil(text.length / partLength)
  return Array.from({ length: count }, (_, part) => {
    const item = text.slice(part * partLength, (part + 1) * partLength)
    const data = { item, messageId: message.id, ...(count > 1 && { part, parts: count }) }
    return part === 0 && words.trim() !== ""
      ? { kind: "conversation_message", data: { role: message.role, text: words, ...data } }
      : { kind: itemKind, data }
  })
}

/** A part may end within a character. */
const asciiOf = (json: string): string =>
  json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

const messageOf = (parts: ReadonlyArray<Memory>): Message => {
  const message = JSON.parse(parts.map(({ data }) => String(data["item"])).join("")) as Message
  return { ...message, createdAt: new Date(message.createdAt) }
}

const wordsOf = ({ content }: Message): string =>
  content.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

const copyOf = (threads: ReadonlyArray<Thread>, found: ReadonlyArray<Stored>): InMemoryMemory =>
  new InMemoryMemory({ db: databaseOf(threads, found) })

const databaseOf = (threads: ReadonlyArray<Thread>, found: ReadonlyArray<Stored>): InMemoryDB => {
  const database = new InMemoryDB()
  for (const thread of threads) database.threads.set(thread.id, thread)
  for (const { message } of found) {
    const { content, resourceId = null, threadId = "", type = "text", ...rest } = message
    const row = { ...rest, content: JSON.stringify(content), resourceId, thread_id: threadId, type }
    database.messages.set(message.id, row)
  }
  return database
}
