/** Crashes of the daily job at each of its durable steps. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import type { Account } from "@muniment/domain/Account"
import { credits, storageMicroCreditsPerMemoryDay as price } from "@muniment/domain/Money"
import { plans } from "@muniment/domain/Plans"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { it } from "../../../support/it.ts"
import { repetitions } from "../../../support/Repetitions.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import {
  balanceOf,
  crashed,
  dayMillis,
  deposit,
  makeAccount,
  memory,
  moment,
  noon,
  numbersOf,
  start,
  store
} from "./StorageWorld.ts"

const proof = Effect.map(checkLedger, ({ problems }) => expect(problems).toEqual([]))

describe("a crash anywhere in the job", () => {
  const fill = Effect.gen(function* () {
    const accounts = [
      yield* makeAccount("insured", "free"),
      yield* makeAccount("poor", "free"),
      yield* makeAccount("nearly", "free"),
      yield* makeAccount("starter", "starter")
    ]
    yield* deposit(accounts[0]!, credits(1), "one")
    yield* deposit(accounts[2]!, 7 * price, "some")
    for (const account of accounts) {
      yield* store(account, [
        memory(1, noon - 8 * dayMillis),
        memory(2, noon - 6 * dayMillis),
        memory(3, noon, { expiresAt: moment(1) + 1 })
      ])
      yield* store(account, [memory(4, noon - 8 * dayMillis)], "another agent")
    }
    return accounts
  })
  const few = { ...plans, starter: { ...plans.starter, memoriesIncluded: 1 } }
  /** Everything that must not depend on crashes. */
  const outcome = Effect.fnUntraced(function* (accounts: ReadonlyArray<Account>) {
    yield* proof
    return yield* Effect.forEach(accounts, (account) =>
      Effect.gen(function* () {
        const moves = yield* Ledger.use((ledger) => ledger.transactions(account.id, { limit: 100 }))
        return {
          balance: yield* balanceOf(account),
          // The allowance is granted when somebody first asks for it, which is none of the job's affairs.
          moves: moves
            .filter(({ kind }) => kind !== "allowance")
            .map(({ amount, kind, purse }) => ({ amount, kind, purse })),
          memories: [yield* numbersOf(account), yield* numbersOf(account, "another agent")]
        }
      })
    )
  })
  /** Each step in the long run, every third by day: before and after one in turn. */
  const stride = repetitions(3) === 3 ? 1 : 3

  it.effect("and a rerun give the balances and the memories of a run without one", function* () {
    const filled = temporaryDirectory()
    const accounts = yield* start(filled, noon, fill, { plans: few })
    // This run marks what the crashing one purges.
    yield* start(filled, moment(1), Effect.void, { plans: few })
    const expected = yield* start(crashed(filled), moment(2), outcome(accounts), { plans: few })
    expect(expected[1]!.memories).toEqual([[2], []])
    // What was insured with the last of a balance must not be purged by the rerun, which finds none.
    expect(expected[2]!.memories).toEqual([[1, 2], [4]])
    expect(expected.map(({ balance }) => balance)).toEqual([credits(1) - 7 * price, 0, 0, 0])
    let hasCrashed = true
    let crashes = 0
    for (; hasCrashed; crashes += stride) {
      const directory = crashed(filled)
      hasCrashed = false
      let left = crashes
      const step = Effect.suspend(() => {
        if (left-- > 0) return Effect.void
        hasCrashed = true
        return Effect.die(new Error("crash"))
      })
      const image = yield* start(
        directory,
        moment(2),
        Effect.sync(() => crashed(directory)),
        { plans: few, step }
      )
      const reached = yield* start(image, moment(2), outcome(accounts), { plans: few })
      expect(reached, `after step ${crashes}`).toEqual(expected)
    }
    expect(crashes).toBeGreaterThan(20)
  })
})
