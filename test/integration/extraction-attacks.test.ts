/**
 * What went wrong once when conversations were read under attack (contract: Conversations): clients that go away,
 * erasure while a model reads, what ends and must not live on, answers starved by a large memory.
 */
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { sectionOf } from "../support/FencedPrompt.ts"
import { accountCalls, fact, schemaText, text, untilMoment, type MemoryCalls } from "../support/MemoryCalls.ts"
import { ModelServer, type ModelRequest } from "../support/ModelServer.ts"
import { answer, status, type ModelReply } from "../support/ModelServerReplies.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { told } from "../support/ToldMemory.ts"

let model: ModelServer
let server: TestServer
let alice: MemoryCalls
beforeAll(async () => {
  model = await ModelServer.start()
  server = await startServer({
    environment: {
      MUNIMENT_EMBEDDING_MODEL: "none",
      ...model.environment()
    }
  })
  alice = await accountCalls(server, "alice")
})
beforeEach(() => {
  model.requests.length = 0
  model.otherwise = () => extraction()
})
afterAll(async () => {
  await server.stop()
  await model.close()
})

const said = (id: string, content: string) => ({ id, role: "user", content })
/** Of words of which rules read nothing. */
const home = told("Alice is at home in Quimper", "at home in Quimper")

const extraction = (...memories: ReadonlyArray<object>): ModelReply => answer({ memories })

const later = (millis: number, reply: ModelReply): ModelReply => ({ kind: "slow", millis, then: reply })

const extract = (agentId: string, content: string, rest: object = {}, headers: Record<string, string> = {}) =>
  alice.post(
    "/v1/memories",
    { agentId, remember: "extracted", conversation: [said(content, content)], ...rest },
    headers
  )

const untilAsked = async () => {
  while (model.requests.length === 0) await pause(5)
}

const spent = async () => 1_000_000 - (await alice.call("GET", "/v1/credits")).body.allowance.credits

describe("a conversation", () => {
  it("whose client goes away is answered again under its key, also where a stored memory said it before", async () => {
    const schema = schemaText({ who: text, city: text }, { required: ["who", "city"] })
    await alice.post("/v1/schemas", { name: "Home", description: "Where somebody lives", schema, uniqueOn: ["who"] })
    const record = { kind: "Home", data: { who: "Alice", city: "Quimper" }, n: [1], quote: "at home in Quimper" }
    const lives = answer({ records: [record] })
    model.otherwise = () => lives
    const { body } = await extract("gone", "At home in Quimper, says Alice.")
    expect(body.created).toMatchObject([{ kind: "Home", data: record.data }])
    model.requests.length = 0
    model.otherwise = () => later(300, lives)
    const spentBefore = await spent()
    const conversation = [said("again", "Still at home in Quimper, says Alice.")]
    const client = new AbortController()
    const lost = fetch(`${server.url}/v1/memories`, {
      method: "POST",
      headers: { authorization: `Bearer ${alice.key}`, "content-type": "application/json", "idempotency-key": "lost" },
      body: JSON.stringify({ agentId: "gone", conversation }),
      signal: client.signal
    })
    await untilAsked()
    client.abort()
    await expect(lost).rejects.toThrow("aborted")
    const retried = await alice.post("/v1/memories", { agentId: "gone", conversation }, { "idempotency-key": "lost" })
    expect(retried.body, JSON.stringify(retried.body)).toMatchObject({
      created: [],
      rejected: [{ reason: "duplicate", duplicateOf: body.created[0].id }]
    })
    expect([model.requests.length, (await spent()) - spentBefore]).toEqual([1, 5])
  })

  it("sent many times at once is read by the model once, and charged once", async () => {
    model.otherwise = () => later(200, extraction(home))
    const spentBefore = await spent()
    const all = await Promise.all(Array.from({ length: 6 }, () => extract("many", "At home in Quimper, says Alice.")))
    expect(all.map(({ body }) => body.created.length).toSorted()).toEqual([0, 0, 0, 0, 0, 1])
    expect([model.requests.length, (await spent()) - spentBefore]).toEqual([1, 5])
  })

  it("that fails to be read leaves no agent behind", async () => {
    model.otherwise = () => status(400)
    expect((await extract("ghost", "I live in Quimper.")).status).toBe(503)
    const { agents } = (await alice.call("GET", "/v1/account")).body
    expect(agents.map(({ agentId }: { readonly agentId: string }) => agentId)).not.toContain("ghost")
  })

  it("that is read again is not its own context", async () => {
    await extract("forced", "At home in Quimper, says Alice.")
    await extract("forced", "At home in Quimper, says Alice.", { force: true })
    expect(model.requests[1]!.prompt.split("Quimper")).toHaveLength(2)
    expect(sectionOf(model.requests[1]!.prompt, "CONTEXT")).toEqual([])
  })
})

