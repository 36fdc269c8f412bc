/**
 * Port of the budget of language models: what an account may make them use in a UTC day. Implemented by
 * the ledger's `ModelUsage`, which keeps it over restarts.
 */
import { Context, type Effect } from "effect"
import type { InsufficientStorage } from "@muniment/domain/Errors"
import type { BudgetBounds, BudgetHold, ModelSpend } from "@muniment/domain/ModelSpend"

export class ModelBudget extends Context.Service<
  ModelBudget,
  {
    /** `undefined` when the estimate does not fit the rest of the day. */
    readonly reserve: (
      account: string,
      estimate: ModelSpend,
      bounds: BudgetBounds
    ) => Effect.Effect<BudgetHold | undefined, InsufficientStorage>
    /** Puts what was used in the place of the estimate; once per hold. */
    readonly settle: (hold: BudgetHold, used: ModelSpend) => Effect.Effect<void, InsufficientStorage>
  }
>()("muniment/models/ModelBudget") {}
