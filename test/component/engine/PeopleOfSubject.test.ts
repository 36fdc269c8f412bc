/** Who is who, over real files: what is visible tells it, of one subject, before and after a restart. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { MemoryFilter } from "@muniment/domain/Search"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { creating, engineOf, messageRecord, namespaceKey, newMemory } from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

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

describe("the people of a subject", () => {
  it.effect("are the same after a restart", () => {
    const directory = temporaryDirectory()
    const known = {
      user: { name: "Lena", aliases: ["Len"], relations: [] },
      others: [{ name: "Ada", aliases: [], relations: [{ relation: "sister", of: undefined }] }]
    }
    return Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* store([{ text: "I'm Lena." }, { text: "my sister Ada sings" }, { text: "please call me Len" }])
        expect(yield* people({})).toEqual(known)
      }).pipe(Effect.provide(engineOf(directory)))
      expect(yield* people({}).pipe(Effect.provide(engineOf(directory)))).toEqual(known)
    })
  })

  it.effect("are those of no other subject or agent, nor of what a grant does not show", () =>
    Effect.gen(function* () {
      yield* store([
        { text: "I'm Lena.", subject: "one" },
        { text: "I'm Piet.", subject: "two" },
        { text: "I'm Ruth.", agent: "other", subject: "one" }
      ])
      expect((yield* people({ subjectId: "one" })).user?.name).toBe("Lena")
      expect((yield* people({ subjectId: "two" })).user?.name).toBe("Piet")
      expect((yield* people({ subjectId: "one" }, ["other"])).user?.name).toBe("Ruth")
      // Of several subjects none is the user.
      expect(yield* people({})).toEqual({ user: undefined, others: [] })
      expect((yield* people({}, ["agent"], [{ subjectId: "two" }])).user?.name).toBe("Piet")
      expect((yield* people({ subjectId: "one" }, ["agent"], [{ subjectId: "two" }])).user).toBeUndefined()
    }).pipe(Effect.provide(engineOf(temporaryDirectory())))
  )

  it.effect("end with the message that told them", () =>
    Effect.gen(function* () {
      const [first] = yield* store([{ text: "I'm Lena." }, { text: "I'm Piet.", expiresAt: Number.MAX_SAFE_INTEGER }])
      expect((yield* people({})).user).toEqual({ name: "Lena", aliases: [], relations: [] })
      yield* (yield* NamespaceHost).ask(namespaceKey(), {
        _tag: "RemoveMemories",
        ids: [first!],
        idempotency: undefined
      })
      expect((yield* people({})).user).toEqual({ name: "Piet", aliases: [], relations: [] })
    }).pipe(Effect.provide(engineOf(temporaryDirectory())))
  )
})
