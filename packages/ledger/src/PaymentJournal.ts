/**
 * Every payment and how far it got. `verified` -> `broadcasting` -> `settled` -> `finalized`; or `failed`
 * before it settled, or `reversed` after (a reorganised chain took it back).
 *
 * Invariants: an id is claimed once; what is sent is journalled before it is sent; the state `settled`
 * and its deposit are one transaction, so each payment is credited exactly once; `failed` and `reversed`
 * are final. A step that the state does not allow is a defect.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Statement } from "effect/sql"
import type { Plan } from "@muniment/domain/Account"
import type { InsufficientStorage } from "@muniment/domain/Errors"
import type { PaymentState } from "@muniment/domain/Operations"
import { creditsOfUnits, type PaymentNetwork } from "@muniment/domain/Payment"
import { plans } from "@muniment/domain/Plans"
import { Books } from "./Books.ts"
import { ControlDatabase } from "./ControlDatabase.ts"
import { accountName, uncollected, usdcOn } from "./LedgerAccounts.ts"
import { type Purses, spendable } from "./Purses.ts"
import { type NewTransfer, postTransfers } from "./Transfers.ts"

/** A page of what reconciliation looks at. */
export const unfinishedPageMax = 1_000

export interface PaymentTransaction {
  readonly hash: string
  /** What was signed, to be sent again. */
  readonly raw: string
}

export interface NewPayment {
  /** Names the authorisation, never the header's text. */
  readonly id: string
  /** Id of the account that is credited. */
  readonly account: string
  readonly network: PaymentNetwork
  readonly payer: string
  /** Of USDC, 6 decimals. */
  readonly units: number
  /** JSON: what was signed by the payer. */
  readonly payload: unknown
}

export interface JournalledPayment extends NewPayment {
  readonly state: PaymentState
  readonly transaction: PaymentTransaction | undefined
  readonly reason?: string
  readonly createdAt: number
  readonly updatedAt: number
}

export interface PaymentFilter {
  readonly state?: PaymentState | undefined
  /** Id. */
  readonly account?: string | undefined
  readonly limit: number
}

export class PaymentJournal extends Context.Service<
  PaymentJournal,
  {
    readonly find: (id: string) => Effect.Effect<JournalledPayment | undefined>
    /** `Taken`: somebody has it already, as it stands. */
    readonly claim: (
      payment: NewPayment
    ) => Effect.Effect<{ readonly _tag: "Claimed" | "Taken"; readonly payment: JournalledPayment }, InsufficientStorage>
    /** Durable before it returns. Again, with what was signed anew, while it is broadcasting. */
    readonly broadcasting: (id: string, transaction: PaymentTransaction) => Effect.Effect<void, InsufficientStorage>
    /** Credits the account. Calling again changes nothing. */
    readonly settled: (id: string, hash: string) => Effect.Effect<{ readonly purses: Purses }, InsufficientStorage>
    readonly finalized: (id: string) => Effect.Effect<void, InsufficientStorage>
    /** Only before it settled. */
    readonly failed: (id: string, reason: string) => Effect.Effect<void, InsufficientStorage>
    /** The chain was reorganised and holds the payment under another hash. */
    readonly resettled: (id: string, hash: string) => Effect.Effect<void, InsufficientStorage>
    /** The chain was reorganised and lost the payment: what is left of it is taken back. */
    readonly reversed: (id: string, reason: string) => Effect.Effect<void, InsufficientStorage>
    /** Verified, broadcasting and settled ones after that one, oldest first, at most `unfinishedPageMax`. */
    readonly unfinished: (after?: JournalledPayment) => Effect.Effect<ReadonlyArray<JournalledPayment>>
    /** Newest first. */
    readonly list: (filter: PaymentFilter) => Effect.Effect<ReadonlyArray<JournalledPayment>>
    /** Payments of this payer that may still take money from him: `verified` and `broadcasting`. */
    readonly openOf: (
      network: PaymentNetwork,
      payer: string
    ) => Effect.Effect<ReadonlyArray<{ readonly id: string; readonly units: number }>>
    readonly countByState: Effect.Effect<Record<PaymentState, number>>
  }
