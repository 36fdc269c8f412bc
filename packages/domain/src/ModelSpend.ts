/**
 * Use of a language model, and the budget of an account and UTC day. Shared by `models`, which spends it, and `control`,
 * which counts it.
 */

/** Integers; costs are millionths of a US dollar. */
export interface ModelSpend {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicroUsd: number
}

export const noSpend: ModelSpend = { inputTokens: 0, outputTokens: 0, costMicroUsd: 0 }

/** Per UTC day; an absent bound does not limit. Of the account, unless it says otherwise. */
export interface BudgetBounds {
  /** Input and output together. */
  readonly tokensPerDay?: number | undefined
  /** Budget of all accounts together. */
  readonly totalTokensPerDay?: number | undefined
  readonly costPerDayMicroUsd?: number | undefined
  /** Purpose of the call, where that has a bound of its own. */
  readonly share?: BudgetShare | undefined
}

/** A part of the use of all accounts together. */
export interface BudgetShare {
  readonly name: string
  readonly tokensPerDay: number
}

/** An estimate, counted until the actual use is known. */
export interface BudgetHold {
  readonly account: string
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly estimate: ModelSpend
  /** Name of the share that it is counted in too. */
  readonly share?: string | undefined
}
