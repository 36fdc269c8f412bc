/**
 * What `/metrics` tells of money: charges by operation, and what they came to. Counted in plain numbers
 * and handed to the metrics when they are read: an update of a metric costs more than the charge itself.
 */
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

interface Uncounted {
  calls: number
  micro: MicroCredits
}

/** Since the metrics were read last; one entry for each operation of the contract. */
const uncounted = new Map<string, Uncounted>()

export const countCharge = (operation: string, charged: MicroCredits): void => {
  const known = uncounted.get(operation)
  if (known === undefined) uncounted.set(operation, { calls: 1, micro: charged })
  else {
    known.calls += 1
    known.micro += charged
  }
}

/** Called before each reading of `/metrics`. */
export const refreshCharges: Effect.Effect<void> = Effect.suspend(() => {
  const counts = [...uncounted]
  uncounted.clear()
  return Effect.forEach(
    counts,
    ([operation, { calls, micro }]) =>
      Effect.andThen(
        Metric.update(Metric.withAttributes(chargeCount, { operation }), calls),
        Metric.update(Metric.withAttributes(creditsCharged, { operation }), toCredits(micro))
      ),
    { discard: true }
  )
})
