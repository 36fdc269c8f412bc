/**
 * Port of the language model budget: what an account may use in a UTC day. Implemented by `ModelUsage` of package
 * control, which keeps it across restarts.
 */
import { Context, type Effect } from "effect"
import type { InsufficientStorage, Unavailable } from "@muniment/domain/Errors"
import type { BudgetBounds, BudgetHold, ModelSpend } from "@muniment/domain/ModelSpend"

export class ModelBudget extends Context.Service<
  ModelBudget,
  {
    /** `undefined` if the estimate exceeds what is left of the day, `unpaid` if the account lacks the credits for it. */
    readonly reserve: (
      account: string,
      estimate: ModelSpend,
      bounds: BudgetBounds
    ) => Effect.Effect<BudgetHold | "unpaid" | undefined, InsufficientStorage | Unavailable>
    /** Replaces the estimate by what was used; once per hold. */
    readonly settle: (hold: BudgetHold, used: ModelSpend) => Effect.Effect<void, InsufficientStorage | Unavailable>
  }
>()("muniment/models/ModelBudget") {}

/** Token counts: estimates, cost, and the bounds of what a server reports. */
export interface TokenCount {
  readonly inputTokens: number
  readonly outputTokens: number
}

interface TokenPrices {
  readonly inputPriceMicroUsdPerMillion?: number | undefined
  readonly outputPriceMicroUsdPerMillion?: number | undefined
}

/** UTF-8 bytes: English has about 4 per token, Chinese 3 to 4, so the estimate is high. */
const bytesPerToken = 3
/** Roles, separators and names around the texts of a request. */
const framingTokens = 32
/** More than any model supports; a larger number reported by a server is cut to it. */
const tokensMax = 10_000_000
const million = 1_000_000

export const estimatedTokens = (texts: ReadonlyArray<string>): number =>
  framingTokens + texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / bytesPerToken), 0)

/** The number of tokens reported by a server; `undefined` if it is not a number. */
export const claimedTokens = (claim: unknown): number | undefined =>
  typeof claim === "number" && claim >= 0 ? Math.min(Math.ceil(claim), tokensMax) : undefined

/** Rounded up, so that a small call is not free. */
export const costMicroUsd = ({ inputTokens, outputTokens }: TokenCount, prices: TokenPrices): number =>
  Math.ceil(
    (inputTokens * (prices.inputPriceMicroUsdPerMillion ?? 0) +
      outputTokens * (prices.outputPriceMicroUsdPerMillion ?? 0)) /
      million
  )
