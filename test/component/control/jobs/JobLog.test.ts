/** The log of the daily job: which days are finished, and what each of them did. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import type { Account } from "@muniment/domain/Account"
import { JobLog, storageJob } from "@muniment/control/jobs/JobLog"
import { Ledger } from "@muniment/control/credits/Ledger"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { moneyLayerOf } from "../MoneyLayers.ts"
import { it } from "../../../support/it.ts"

const accounts: ReadonlyArray<Account> = ["a", "b"].map((id) => ({ id, name: id, plan: "free", createdAt: 0 }))

describe("JobLog", () => {
  it.effect("knows the last finished day of each job, over restarts, and never goes back", function* () {
    const directory = temporaryDirectory()
    yield* Effect.gen(function* () {
      const jobs = yield* JobLog
      expect(yield* jobs.lastDay(storageJob)).toBeUndefined()
      yield* jobs.markDay(storageJob, "2026-01-02")
      yield* jobs.markDay(storageJob, "2026-01-01")
      yield* jobs.markDay("other", "2025-12-31")
    }).pipe(Effect.provide(moneyLayerOf(directory)))
    yield* Effect.gen(function* () {
      const jobs = yield* JobLog
      expect(yield* jobs.lastDay(storageJob)).toBe("2026-01-02")
      expect(yield* jobs.lastDay("other")).toBe("2025-12-31")
    }).pipe(Effect.provide(moneyLayerOf(directory)))
  })

  it.effect("adds up the accounts of a day, newest day first", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const jobs = yield* JobLog
      yield* ledger.adjust({ account: accounts[0]!, amount: 10_000, key: "k", reason: "r" })
      for (const day of ["2026-01-01", "2026-01-02"]) {
        yield* ledger.chargeStorage({ account: accounts[0]!, day, memories: 2, mode: "insure", purged: 0 })
        yield* ledger.recordRun({ account: accounts[1]!, day, memories: 1, expired: 4, purged: 5 })
      }
      const sums = { job: storageJob, accounts: 2, memories: 3, expired: 4, purged: 5, insured: 2, metered: 0, at: 0 }
      expect(yield* jobs.runs({ limit: 10 })).toEqual([
        { ...sums, day: "2026-01-02", charged: 3_340 },
        { ...sums, day: "2026-01-01", charged: 6_660 }
      ])
      expect(yield* jobs.runs({ limit: 1 })).toHaveLength(1)
      expect(yield* jobs.isDone(storageJob, "2026-01-02", "a")).toBe(true)
      expect(yield* jobs.isDone(storageJob, "2026-01-03", "a")).toBe(false)
    }).pipe(Effect.provide(moneyLayerOf(temporaryDirectory())))
  )
})
