/** The storage beside Mastra's own store in memory: the same calls, the same answers; and what a prompt is given. */
import assert from "node:assert/strict"
import process from "node:process"
import { test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { MessageList } from "@mastra/core/agent"
import { InMemoryDB, InMemoryMemory, type MemoryStorage } from "@mastra/core/storage"
import { Muniment } from "@muniment/client"
import { MunimentRecall, MunimentStorage } from "@muniment/mastra"

const { MUNIMENT_API_KEY = "", MUNIMENT_URL = "" } = process.env
const client = new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY })
const newStorage = (agentId: string = crypto.randomUUID()) => new MunimentStorage(client, { agentId })

type Message = Awaited<ReturnType<MemoryStorage["saveMessages"]>>["messages"][number]

const at = (second: number) => new Date(1_760_000_000_000 + second * 1_000)
const message = (id: string, threadId: string, second: number, text: string, more: object = {}): Message => ({
  id,
  threadId,
  resourceId: "ann",
  role: "user",
  type: "v2",
  createdAt: at(second),
  content: { format: 2, parts: [{ type: "text", text }] },
  ...more
})
const thread = (id: string, resourceId: string, second: number, metadata: Record<string, unknown> = {}) => ({
  id,
  resourceId,
  title: `About ${id}`,
  metadata,
  createdAt: at(second),
  updatedAt: at(second)
})
/** Without the times of changes, which are those of the clock. */
const plain = (answer: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answer, (name, value: unknown) => (name === "updatedAt" || name === "clonedAt" ? undefined : value))
  )

const call = {
  toolCallId: "c1",
  toolName: "weather",
  args: { city: "Oslo" },
  state: "result",
  result: "é".repeat(70_000)
}

const answersOf = async (storage: MemoryStorage): Promise<ReadonlyArray<unknown>> => {
  const answers: Array<unknown> = [await storage.getThreadById({ threadId: "one" }), await storage.listThreads({})]
  await storage.saveThread({ thread: thread("one", "ann", 1, { topic: "cats" }) })
  await storage.saveThread({ thread: thread("two", "ann", 2) })
  await storage.saveThread({ thread: thread("three", "bob", 3, { topic: "cats" }) })
  const messages = [
    message("m1", "one", 1, "My cat is called Mimi. 😀 \u0001 \ud83d", {
      content: {
        format: 2,
        parts: [{ type: "text", text: "My cat is called Mimi. 😀 \u0001 \ud83d" }],
        metadata: { mood: "fine" }
      }
    }),
    message("m2", "one", 2, "", {
      role: "assistant",
      content: { format: 2, parts: [{ type: "tool-invocation", toolInvocation: call }] }
    }),
    message("m3", "one", 3, "What a nice name", { role: "assistant" }),
    message("m4", "two", 4, "I live in Lisbon"),
    message("m5", "three", 5, "Bob here", { resourceId: "bob" })
  ]
  await storage.saveMessages({ messages })
  await storage.saveMessages({
    messages: Array.from({ length: 120 }, (_, at) => message(`n${at}`, "two", 10 + at, `${at}`))
  })
  const lists: ReadonlyArray<Parameters<MemoryStorage["listMessages"]>[0]> = [
    { threadId: "one" },
    { threadId: "two", perPage: 3, page: 1 },
    { threadId: "two", perPage: 2, orderBy: { field: "createdAt", direction: "DESC" } },
    { threadId: ["one", "three"], resourceId: "ann", perPage: false },
    { threadId: "two", filter: { dateRange: { start: at(20), end: at(22), endExclusive: true } } },
    { threadId: "one", filter: { metadata: { mood: "fine" } } },
    { threadId: "one", perPage: 0, include: [{ id: "n7", withPreviousMessages: 1, withNextMessages: 2 }] },
    { threadId: "none" }
  ]
  for (const list of lists) answers.push(await storage.listMessages(list))
  answers.push(await storage.listMessagesByResourceId({ resourceId: "bob" }))
  answers.push(await storage.listMessagesById({ messageIds: ["m5", "m1", "unknown"] }))

  await storage.saveMessages({ messages: [message("m3", "one", 3, "What a very nice name", { role: "assistant" })] })
  const seen = { ...messages[0]!.content, metadata: { seen: true } }
  await storage.updateMessages({ messages: [{ id: "m1", content: seen }, { id: "none" }] })
  await storage.deleteMessages(["m2", "none"])
  answers.push(await storage.listMessages({ threadId: "one" }))
  await storage.updateThread({ id: "one", title: "Cats", metadata: { closed: true } })
  answers.push(await storage.getThreadById({ threadId: "one" }))
  answers.push(await storage.getThreadById({ threadId: "one", resourceId: "bob" }))
  answers.push(await storage.updateThread({ id: "none", title: "x" }).catch((error: Error) => error.message))
  const threads: ReadonlyArray<Parameters<MemoryStorage["listThreads"]>[0]> = [
    { orderBy: { field: "createdAt", direction: "ASC" } },
    { filter: { resourceId: "ann" }, perPage: 1, orderBy: { field: "createdAt", direction: "DESC" } },
    { filter: { metadata: { topic: "cats" } }, orderBy: { field: "createdAt", direction: "ASC" } }
  ]
  for (const list of threads) answers.push(await storage.listThreads(list))

  await storage.copyThread({ sourceThreadId: "one", newThreadId: "copy", resourceId: "cid" })
  const copied = await storage.listMessages({ threadId: "copy" })
  answers.push(
    copied.total,
    copied.messages.map(({ content, resourceId }) => ({ content, resourceId }))
  )
  answers.push(
    await storage.copyThread({ sourceThreadId: "one", newThreadId: "two" }).catch((error: Error) => error.message)
  )
  await storage.deleteThread({ threadId: "two" })
  answers.push(await storage.getThreadById({ threadId: "two" }), await storage.listMessages({ threadId: "two" }))
  return answers.map(plain)
}

