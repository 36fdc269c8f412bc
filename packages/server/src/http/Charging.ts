/**
 * Charges the endpoints that have a price, and says on each answer what the call cost and what is left
 * (interface.md sections 10 and 14). Endpoints without one pass through.
 */
import { Context, Effect, Layer } from "effect"
import type { Account } from "@muniment/domain/Account"
import type { MicroCredits } from "@muniment/domain/Money"
import { Caller, Charging } from "@muniment/domain/api/Middleware"
import { Price } from "@muniment/domain/api/Operation"
import { toCredits } from "@muniment/domain/Money"
import type { Purses } from "@muniment/ledger/Ledger"
import { ChargedCalls } from "../credits/ChargedCalls.ts"
import { answerHeaders } from "./RateLimits.ts"

export const charging = Layer.effect(
  Charging,
  Effect.gen(function* () {
    const calls = yield* ChargedCalls
    return (handler, { endpoint }) => {
      const price = Context.get(endpoint.annotations, Price)
      if (price === 0) return handler
      const call = (account: Account) => ({
        account,
        operation: endpoint.identifier,
        price,
        isWrite: endpoint.method !== "GET"
      })
      return Effect.gen(function* () {
        const { account } = yield* Caller
        const { charged, purses, value } = yield* calls.charge(call(account), handler)
        yield* answerHeaders(creditHeaders(charged, purses))
        return value
      })
    }
  })
)

/** Both purses together; without bound on the owner's plan. */
const creditHeaders = (charged: MicroCredits, { allowance, balance, isUnlimited }: Purses) => ({
  "x-credits-charged": String(toCredits(charged)),
  "x-credits-remaining": isUnlimited ? "unlimited" : String(toCredits(allowance + balance))
})
