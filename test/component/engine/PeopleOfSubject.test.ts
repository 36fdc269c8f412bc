/** Who is who, over real files: what is visible tells it, of one subject, before and after a restart. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { join } from "node:path"
import type { MemoryFilter } from "@muniment/domain/Search"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { nobody } from "@muniment/language/people/People"
import { askedQuestion } from "@muniment/language/question/AskedQuestion"
import { memorySum, registerRowSum } from "@muniment/engine/store/sqlite/rowSums"
import { messageTraits } from "@muniment/engine/text/MemoryText"
import { Database } from "@muniment/sqlite/Database"
import {
  creating,
  engineOf,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

interface Said {
  readonly text: string
  readonly subject?: string
  readonly agent?: string
  readonly expiresAt?: number
}

const recordOf = ({ agent = "agent", expiresAt, subject, text }: Said, number: number) =>
  messageRecord(number, text, {
    agentId: agent,
    subjectId: subject,
    threadId: String(number),
    data: { role: "user", text },
    ...(expiresAt !== undefined && { expiresAt })
  })

const store = Effect.fnUntraced(function* (said: ReadonlyArray<Said>) {
  const host = yield* NamespaceHost
  const records = said.map(recordOf)
  for (const record of records) yield* host.ask(namespaceKey(record.agentId), creating([newMemory(record)]))
  return records.map(({ id }) => id)
})

const people = (filter: MemoryFilter, agents: ReadonlyArray<string> = ["agent"], parts?: ReadonlyArray<MemoryFilter>) =>
  MemorySearch.use((search) =>
    search.people(
      agents.map((agent) => namespaceKey(agent)),
      { filter, scopeOf: () => parts }
    )
  )

/** Makes the messages those of an earlier release; the number of those that were known to name nobody. */
const forgetNamesNobody = (directory: string): number => {
  const database = new Database({ filename: join(directory, "namespaces", `${namespaceKey().tag}.db`) })
  registerRowSum(database)
  const { namesNobody } = messageTraits
  const changed = database.value(`SELECT count(*) FROM memory WHERE traits & ${namesNobody}`)
  database.exec(`UPDATE memory SET traits = traits & ~${namesNobody};
    UPDATE fulltext_length SET sum = (SELECT ${memorySum} FROM memory WHERE memory.slot = fulltext_length.slot)`)
  database.close()
  return Number(changed)
}

describe("the people of a subject", () => {
  fresh.effect("are told once and again: of each name the first and the last time count", function* () {
    const host = yield* NamespaceHost
    yield* store(
      Array.from({ length: 12 }, (_, at) => ({ text: at % 2 === 0 ? "I'm Lena." : "My sister Ada is here." }))
    )
    const { namings } = yield* host.answer(namespaceKey("agent"), { _tag: "Names", filter: {} })
    expect(namings.map(({ name }) => name).toSorted()).toEqual(["Ada", "Ada", "Lena", "Lena"])
    expect(yield* people({})).toMatchObject({ user: { name: "Lena", aliases: [] }, others: [{ name: "Ada" }] })
  })

  it.effect("are the same after a restart", function* () {
    const directory = temporaryDirectory()
    const known = {
      user: { name: "Lena", aliases: ["Len"], relations: [] },
      others: [{ name: "Ada", aliases: [], relations: [{ relation: "sister", of: undefined }] }],
      isGroup: false,
      isChat: true
    }
    yield* Effect.gen(function* () {
      yield* store([
        { text: "I'm Lena." },
        { text: "my sister Ada sings" },
        { text: "please call me Len" },
        { text: "it rains" }
      ])
      expect(yield* people({})).toEqual(known)
    }).pipe(Effect.provide(engineOf(directory)))
    expect(yield* people({}).pipe(Effect.provide(engineOf(directory)))).toEqual(known)
    // Of four messages one is not read on; those of an earlier release all are.
    expect(forgetNamesNobody(directory)).toBe(1)
    expect(yield* people({}).pipe(Effect.provide(engineOf(directory)))).toEqual(known)
  })

  fresh.effect("are those of no other subject or agent, nor of what a grant does not show", function* () {
    yield* store([
      { text: "I'm Lena.", subject: "one" },
      { text: "I'm Piet.", subject: "two" },
      { text: "I'm Ruth.", agent: "other", subject: "one" }
    ])
    expect((yield* people({ subjectId: "one" })).user?.name).toBe("Lena")
    expect((yield* people({ subjectId: "two" })).user?.name).toBe("Piet")
    expect((yield* people({ subjectId: "one" }, ["other"])).user?.name).toBe("Ruth")
    // Of several subjects none is the user.
    expect(yield* people({})).toEqual(nobody)
    expect((yield* people({}, ["agent"], [{ subjectId: "two" }])).user?.name).toBe("Piet")
    expect((yield* people({ subjectId: "one" }, ["agent"], [{ subjectId: "two" }])).user).toBeUndefined()
  })

  fresh.effect("end with the message that told them", function* () {
    const [first] = yield* store([{ text: "I'm Lena." }, { text: "I'm Piet.", expiresAt: Number.MAX_SAFE_INTEGER }])
    expect((yield* people({})).user).toEqual({ name: "Lena", aliases: [], relations: [] })
    yield* (yield* NamespaceHost).ask(namespaceKey(), { _tag: "RemoveMemories", ids: [first!], idempotency: undefined })
    expect((yield* people({})).user).toEqual({ name: "Piet", aliases: [], relations: [] })
  })
})

