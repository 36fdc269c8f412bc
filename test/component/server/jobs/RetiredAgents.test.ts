/** The daily job and agents of which nothing is left: who is retired, what stays for them, a crash in between. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Account } from "@muniment/domain/Account"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { StorageInsurance } from "@muniment/server/jobs/StorageInsurance"
import { memoryRecord } from "../../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { crashed, makeAccount, memory, moment, namespaceOf, noon, numbersOf, start, store } from "./StorageWorld.ts"
import { it } from "../../../support/it.ts"

const run = StorageInsurance.use((insurance) => insurance.run())
const agentsOf = (account: Account) =>
  NamespaceDirectory.use((directory) => Effect.succeed(directory.list(account.id).map(({ agentId }) => agentId)))
const remove = Effect.fnUntraced(function* (account: Account, number: number, agentId = "agent") {
  const host = yield* NamespaceHost
  const key = yield* namespaceOf(account, agentId)
  yield* host.ask(key, { _tag: "RemoveMemories", ids: [memoryRecord(number, "").id], idempotency: undefined })
  return key
})

describe("the daily job", () => {
  it.effect("retires agents that it found empty, on every plan, and no others", () => {
    const directory = temporaryDirectory()
    return start(
      directory,
      noon,
      Effect.gen(function* () {
        for (const plan of ["free", "starter", "owner"] as const) {
          const account = yield* makeAccount(plan, plan)
          yield* store(account, [memory(1, noon)], "full")
          yield* store(account, [memory(2, noon)], "emptied")
          yield* store(account, [memory(3, noon, { expiresAt: moment(1) - 1 })], "expiring")
          yield* namespaceOf(account, "never written")
          yield* remove(account, 2, "emptied")
        }
        const [free, starter, owner] = ["free", "starter", "owner"].map((name) => ({ id: `acc_${name}` }) as Account)
        yield* TestClock.setTime(moment(1))
        yield* run
        for (const account of [free!, starter!, owner!])
          expect(yield* agentsOf(account)).toEqual(expect.arrayContaining(["full"]))
        expect(yield* agentsOf(free!)).not.toContain("emptied")
        expect(yield* agentsOf(owner!)).not.toContain("never written")
        yield* TestClock.setTime(moment(2))
        yield* run
        for (const account of [free!, starter!, owner!]) expect(yield* agentsOf(account)).toEqual(["full"])
        expect(yield* numbersOf(starter!, "full")).toEqual([1])
      })
    )
  })

  it.effect("ends a retirement that a kill cut off between the file and the directory", function* () {
    const directory = temporaryDirectory()
    const { account, image, tag } = yield* start(
      directory,
      noon,
      Effect.gen(function* () {
        const account = yield* makeAccount("free", "free")
        yield* store(account, [memory(1, noon)])
        const key = yield* remove(account, 1)
        const cutOff = NamespaceHost.use((host) =>
          host.retire(
            key,
            moment(2),
            Effect.sync(() => void (image = crashed(directory)))
          )
        )
        let image = ""
        expect(yield* cutOff).toBe(true)
        return { account, image, tag: key.tag }
      })
    )
    expect(existsSync(join(image, "namespaces", `${tag}.db`))).toBe(false)
    yield* start(
      image,
      moment(1) - 60_000,
      Effect.gen(function* () {
        expect(yield* agentsOf(account)).toEqual(["agent"])
        expect(yield* numbersOf(account)).toEqual([])
        yield* TestClock.setTime(moment(1))
        yield* run
        expect(yield* agentsOf(account)).toEqual([])
        yield* store(account, [memory(2, moment(1))])
        expect((yield* namespaceOf(account)).tag).toBe(tag)
        expect(yield* numbersOf(account)).toEqual([2])
      })
    )
  })
})
