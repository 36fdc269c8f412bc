/**
 * Statements on table `payment`. Those that write run inside the caller's transaction; `PaymentJournal.ts` says which
 * transactions there are, and which invariants they keep.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { MicroCredits } from "@muniment/domain/Money"
import type { PaymentState } from "@muniment/domain/Operations"
import { creditsOfUnits, type PaymentNetwork } from "@muniment/domain/Payment"
import type { Announce } from "./MoneyEvents.ts"
import { accountName, type NewTransfer, postTransfers, uncollected, usdcOn } from "../credits/Transfers.ts"
import { journalled, type JournalledPayment, type JournalRow, type NewPayment } from "./JournalledPayment.ts"

/** Rows of one page of reconciliation. */
export const unfinishedPageMax = 1_000

export interface PaymentFilter {
  readonly state?: PaymentState | undefined
  /** Id. */
  readonly account?: string | undefined
  readonly limit: number
}

/** Payments that their chain reverted; `firstAt`: 0 if there are none. */
export interface Reverts {
  readonly byPayer: number
  readonly byAccount: number
  readonly firstAt: number
}

/** Payments that may be reverted, of a payer and of an account, after `sinceMillis`. */
export interface RevertBudget {
  readonly byPayer: number
  readonly byAccount: number
  readonly sinceMillis: number
}

export class PaymentRows {
  readonly #sql: SqlClient.SqlClient
  readonly #announce: Announce

  constructor(sql: SqlClient.SqlClient, announce: Announce) {
    this.#sql = sql
    this.#announce = announce
  }

