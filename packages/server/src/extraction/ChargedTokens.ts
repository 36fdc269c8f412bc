/**
 * The price of the language model's tokens beyond the price of a call (contract: Credits): held for the estimate before
 * the model is asked, charged for what was used, also if the call failed. Without prices nothing is held.
 */
import { Effect, Layer } from "effect"
import { credits, type MicroCredits } from "@muniment/domain/Money"
import type { BudgetHold, ModelSpend } from "@muniment/domain/ModelSpend"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import { Ledger, type Reservation } from "@muniment/control/credits/Ledger"
import { ModelBudget } from "@muniment/models/llm/ModelBudget"
import { TokenCosts, TokenNamespace } from "../credits/TokenCosts.ts"

/** Credits for 1,000 tokens. */
export interface TokenPrices {
  readonly input: number
  readonly output: number
}

const tokensPriced = 1_000

/** The budget of tokens, with their price. */
export const chargedTokens = (prices: TokenPrices) =>
  Layer.effect(
    ModelBudget,
    Effect.gen(function* () {
      const usage = yield* ModelUsage
      if (prices.input === 0 && prices.output === 0) return usage
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const held = new WeakMap<BudgetHold, Reservation>()
      const priceOf = ({ inputTokens, outputTokens }: ModelSpend): MicroCredits =>
        Math.ceil(credits(inputTokens * prices.input + outputTokens * prices.output) / tokensPriced)

      const reserve: ModelBudget["Service"]["reserve"] = Effect.fnUntraced(function* (accountId, estimate, bounds) {
        const account = yield* accounts.byId(accountId)
        if (account === undefined) return yield* usage.reserve(accountId, estimate, bounds)
        const namespace = yield* TokenNamespace
        const priced = { account, operation: nameOf(estimate), price: priceOf(estimate), namespace }
        const reserved = ledger.reserve(priced)
        const reservation = yield* Effect.catchTag(reserved, "InsufficientCredits", () => Effect.succeed(undefined))
        if (reservation === undefined) return "unpaid"
        const hold = yield* Effect.onError(usage.reserve(accountId, estimate, bounds), () => ledger.void(reservation))
        if (hold === undefined) yield* ledger.void(reservation)
        else held.set(hold, reservation)
        return hold
      }, Effect.uninterruptible)

      const charge = Effect.fnUntraced(function* (hold: BudgetHold, used: ModelSpend) {
        const reservation = held.get(hold)
        if (reservation === undefined) return
        held.delete(hold)
        // The estimate is high; an account never pays more than was held for it.
        const price = Math.min(priceOf(used), reservation.charge + reservation.ownUse)
        const { charged } = yield* ledger.settle(reservation, { operation: nameOf(used), price })
        const costs = yield* TokenCosts
        costs.micro += charged + reservation.ownUse
      })

      return ModelBudget.of({
        reserve,
        settle: (hold, used) => Effect.uninterruptible(Effect.andThen(usage.settle(hold, used), charge(hold, used)))
      })
    })
  )

const nameOf = ({ inputTokens, outputTokens }: ModelSpend): string =>
  `model: ${inputTokens} input and ${outputTokens} output tokens`