>()("muniment/ledger/PaymentJournal") {
  static readonly layer: Layer.Layer<PaymentJournal, never, Books | ControlDatabase> = Layer.effect(
    PaymentJournal,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const books = yield* Books
  const { read, sql, write } = yield* ControlDatabase

  const find = (id: string) =>
    Effect.map(sql<PaymentRow>`SELECT * FROM payment WHERE id = ${id}`, ([row]) => row && paymentOf(row))
  /** Where the payment stands; dies unless the step is allowed from there. */
  const standing = Effect.fnUntraced(function* (id: string, step: PaymentState, allowed: ReadonlyArray<PaymentState>) {
    const payment = yield* find(id)
    if (payment !== undefined && allowed.includes(payment.state)) return payment
    return yield* Effect.die(new Error(`payment ${id} cannot become ${step}: it is ${payment?.state ?? "unknown"}`))
  })
  const move = (id: string, state: PaymentState, columns: Readonly<Record<string, string>> = {}) =>
    Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => sql`UPDATE payment SET ${sql.update({ ...columns, state, updated_at: now })} WHERE id = ${id}`
    )
  const select = (condition: Statement.Fragment, order: Statement.Fragment, limit: number) =>
    read(
      Effect.map(sql<PaymentRow>`SELECT * FROM payment WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`, (rows) =>
        rows.map(paymentOf)
      )
    )

  const claim = Effect.fnUntraced(function* (payment: NewPayment) {
    const taken = yield* find(payment.id)
    if (taken !== undefined) return { _tag: "Taken" as const, payment: taken }
    const now = yield* Clock.currentTimeMillis
    const made: JournalledPayment = {
      ...payment,
      state: "verified",
      transaction: undefined,
      createdAt: now,
      updatedAt: now
    }
    const { account, id, network, payer, units } = payment
    const payload = JSON.stringify(payment.payload)
    yield* sql`INSERT INTO payment ${sql.insert({
      id,
      account,
      network,
      payer,
      units,
      payload,
      state: made.state,
      created_at: now,
      updated_at: now
    })}`
    return { _tag: "Claimed" as const, payment: made }
  })

  const settle = Effect.fnUntraced(function* (id: string, hash: string) {
    const payment = yield* standing(id, "settled", creditable)
    if (payment.state === "settled" || payment.state === "finalized") return { result: undefined, amount: 0 }
    const amount = creditsOfUnits(payment.units)
    const at = yield* Clock.currentTimeMillis
    yield* postTransfers(sql, [depositOf(payment, at)])
    yield* move(id, "settled", { tx_hash: hash })
    return { result: undefined, amount }
  })

  const reverse = Effect.fnUntraced(function* (id: string, reason: string, taken: number) {
    const payment = yield* standing(id, "reversed", ["settled", "reversed"])
    if (payment.state === "reversed") return { result: undefined, isTaken: false }
    yield* postTransfers(sql, reversalsOf(payment, taken, yield* Clock.currentTimeMillis))
    yield* move(id, "reversed", { reason })
    return { result: undefined, isTaken: true }
  })

  const pursesOf = Effect.fnUntraced(function* (accountId: string) {
    const [row] = yield* read(sql<{ readonly plan: Plan }>`SELECT plan FROM account WHERE id = ${accountId}`)
    const isUnlimited = row !== undefined && plans[row.plan].isUnlimited
    const purse = isUnlimited ? books.purseOf(accountId) : books.purseAt(accountId, yield* Clock.currentTimeMillis)
    return spendable(purse, isUnlimited)
  })

  return PaymentJournal.of({
    find: (id) => read(find(id)),
    claim: Effect.fn("PaymentJournal.claim")(function* (payment) {
      return yield* write(claim(payment))
    }),
    broadcasting: Effect.fn("PaymentJournal.broadcasting")(function* (id, { hash, raw }) {
      yield* write(
        Effect.andThen(
          standing(id, "broadcasting", ["verified", "broadcasting"]),
          move(id, "broadcasting", { tx_hash: hash, tx_raw: raw })
        )
      )
    }),
    settled: Effect.fn("PaymentJournal.settled")(function* (id, hash) {
      const { account } = yield* read(standing(id, "settled", creditable))
      yield* books.credit(account, settle(id, hash))
      return { purses: yield* pursesOf(account) }
    }),
    finalized: Effect.fn("PaymentJournal.finalized")(function* (id) {
      yield* write(
        Effect.flatMap(standing(id, "finalized", ["settled", "finalized"]), ({ state }) =>
          state === "finalized" ? Effect.void : move(id, "finalized")
        )
      )
    }),
    failed: Effect.fn("PaymentJournal.failed")(function* (id, reason) {
      yield* write(Effect.andThen(standing(id, "failed", ["verified", "broadcasting"]), move(id, "failed", { reason })))
    }),
    resettled: Effect.fn("PaymentJournal.resettled")(function* (id, hash) {
      yield* write(Effect.andThen(standing(id, "settled", ["settled"]), move(id, "settled", { tx_hash: hash })))
    }),
    reversed: Effect.fn("PaymentJournal.reversed")(function* (id, reason) {
      const payment = yield* read(standing(id, "reversed", ["settled", "reversed"]))
      yield* books.debit(payment.account, creditsOfUnits(payment.units), (taken) => reverse(id, reason, taken))
    }),
    unfinished: (after) =>
      select(
        sql`state IN ('verified', 'broadcasting', 'settled')
          AND (created_at, id) > (${after?.createdAt ?? -1}, ${after?.id ?? ""})`,
        sql`created_at, id`,
        unfinishedPageMax
      ),
    list: ({ account, limit, state }) =>
      select(
        sql.and([
          ...(state === undefined ? [] : [sql`state = ${state}`]),
          ...(account === undefined ? [] : [sql`account = ${account}`])
        ]),
        sql`created_at DESC, rowid DESC`,
        limit
      ),
    openOf: (network, payer) =>
      read(sql<{ readonly id: string; readonly units: number }>`SELECT id, units FROM payment
        WHERE state IN ('verified', 'broadcasting') AND network = ${network} AND payer = ${payer}`),
    countByState: read(
      Effect.map(
        sql<{ readonly state: PaymentState; readonly count: number }>`SELECT state, count(*) AS count
          FROM payment GROUP BY state`,
        (rows) => ({
          ...noPayments,
          ...(Object.fromEntries(rows.map(({ count, state }) => [state, count])) as Partial<
            Record<PaymentState, number>
          >)
        })
      )
    )
  })
})