  find(id: string) {
    return Effect.map(this.#sql<PaymentRow>`SELECT * FROM payment WHERE id = ${id}`, ([row]) => row && paymentOf(row))
  }

  findNamed(name: string, account: string | undefined) {
    const sql = this.#sql
    const named = sql`(id = ${name} OR tx_hash = ${name})`
    const condition = account === undefined ? named : sql.and([named, sql`account = ${account}`])
    // One transaction may hold several payments.
    return Effect.map(this.#select(condition, sql`id = ${name} DESC, created_at`, 1), ([payment]) => payment)
  }

  hasAnyOn(network: PaymentNetwork) {
    return Effect.map(this.#sql`SELECT 1 FROM payment WHERE network = ${network} LIMIT 1`, (found) => found.length > 0)
  }

  /** The payment, if `step` is allowed from its state; otherwise a defect. */
  standing(id: string, step: PaymentState, allowed: ReadonlyArray<PaymentState>) {
    return Effect.flatMap(this.find(id), (payment) =>
      payment !== undefined && allowed.includes(payment.state)
        ? Effect.succeed(payment)
        : Effect.die(new Error(`payment ${id} cannot become ${step}: it is ${payment?.state ?? "unknown"}`))
    )
  }

  move(id: string, state: PaymentState, columns: Readonly<Record<string, string | number>> = {}) {
    const sql = this.#sql
    return Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => sql`UPDATE payment SET ${sql.update({ ...columns, state, updated_at: now })} WHERE id = ${id}`
    )
  }

  claim(payment: NewPayment) {
    return Effect.gen({ self: this }, function* () {
      const taken = yield* this.find(payment.id)
      if (taken !== undefined) return { _tag: "Taken" as const, payment: taken }
      const now = yield* Clock.currentTimeMillis
      const state = "verified" as const
      const { account, id, network, payer, resource = null, units } = payment
      const payload = JSON.stringify(payment.payload)
      const row = { id, account, network, payer, units, payload, resource, state, created_at: now, updated_at: now }
      yield* this.#sql`INSERT INTO payment ${this.#sql.insert(row)}`
      const made: JournalledPayment = { ...payment, state, transaction: undefined, createdAt: now, updatedAt: now }
      return { _tag: "Claimed" as const, payment: made }
    })
  }

  claimWithin(payment: NewPayment, budget: RevertBudget) {
    return Effect.gen({ self: this }, function* () {
      const taken = yield* this.find(payment.id)
      if (taken !== undefined) return { _tag: "Taken" as const, payment: taken }
      const reverts = yield* this.revertsOf(payment, budget.sinceMillis)
      const underWay = reverts.byAccount + reverts.byPayer === 0 ? nobody : yield* this.#underWayOf(payment)
      const isOver = (who: "byAccount" | "byPayer") => reverts[who] > 0 && reverts[who] + underWay[who] >= budget[who]
      if (isOver("byPayer") || isOver("byAccount")) return { _tag: "OverBudget" as const, reverts }
      return yield* this.claim(payment)
    })
  }

  settle(id: string, hash: string) {
    return Effect.gen({ self: this }, function* () {
      const payment = yield* this.standing(id, "settled", creditable)
      if (payment.state === "settled" || payment.state === "finalized") return { result: undefined, amount: 0 }
      const now = yield* Clock.currentTimeMillis
      yield* postTransfers(this.#sql, [depositOf(payment, now)])
      yield* this.move(id, "settled", { tx_hash: hash, settled_at: now })
      yield* this.#announce("payment.settled", { ...payment, transaction: { hash, raw: "" } })
      return { result: undefined, amount: creditsOfUnits(payment.units) }
    })
  }

  reverse(id: string, reason: string, taken: MicroCredits) {
    return Effect.gen({ self: this }, function* () {
      const payment = yield* this.standing(id, "reversed", ["settled", "reversed"])
      if (payment.state === "reversed") return { result: undefined, isTaken: false }
      yield* postTransfers(this.#sql, reversalsOf(payment, taken, yield* Clock.currentTimeMillis))
      yield* this.move(id, "reversed", { reason })
      yield* this.#announce("payment.reversed", { ...payment, reason })
      return { result: undefined, isTaken: true }
    })
  }

  markReverted(id: string) {
    return Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => this.#sql`UPDATE payment SET reverted_at = ${now} WHERE id = ${id} AND reverted_at IS NULL`
    )
  }

  revertsOf({ account, network, payer }: Pick<NewPayment, "account" | "network" | "payer">, sinceMillis: number) {
    return Effect.map(
      this.#sql<Reverts>`SELECT
          count(*) FILTER (WHERE network = ${network} AND payer = ${payer}) AS byPayer,
          count(*) FILTER (WHERE account = ${account}) AS byAccount, coalesce(min(reverted_at), 0) AS firstAt
        FROM payment WHERE reverted_at > ${sinceMillis}
          AND (account = ${account} OR (network = ${network} AND payer = ${payer}))`,
      ([counted]) => counted!
    )
  }

  /** Payments without an outcome. */
  #underWayOf({ account, network, payer }: NewPayment) {
    return Effect.map(
      this.#sql<Pick<Reverts, "byPayer" | "byAccount">>`SELECT
          count(*) FILTER (WHERE network = ${network} AND payer = ${payer}) AS byPayer,
          count(*) FILTER (WHERE account = ${account}) AS byAccount
        FROM payment WHERE state IN ('verified', 'broadcasting') AND reverted_at IS NULL`,
      ([counted]) => counted!
    )
  }

  walletAccount(payer: string) {
    // As wallets' addresses are kept: EVM in lower case, Solana as it is.
    const address = payer.startsWith("0x") ? payer.toLowerCase() : payer
    return Effect.map(
      this.#sql<{ readonly account: string }>`SELECT account FROM wallet
        WHERE address = ${address} AND unlinked_at IS NULL`,
      ([linked]) => linked?.account ?? address
    )
  }

  unfinished(after: JournalledPayment | undefined) {
    const sql = this.#sql
    return this.#select(
      sql`state IN ('verified', 'broadcasting', 'settled')
        AND (created_at, id) > (${after?.createdAt ?? -1}, ${after?.id ?? ""})`,
      sql`created_at, id`,
      unfinishedPageMax
    )
  }

  list({ account, limit, state }: PaymentFilter) {
    const sql = this.#sql
    return this.#select(
      sql.and([
        ...(state === undefined ? [] : [sql`state = ${state}`]),
        ...(account === undefined ? [] : [sql`account = ${account}`])
      ]),
      sql`created_at DESC, rowid DESC`,
      limit
    )
  }

  openOf(network: PaymentNetwork, payer: string) {
    return this.#sql<{ readonly id: string; readonly units: number }>`SELECT id, units FROM payment
      WHERE state IN ('verified', 'broadcasting') AND network = ${network} AND payer = ${payer}`
  }

  get oldestOpenAt() {
    return Effect.map(
      this.#sql<{ readonly at: number | null }>`SELECT min(created_at) AS at FROM payment
        WHERE state IN ('verified', 'broadcasting')`,
      ([oldest]) => oldest?.at ?? undefined
    )
  }

  get countByState() {
    return Effect.map(
      this.#sql<{ readonly state: PaymentState; readonly count: number }>`SELECT state, count(*) AS count
        FROM payment GROUP BY state`,
      (counts): Record<PaymentState, number> => {
        const byState = { ...noPayments }
        for (const { count, state } of counts) byState[state] = count
        return byState
      }
    )
  }

  #select(condition: Statement.Fragment, order: Statement.Fragment, limit: number) {
    return Effect.map(
      this.#sql<PaymentRow>`SELECT * FROM payment WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`,
      (found) => found.map(paymentOf)
    )
  }
}

const nobody = { byPayer: 0, byAccount: 0 }

/** States from which `settled` is allowed; in the last two it changes nothing. */
export const creditable: ReadonlyArray<PaymentState> = ["verified", "broadcasting", "settled", "finalized"]

const noPayments: Record<PaymentState, number> = {
  verified: 0,
  broadcasting: 0,
  settled: 0,
  finalized: 0,
  failed: 0,
  reversed: 0
}

/** USDC received, credits owed. */
const depositOf = ({ account, id, network, units }: JournalledPayment, at: number): NewTransfer => ({
  key: `deposit:${id}`,
  debit: usdcOn(network),
  credit: accountName("balance", account),
  amount: creditsOfUnits(units),
  kind: "deposit",
  account,
  at
})

/** The whole deposit is gone; the part already spent is the service's loss (`uncollected`). */
const reversalsOf = (
  { account, id, network, units }: JournalledPayment,
  taken: number,
  at: number
): ReadonlyArray<NewTransfer> => {
  const lost = creditsOfUnits(units) - taken
  const common = { credit: usdcOn(network), kind: "reversal", at } as const
  const fromPurse: NewTransfer = {
    ...common,
    key: `reversal:${id}`,
    debit: accountName("balance", account),
    amount: taken,
    account
  }
  const fromUs: NewTransfer = { ...common, key: `reversal:${id}:uncollected`, debit: uncollected, amount: lost }
  return [fromPurse, fromUs].filter(({ amount }) => amount > 0)
}

interface PaymentRow extends JournalRow {
  readonly reverted_at: number | null
  readonly resource: string | null
  readonly settled_at: number | null
}

const paymentOf = (row: PaymentRow): JournalledPayment => ({
  ...journalled(row),
  ...(row.reverted_at !== null && { revertedAt: row.reverted_at }),
  ...(row.resource !== null && { resource: row.resource }),
  ...(row.settled_at !== null && { settledAt: row.settled_at })
})
