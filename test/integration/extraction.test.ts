/**
 * POST /memories with a conversation, without a language model (contract: Conversations): what is skipped, what is
 * stored and linked, what is refused, and what it costs. Nothing but the extraction: the messages themselves are
 * in conversation-messages.test.ts. The quality of the extraction itself is measured on the
 * labelled set (bench/extraction).
 */
import { describe, expect, it } from "vitest"
import { schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")

interface Message {
  readonly id?: string
  readonly role: string
  readonly name?: string
  readonly content: string
}

const user = (content: string, id?: string): Message => ({ role: "user", content, ...(id !== undefined && { id }) })
const assistant = (content: string, id?: string): Message => ({ ...user(content, id), role: "assistant" })

const extract = (
  agentId: string,
  conversation: ReadonlyArray<Message>,
  rest: object = {},
  headers: Record<string, string> = {}
) => alice.post("/v1/memories", { agentId, conversation, remember: "extracted", ...rest }, headers)

const extracted = async (agentId: string, conversation: ReadonlyArray<Message>, rest: object = {}) => {
  const answer = await extract(agentId, conversation, rest)
  expect(answer.body, JSON.stringify(answer.body)).toMatchObject({ success: true })
  return answer.body
}

const textsOf = (entries: ReadonlyArray<{ readonly data: object }>) =>
  entries.map(({ data }) => Object.values(data).join(" "))

const listed = async (agentId: string): Promise<ReadonlyArray<{ readonly id: string; readonly data: object }>> =>
  (await alice.call("GET", `/v1/memories?agentId=${agentId}&limit=100`)).body.memories

const introduction = user("My name is Alice and I live in Seattle.", "m1")

describe("a conversation", () => {
  it("in which somebody states a name and a home town gives memories that say both", async () => {
    const { created } = await extracted("first", [introduction])
    expect(textsOf(created).some((words) => /alice/i.test(words) && /seattle/i.test(words))).toBe(true)
  })

  it("that grows and is sent ten times gives each fact once, with ids and without", async () => {
    const said = [
      "My name is Dana.",
      "I live in Oslo.",
      "I work as a nurse.",
      "I have a dog called Rex.",
      "I love hiking.",
      "I am allergic to peanuts.",
      "My sister Anna lives in Berlin.",
      "I hate cilantro.",
      "I speak Norwegian.",
      "I want to learn the piano."
    ]
    for (const [agentId, idOf] of [
      ["grows", (at: number) => `m${at}`],
      ["grows-unnamed", () => undefined]
    ] as const) {
      const window = said.map((content, at) => user(content, idOf(at)))
      const texts: Array<string> = []
      for (let sent = 1; sent <= window.length; sent++) {
        const { created, skippedMessages } = await extracted(agentId, window.slice(0, sent), { threadId: "t" })
        expect(skippedMessages).toBe(sent - 1)
        texts.push(...textsOf(created))
      }
      expect(texts.length).toBeGreaterThanOrEqual(8)
      expect(new Set(texts).size).toBe(texts.length)
      expect((await listed(agentId)).length).toBe(texts.length)
    }
  })

  it("that was sent before answers with what was extracted from it, and costs nothing", async () => {
    const first = await extract("twice", [introduction])
    expect(first.headers.get("x-credits-charged")).toBe("5")
    const again = await extract("twice", [introduction])
    expect(again.body).toEqual({
      success: true,
      created: [],
      updated: [],
      existing: first.body.created,
      rejected: [],
      skippedMessages: 1,
      messages: { stored: 0, known: 0 },
      extraction: "done"
    })
    expect(again.headers.get("x-credits-charged")).toBe("0")
    const unnamed = [user("I live in Rome."), assistant("Rome is beautiful.")]
    expect((await extracted("twice", unnamed)).created.length).toBeGreaterThan(0)
    const repeated = await extract("twice", unnamed)
    expect([repeated.body.created, repeated.headers.get("x-credits-charged")]).toEqual([[], "0"])
  })

  it("is known by thread and subject: the same ids elsewhere are new", async () => {
    for (const rest of [
      {},
      { threadId: "a" },
      { threadId: "b" },
      { subjectId: "s" },
      { subjectId: "s", threadId: "a" }
    ]) {
      expect((await extracted("scopes", [introduction], rest)).skippedMessages).toBe(0)
      expect((await extracted("scopes", [introduction], rest)).skippedMessages).toBe(1)
    }
  })

  it("is read again with `force`, and what is known already is reported instead of stored twice", async () => {
    const { created } = await extracted("forced", [introduction])
    const forced = await extracted("forced", [introduction], { force: true })
    expect([forced.created, forced.skippedMessages]).toEqual([[], 0])
    expect(forced.rejected.length).toBeGreaterThanOrEqual(created.length)
    const ids = created.map(({ id }: { readonly id: string }) => id)
    for (const { duplicateOf, reason, sourceMessageIds } of forced.rejected) {
      expect(["duplicate", "near_duplicate"]).toContain(reason)
      expect(ids).toContain(duplicateOf)
      expect(sourceMessageIds).toEqual(["m1"])
    }
  })

  it("does not store again what was said in other words", async () => {
    await extracted("reworded", [user("I live in Seattle.", "a")], { threadId: "one" })
    const { created, rejected } = await extracted("reworded", [user("I am living in Seattle.", "b")], {
      threadId: "two"
    })
    expect([created, rejected.map(({ reason }: { readonly reason: string }) => reason)]).toEqual([
      [],
      ["near_duplicate"]
    ])
  })

  it("sent twice at the same moment is read by one, and free for the other", async () => {
    const both = await Promise.all([1, 2, 3, 4].map(() => extract("at-once", [introduction], { threadId: "t" })))
    expect(both.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const stored = both.filter(({ body }) => body.created.length > 0)
    expect(stored.length).toBe(1)
    expect((await listed("at-once")).length).toBe(stored[0]!.body.created.length)
    expect(both.map(({ headers }) => headers.get("x-credits-charged")).sort()).toEqual(["0", "0", "0", "5"])
  })

  it("takes the roles human and ai, and learns nothing about the user from the assistant alone", async () => {
    const { created } = await extracted("roles", [
      { role: "ai", content: "I live in the cloud and I love data." },
      { role: "human", content: "I live in Lisbon." }
    ])
    expect(textsOf(created).some((words) => words.includes("Lisbon"))).toBe(true)
    expect(textsOf(created).join(" ")).not.toMatch(/cloud|data\b/)
  })

  it("counts relative dates from `conversationDate`, and invents none", async () => {
    const { created } = await extracted(
      "dates",
      [user("I have a dentist appointment tomorrow."), user("I am planning to visit Rome some day.")],
      { conversationDate: "2026-02-28" }
    )
    const dates = created.flatMap(
      ({ data }: { readonly data: { readonly eventDate?: string } }) => data.eventDate ?? []
    )
    expect(dates.map((date: string) => date.slice(0, 10))).toEqual(["2026-03-01"])
    const dentist = created.find(({ data }: { readonly data: object }) => JSON.stringify(data).includes("dentist"))
    const { context } = await alice.get(dentist.id)
    expect(context.when).toMatch(/^2026-03-01T/)
  })

  it("remembers who is who from earlier messages of the thread", async () => {
    await extracted("context", [user("My name is Carol.", "c1")], { threadId: "t" })
    const { created } = await extracted("context", [user("I moved to Madrid.", "c2")], { threadId: "t" })
    expect(textsOf(created).some((words) => words.includes("Carol") && words.includes("Madrid"))).toBe(true)
  })
})

describe("a value that changes", () => {
  const facts = async (agentId: string, rest = "") =>
    (await alice.call("GET", `/v1/memories?agentId=${agentId}&limit=100${rest}`)).body.memories.map(
      ({ data }: { readonly data: { readonly fact?: string } }) => data.fact
    )

  it("supersedes the older one of whoever said so, also in another thread", async () => {
    await extracted("moved", [user("My name is Ines and I live in Lisbon.", "a")], { threadId: "one" })
    const { created } = await extracted("moved", [user("I moved to Porto.", "b")], { threadId: "two" })
    expect(created[0].metadata.supersedes).toMatch(/^mem_/)
    expect(await facts("moved")).not.toContain("Ines lives in Lisbon")
  })

  it("leaves alone the value of another user without a subject of their own", async () => {
    await extracted("two-users", [user("My name is Ines and I live in Lisbon.", "a")], { threadId: "one" })
    await extracted("two-users", [user("My name is Tomas and I live in Porto.", "b")], { threadId: "two" })
    const told = await facts("two-users")
    expect(told).toContain("Ines lives in Lisbon")
    expect(told).toContain("Tomas lives in Porto")
  })

  it("belongs to the subject of the request, whose name holds in every thread", async () => {
    await extracted("subjects", [user("My name is Ines and I live in Lisbon.", "a")], {
      subjectId: "i",
      threadId: "one"
    })
    await extracted("subjects", [user("I live in Faro.", "b")], { subjectId: "other", threadId: "two" })
    await extracted("subjects", [user("I moved to Porto.", "c")], { subjectId: "i", threadId: "three" })
    expect((await facts("subjects")).toSorted()).toEqual([
      "Ines moved to Porto",
      "The user lives in Faro",
      "The user's name is Ines"
    ])
  })

  it("is of whom the message names, when two people share a thread", async () => {
    const rest = { threadId: "t" }
    const said = (name: string, content: string, id: string) => ({ ...user(content, id), name })
    const both = [said("Ines", "I live in Lisbon.", "a"), said("Tomas", "I live in Lagos.", "b")]
    await extracted("pair", both, rest)
    const { created } = await extracted("pair", [said("Ines", "Actually, Porto.", "c")], rest)
    expect([textsOf(created).length, created[0].metadata.supersedes]).toEqual([1, expect.stringMatching(/^mem_/)])
    await extracted("pair", [said("Tomas", "I moved to Braga.", "d")], rest)
    expect((await facts("pair")).toSorted()).toEqual(["Ines lives in Porto", "Tomas moved to Braga"])
  })

  it("is the user's where a message names the speaker as the user did before", async () => {
    await extracted("named-later", [user("My name is Ines and I live in Lisbon.", "a")])
    const { created } = await extracted("named-later", [{ ...user("I moved to Porto.", "b"), name: "Ines" }])
    expect(created[0].metadata.supersedes).toMatch(/^mem_/)
  })

  it.each([
    ["value", "I live in Lisbon.", "Actually, Porto.", "The user lives in Porto"],
    ["pet", "My dog is called Rex.", "I meant Max, not Rex.", "The user's dog is called Max"]
  ])("is a new version when a later request corrects it: %s", async (kind, first, second, left) => {
    const rest = { threadId: "t" }
    const before = await extracted(`corrected-${kind}`, [user(first, "a")], rest)
    const { created } = await extracted(`corrected-${kind}`, [user(second, "b")], rest)
    expect(created[0].metadata.supersedes).toBe(before.created[0].id)
    const told = await facts(`corrected-${kind}`)
    expect(told.filter((fact: string | undefined) => fact !== undefined)).toEqual([left])
  })

  it.each([
    ["moved", "My exam in statistics is on 23 March 2027.", "the exam got moved to the 26th!", "2027-03-26"],
    ["cancelled", "I have a job interview on 23 March 2027.", "The interview is cancelled.", undefined]
  ])("of an event is a new version, not a second memory: %s", async (kind, first, second, day) => {
    const rest = { threadId: "t" }
    const before = await extracted(`event-${kind}`, [user(first, "a")], rest)
    const { created } = await extracted(`event-${kind}`, [user(second, "b")], rest)
    expect(created.length).toBe(1)
    expect(created[0].metadata.supersedes).toBe(before.created[0].id)
    expect(created[0].data.eventDate).toBe(day)
  })

  it("that is said again is no new version", async () => {
    await extracted("again", [user("I live in Lisbon.", "a")])
    const { created, rejected } = await extracted("again", [user("I'm living in Lisbon.", "b")])
    expect([created, rejected.map(({ reason }: { readonly reason: string }) => reason)]).toEqual([
      [],
      ["near_duplicate"]
    ])
  })
})

describe("the kinds of an extraction", () => {
  const profile = {
    name: "user_profile",
    description: "Who the user is",
    uniqueOn: ["kind"],
    schema: schemaText(
      {
        name: { ...text, description: "The user's name" },
        city: { ...text, description: "City where the user lives" }
      },
      { required: ["city"] }
    )
  }

  it("are all registered and built-in ones, or those that `schemas` names", async () => {
    expect((await alice.post("/v1/schemas", profile)).status).toBe(200)
    const only = await extracted("kinds", [user("I live in Vienna.", "k1")], { schemas: ["user_profile"] })
    expect(only.created.map(({ kind }: { readonly kind: string }) => kind)).toEqual(["user_profile"])
    expect(only.created[0].data.city).toBe("Vienna")
  })

  it("with uniqueOn supersede the older version, whose history stays", async () => {
    await extracted("moves", [user("I live in Vienna.", "a")], { schemas: ["user_profile"] })
    const { created } = await extracted("moves", [user("I live in Graz now.", "b")], { schemas: ["user_profile"] })
    expect([created.length, created[0].data.city]).toEqual([1, "Graz"])
    expect(created[0].metadata.supersedes).toMatch(/^mem_/)
    const latest = await listed("moves")
    expect(latest.map(({ data }) => data)).toMatchObject([{ city: "Graz" }])
    expect((await alice.get(created[0].metadata.supersedes)).context.isLatest).toBe(false)
  })

  it("with a name in uniqueOn take it from the thread", async () => {
    const resident = { ...profile, name: "user_residence", uniqueOn: ["name"] }
    const named = { ...resident, schema: schemaText({ name: text, city: text }, { required: ["name", "city"] }) }
    expect((await alice.post("/v1/schemas", named)).status).toBe(200)
    const rest = { schemas: ["user_residence"], threadId: "t" }
    await extracted("residents", [user("My name is Ines and I live in Lisbon.", "a")], rest)
    const { created, rejected } = await extracted("residents", [user("I moved to Porto.", "b")], rest)
    expect(rejected).toEqual([])
    expect(created[0]).toMatchObject({ data: { name: "Ines", city: "Porto" } })
    expect(await listed("residents")).toMatchObject([{ data: { city: "Porto" } }])
    const { created: unnamed } = await extracted("unnamed", [user("I live in Faro.", "a")], rest)
    expect(unnamed[0].data).toEqual({ name: "user", city: "Faro" })
  })

  it("that nobody registered are refused with their place", async () => {
    const { status, body } = await extract("kinds", [introduction], { schemas: ["factual_memory", "unheard_of"] })
    expect([status, body.code, body.details[0].path]).toEqual([400, "unknown_schema", "/schemas/1"])
  })
})

describe("an extracted memory", () => {
  it("names the messages that it comes from, and is found by the words around it", async () => {
    const conversation = [
      user("We were talking about the aquarium.", "n1"),
      user("I am allergic to shellfish.", "n2"),
      assistant("Noted, no bouillabaisse then.", "n3")
    ]
    const { created } = await extracted("neighbours", conversation)
    const allergy = created.find(({ data }: { readonly data: object }) => /shellfish/i.test(JSON.stringify(data)))
    expect(allergy.metadata.sourceMessageIds).toEqual(["n2"])
    const found = await alice.search({ query: "bouillabaisse", agentId: "neighbours" })
    expect(found.map(({ id }) => id)).toContain(allergy.id)
    expect(JSON.stringify(found)).not.toContain("bouillabaisse")
  })

  it("expires as the request says", async () => {
    const before = Date.now()
    const { created } = await extracted("ttl", [introduction], { ttl: "1h" })
    for (const { metadata } of created) {
      expect(metadata.expiresAt).toBeGreaterThanOrEqual(before + 3_600_000)
      expect(metadata.expiresAt).toBeLessThan(Date.now() + 3_600_001)
    }
  })

  it("is answered again under its Idempotency-Key, once charged", async () => {
    const headers = { "idempotency-key": "extract-once" }
    const first = await extract("idempotent", [introduction], {}, headers)
    const again = await extract("idempotent", [introduction], {}, headers)
    expect(again.body).toEqual(first.body)
    expect(again.headers.get("idempotency-replayed")).toBe("true")
    expect((await listed("idempotent")).length).toBe(first.body.created.length)
  })
})