/** States in which `settled` has a meaning; in the later two it changes nothing. */
const creditable: ReadonlyArray<PaymentState> = ["verified", "broadcasting", "settled", "finalized"]

const noPayments: Record<PaymentState, number> = {
  verified: 0,
  broadcasting: 0,
  settled: 0,
  finalized: 0,
  failed: 0,
  reversed: 0
}

/** The money is on the chain, the credits are owed. */
const depositOf = ({ account, id, network, units }: JournalledPayment, at: number): NewTransfer => ({
  key: `deposit:${id}`,
  debit: usdcOn(network),
  credit: accountName("balance", account),
  amount: creditsOfUnits(units),
  kind: "deposit",
  account,
  at
})

/** The money is gone as a whole; what of it was spent is the service's loss. */
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

interface PaymentRow {
  readonly id: string
  readonly account: string
  readonly network: PaymentNetwork
  readonly payer: string
  readonly units: number
  readonly payload: string
  readonly state: PaymentState
  readonly tx_hash: string | null
  readonly tx_raw: string | null
  readonly reason: string | null
  readonly created_at: number
  readonly updated_at: number
}

const paymentOf = (row: PaymentRow): JournalledPayment => ({
  id: row.id,
  account: row.account,
  network: row.network,
  payer: row.payer,
  units: row.units,
  payload: JSON.parse(row.payload) as unknown,
  state: row.state,
  transaction: row.tx_hash === null ? undefined : { hash: row.tx_hash, raw: row.tx_raw ?? "" },
  ...(row.reason !== null && { reason: row.reason }),
  createdAt: row.created_at,
  updatedAt: row.updated_at
})
