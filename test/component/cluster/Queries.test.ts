/** Every query, and what a namespace with memories, messages and a conversation answers, as bytes and back. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodeAnswer, decodeQuery, encodeAnswer, encodeQuery } from "@muniment/cluster/wire/Queries"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { Answers, NamespaceQuery } from "@muniment/engine/namespace/NamespaceQuery"
import {
  axisVector,
  creating,
  engineOf,
  extracting,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory,
  turnOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
const scope = { subjectId: "s" }
const keys = [turnOf(1).key, turnOf(2).key]
const model = "test-model"
const id = memoryRecord(1, "").id
const sources = [{ key: keys[0]! }]

/** With every optional field, and with none. */
const filters = [
  {},
  {
    agentId: "a",
    subjectId: "s",
    threadId: "t",
    kind: "factual_memory",
    tags: ["x"],
    eventFrom: 1,
    eventTo: 2,
    includeSuperseded: true,
    include: "messages" as const,
    hasNoSubject: false,
    hasNoThread: true,
    anyOf: [{ threadId: "t" }, { anyOf: [{}] }]
  },
  { data: { city: "Oslo" } },
  { asOf: 1.5e12, kind: "factual_memory" },
  { feedback: "useful" as const },
  { data: { city: "Oslo" }, where: { not: { "data.z": { in: [1, "a"] }, "data.a": null } } }
]

const searched = {
  query: { terms: ["rome"], idf: [1], documents: 3, averageLength: 3, scoreBound: 2 },
  vectors: new Map([[model, axisVector(1).values]]),
  filter: {},
  atMillis: 0
}
const fusion = {
  scoreBound: 2,
  termCount: 1,
  modelId: model,
  asked: { speaker: undefined, isFirstPerson: true, ranges: [{ from: -1, to: 1e12 }] },
  cosines: { mean: 0.1, deviation: 0 },
  hasWords: true
}
const places = [
  { id, slot: 0 },
  { id: "gone", slot: 7, unit: 8 }
]

/** One of each variant at least. */
const queries: { readonly [T in NamespaceQuery["_tag"]]: ReadonlyArray<Omit<QueryOf<T>, "_tag">> } = {
  Terms: filters.map((filter) => ({
    terms: ["rome"],
    names: { words: new Set(["ann", "rome"]), capitals: new Set(["ann"]) },
    filter,
    atMillis: 0
  })),
  Candidates: [searched, { ...searched, vectors: new Map(), candidatesMax: 1 }],
  StrictCandidates: [
    { ...searched, certain: 1 },
    { ...searched, certain: 2, candidatesMax: 1 }
  ],
  ExactCosinesAt: [{ places, vectors: searched.vectors }],
  Cosines: [{ ...searched, fusion }],
  CountMatching: [{ ...searched, fusion: { scoreBound: 0, termCount: 0, modelId: undefined } }],
  ListPlaces: [
    { filter: {}, after: undefined, limit: 10 },
    { filter: {}, after: { id, createdAt: 1e12 }, limit: 1 },
    { filter: {}, after: undefined, limit: 10, isOldestFirst: true }
  ],
  Facet: [
    { facet: "kinds", filter: {}, order: "memories", limit: 10 },
    { facet: "subjects", filter: {}, contains: "S", order: "newest", limit: 1 },
    { facet: "subjects", filter: {}, after: "a", order: "name", limit: 1 }
  ],
  VectorsOf: [{ places }],
  Around: filters.map((filter) => ({ places, eachSide: 2, filter })),
  Counts: [{}],
  Indexes: [{}],
  VersionsAt: [{ places }],
  Find: [{ id }, { id: "none" }],
  History: [{ id, limit: 10 }],
  LatestOf: [{ uniqueKey: "home" }, { uniqueKey: "none" }],
  Inserted: [
    { afterSeq: -1, limit: 10 },
    { afterSeq: 1e6, limit: 1 }
  ],
  WithoutVector: [{ model: "other", afterSlot: -1, limit: 10 }],
  CountWithoutVector: [{ model: "other" }],
  Conversation: [{ scope }, { scope: {} }],
  Processed: [{ scope, keys }],
  Stored: [{ scope, keys }],
  Said: [{ messages: keys.map((key) => ({ scope, key })) }, { messages: [{ scope: {}, key: "none" }] }],
  ExtractedFrom: [{ scope, keys, limit: 5 }],
  LaterVersions: [{ scope, keys, filter: {} }],
  PendingReadings: [{ limit: 5 }, { limit: 1, after: 9 }],
  Pending: [{}],
  IsCommitted: [{ idempotencyKey: "done" }, { idempotencyKey: "not" }],
  Events: [
    { after: -1, limit: 100 },
    { after: 1, limit: 1 }
  ],
  Names: filters.map((filter) => ({ filter }))
}
type QueryOf<T extends NamespaceQuery["_tag"]> = Extract<NamespaceQuery, { readonly _tag: T }>

const sent = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)

/** Fields of candidates are getters, so the decoded one is compared field by field. */
const expectSame = (tag: string, decoded: unknown, answer: unknown) => {
  if (tag !== "Candidates" && tag !== "StrictCandidates") return expect(decoded).toEqual(answer)
  const [found, asked] = [decoded, answer] as [Answers["Candidates"], Answers["Candidates"]]
  expect(found.plans).toEqual(asked.plans)
  expect(asked.candidates.length).toBeGreaterThan(0)
  expect(asked.candidates).toMatchObject(found.candidates)
  for (const one of found.candidates) expect(Object.keys(one)).toEqual(expect.arrayContaining(["slot", "lexicalScore"]))
}

it.effect("queries and answers of every kind are the same after they were sent", () =>
  Effect.gen(function* () {
    const host = yield* NamespaceHost
    const home = { subjectId: "s", uniqueKey: "home", sources, origin: "extraction" as const }
    yield* host.ask(key, creating([newMemory(memoryRecord(1, "in rome", { expiresAt: 1e12 }), axisVector(1))], "done"))
    yield* host.ask(key, creating([newMemory(messageRecord(2, "I moved to Rome", { subjectId: "s", sources }))]))
    yield* host.ask(key, creating([newMemory(memoryRecord(3, "lives in Oslo", home))]))
    yield* host.ask(key, creating([newMemory(memoryRecord(4, "lives in Rome", { ...home, when: "2024-02-29" }))]))
    yield* host.ask(key, extracting([1, 2], [], { scope, summary: "of Rome" }))
    const given: Array<string> = []
    for (const [tag, variants] of Object.entries(queries)) {
      for (const fields of variants) {
        const query = { _tag: tag, ...fields } as NamespaceQuery
        expect(decodeQuery(sent(encodeQuery(query)))).toEqual(query)
        const answer: unknown = yield* host.answer(key, query)
        const bytes = sent(encodeAnswer(query, answer as never))
        expectSame(tag, decodeAnswer(query, bytes), answer)
        given.push(`${tag} ${JSON.stringify(answer)}`)
      }
    }
    // What is compared says something.
    for (const some of ["LaterVersions [[", 'Conversation {"turns":[{', 'Find {"id"', "IsCommitted true"])
      expect(given.filter((one) => one.startsWith(some))).not.toEqual([])
  }).pipe(Effect.provide(engineOf(temporaryDirectory())))
)

it("bytes that are no query are refused", () => {
  expect(() => decodeQuery(new Uint8Array([255, 1, 2, 3]))).toThrow()
  expect(() => decodeQuery(new Uint8Array())).toThrow()
})
