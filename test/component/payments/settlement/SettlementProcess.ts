/**
 * The money services and the settlement over one control.db, as one start of the process has them. Each
 * lives until its test ends, unless it is ended before, so that a second start may find the files as a
 * kill leaves them (`crashImage`).
 */
import { Context, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Account } from "@muniment/domain/Account"
import { toUsd } from "@muniment/domain/Money"
import type { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { PaymentChain } from "@muniment/payments/chain/PaymentChain"
import type { PaymentRequest } from "@muniment/payments/settlement/PaymentRuns"
import { Settlement } from "@muniment/payments/settlement/Settlement"
import { moneyLayerOf } from "../../control/MoneyLayers.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

export const alice: Account = { id: "acc_alice", name: "alice", plan: "free", createdAt: 0 }
export const bob: Account = { id: "acc_bob", name: "bob", plan: "free", createdAt: 0 }
/** 0.10 USD. */
export const units = 100_000

type Money = Ledger | PaymentJournal | ControlDatabase

export interface ProcessOptions {
  readonly directory?: string
  readonly confirmations?: number
  /** Between the journal and those who write in it. */
  readonly journal?: (journal: PaymentJournal["Service"]) => PaymentJournal["Service"]
}

export const startProcess = Effect.fn("startProcess")(function* (
  chains: ReadonlyArray<PaymentChain>,
  { confirmations = 1, directory = temporaryDirectory(), journal = (one) => one }: ProcessOptions = {}
) {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const logged: Array<string> = []
  const log = Logger.layer([
    Logger.make(({ logLevel, message }) => void logged.push(`${logLevel} ${[message].flat()[0]}`))
  ])
  const byNetwork = new Map(chains.map((chain) => [chain.network, chain]))
  const journalled = Layer.effect(PaymentJournal, Effect.map(PaymentJournal, journal))
  const layer = Settlement.layer({ chains: byNetwork, confirmations }).pipe(
    Layer.provideMerge(journalled),
    Layer.provideMerge(moneyLayerOf(directory)),
    Layer.provideMerge(log),
    Layer.fresh
  )
  const context = yield* Layer.buildWithScope(layer, scope)
  const settlement = Context.get(context, Settlement)
  const money: Context.Context<Money> = context

  const pay = (nonce: string, request: Partial<PaymentRequest> = {}, chain = chains[0]!) =>
    settlement.pay({
      account: alice.id,
      units,
      wire: { version: 1, network: chain.network, payload: { nonce } },
      ...request
    })
  return {
    directory,
    logged,
    settlement,
    context,
    journal: Context.get(context, PaymentJournal),
    pay,
    /** The answer, after as long as a caller waits at most. */
    payAndWait: Effect.fnUntraced(function* (nonce: string, request: Partial<PaymentRequest> = {}) {
      const asked = yield* Effect.forkChild(Effect.provide(pay(nonce, request), log))
      yield* TestClock.adjust("11 seconds")
      return yield* Fiber.await(asked)
    }),
    /** Dollars that an account has paid for. */
    balance: ({ id }: Account) =>
      Effect.map(Context.get(context, Ledger).balances, (totals) =>
        toUsd(
          totals
            .filter(({ name }) => name === `liability:credits:${id}`)
            .reduce((sum, { credits, debits }) => sum + credits - debits, 0)
        )
      ),
    check: Effect.provide(checkLedger, money),
    end: Scope.close(scope, Exit.void)
  }
})

export type SettlementProcess = Effect.Success<ReturnType<typeof startProcess>>
