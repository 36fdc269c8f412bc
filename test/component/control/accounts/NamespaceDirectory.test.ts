/** The directory: one tag per namespace for ever, created once, aliases followed, collisions stepped over. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import { Accounts, Quotas } from "@muniment/control/accounts/Accounts"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { candidateTag, NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => controlLayerOf(temporaryDirectory()))

const alice = Effect.map(
  Accounts.use((accounts) => accounts.ensure("alice", "free")),
  ({ id }) => id
)
const foreignTag = "0123456789ab"

describe("NamespaceDirectory", () => {
  fresh.effect("derives the tag from account and agent, and finds it both ways", function* () {
    const directory = yield* NamespaceDirectory
    const account = yield* alice
    expect(directory.find(account, "agent")).toBeUndefined()
    const { tag } = yield* directory.ensure(account, "agent")
    expect(tag).toBe(createHash("sha256").update(`${account}\0agent`).digest("hex").slice(0, 12))
    expect(directory.find(account, "agent")?.tag).toBe(tag)
    expect(directory.byTag(tag)).toEqual({ tag, account, agentId: "agent" })
    expect(directory.byTag(foreignTag)).toBeUndefined()
    expect((yield* directory.ensure(account, "agent")).tag).toBe(tag)
  })

  fresh.effect("lists the namespaces of one account, oldest first", function* () {
    const directory = yield* NamespaceDirectory
    const account = yield* alice
    const bob = yield* Accounts.use((accounts) => accounts.create("bob"))
    for (const agentId of ["b", "a"]) yield* directory.ensure(account, agentId)
    yield* directory.ensure(bob.id, "a")
    expect(directory.list(account).map(({ agentId }) => agentId)).toEqual(["b", "a"])
    expect(directory.list("nobody")).toEqual([])
    expect(directory.all()).toHaveLength(3)
  })

  fresh.effect("creates one namespace for many that ask at once", function* () {
    const directory = yield* NamespaceDirectory
    const account = yield* alice
    const entries = yield* Effect.all(
      Array.from({ length: 50 }, (_, n) => directory.ensure(account, `agent-${n % 5}`)),
      { concurrency: "unbounded" }
    )
    expect(new Set(entries).size).toBe(5)
    const rows = yield* ControlDatabase.use(({ read, sql }) => read(sql`SELECT tag FROM namespace`))
    expect(rows).toHaveLength(5)
  })

  fresh.effect("steps over a tag that is taken", function* () {
    const directory = yield* NamespaceDirectory
    const account = yield* alice
    const { tag: other } = yield* directory.ensure(account, "other")
    yield* directory.addAlias(candidateTag(account, "agent", 0), other)
    const { tag } = yield* directory.ensure(account, "agent")
    expect(tag).toBe(createHash("sha256").update(`${account}\0agent\0${1}`).digest("hex").slice(0, 12))
  })

  fresh.effect("follows aliases to the namespace, and refuses one that names another", function* () {
    const directory = yield* NamespaceDirectory
    const account = yield* alice
    const [{ tag: one }, { tag: two }] = [
      yield* directory.ensure(account, "one"),
      yield* directory.ensure(account, "two")
    ]
    yield* directory.addAlias(foreignTag, one)
    yield* directory.addAlias(foreignTag, one)
    yield* directory.addAlias(one, one)
    expect(directory.byTag(foreignTag)).toEqual({ tag: one, account, agentId: "one" })
    for (const taken of [foreignTag, one]) {
      expect(yield* Effect.flip(directory.addAlias(taken, two))).toMatchObject({
        _tag: "Conflict",
        code: "id_conflict"
      })
    }
    expect(directory.list(account)).toHaveLength(2)
  })

  it.effect("is the same after a restart, aliases included", function* () {
    const path = temporaryDirectory()
    const before = yield* Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      const account = yield* alice
      for (const agentId of ["b", "a"]) yield* directory.ensure(account, agentId)
      yield* directory.addAlias(foreignTag, directory.find(account, "a")!.tag)
      return directory.all()
    }).pipe(Effect.provide(controlLayerOf(path)))
    yield* Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      expect(directory.all()).toEqual(before)
      expect(directory.byTag(foreignTag)).toEqual(before[1])
    }).pipe(Effect.provide(controlLayerOf(path)))
  })

  it.effect("keeps the tag and the aliases of a retired agent for it alone, also after a restart", function* () {
    const path = temporaryDirectory()
    const { account, tag } = yield* Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      const owner = yield* alice
      const { tag } = yield* directory.ensure(owner, "agent")
      yield* directory.ensure(owner, "other")
      yield* directory.addAlias(foreignTag, tag)
      yield* directory.retire(tag)
      yield* directory.retire("0".repeat(12))
      for (const named of [directory.find(owner, "agent"), directory.byTag(tag), directory.byTag(foreignTag)])
        expect(named).toBeUndefined()
      expect(directory.list(owner).map(({ agentId }) => agentId)).toEqual(["other"])
      return { account: owner, tag }
    }).pipe(Effect.provide(controlLayerOf(path)))
    yield* Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      expect(directory.all().map(({ agentId }) => agentId)).toEqual(["other"])
      expect(directory.byTag(foreignTag)).toBeUndefined()
      const { tag: other } = directory.find(account, "other")!
      for (const taken of [foreignTag, tag])
        expect(yield* Effect.flip(directory.addAlias(taken, other))).toMatchObject({ code: "id_conflict" })
      yield* TestClock.adjust(1)
      const back = yield* directory.ensure(account, "agent")
      expect(back.tag).toBe(tag)
      expect([directory.byTag(tag), directory.byTag(foreignTag)]).toEqual([back, back])
      yield* directory.addAlias(foreignTag, tag)
    }).pipe(Effect.provide(controlLayerOf(path)))
    yield* Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      expect(directory.all().map(({ agentId }) => agentId)).toEqual(["other", "agent"])
      expect(directory.byTag(foreignTag)?.tag).toBe(tag)
    }).pipe(Effect.provide(controlLayerOf(path)))
  })

  fresh.effect("gives a retired agent's place to another, and its tag to none whose digits are the same", function* () {
    const directory = yield* NamespaceDirectory
    const quotas = yield* Quotas
    const account = yield* alice
    yield* quotas.change({ account }, { agents: 1 })
    const { tag } = yield* directory.ensure(account, "agent")
    expect(yield* Effect.flip(directory.ensure(account, "next"))).toMatchObject({ code: "quota_exceeded" })
    yield* directory.retire(tag)
    // As if its digits were those that "next" asks for first.
    const wanted = candidateTag(account, "next", 0)
    yield* ControlDatabase.use(({ sql, write }) => write(sql`UPDATE namespace SET tag = ${wanted} WHERE tag = ${tag}`))
    expect((yield* directory.ensure(account, "next")).tag).toBe(candidateTag(account, "next", 1))
    expect(yield* Effect.flip(directory.ensure(account, "agent"))).toMatchObject({ code: "quota_exceeded" })
  })

  fresh.effect("forgets retired agents with their account", function* () {
    const directory = yield* NamespaceDirectory
    const account = yield* alice
    const { tag } = yield* directory.ensure(account, "agent")
    yield* directory.addAlias(foreignTag, tag)
    yield* directory.retire(tag)
    yield* directory.forget(account)
    const rows = yield* ControlDatabase.use(({ read, sql }) =>
      read(sql`SELECT tag FROM namespace UNION ALL SELECT tag FROM namespace_alias`)
    )
    expect(rows).toEqual([])
  })

  fresh.effect("dies for an account that does not exist, and remembers nothing of it", function* () {
    const directory = yield* NamespaceDirectory
    expect((yield* Effect.exit(directory.ensure("nobody", "agent")))._tag).toBe("Failure")
    expect(directory.all()).toEqual([])
  })
})
