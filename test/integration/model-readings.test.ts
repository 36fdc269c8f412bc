/**
 * Readings of a language model beside the rules, over its real wire format (contract: Conversations): what rules find is
 * there before the model replies, a later reading replaces and ends what is known, what its writer asks not to keep goes,
 * instructions reach the model, and a long request is read to its end.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { sectionOf } from "../support/FencedPrompt.ts"
import { accountCalls, type MemoryCalls } from "../support/MemoryCalls.ts"
import { type ModelRequest, ModelServer } from "../support/ModelServer.ts"
import { answer } from "../support/ModelServerReplies.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { patienceMillis, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import { told } from "../support/ToldMemory.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

interface Line {
  readonly n: number
  readonly id?: string
  readonly text: string
}

const lines = ({ prompt }: ModelRequest, section: string) => sectionOf(prompt, section) as ReadonlyArray<Line>

const environmentOf = (served: ModelServer) => ({
  MUNIMENT_EMBEDDING_MODEL: "none",
  ...served.environment()
})

let model: ModelServer
let server: TestServer
let alice: MemoryCalls
beforeAll(async () => {
  model = await ModelServer.start()
  server = await startServer({ environment: environmentOf(model) })
  alice = await accountCalls(server, "alice")
})
beforeEach(() => {
  model.requests.length = 0
  model.otherwise = () => answer({ memories: [] })
})
afterAll(async () => {
  expect(server.output()).not.toMatch(/Quimper|zanzibar/)
  await server.stop()
  await model.close()
})

const say = (agentId: string, content: string, rest: object = {}) =>
  alice.post("/v1/memories", {
    agentId,
    subjectId: "s",
    threadId: "t",
    wait: "extraction",
    conversation: [{ role: "user", content }],
    ...rest
  })

const held = async (agentId: string, rest = ""): Promise<ReadonlyArray<string>> => {
  const { body } = await alice.call("GET", `/v1/memories?agentId=${agentId}&include=extracted${rest}`)
  return body.memories.map(({ data }: { readonly data: { readonly fact: string } }) => data.fact)
}

describe("rules beside a model", () => {
  it("are stored before it replies, shown to it, and not read again", async () => {
    const late = Limits.extractionDeadlineMillis + 500
    model.otherwise = () => ({ kind: "slow", millis: late, then: answer({ memories: [] }) })
    const pending = say("beside", "My name is Alice and I live in Quimper.", { wait: undefined })
    await vi.waitFor(() => expect(model.underWay).toBe(1), patienceMillis)
    const early = await held("beside")
    expect(early).toContain("Alice lives in Quimper")
    const known = lines(model.requests[0]!, "KNOWN").map(({ text }) => text)
    expect(known).toContain("Alice lives in Quimper.")
    expect((await pending).body.extraction).toBe("pending")
  })

  it("count where the model finds nothing, and where it is not asked to wait", async () => {
    const { body } = await say("nothing", "My name is Alice and I live in Quimper.")
    expect(body.created.map(({ data }: { readonly data: { readonly fact: string } }) => data.fact)).toContain(
      "Alice lives in Quimper"
    )
    expect(await held("nothing")).toContain("Alice lives in Quimper")
  })

  it("are in the answer of a request that is repeated under its key", async () => {
    const rest = { conversation: [{ id: "m1", role: "user", content: "My name is Alice and I live in Quimper." }] }
    const body = { agentId: "repeated", wait: "extraction", ...rest }
    model.otherwise = () => ({
      kind: "slow",
      millis: 300,
      then: answer({ memories: [told("Alice has settled in Quimper", "live in Quimper")] })
    })
    const client = new AbortController()
    const lost = fetch(`${server.url}/v1/memories`, {
      method: "POST",
      headers: { authorization: `Bearer ${alice.key}`, "content-type": "application/json", "idempotency-key": "lost" },
      body: JSON.stringify(body),
      signal: client.signal
    })
    await vi.waitFor(() => expect(model.underWay).toBe(1), patienceMillis)
    client.abort()
    await expect(lost).rejects.toThrow("aborted")
    const again = await alice.post("/v1/memories", body, { "idempotency-key": "lost" })
    expect(again.body.created.map(({ data }: { readonly data: { readonly fact: string } }) => data.fact)).toEqual([
      "The user's name is Alice",
      "Alice lives in Quimper",
      "Alice has settled in Quimper"
    ])
    expect([model.requests.length, await held("repeated")]).toEqual([1, expect.objectContaining({ length: 3 })])
  })

  it("are no news where the same request replaces them", async () => {
    model.otherwise = (request) => {
      const { id } = lines(request, "KNOWN").find(({ text }) => text.includes("Quimper"))!
      return answer({
        memories: [told("Alice lives in Quimper, by the river", "live in Quimper", { op: "replace", id })]
      })
    }
    for (const remember of ["messages", "extracted"]) {
      const { body } = await say(`news-${remember}`, "I live in Quimper, by the river, says Alice.", { remember })
      expect(body.created.map(({ data }: { readonly data: { readonly fact: string } }) => data.fact)).toEqual([
        "Alice lives in Quimper, by the river"
      ])
      expect(await held(`news-${remember}`)).toEqual(["Alice lives in Quimper, by the river"])
    }
  })

  it("leave nothing behind where the model fails and no message is stored", async () => {
    model.otherwise = () => ({ kind: "empty" })
    const { status } = await say("failing", "My name is Alice and I live in Quimper.", { remember: "extracted" })
    expect(status).toBe(503)
    expect((await alice.call("GET", "/v1/memories?agentId=failing")).body.total).toBe(0)
  })
})

it("a reading that fails is not asked for again at once", async () => {
  model.otherwise = () => ({ kind: "refusal" })
  const failed = await say("once", "I live in Quimper.", { wait: undefined })
  const atMillis = Date.now()
  expect([failed.body.extraction, failed.body.extractionProblem.code]).toEqual(["partial", "model_refused"])
  model.otherwise = () => answer({ memories: [] })
  await vi.waitFor(() => expect(model.requests.length).toBeGreaterThan(1), patienceMillis)
  expect(Date.now() - atMillis).toBeGreaterThan(4_000)
  expect(model.requests).toHaveLength(2)
})

describe("what is known", () => {
  it("is replaced and ended, and its history stays", async () => {
    model.otherwise = () => answer({ memories: [told("Alice rents a loft with a stove", "loft with the stove")] })
    await say("updated", "Still in the loft with the stove, says Alice.")
    const replaced: Array<Line> = []
    model.otherwise = (request) => {
      const known = lines(request, "KNOWN").find(({ text }) => text.includes("loft"))!
      replaced.push(known)
      return answer({
        memories: [told("Alice rents a boat since the loft was sold", "a boat now", { op: "replace", id: known.id })]
      })
    }
    const { body } = await say("updated", "The loft was sold, it is a boat now.")
    expect(replaced[0]?.id).toBeDefined()
    expect(body.created).toHaveLength(1)
    expect(await held("updated")).toEqual(["Alice rents a boat since the loft was sold"])
    model.otherwise = (request) =>
      answer({
        memories: [
          told("Alice rented a boat until it sank", "boat sank", {
            op: "end",
            id: lines(request, "KNOWN").find(({ text }) => text.includes("boat"))!.id
          })
        ]
      })
    await say("updated", "So. The boat sank, I rent nothing.")
    expect(await held("updated")).toEqual(["Alice rented a boat until it sank"])
    expect([...(await held("updated", "&includeSuperseded=true"))].toSorted()).toEqual([
      "Alice rented a boat until it sank",
      "Alice rents a boat since the loft was sold",
      "Alice rents a loft with a stove"
    ])
  })

  it("that is replaced goes with its message, and what carries it on goes too, in another thread as well", async () => {
    const vat = "Alice keeps the honey in an oak vat"
    const moved = "Alice keeps the honey in a copper vat instead of the oak one"
    const chain = async (agentId: string) => {
      model.otherwise = () => answer({ memories: [told(vat, "honey in the oak vat")] })
      await say(agentId, "Honey in the oak vat, Alice's.", { threadId: "one" })
      model.otherwise = (request) => {
        const { id } = lines(request, "KNOWN").find(({ text }) => text.includes("oak"))!
        return answer({ memories: [told(moved, "copper vat now", { op: "replace", id })] })
      }
      const { body } = await say(agentId, "The copper vat now, for the honey.", { threadId: "two" })
      expect(await held(agentId)).toEqual([moved])
      // Its messages have no ids, and what it carries on is none of them.
      expect(body.created.map(({ metadata }: { readonly metadata: object }) => metadata)).toMatchObject([
        { sourceMessageIds: [] }
      ])
      const all = (await alice.call("GET", `/v1/memories?agentId=${agentId}&include=messages`)).body.memories
      return (word: string) =>
        all.find(({ data }: { readonly data: { readonly text: string } }) => data.text.includes(word)).id
    }
    const first = await chain("chained-older")
    await alice.call("DELETE", `/v1/memories/${first("oak")}`)
    expect(await held("chained-older", "&includeSuperseded=true")).toEqual([])
    const second = await chain("chained-newer")
    await alice.call("DELETE", `/v1/memories/${second("copper")}`)
    expect(await held("chained-newer", "&includeSuperseded=true")).toEqual([vat])
    await chain("chained-thread")
    await alice.post("/v1/memories/batch/delete", { filters: { agentId: "chained-thread", threadId: "one" } })
    expect(await held("chained-thread", "&includeSuperseded=true")).toEqual([])
  })

  it("is replaced by nothing that outlives it", async () => {
    model.otherwise = () => answer({ memories: [told("Alice keeps the honey in an oak vat", "honey in the oak vat")] })
    const first = await say("ending", "Honey in the oak vat, Alice's.", { ttl: "1h" })
    model.otherwise = (request) => {
      const { id } = lines(request, "KNOWN").find(({ text }) => text.includes("oak"))!
      return answer({
        memories: [told("Alice keeps the honey in a copper vat", "copper vat now", { op: "replace", id })]
      })
    }
    const second = await say("ending", "The copper vat now, for the honey.", { ttl: "90m" })
    const [one, other] = [first, second].map(({ body }) => body.created[0].metadata)
    expect([other.supersedes, other.expiresAt]).toEqual([first.body.created[0].id, one.expiresAt])
  })

  it("and was corrected by a caller stays as it is", async () => {
    model.otherwise = () => answer({ memories: [told("Alice keeps the honey in an oak vat", "honey in the oak vat")] })
    const { body } = await say("amended", "Honey in the oak vat, Alice's.")
    const { id } = body.created[0]
    const data = { subject: "Alice", fact: "Alice keeps the honey in an elm vat" }
    const changed = await alice.call("PATCH", `/v1/memories/${id}`, { body: { data } })
    // In place, as of any kind without `uniqueOn`.
    expect([changed.status, changed.body.memory.id]).toEqual([200, id])
    model.otherwise = () =>
      answer({
        memories: [told("Alice keeps the honey in a copper vat", "copper vat now", { op: "replace", id: "k1" })]
      })
    await say("amended", "The copper vat now, for the honey.")
    expect(lines(model.requests.at(-1)!, "KNOWN")).toEqual([{ text: "Alice keeps the honey in an elm vat." }])
    expect([...(await held("amended"))].toSorted()).toEqual([
      "Alice keeps the honey in a copper vat",
      "Alice keeps the honey in an elm vat"
    ])
  })

  it("is not superseded by the older words said again, after a reading or a caller has changed it", async () => {
    await say("again", "I live in Quimper. I have a cat.")
    model.otherwise = (request) => {
      const { id } = lines(request, "KNOWN").find(({ text }) => text.includes("cat"))!
      return answer({
        memories: [told("The user has a cat named Mog", "called Mog", { op: "replace", id, about: "user" })]
      })
    }
    await say("again", "The cat is called Mog.")
    model.otherwise = () => answer({ memories: [] })
    await say("again", "I have a cat.")
    expect(await held("again")).toContain("The user has a cat named Mog")
    const vat = () => answer({ memories: [told("Alice keeps the honey in an oak vat", "honey in the oak vat")] })
    model.otherwise = vat
    const { body } = await say("restated", "Honey in the oak vat, Alice's.")
    const data = { subject: "Alice", fact: "Alice keeps the honey in an elm vat" }
    await alice.call("PATCH", `/v1/memories/${body.created[0].id}`, { body: { data } })
    await say("restated", "As ever: honey in the oak vat, Alice's.")
    expect(await held("restated")).toContain("Alice keeps the honey in an elm vat")
  })

  it("is replaced once: a second reply in its place stands beside the first", async () => {
    const vats = ["Alice sold the oak vat", "Alice keeps the honey in a copper vat"]
    for (const remember of ["messages", "extracted"]) {
      const agentId = `twice-${remember}`
      model.otherwise = () =>
        answer({ memories: [told("Alice keeps the honey in an oak vat", "honey in the oak vat")] })
      await say(agentId, "Honey in the oak vat, Alice's.", { remember })
      model.otherwise = (request) => {
        const { id } = lines(request, "KNOWN").find(({ text }) => text.includes("oak"))!
        return answer({ memories: vats.map((text) => told(text, "sold the oak vat", { op: "replace", id })) })
      }
      await say(agentId, "Alice sold the oak vat, honey is in a copper one.", { remember })
      expect([...(await held(agentId))].toSorted()).toEqual(vats.toSorted())
    }
  })

  it("is, without a subject, of the same thread alone, or what a caller stored for none", async () => {
    const stored = { kind: "factual_memory", data: { subject: "hive", fact: "The hive stands in the orchard" } }
    await alice.create("shared", [stored])
    await alice.create("shared", [{ ...stored, data: { subject: "hive", fact: "The hive is for sale" } }], {
      threadId: "bob"
    })
    const tells = async (threadId: string | undefined, fact: string) => {
      model.otherwise = () => answer({ memories: [told(fact, "about the hive", { about: "Alice's hive" })] })
      const conversation = [{ role: "user", content: `Alice said about the hive: ${fact}.` }]
      await alice.post("/v1/memories", { agentId: "shared", threadId, wait: "extraction", conversation })
    }
    await tells("bob", "Alice painted the hive of Bob")
    await tells(undefined, "Alice moved the hive")
    await tells("carol", "Alice rents the hive of Carol")
    model.otherwise = () => answer({ memories: [] })
    const shownIn = async (threadId: string | undefined) => {
      model.requests.length = 0
      const conversation = [{ role: "user", content: "And the hive?" }]
      await alice.post("/v1/memories", { agentId: "shared", threadId, wait: "extraction", conversation })
      const [{ known: people = [] } = {}] = sectionOf(model.requests[0]!.prompt, "PERSON") as ReadonlyArray<{
        readonly known?: ReadonlyArray<string>
      }>
      return [lines(model.requests[0]!, "KNOWN").map(({ text }) => text), people]
    }
    const orchard = "The hive stands in the orchard."
    expect(await shownIn("carol")).toEqual([
      expect.arrayContaining([orchard, "Alice rents the hive of Carol."]),
      ["Alice's hive", "hive"]
    ])
    expect((await shownIn("carol"))[0]).toHaveLength(2)
    expect((await shownIn(undefined))[0]!.toSorted()).toEqual(["Alice moved the hive.", orchard])
    expect(await shownIn("dave")).toEqual([[orchard], ["hive"]])
  })

  it("is of the subject alone, and what a caller stored is not replaced", async () => {
    const direct = { kind: "factual_memory", data: { subject: "Alice", fact: "Alice keeps bees" } }
    await alice.create("scoped", [direct], { subjectId: "s" })
    await alice.create("scoped", [{ ...direct, data: { subject: "Bob", fact: "Bob keeps bees" } }], {
      subjectId: "other"
    })
    model.otherwise = () =>
      answer({ memories: [told("Alice keeps wasps", "bees for wasps", { op: "replace", id: "k1" })] })
    await say("scoped", "Alice swapped the bees for wasps.")
    expect(lines(model.requests[0]!, "KNOWN")).toEqual([{ text: "Alice keeps bees." }])
    expect([...(await held("scoped", "&subjectId=s"))].toSorted()).toEqual(["Alice keeps bees", "Alice keeps wasps"])
  })
})

describe("a message that its writer asks not to keep", () => {
  const total = async (agentId: string) => (await alice.call("GET", `/v1/memories?agentId=${agentId}`)).body.total
  const withholding = (text: string, quote: string) => (request: ModelRequest) => {
    const line = [...lines(request, "CONTEXT"), ...lines(request, "MESSAGES")].find((one) => one.text.includes(text))!
    return answer({ memories: [], withhold: [{ n: [line.n], quote }] })
  }

  it.each(["messages", "extracted"])(
    "goes with what was taken from it, and is no context of the next reading: %s",
    async (remember) => {
      const agentId = `withheld-${remember}`
      model.otherwise = () => answer({ memories: [told("Alice opens the door with zanzibar", "code is zanzibar")] })
      const first = await say(agentId, "The code is zanzibar and my name is Alice.", { remember })
      expect(first.body.created).toHaveLength(2)
      model.otherwise = withholding("zanzibar", "don't save the code")
      await say(agentId, "Sorry, please don't save the code.", { remember })
      const { body } = await alice.call("GET", `/v1/memories?agentId=${agentId}&includeSuperseded=true`)
      expect(JSON.stringify(body)).not.toContain("zanzibar")
      expect(await held(agentId, "&includeSuperseded=true")).toEqual([])
      model.otherwise = () => answer({ memories: [] })
      await say(agentId, "Bees, honey and wax.", { remember })
      expect(model.requests.at(-1)!.prompt).not.toContain("zanzibar")
    }
  )

  it.each(["messages", "extracted"])(
    "leaves nothing of the request that sends it, not in its answer: %s",
    async (remember) => {
      const agentId = `at-once-${remember}`
      model.otherwise = withholding("Quimper", "don't keep that")
      const { body } = await say(agentId, "I live in Quimper, but don't keep that.", { remember })
      expect([body.created, body.updated, body.extraction]).toEqual([[], [], "done"])
      expect(await total(agentId)).toBe(0)
      model.otherwise = () => answer({ memories: [] })
      const { body: trial } = await alice.post("/v1/memories/extract", {
        conversation: [{ role: "user", content: "I live in Quimper." }]
      })
      expect(trial.found).toHaveLength(1)
      model.otherwise = withholding("Quimper", "don't keep that")
      const { body: none } = await alice.post("/v1/memories/extract", {
        conversation: [{ role: "user", content: "I live in Quimper, but don't keep that." }]
      })
      expect(none.found).toEqual([])
    }
  )

  it("is not what a model names without such words, and not what others said", async () => {
    model.otherwise = withholding("Quimper", "I live in Quimper")
    await say("kept", "I live in Quimper.")
    expect([await total("kept"), await held("kept")]).toEqual([2, ["The user lives in Quimper"]])
    model.otherwise = withholding("Quimper", "don't forget that")
    await say("wished", "Please don't forget that I live in Quimper.")
    expect(await total("wished")).toBeGreaterThan(0)
  })
})

describe("instructions", () => {
  it("of a request reach the model, also where it is read later", async () => {
    const instructions = "Only diets and allergies."
    await say("wanted", "I live in Quimper.", { instructions })
    expect(sectionOf(model.requests[0]!.prompt, "WANTED")).toEqual([instructions])
    expect(model.requests[0]!.system).not.toContain(instructions)
    model.script({ kind: "empty" }, { kind: "empty" }, { kind: "empty" }, { kind: "empty" })
    const { body } = await say("later", "I live in Quimper.", { instructions, wait: undefined })
    expect(body.extraction).toBe("partial")
    model.clear()
    model.requests.length = 0
    await vi.waitFor(() => expect(model.requests.length).toBeGreaterThan(0), patienceMillis)
    expect(sectionOf(model.requests[0]!.prompt, "WANTED")).toEqual([instructions])
  })

  it("of the installation and of the account stand before those of the request", async () => {
    const own = await startServer({
      environment: { ...environmentOf(model), MUNIMENT_LLM_INSTRUCTIONS: "Leave out prices." }
    })
    try {
      const bob = await accountCalls(own, "bob")
      const set = (instructions: string | null) =>
        own.asOperator("POST", "/admin/accounts/instructions", { account: "bob", instructions })
      expect((await set("Keep diets.")).body.account).toMatchObject({ instructions: "Keep diets." })
      const conversation = [{ role: "user", content: "Hm." }]
      await bob.post("/v1/memories/extract", { conversation, instructions: "Keep tastes." })
      expect((await set(null)).body.account.instructions).toBeUndefined()
      await bob.post("/v1/memories", { agentId: "a", conversation, wait: "extraction" })
      expect(model.requests.map(({ prompt }) => sectionOf(prompt, "WANTED"))).toEqual([
        ["Leave out prices.", "Keep diets.", "Keep tastes."],
        ["Leave out prices."]
      ])
    } finally {
      await own.stop()
    }
  })

  it("of a later request read nothing anew, unless it asks to read again", async () => {
    const conversation = [{ id: "m1", role: "user", content: "Hm, honey." }]
    const send = (rest: object) =>
      alice.post("/v1/memories", { agentId: "anew", wait: "extraction", conversation, ...rest })
    await send({ instructions: "Keep diets." })
    expect((await send({ instructions: "Keep prices." })).body).toMatchObject({
      extraction: "done",
      skippedMessages: 1
    })
    expect(model.requests).toHaveLength(1)
    await send({ instructions: "Keep prices.", force: true })
    expect(model.requests.map(({ prompt }) => sectionOf(prompt, "WANTED"))).toEqual([["Keep diets."], ["Keep prices."]])
  })

  it("that are too long are refused", async () => {
    expect(refusalOf(await say("long", "Hm.", { instructions: "x".repeat(2_001) }))).toEqual([400, "invalid_request"])
  })
})

it("a request of 200 messages is read to its end, each message once", async () => {
  const conversation = Array.from({ length: 200 }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: `Message ${at}: the shelf ${at} was painted.`
  }))
  const seen: Array<number> = []
  model.otherwise = (request) => {
    seen.push(...lines(request, "MESSAGES").map(({ n }) => n))
    return answer({ memories: [] })
  }
  const { body } = await say("long", "", { conversation })
  expect(body).toMatchObject({ extraction: "done", messages: { stored: 200 } })
  expect(seen).toEqual(Array.from({ length: 200 }, (_, at) => at + 1))
  expect((await say("long", "", { conversation })).headers.get("x-credits-charged") ?? "0").toBe("0")
})

if (isLongRun)
  it("a request that waits for its reading is answered when the service stops, and read after the next start", async () => {
    const dataDirectory = temporaryDirectory()
    const environment = environmentOf(model)
    const vat = () => answer({ memories: [told("Alice keeps the honey in an oak vat", "honey in the oak vat")] })
    const first = await startServer({ dataDirectory, environment })
    const key = await first.newAccount("stopped")
    const conversation = [{ id: "m1", role: "user", content: "Honey in the oak vat, Alice's." }]
    const body = { agentId: "a", wait: "extraction", conversation }
    model.otherwise = () => ({ kind: "hang" })
    const waiting = [1, 2].map(() => first.call("POST", "/v1/memories", { key, body }))
    await vi.waitFor(() => expect(model.underWay).toBe(1), patienceMillis)
    expect(await first.stop()).toBe(0)
    const answers = await Promise.all(waiting)
    for (const { body: answered, status } of answers) expect([status, answered.extraction]).toEqual([200, "pending"])
    expect(answers.map(({ headers }) => headers.get("x-credits-charged")).toSorted()).toEqual(["0", "5"])
    model.otherwise = vat
    const second = await startServer({ dataDirectory, environment })
    const found = async () => (await second.call("GET", "/v1/memories?agentId=a&include=extracted", { key })).body.total
    await expect.poll(found, { timeout: patienceMillis }).toBe(1)
    await second.stop()
  })

it("a kill in the middle of a reading loses and doubles nothing, and charges once", async () => {
  const dataDirectory = temporaryDirectory()
  const environment = environmentOf(model)
  const conversation = Array.from({ length: 40 }, (_, at) => ({
    id: `m${at}`,
    role: "user",
    content: at === 0 ? "My name is Alice and I live in Quimper." : `Shelf ${at} was painted blue.`
  }))
  const painted = (request: ModelRequest) => {
    const { n, text } = lines(request, "MESSAGES").find((line) => line.text.startsWith("Shelf"))!
    return answer({ memories: [told(text.replace(".", ", Alice says."), text, { about: "shelf", n: [n] })] })
  }
  const first = await startServer({ dataDirectory, environment })
  const key = await first.newAccount("killed")
  model.otherwise = (request) =>
    lines(request, "MESSAGES").some(({ n }) => n > 16) ? { kind: "hang" } : painted(request)
  const pending = first.call("POST", "/v1/memories", { key, body: { agentId: "a", threadId: "t", conversation } })
  await vi.waitFor(() => expect(model.requests.length).toBeGreaterThan(1), patienceMillis)
  const { body } = await pending
  expect(body).toMatchObject({ extraction: "pending", messages: { stored: 40 } })
  await first.kill()
  model.otherwise = painted
  const second = await startServer({ dataDirectory, environment })
  const left = async () => (await second.call("GET", "/health/ready")).body.checks.conversations.pending
  const isAsked = () => model.requests.some((request) => lines(request, "MESSAGES").some(({ n }) => n === 40))
  await vi.waitFor(() => expect(isAsked()).toBe(true), patienceMillis)
  await vi.waitFor(async () => expect(await left()).toBe(0), patienceMillis)
  const creditsOf = async (of: string) => (await second.call("GET", "/v1/credits", { key: of })).body.allowance.credits
  expect((await creditsOf(await second.newAccount("idle"))) - (await creditsOf(key))).toBe(5)
  const found = await second.call("GET", "/v1/memories?agentId=a&include=extracted&includeSuperseded=true", { key })
  const facts = found.body.memories.map(({ data }: { readonly data: { readonly fact: string } }) => data.fact)
  const expected = [1, 16, 32].map((at) => `Shelf ${at} was painted blue, Alice says.`)
  expect(facts).toEqual(expect.arrayContaining([...expected, "Alice lives in Quimper"]))
  expect(new Set(facts).size).toBe(facts.length)
  expect((await second.call("GET", "/v1/memories?agentId=a&include=messages", { key })).body.total).toBe(40)
  await second.stop()
})
