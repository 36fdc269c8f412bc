/** Metrics and log figures of the daily storage job. */
import { Effect, Metric } from "effect"
import type { AccountDay } from "./AccountStorage.ts"

const insuredMemories = Metric.gauge("storage_memories_insured", {
  description: "Memories that the last daily job kept because their account's balance paid for them."
})
const purgedMemories = Metric.counter("storage_memories_purged_total", {
  description: "Memories that the daily job removed because nothing insured them.",
  incremental: true
})
const expiredMemories = Metric.counter("storage_memories_expired_total", {
  description: "Memories past their own expiry that the daily job removed.",
  incremental: true
})

/** Sums of one day's accounts. */
export const daySums = (accounts: ReadonlyArray<AccountDay>) => {
  const sums = { accounts: accounts.length, expired: 0, purged: 0, insured: 0, chargedMicro: 0, problems: 0 }
  for (const { chargedMicro, expired, insured, problem, purged } of accounts) {
    sums.expired += expired
    sums.purged += purged
    sums.insured += insured
    sums.chargedMicro += chargedMicro
    if (problem !== undefined) sums.problems++
  }
  return sums
}

export const countDay = (accounts: ReadonlyArray<AccountDay>): Effect.Effect<void> => {
  const { expired, insured, purged } = daySums(accounts)
  return Effect.all(
    [
      Metric.update(insuredMemories, insured),
      Metric.update(purgedMemories, purged),
      Metric.update(expiredMemories, expired)
    ],
    { discard: true }
  )
}
