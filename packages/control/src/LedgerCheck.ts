/**
 * Audit of the money in `control.db`: recomputes from the transfers everything that can be recomputed, and compares.
 * Reads in pages, each a consistent snapshot, and yields in between.
 *
 * Transfers never change, so totals are compared as of the newest transfer at the start.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { type MicroCredits, microCreditsPerUsdcUnit } from "@muniment/domain/Money"
import { ControlDatabase } from "./database/ControlDatabase.ts"
import { storageJob } from "./jobs/JobLog.ts"
import { type AccountTotals, Ledger } from "./credits/Ledger.ts"
import type { PaymentState } from "@muniment/domain/Operations"
import { PaymentJournal } from "./payments/PaymentJournal.ts"
import { refundsWithoutTransfers } from "./payments/RefundJournal.ts"
import type { ControlFailure } from "./database/ControlFailure.ts"

interface LedgerReport {
  readonly ok: boolean
  /** Sentences: the first `problemsMax`, then the number of further ones. */
  readonly problems: ReadonlyArray<string>
  readonly accounts: number
  readonly transfers: number
  readonly balances: ReadonlyArray<AccountTotals>
  readonly payments: Readonly<Record<PaymentState, number>>
}

const problemsMax = 100
/** Rows read before other fibers run. */
export const checkPageRows = 5_000

/** Flushes first. */
export const checkLedger: Effect.Effect<LedgerReport, ControlFailure, Ledger | PaymentJournal | ControlDatabase> =
  Effect.gen(function* () {
    const { read, sql } = yield* ControlDatabase
    const ledger = yield* Ledger
    const journal = yield* PaymentJournal
    yield* ledger.flush

    const { balances, last } = yield* read(sql.withTransaction(standing(sql)))
    const recomputed = yield* recompute(read, sql, last)
    const problems = [
      ...totalProblems(balances, recomputed),
      ...(yield* rowProblems(read, sql)).map(({ problem }) => problem)
    ]
    return {
      ok: problems.length === 0,
      problems:
        problems.length <= problemsMax
          ? problems
          : [...problems.slice(0, problemsMax), `${problems.length - problemsMax} more`],
      accounts: balances.length,
      transfers: recomputed.transfers,
      balances: balances.map(({ credits, debits, name }) => ({ name, debits, credits })),
      payments: yield* journal.countByState
    }
  }).pipe(Effect.withSpan("checkLedger"))

type Read = ControlDatabase["Service"]["read"]

interface StandingAccount extends AccountTotals {
  readonly id: number
  readonly kind: string
}

/** Running totals, and the newest transfer they include. */
const standing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const balances = yield* sql<StandingAccount>`SELECT id, name, kind, debits, credits FROM ledger_account ORDER BY name`
  const [newest] = yield* sql<{ readonly last: number }>`SELECT coalesce(max(id), 0) AS last FROM transfer`
  return { balances, last: newest!.last }
})

interface Recomputed {
  readonly debits: ReadonlyMap<number, MicroCredits>
  readonly credits: ReadonlyMap<number, MicroCredits>
  readonly transfers: number
}

const recompute = Effect.fnUntraced(function* (read: Read, sql: SqlClient.SqlClient, last: number) {
  const debits = new Map<number, MicroCredits>()
  const credits = new Map<number, MicroCredits>()
  let transfers = 0
  for (let after = 0; after < last; after += checkPageRows) {
    const page = yield* read(
      sql<{ readonly debit: number; readonly credit: number; readonly amount: number }>`SELECT debit, credit, amount
        FROM transfer WHERE id > ${after} AND id <= ${Math.min(after + checkPageRows, last)}`
    )
    for (const { amount, credit, debit } of page) {
      debits.set(debit, (debits.get(debit) ?? 0) + amount)
      credits.set(credit, (credits.get(credit) ?? 0) + amount)
    }
    transfers += page.length
    yield* Effect.yieldNow
  }
  return { debits, credits, transfers } satisfies Recomputed
})

const totalProblems = (balances: ReadonlyArray<StandingAccount>, recomputed: Recomputed): ReadonlyArray<string> => {
  const problems: Array<string> = []
  let sum = 0
  for (const { credits, debits, id, kind, name } of balances) {
    sum += debits - credits
    const [d, c] = [recomputed.debits.get(id) ?? 0, recomputed.credits.get(id) ?? 0]
    if (d !== debits || c !== credits) {
      problems.push(`${name} stands at ${debits} debits and ${credits} credits, its transfers make ${d} and ${c}`)
    }
    if (kind === "liability" && debits > credits) problems.push(`${name} is negative`)
  }
  if (sum !== 0) problems.push(`the sum of all accounts is ${sum} and not 0`)
  return problems
}

interface Problem {
  readonly problem: string
}

