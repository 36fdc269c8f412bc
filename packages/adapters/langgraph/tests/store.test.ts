/** The store beside LangGraph's own in memory, in a graph of LangGraph's, and over the real service. */
import assert from "node:assert/strict"
import process from "node:process"
import { test } from "node:test"
import { Annotation, InMemoryStore, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph"
import type { BaseStore, Item } from "@langchain/langgraph-checkpoint"
import { Muniment } from "@muniment/client"
import { MunimentStore } from "@muniment/langgraph"

const { MUNIMENT_API_KEY = "", MUNIMENT_URL = "" } = process.env
const client = new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY })
const newStore = (): MunimentStore => new MunimentStore(client, { agentId: `langgraph-${crypto.randomUUID()}` })

const plain = ({ key, namespace, value }: Item): object => ({ namespace, key, value })
const inOrder = (items: ReadonlyArray<Item>): ReadonlyArray<string> =>
  items.map((item) => JSON.stringify(plain(item))).toSorted()

/** What a store says to the same calls. */
const answersOf = async (store: BaseStore): Promise<ReadonlyArray<unknown>> => {
  const answers: Array<unknown> = [await store.get(["users", "ann"], "none"), await store.search(["users"])]
  await store.put(["users", "ann"], "prefs", { theme: "dark", size: 3 })
  await store.put(["users", "ann"], "prefs", { theme: "light", size: 4 })
  await store.put(["users", "bob"], "prefs", { theme: "dark", size: 7, nested: { list: [1, null, "x"] } })
  await store.put(["users", "ann", "notes"], "n".repeat(300), { text: "a long key" })
  await store.put(["userss"], "other", { theme: "dark" })
  const item = await store.get(["users", "ann"], "prefs")
  answers.push(plain(item!), item!.createdAt instanceof Date && item!.updatedAt instanceof Date)
  const searches = [
    {},
    { filter: { theme: "dark" } },
    { filter: { size: { $gt: 3 } } },
    { filter: { size: { $gte: 4, $lt: 7 }, theme: { $ne: "dark" } } },
    { filter: { theme: { $in: ["light"] } } },
    { filter: { theme: { $nin: ["light"] } } }
  ]
  for (const options of searches) answers.push(inOrder(await store.search(["users"], options)))
  for (const prefix of [[], ["users", "ann"], ["nobody"]]) answers.push(inOrder(await store.search(prefix)))
  answers.push((await store.search(["users"], { limit: 2 })).length, (await store.search([], { offset: 3 })).length)
  const lists = [
    {},
    { prefix: ["users"] },
    { suffix: ["notes"] },
    { prefix: ["users", "*"], maxDepth: 2 },
    { maxDepth: 1 }
  ]
  for (const options of lists) answers.push(await store.listNamespaces({ ...options, limit: 10, offset: 0 }))
  answers.push(await store.listNamespaces({ limit: 1, offset: 1 }))
  const [before, , many]: ReadonlyArray<unknown> = await store.batch([
    { namespace: ["users", "bob"], key: "prefs" },
    { namespace: ["users", "bob"], key: "extra", value: { theme: "blue" } },
    { namespacePrefix: ["users", "bob"] }
  ])
  answers.push(plain(before as Item), (many as ReadonlyArray<Item>).map(plain))
  answers.push(plain((await store.get(["users", "bob"], "extra"))!))
  await store.delete(["users", "ann"], "prefs")
  await store.delete(["users", "ann"], "prefs")
  answers.push(await store.get(["users", "ann"], "prefs"), inOrder(await store.search(["users", "ann"])))
  for (const namespace of [[], ["a.b"], ["langgraph"], [""]]) {
    answers.push(
      await store.put(namespace, "k", {}).then(
        () => "stored",
        (error: Error) => error.name
      )
    )
  }
  return answers
}

test("questions of any length", async () => {
  const store = newStore()
  await store.put(["a"], "home", { text: "Ann lives in Lisbon" })
  for (const query of [`Where does Ann live? ${"Please say. ".repeat(1_000)}`, " "]) {
    const found = await store.search(["a"], { query })
    assert.deepEqual(
      found.map(({ key }) => key),
      ["home"]
    )
  }
})

test("answers as LangGraph's store in memory does", async () => {
  assert.deepEqual(await answersOf(newStore()), await answersOf(new InMemoryStore()))
})

test("labels that would name another namespace are refused, and nothing of their batch is done", async () => {
  const store = newStore()
  await store.put(["foo", "bar"], "k", { v: 1 })
  for (const operation of [
    { namespace: ["foo.bar"], key: "k" },
    { namespace: ["foo", ""], key: "k", value: null },
    { namespacePrefix: ["foo.bar"] },
    { matchConditions: [{ matchType: "prefix" as const, path: ["foo.bar"] }], limit: 10, offset: 0 }
  ]) {
    const put = { namespace: ["fine"], key: "k", value: { v: 1 } }
    await assert.rejects(store.batch([put, operation]), { name: "InvalidNamespaceError" })
  }
  assert.deepEqual(
    (await store.search([])).map(({ namespace }) => namespace),
    [["foo", "bar"]]
  )
})

test("filters by paths", async () => {
  const store = newStore()
  await store.put(["a"], "path", { user: { town: "Lisbon" } })
  await store.put(["a"], "name", { "user.town": "Porto" })
  for (const [town, key] of [
    ["Lisbon", "path"],
    ["Porto", "name"]
  ]) {
    const found = await store.search(["a"], { filter: { "user.town": town } })
    assert.deepEqual(
      found.map((item) => item.key),
      [key]
    )
  }
})

test("finds by meaning, best first, within the prefix, and leaves out what is not indexed", async () => {
  const store = newStore()
  await store.put(["users", "ann"], "home", { text: "Ann lives in a small town by the sea" })
  await store.put(["users", "ann"], "food", { text: "Ann is fond of dumplings" })
  await store.put(["users", "bob"], "home", { text: "Bob lives in the mountains" })
  await store.put(["users", "ann"], "secret", { text: "Ann lives beside a lighthouse by the ocean" }, false)
  const found = await store.search(["users", "ann"], { query: "where on the coast is her house" })
  assert.equal(found[0]?.key, "home")
  assert.ok(found[0].score! > 0 && found[0].score! <= 1)
  assert.ok(found.every(({ key, namespace }) => namespace[1] === "ann" && key !== "secret"))
  const [best] = await store.search([], { query: "dumplings", limit: 1, filter: { text: { $ne: "x" } } })
  assert.equal(best?.key, "food")
})

test("a graph of one thread reads what a graph of another wrote", async () => {
  const State = Annotation.Root({ said: Annotation<string>, known: Annotation<string> })
  const store = newStore()
  const graph = new StateGraph(State)
    .addNode("remember", async ({ said }: typeof State.State, config: LangGraphRunnableConfig) => {
      const known = await config.store!.search(["facts"], { query: said })
      await config.store!.put(["facts"], crypto.randomUUID(), { text: said })
      return { known: known.map(({ value }) => String(value["text"])).join("\n") }
    })
    .addEdge(START, "remember")
    .compile({ store })
  assert.equal((await graph.invoke({ said: "My sister plays the oboe" })).known, "")
  assert.match((await graph.invoke({ said: "Which instrument does my sister play?" })).known, /oboe/)
})