const resourcesOf = async (storage: MemoryStorage): Promise<ReadonlyArray<unknown>> => {
  const before = await storage.getResourceById({ resourceId: "ann" })
  await storage.updateResource({ resourceId: "ann", workingMemory: "# Ann", metadata: { a: 1 } })
  await storage.updateResource({ resourceId: "ann", metadata: { b: 2 } })
  const resource = await storage.getResourceById({ resourceId: "ann" })
  return [before, resource?.workingMemory, resource?.metadata, resource?.createdAt instanceof Date]
}

test("answers as Mastra's store in memory does", async () => {
  assert.deepEqual(await answersOf(newStorage()), await answersOf(new InMemoryMemory({ db: new InMemoryDB() })))
  assert.deepEqual(await resourcesOf(newStorage()), await resourcesOf(new InMemoryMemory({ db: new InMemoryDB() })))
})

test("a thread that gets a message is the newest of its resource", async () => {
  const storage = newStorage()
  await storage.saveThread({ thread: thread("old", "ann", 1) })
  await storage.saveThread({ thread: thread("new", "ann", 2) })
  await storage.saveMessages({ messages: [message("m", "old", 3, "Hello")] })
  const { threads } = await storage.listThreads({ orderBy: { field: "updatedAt", direction: "DESC" } })
  assert.deepEqual(
    threads.map(({ id }) => id),
    ["old", "new"]
  )
})

test("a prompt is given what other threads of the resource know, as data, and no more than that", async () => {
  const agentId = crypto.randomUUID()
  const storage = newStorage(agentId)
  await storage.saveMessages({
    messages: [
      message("m1", "one", 1, "I have a cup of green tea every morning"),
      message("m2", "bobs", 2, "I drink espresso", { resourceId: "bob" }),
      message("m3", "two", 3, "I like some beverages")
    ]
  })
  // Vectors follow a while after the save.
  const query = { agentId, subjectId: "ann", query: "Which beverage do I like?" }
  while (!JSON.stringify(await client.search(query)).includes("green tea")) await pause(20)
  const recall = new MunimentRecall(client, { agentId })
  const given = async (more: object) => {
    const messages = [message("m4", "two", 4, "Which beverage do I like?", more)]
    const context = { messages, systemMessages: [{ role: "system" as const, content: "Be short." }], state: {} }
    const abort = () => assert.fail("aborted")
    return await recall.processInput({ ...context, messageList: new MessageList(), abort, retryCount: 0 })
  }
  const answer = await given({})
  assert.ok("systemMessages" in answer)
  const [own, context] = answer.systemMessages.map(({ content }) => String(content))
  assert.equal(own, "Be short.")
  assert.match(context ?? "", /^What is remembered from earlier\.[^]*User: I have a cup of green tea every morning\n/)
  assert.doesNotMatch(context ?? "", /espresso|Which beverage/)
  assert.ok(!("systemMessages" in (await given({ resourceId: undefined }))))
  assert.ok(!("systemMessages" in (await given({ resourceId: "cid" }))))
})