/** Rows that must match: payments and deposits, runs and storage charges, reservations and charges. */
const rowProblems = Effect.fnUntraced(function* (read: Read, sql: SqlClient.SqlClient) {
  const problems: Array<Problem> = []
  const inPages = Effect.fnUntraced(function* (
    table: string,
    check: (after: number, last: number) => Effect.Effect<ReadonlyArray<Problem>>
  ) {
    const [newest] = yield* read(
      sql<{ readonly last: number }>`SELECT coalesce(max(rowid), 0) AS last FROM ${sql(table)}`
    )
    for (let after = 0; after < newest!.last; after += checkPageRows) {
      problems.push(...(yield* check(after, after + checkPageRows)))
      yield* Effect.yieldNow
    }
  })
  yield* inPages("payment", (after, last) => read(paymentsWithoutTransfers(sql, after, last)))
  yield* inPages("transfer", (after, last) => read(transfersWithoutOrigin(sql, after, last)))
  yield* inPages("job_run", (after, last) => read(runsWithoutTransfers(sql, after, last)))
  problems.push(...(yield* read(openAndCharged(sql))), ...(yield* read(refundsWithoutTransfers(sql))))
  return problems
})

/** Each credited payment has a deposit of its amount to its account; each reversed one also has its reversal. */
const paymentsWithoutTransfers = (sql: SqlClient.SqlClient, after: number, last: number) =>
  sql<Problem>`SELECT 'payment ' || payment.id || ' is ' || state || ' and has no deposit of its amount' AS problem
      FROM payment WHERE payment.rowid > ${after} AND payment.rowid <= ${last}
        AND state IN ('settled', 'finalized', 'reversed')
        AND NOT EXISTS (SELECT 1 FROM transfer JOIN ledger_account ON ledger_account.id = transfer.credit
          WHERE key = 'deposit:' || payment.id AND amount = units * ${microCreditsPerUsdcUnit}
            AND transfer.account = payment.account AND ledger_account.name = 'liability:credits:' || payment.account)
    UNION ALL
    SELECT 'payment ' || payment.id || ' is reversed and not taken back whole'
      FROM payment WHERE payment.rowid > ${after} AND payment.rowid <= ${last} AND state = 'reversed'
        AND units * ${microCreditsPerUsdcUnit} <> (SELECT coalesce(sum(amount), 0) FROM transfer
          WHERE key IN ('reversal:' || payment.id, 'reversal:' || payment.id || ':uncollected'))`

const transfersWithoutOrigin = (sql: SqlClient.SqlClient, after: number, last: number) =>
  sql<Problem>`SELECT 'transfer ' || key || ' has no payment that was credited' AS problem
      FROM transfer WHERE transfer.id > ${after} AND transfer.id <= ${last} AND kind = 'deposit'
        AND NOT EXISTS (SELECT 1 FROM payment WHERE payment.id = substr(key, length('deposit:') + 1)
          AND state IN ('settled', 'finalized', 'reversed'))
    UNION ALL
    SELECT 'transfer ' || key || ' has no payment that was reversed'
      FROM transfer WHERE transfer.id > ${after} AND transfer.id <= ${last} AND kind = 'reversal'
        AND NOT EXISTS (SELECT 1 FROM payment WHERE state = 'reversed'
          AND key IN ('reversal:' || payment.id, 'reversal:' || payment.id || ':uncollected'))
    UNION ALL
    SELECT 'transfer ' || key || ' is of an agent of another account, or is no charge'
      FROM transfer WHERE transfer.id > ${after} AND transfer.id <= ${last} AND namespace IS NOT NULL
        AND (kind <> 'charge' OR EXISTS (SELECT 1 FROM namespace AS named
          WHERE named.tag = transfer.namespace AND named.account <> transfer.account))
    UNION ALL
    SELECT 'transfer ' || key || ' has no run of the daily job'
      FROM transfer WHERE transfer.id > ${after} AND transfer.id <= ${last} AND kind IN ('storage', 'storage_metered')
        AND NOT EXISTS (SELECT 1 FROM job_run WHERE job_run.job = ${storageJob} AND job_run.account = transfer.account
          AND job_run.day = substr(key, length(kind) + 2, length('YYYY-MM-DD'))
          AND key = kind || ':' || job_run.day || ':' || job_run.account
          AND amount = CASE WHEN kind = 'storage' THEN job_run.charged ELSE job_run.metered END)`

const runsWithoutTransfers = (sql: SqlClient.SqlClient, after: number, last: number) =>
  sql<Problem>`SELECT 'the run of ' || day || ' for ' || account || ' has no transfer of what it charged' AS problem
    FROM job_run WHERE rowid > ${after} AND rowid <= ${last}
      AND ((charged > 0 AND NOT EXISTS (SELECT 1 FROM transfer
          WHERE key = 'storage:' || day || ':' || job_run.account AND amount = charged))
        OR (metered > 0 AND NOT EXISTS (SELECT 1 FROM transfer
          WHERE key = 'storage_metered:' || day || ':' || job_run.account AND amount = metered)))`

/** One page is enough: open reservations are as many as calls under way. */
const openAndCharged = (sql: SqlClient.SqlClient) =>
  sql<Problem>`SELECT 'reservation ' || id || ' is open and charged' AS problem FROM reservation
    WHERE state = 'open' AND EXISTS (SELECT 1 FROM transfer
      WHERE key IN ('charge:' || reservation.id || ':allowance', 'charge:' || reservation.id || ':balance'))`
