/** The directory: one tag per namespace for ever, created once, aliases followed, collisions stepped over. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { candidateTag, NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"

const alice = Effect.map(
  Accounts.use((accounts) => accounts.ensure("alice", "free")),
  ({ id }) => id
)
const foreignTag = "0123456789ab"

describe("NamespaceDirectory", () => {
  it.effect("derives the tag from account and agent, and finds it both ways", () =>
    Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      const account = yield* alice
      expect(directory.find(account, "agent")).toBeUndefined()
      const { tag } = yield* directory.ensure(account, "agent")
      expect(tag).toBe(createHash("sha256").update(`${account}\0agent`).digest("hex").slice(0, 12))
      expect(directory.find(account, "agent")?.tag).toBe(tag)
      expect(directory.byTag(tag)).toEqual({ tag, account, agentId: "agent" })
      expect(directory.byTag(foreignTag)).toBeUndefined()
      expect((yield* directory.ensure(account, "agent")).tag).toBe(tag)
    }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))
  )

  it.effect("lists the namespaces of one account, oldest first", () =>
    Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      const account = yield* alice
      const bob = yield* Accounts.use((accounts) => accounts.create("bob"))
      for (const agentId of ["b", "a"]) yield* directory.ensure(account, agentId)
      yield* directory.ensure(bob.id, "a")
      expect(directory.list(account).map(({ agentId }) => agentId)).toEqual(["b", "a"])
      expect(directory.list("nobody")).toEqual([])
      expect(directory.all()).toHaveLength(3)
    }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))
  )

  it.effect("creates one namespace for many that ask at once", () =>
    Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      const account = yield* alice
      const entries = yield* Effect.all(
        Array.from({ length: 50 }, (_, n) => directory.ensure(account, `agent-${n % 5}`)),
        {
          concurrency: "unbounded"
        }
      )
      expect(new Set(entries).size).toBe(5)
      const rows = yield* ControlDatabase.use(({ read, sql }) => read(sql`SELECT tag FROM namespace`))
      expect(rows).toHaveLength(5)
    }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))
  )

  it.effect("steps over a tag that is taken", () =>
    Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      const account = yield* alice
      const { tag: other } = yield* directory.ensure(account, "other")
      yield* directory.addAlias(candidateTag(account, "agent", 0), other)
      const { tag } = yield* directory.ensure(account, "agent")
      expect(tag).toBe(createHash("sha256").update(`${account}\0agent\0${1}`).digest("hex").slice(0, 12))
    }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))
  )

  it.effect("follows aliases to the namespace, and refuses one that names another", () =>
    Effect.gen(function* () {
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
    }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))
  )

  it.effect("is the same after a restart, aliases included", () =>
    Effect.gen(function* () {
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
  )

  it.effect("dies for an account that does not exist, and remembers nothing of it", () =>
    Effect.gen(function* () {
      const directory = yield* NamespaceDirectory
      expect((yield* Effect.exit(directory.ensure("nobody", "agent")))._tag).toBe("Failure")
      expect(directory.all()).toEqual([])
    }).pipe(Effect.provide(controlLayerOf(temporaryDirectory())))
  )
})
