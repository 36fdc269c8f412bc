/** What ranks messages beside words and meaning: speaker, time and newness, over real files (contract: Search). */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch, type MemoryQuery } from "@muniment/engine/search/MemorySearch"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import {
  creating,
  engineOf,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory,
  turnOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const model = "e5-small-v2-q8"

interface Said {
  readonly name?: string
  readonly role?: "user" | "assistant"
  readonly text: string
  readonly when?: string
  /** Degrees; two messages are about the same matter within 25. */
  readonly direction?: number
  readonly agent?: string
}

const vectorAt = (degrees: number): MemoryVector => {
  const values = new Float32Array(8)
  values[0] = Math.cos((degrees * Math.PI) / 180)
  values[1] = Math.sin((degrees * Math.PI) / 180)
  return { model, values }
}

const store = Effect.fnUntraced(function* (said: ReadonlyArray<Said>) {
  const host = yield* NamespaceHost
  for (const [number, { agent = "agent", direction, name, role = "user", text, when }] of said.entries()) {
    const record = messageRecord(number, text, {
      agentId: agent,
      threadId: String(number),
      data: { role, text, ...(name !== undefined && { name }) },
      when
    })
    const memory = newMemory(record, direction === undefined ? undefined : vectorAt(direction))
    yield* host.ask(namespaceKey(agent), creating([memory]))
  }
})

const searched = { text: "", vectors: new Map(), filter: {}, limit: 10, minRelevance: 0 }

const find = Effect.fnUntraced(function* (
  text: string,
  given: Partial<MemoryQuery> = {},
  agents: ReadonlyArray<string> = ["agent"]
) {
  const search = yield* MemorySearch
  const query = { ...searched, text, ...given }
  const { hits } = yield* search.search(
    agents.map((agent: string) => namespaceKey(agent)),
    query
  )
  return hits.map(({ memory }) => String(memory.data["text"]))
})

describe("a search over messages", () => {
  fresh.effect("prefers the speaker whom the question names, wherever their messages are", function* () {
    yield* store([
      { name: "Ann", text: "the kiln is ready" },
      { name: "Ben", text: "the kiln is hot", agent: "other" }
    ])
    const agents = ["agent", "other"]
    expect(yield* find("What about Ann's kiln?", {}, agents)).toEqual(["the kiln is ready", "the kiln is hot"])
    expect(yield* find("What about Ben's kiln?", {}, agents)).toEqual(["the kiln is hot", "the kiln is ready"])
  })

  fresh.effect("takes I for the user, and puts the assistant first only where its words are asked for", function* () {
    yield* store([{ text: "the kiln is ready" }, { role: "assistant", text: "the kiln is hot" }])
    expect((yield* find("What did I say of the kiln?"))[0]).toBe("the kiln is ready")
    expect((yield* find("kiln"))[0]).toBe("the kiln is ready")
    expect((yield* find("What did you say of the kiln?"))[0]).toBe("the kiln is hot")
  })

  fresh.effect("does not look for the word of a role that speakers without a name go by", function* () {
    yield* store([{ text: "the harbour pays me well" }, { text: "Piet works as a painter" }])
    const { hits } = yield* Effect.flatMap(MemorySearch, (search) =>
      search.search([namespaceKey()], { ...searched, text: "Where does the user work?" })
    )
    expect(hits.map(({ ranked }) => ranked.candidate.matchedTerms)).toEqual([1])
  })

  fresh.effect(
    "finds what stands beside a message that lies nearer, but for messages that the filter hides",
    function* () {
      const host = yield* NamespaceHost
      const said = [
        { text: "it is blue", direction: 40, threadId: "a" },
        { text: "which colour has the kiln?", direction: 5, threadId: "a", tags: ["asked"] },
        { text: "it is green", direction: 40, threadId: "b" }
      ]
      for (const [number, { direction, tags = ["told"], text, threadId }] of said.entries())
        yield* host.ask(
          namespaceKey(),
          creating([newMemory(messageRecord(number, text, { threadId, tags }), vectorAt(direction))])
        )
      const vectors = new Map([[model, vectorAt(0).values]])
      const all = yield* find("hue", { vectors })
      expect(all.indexOf("it is blue")).toBeLessThan(all.indexOf("it is green"))
      const told = yield* find("hue", { vectors, filter: { tags: ["told"] } })
      expect(told).toEqual(["it is green", "it is blue"])
    }
  )

  fresh.effect("prefers what has the kind of thing that the question's form asks for", function* () {
    yield* store([{ text: "the kiln came on 3 May" }, { text: "the kiln came by lorry" }])
    expect((yield* find("How did the kiln come?"))[0]).toBe("the kiln came by lorry")
    expect((yield* find("When did the kiln come?"))[0]).toBe("the kiln came on 3 May")
  })

  fresh.effect("prefers the day that the question names, in the caller's time zone", function* () {
    yield* store([
      { text: "the kiln is ready", when: "2024-06-10T02:00:00.000Z" },
      { text: "the kiln is hot", when: "2024-05-10T02:00:00.000Z" }
    ])
    const askedAtMillis = Date.parse("2024-06-11T12:00:00Z")
    expect((yield* find("kiln"))[0]).toBe("the kiln is hot")
    expect((yield* find("the kiln yesterday", { askedAtMillis }))[0]).toBe("the kiln is ready")
    const evidenceIn = Effect.fnUntraced(function* (timeZone: string) {
      const search = yield* MemorySearch
      const query = { text: "kiln yesterday", vectors: new Map(), filter: {}, limit: 1, minRelevance: 0 }
      const { hits } = yield* search.search([namespaceKey()], { ...query, askedAtMillis, timeZone })
      return hits[0]!.ranked.evidence
    })
    expect(yield* evidenceIn("UTC")).toMatchObject({ inRange: 1, nearRange: 1 })
    // There it was said on the 9th.
    expect(yield* evidenceIn("America/Los_Angeles")).toMatchObject({ inRange: 0, nearRange: 1 })
  })

  fresh.effect(
    "puts the newer of two statements about one matter first, unless it is told not to or asks of the past",
    function* () {
      yield* store([
        { name: "Ann", text: "I work at the mill", when: "2024-01-01T00:00:00.000Z", direction: 5 },
        { name: "Ann", text: "I work at the bank", when: "2024-02-01T00:00:00.000Z", direction: 20 },
        { name: "Ann", text: "I met Ben", when: "2024-03-01T00:00:00.000Z", direction: 80 }
      ])
      const vectors = new Map([[model, vectorAt(0).values]])
      const present = { vectors, newerFirst: true }
      expect(yield* find("Where does Ann work?", present)).toEqual([
        "I work at the bank",
        "I work at the mill",
        "I met Ben"
      ])
      expect((yield* find("Where does Ann work?", { ...present, limit: 1 }))[0]).toBe("I work at the bank")
      expect((yield* find("Where does Ann work?", { vectors }))[0]).toBe("I work at the mill")
      expect((yield* find("Where did Ann work?", present))[0]).toBe("I work at the mill")
    }
  )

  fresh.effect(
    "puts a change in other words before what was so, where a vector tells that they are near",
    function* () {
      yield* store([
        { text: "I work at the mill as a clerk", when: "2024-01-01T00:00:00.000Z", direction: 5 },
        { text: "First day at the library, they hired me at last", when: "2024-02-01T00:00:00.000Z", direction: 33 },
        { text: "My sister works in a bank now", when: "2024-03-01T00:00:00.000Z", direction: -34 }
      ])
      const vectors = new Map([[model, vectorAt(0).values]])
      const first = "First day at the library, they hired me at last"
      expect((yield* find("Where do I work?", { vectors, newerFirst: true }))[0]).toBe(first)
      expect((yield* find("Where do I work?", { vectors, newerFirst: true, limit: 1 }))[0]).toBe(first)
      expect((yield* find("Where do I work?", { vectors }))[0]).toBe("I work at the mill as a clerk")
    }
  )

  fresh.effect("gives a newer state the relevance of the older one, and says of both why they moved", function* () {
    const [older, newer, other] = [
      "I pay 980 a month for the flat",
      "The flat was raised to 1,050 a month",
      "I met Ben"
    ] as const
    yield* store([
      { text: older, when: "2024-01-01T00:00:00.000Z", direction: 5 },
      { text: newer, when: "2024-02-01T00:00:00.000Z", direction: 34 },
      { text: other, when: "2024-03-01T00:00:00.000Z", direction: 120 }
    ])
    const search = yield* MemorySearch
    const vectors = new Map([[model, vectorAt(0).values]])
    const asked = { text: "How much is my rent?", vectors, filter: {}, limit: 10, minRelevance: 0 }
    const moved = (yield* search.search([namespaceKey()], { ...asked, newerFirst: true })).hits
    const still = (yield* search.search([namespaceKey()], asked)).hits
    expect(moved.map(({ memory, move }) => [memory.data["text"], move])).toEqual([
      [newer, "change"],
      [older, "outdated"],
      [other, undefined]
    ])
    expect(still.map(({ memory, move }) => [memory.data["text"], move])).toEqual([
      [older, undefined],
      [newer, undefined],
      [other, undefined]
    ])
    const relevanceOf = (hits: typeof moved, text: string) =>
      hits.find(({ memory }) => memory.data["text"] === text)!.ranked.relevance
    expect(relevanceOf(moved, older)).toBeLessThan(relevanceOf(still, older))
    expect(relevanceOf(moved, newer)).toBeGreaterThan(relevanceOf(still, newer))
  })

  fresh.effect(
    "puts a message first whose extracted memory superseded that of an older one, both visible",
    function* () {
      yield* store([{ text: "my flat is in Cork, as you know" }, { text: "the flat in Galway has a balcony" }])
      const home = (number: number, text: string, uniqueKey = "home") =>
        memoryRecord(number + 2, text, {
          uniqueKey,
          threadId: String(number),
          sources: [{ key: turnOf(number).key }],
          origin: "extraction"
        })
      const host = yield* NamespaceHost
      const asked = { newerFirst: true, filter: { include: "all" } } as const
      const question = "Where is my flat, as you know?"
      yield* host.ask(namespaceKey(), creating([newMemory(home(0, "lives in Cork"))]))
      expect((yield* find(question, asked))[0]).toBe("my flat is in Cork, as you know")
      yield* host.ask(namespaceKey(), creating([newMemory(home(1, "lives in Galway"))]))
      expect((yield* find(question, asked))[0]).toBe("the flat in Galway has a balcony")
      expect((yield* find(question, { newerFirst: true, filter: { include: "messages" } }))[0]).toContain("Cork")
      expect((yield* find(question, { ...asked, newerFirst: false }))[0]).toContain("Cork")
    }
  )

  fresh.effect("gives no place to what was extracted from messages that are hits themselves", function* () {
    yield* store([
      { text: "the kiln is hot" },
      { text: "the kiln was dear" },
      { text: "clay for the kiln and the oven" }
    ])
    const taken = (number: number, text: string, from: ReadonlyArray<number>) =>
      memoryRecord(number, text, {
        data: { text },
        threadId: String(from[0]),
        sources: from.map((one) => ({ key: turnOf(one).key }))
      })
    const host = yield* NamespaceHost
    const facts = [taken(3, "the user's kiln: kiln kiln", [1]), taken(4, "the kiln, of clay", [0, 7])]
    yield* host.ask(namespaceKey(), creating(facts.map((record) => newMemory(record))))
    const ofFact = { filter: { include: "extracted" } } as const
    expect(yield* find("kiln", ofFact)).toHaveLength(2)
    const all = yield* find("kiln", { oncePerMessage: true })
    expect(all).toHaveLength(5)
    expect(yield* find("kiln", { limit: 3 })).toEqual(all.slice(0, 3))
    expect(all.indexOf("the user's kiln: kiln kiln")).toBeLessThan(all.indexOf("the kiln was dear"))
    // Both rank before their messages, which are left out.
    const others = ["the user's kiln: kiln kiln", "the kiln, of clay", "clay for the kiln and the oven"]
    expect(yield* find("kiln", { limit: 3, oncePerMessage: true })).toEqual(others)
  })
})
