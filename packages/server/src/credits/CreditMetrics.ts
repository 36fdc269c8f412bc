/** What `/metrics` tells of money: charges by operation, and what they came to. */
import { Effect, Metric } from "effect"
import { toCredits, type MicroCredits } from "@muniment/domain/Money"

const chargeCount = Metric.counter("charges_total", {
  description: "Calls that were charged, by operation.",
  incremental: true
})
const creditsCharged = Metric.counter("credits_charged_total", {
  description: "Credits charged or, on the owner's plan, recorded; by operation.",
  incremental: true
})

export const countCharge = (operation: string, charged: MicroCredits): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(chargeCount, { operation }), 1),
    Metric.update(Metric.withAttributes(creditsCharged, { operation }), toCredits(charged))
  )