/** Texts and scores of the hits, as a caller's search finds them. */
const found = Effect.fnUntraced(function* (text: string, filter: MemoryFilter) {
  const search = yield* MemorySearch
  const asked = askedQuestion(text, yield* search.people([namespaceKey()], { filter }))
  const query = { text: asked.text, asked, vectors: new Map(), filter, limit: 10, minRelevance: 0 }
  const { hits } = yield* search.search([namespaceKey()], query)
  return hits.map(({ memory: { data }, ranked: { order } }) => [data["text"] ?? data["fact"], order])
})

it.effect("a search ranks alike by whatever name the user is called", function* () {
  const directory = temporaryDirectory()
  const ask = Effect.gen(function* () {
    const first = yield* found("Where do I work?", { subjectId: "one" })
    // Of facts that of the user comes first, also after a restart.
    expect(first.map(([text]) => text)).toEqual(
      expect.arrayContaining(["I work at the mill", "Lena works at the mill", "Piet works as a painter"])
    )
    const texts = first.map(([text]) => text)
    expect(texts.indexOf("Lena works at the mill")).toBeLessThan(texts.indexOf("Piet works as a painter"))
    for (const question of ["Where does Lena work?", "Where does the user work?", "Where does she work?"])
      expect(yield* found(question, { subjectId: "one" })).toEqual(first)
    const ofSister = yield* found("Where does Ada work?", { subjectId: "one" })
    expect(ofSister[0]![0]).toBe("my sister works at the bank")
    expect(yield* found("Where does my sister work?", { subjectId: "one" })).toEqual(ofSister)
    // Nobody of another subject is Lena, and the name of its user is no name of hers.
    expect(yield* found("Where does Lena work?", { subjectId: "two" })).not.toEqual(
      yield* found("Where do I work?", { subjectId: "two" })
    )
  }).pipe(Effect.provide(engineOf(directory)))
  yield* Effect.gen(function* () {
    yield* store([
      { text: "I'm Lena.", subject: "one" },
      { text: "I work at the mill", subject: "one" },
      { text: "my sister works at the bank", subject: "one" },
      { text: "my sister Ada sings", subject: "one" },
      { text: "I'm Piet, and I work with Lena", subject: "two" },
      { text: "work, work", subject: "two" }
    ])
    const facts = ["Piet works as a painter", "Lena works at the mill"].map((fact, at) =>
      newMemory(memoryRecord(20 - at, fact, { subjectId: "one", data: { subject: fact.slice(0, 4), fact } }))
    )
    yield* (yield* NamespaceHost).ask(namespaceKey(), creating(facts))
  }).pipe(Effect.provide(engineOf(directory)))
  yield* ask
})
