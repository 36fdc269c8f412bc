/**
 * Storage charges, once per account and UTC day (contract: Plans and the daily job). The charge, the row of the run and
 * the mark of what is to be purged are one transaction, so a rerun after a crash changes nothing.
 */
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Account } from "@muniment/domain/Account"
import { type MicroCredits, storageMicroCreditsPerMemoryDay } from "@muniment/domain/Money"
import type { Books } from "./Books.ts"
import { type PurgeMark, storageJob } from "../jobs/JobLog.ts"
import { accountName, incomeFromStorage, type NewTransfer, postTransfers } from "./Transfers.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** Results of the run besides charges. */
export interface RunFacts {
  readonly account: Account
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  /** Live memories counted by this run, charged or metered. */
  readonly memories: number
  readonly expired?: number | undefined
  readonly purged?: number | undefined
  /** The mark from now on; undefined: none. */
  readonly mark?: PurgeMark | undefined
}

export interface StorageCharge extends RunFacts {
  /** `insure` takes the price from the free balance, as far as it goes; `meter` records the whole price as receivable. */
  readonly mode: "insure" | "meter"
}

/** The row in the log; of the earlier run if this one is a repeat. */
export interface RunRecorded {
  readonly charged: MicroCredits
  readonly metered: MicroCredits
  readonly isRepeat: boolean
}

export const makeStorageCharges = (books: Books["Service"], sql: SqlClient.SqlClient) => {
  const insure = (run: RunFacts, price: MicroCredits) =>
    books.debit(run.account.id, price, (charged) =>
      Effect.map(
        record(sql, run, { charged, metered: 0, insured: run.memories }, (at) => ({
          key: `storage:${run.day}:${run.account.id}`,
          debit: accountName("balance", run.account.id),
          credit: incomeFromStorage,
          amount: charged,
          kind: "storage",
          account: run.account.id,
          at
        })),
        (result) => ({ result, isTaken: !result.isRepeat })
      )
    )

  const meter = (run: RunFacts, metered: MicroCredits) =>
    books.credit(
      run.account.id,
      Effect.map(
        record(sql, run, { charged: 0, metered, insured: 0 }, (at) => ({
          key: `storage_metered:${run.day}:${run.account.id}`,
          debit: accountName("receivable", run.account.id),
          credit: incomeFromStorage,
          amount: metered,
          kind: "storage_metered",
          account: run.account.id,
          at
        })),
        (result) => ({ result, amount: 0 })
      )
    )

  return {
    chargeStorage: Effect.fn("Ledger.chargeStorage")(function* ({
      mode,
      ...run
    }: StorageCharge): Effect.fn.Return<RunRecorded, ControlFailure> {
      const price = run.memories * storageMicroCreditsPerMemoryDay
      return yield* mode === "insure" ? insure(run, price) : meter(run, price)
    }),
    recordRun: Effect.fn("Ledger.recordRun")(function* (run: RunFacts): Effect.fn.Return<RunRecorded, ControlFailure> {
      return yield* meter(run, 0)
    })
  }
}

interface RunAmounts {
  readonly charged: MicroCredits
  readonly metered: MicroCredits
  readonly insured: number
}

/** Inside a transaction. */
const record = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: RunFacts,
  amounts: RunAmounts,
  transferAt: (at: number) => NewTransfer
) {
  const [before] = yield* sql<{ readonly charged: number; readonly metered: number }>`SELECT charged, metered
    FROM job_run WHERE job = ${storageJob} AND day = ${run.day} AND account = ${run.account.id}`
  if (before !== undefined) return { ...before, isRepeat: true }
  const { charged, insured, metered } = amounts
  const at = yield* Clock.currentTimeMillis
  yield* sql`INSERT INTO job_run ${sql.insert({
    job: storageJob,
    day: run.day,
    account: run.account.id,
    memories: run.memories,
    charged,
    metered,
    expired: run.expired ?? 0,
    purged: run.purged ?? 0,
    insured,
    at
  })}`
  yield* sql`DELETE FROM purge_mark WHERE account = ${run.account.id}`
  if (run.mark !== undefined) {
    const { createdBefore, memories, runAt } = run.mark
    const mark = { account: run.account.id, run_at: runAt, created_before: createdBefore, memories }
    yield* sql`INSERT INTO purge_mark ${sql.insert(mark)}`
  }
  if (charged + metered > 0) yield* postTransfers(sql, [transferAt(at)])
  return { charged, metered, isRepeat: false }
})
