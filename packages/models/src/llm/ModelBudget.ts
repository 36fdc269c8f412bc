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