describe("what was erased or has ended", () => {
  /** What the model makes of a known memory that it is shown. */
  const carried = ({ prompt }: ModelRequest): ModelReply => {
    const known = sectionOf(prompt, "KNOWN") as ReadonlyArray<{ readonly id?: string; readonly text: string }>
    const line = known.find(({ text }) => text.includes("Quimper"))
    const text = line === undefined ? "Alice is fond of cocoa" : "Alice is fond of cocoa from Quimper"
    const place = line?.id === undefined ? {} : { op: "replace", id: line.id }
    return extraction(told(text, "Cocoa again", place))
  }

  it("while a model reads a thread is not learned again from what the model was shown", async () => {
    model.otherwise = () => extraction(home)
    const { body } = await extract("erased", "At home in Quimper, says Alice.")
    model.requests.length = 0
    model.otherwise = (request) => later(300, carried(request))
    const reading = extract("erased", "Cocoa again for Alice, at home.")
    await untilAsked()
    expect(model.requests[0]!.prompt.split("Quimper")).toHaveLength(3)
    expect((await alice.call("DELETE", `/v1/memories/${body.created[0].id}`)).status).toBe(200)
    expect((await reading).body.created).toMatchObject([{ data: { fact: "Alice is fond of cocoa" } }])
    expect(model.requests).toHaveLength(2)
    expect(model.requests[1]!.prompt).not.toContain("Quimper")
    model.requests.length = 0
    await extract("erased", "And cake.")
    expect(sectionOf(model.requests[0]!.prompt, "CONTEXT")).toMatchObject([{ text: "Cocoa again for Alice, at home." }])
    expect(model.requests[0]!.prompt).not.toContain("Quimper")
    const { body: left } = await alice.call("GET", "/v1/memories?agentId=erased&includeSuperseded=true")
    expect(JSON.stringify(left)).not.toContain("Quimper")
  })

  it.each([
    ["a caller stored", { memories: [{ kind: "factual_memory", data: { subject: "Alice", fact: home.text } }] }],
    [
      "another thread told",
      { remember: "extracted", threadId: "other", conversation: [said("m", "At home in Quimper, says Alice.")] }
    ]
  ])("while a model reads a new thread is not learned again either: what %s", async (name, first) => {
    const agentId = `elsewhere ${name}`
    model.otherwise = () => extraction(home)
    const { body } = await alice.post("/v1/memories", { agentId, subjectId: "s", ...first })
    expect(body.created).toHaveLength(1)
    model.requests.length = 0
    model.otherwise = (request) => later(300, carried(request))
    const reading = extract(agentId, "Cocoa again for Alice, at home.", { subjectId: "s", threadId: "new" })
    await untilAsked()
    expect(model.requests[0]!.prompt).toContain("Quimper")
    await alice.call("DELETE", `/v1/memories/${body.created[0].id}`)
    expect((await reading).body.created).toMatchObject([{ data: { fact: "Alice is fond of cocoa" } }])
    const { body: left } = await alice.call("GET", `/v1/memories?${new URLSearchParams({ agentId })}`)
    expect([left.total, JSON.stringify(left).includes("Quimper")]).toEqual([1, false])
  })

  it.each([
    ["by id", "own", (id: string) => ({ ids: [id] })],
    ["with its thread", "own", () => ({ filters: { agentId: "", threadId: "t" } })],
    ["by id, beside another one", "both", (id: string) => ({ ids: [id] })]
  ])("while a model reads it is not learned: a message that goes %s", async (way, left, erasure) => {
    const agentId = `reading ${way}`
    model.otherwise = ({ prompt }) => {
      const texts = (sectionOf(prompt, "MESSAGES") as ReadonlyArray<{ readonly text: string }>).map(({ text }) => text)
      const quoted = [home, told("Alice is fond of cocoa", "Cocoa again")].filter(({ quote }) =>
        texts.some((one) => one.includes(quote))
      )
      return later(300, extraction(...quoted.map((one) => ({ ...one, n: texts.map((_, at) => at + 1) }))))
    }
    const own = said("m1", "My name is Alice, at home in Quimper.")
    const conversation = left === "both" ? [own, said("m2", "Cocoa again for Alice.")] : [own]
    const place = { agentId, threadId: "t" }
    const reading = alice.post("/v1/memories", { ...place, conversation, wait: "extraction" })
    await untilAsked()
    const list = `/v1/memories?${new URLSearchParams({ agentId, include: "messages", limit: "100" })}`
    const { memories } = (await alice.call("GET", list)).body
    const { id } = memories.find(({ data }: { readonly data: { readonly text: string } }) => data.text === own.content)
    const { filters, ...rest } = { filters: undefined, ...erasure(id) }
    await alice.post("/v1/memories/batch/delete", { ...rest, ...(filters && { filters: { ...filters, agentId } }) })
    const { body } = await reading
    const facts = body.created.map(({ data }: { readonly data: { readonly fact: string } }) => data.fact)
    expect(facts).toEqual(left === "both" ? ["Alice is fond of cocoa"] : [])
    const all = (await alice.call("GET", `/v1/memories?${new URLSearchParams({ agentId })}`)).body
    expect([all.total, JSON.stringify(all).includes("Quimper")]).toEqual([left === "both" ? 2 : 0, false])
  })

  it("before it was read is not read when it is sent again, and costs nothing then", async () => {
    model.otherwise = () => status(400)
    const body = { agentId: "unread", conversation: [said("m1", "Alice, at home in Quimper.")], wait: "extraction" }
    expect((await alice.post("/v1/memories", body)).body.extraction).toBe("partial")
    const { memories } = (await alice.call("GET", "/v1/memories?agentId=unread")).body
    await alice.call("DELETE", `/v1/memories/${memories[0].id}`)
    model.otherwise = () => extraction(home)
    expect((await alice.post("/v1/memories", body)).body.created).toEqual([])
    // The service's own attempt may have been on its way.
    while (model.underWay > 0) await pause(5)
    model.requests.length = 0
    const again = await alice.post("/v1/memories", body)
    expect([again.body.messages, again.headers.get("x-credits-charged")]).toEqual([{ stored: 0, known: 1 }, "0"])
    expect(model.requests).toEqual([])
    expect((await alice.call("GET", "/v1/memories?agentId=unread")).body.total).toBe(0)
  })

  it("does not live on in what is known or beside a memory that stay", async () => {
    const hideout = told("Alice's hideout is in Quimper", "hideout is in Quimper")
    model.otherwise = () => extraction(hideout)
    const ending = await extract("ended", "Alice's hideout is in Quimper, near the weathervane.", { ttl: "1s" })
    expect(ending.body.created).not.toEqual([])
    // The model is not shown, and can carry on, nothing that ends before what it writes.
    model.otherwise = carried
    model.requests.length = 0
    const { body } = await extract("ended", "Cocoa again for Alice in the hideout.")
    expect(sectionOf(model.requests[0]!.prompt, "KNOWN")).toEqual([])
    expect(body.created).toMatchObject([{ data: { fact: "Alice is fond of cocoa" } }])
    await untilMoment(Date.now() + 1_000)
    model.requests.length = 0
    await extract("ended", "And cake.")
    expect(model.requests[0]!.prompt).toContain("Cocoa again for Alice in the hideout.")
    expect(model.requests[0]!.prompt).not.toContain("Quimper")
    const [kept] = await alice.search({ query: "weathervane", agentId: "ended", explain: "true" })
    expect(kept?.explain.lexical ?? 0).toBe(0)
  })

  it("keeps out nothing that was told to be remembered for longer", async () => {
    model.otherwise = () => extraction(home)
    await extract("brief", "At home in Quimper, says Alice.", { ttl: "1s" })
    const { body } = await extract("brief", "Alice, still at home in Quimper.")
    expect([body.created.length, body.rejected], JSON.stringify(body)).toEqual([1, []])
    await untilMoment(Date.now() + 1_000)
    expect(await alice.search({ query: "Quimper", agentId: "brief" })).toHaveLength(1)
    const again = await extract("brief", "And still at home in Quimper, says Alice.", { ttl: "1h" })
    expect(again.body.rejected).toMatchObject([{ reason: "duplicate" }])
  })
})

it("a memory too large for a prompt does not hide the ones after it from the answer", async () => {
  const notes = Array.from({ length: 40 }, () => "Where does Ann live? ".repeat(45))
  await alice.create("large", [
    { kind: "factual_memory", data: { subject: "Ann", fact: "where Ann does live", notes } },
    fact("Ann", "Ann lives in Oslo")
  ])
  model.otherwise = ({ prompt }) => {
    const line = prompt.split("\n").find((each) => each.includes("Ann lives in Oslo")) ?? ""
    const number = Number(/"n":(\d+)/.exec(line)?.[1] ?? "0")
    return answer({ known: "yes", sentences: [{ text: "Ann lives in Oslo.", citations: [number] }] })
  }
  const { body } = await alice.call("GET", "/v1/memories/search?query=Where+does+Ann+live&mode=answer&agentId=large")
  expect(body).toMatchObject({ answer: "Ann lives in Oslo.", memories: [{ data: { fact: "Ann lives in Oslo" } }] })
  expect(body.citations).toEqual([body.memories[0].id])
})
