/**
 * What a language model uses, and how much of it an account may use in a UTC day. The models spend it and the
 * ledger counts it, neither knowing the other.
 */

/** Integers; costs are millionths of a US dollar. */
export interface ModelSpend {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicroUsd: number
}

/** Per account and UTC day; without a bound there is none. */
export interface BudgetBounds {
  /** Input and output together. */
  readonly tokensPerDay?: number | undefined
  readonly costPerDayMicroUsd?: number | undefined
}

/** An estimate that counts already and waits for what was really used. */
export interface BudgetHold {
  readonly account: string
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly estimate: ModelSpend
}
