/**
 * State of payments for the operator: networks that cannot take them, the payment that waits longest, and what the
 * books say came in beside what the payees hold.
 */
import { Clock, Effect } from "effect"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import { microCreditsPerUsdcUnit } from "@muniment/domain/Money"
import { usdcOn } from "@muniment/control/credits/Transfers"
import { Ledger } from "@muniment/control/credits/Ledger"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { Payments } from "@muniment/payments/Payments"

export type PaymentHealth = ServiceStatus["payments"]

const unitsPerUsd = 1_000_000

export const paymentHealth = Effect.gen(function* () {
  const oldest = yield* (yield* PaymentJournal).oldestOpenAt
  const now = yield* Clock.currentTimeMillis
  const books = new Map((yield* (yield* Ledger).balances).map(({ credits, debits, name }) => [name, debits - credits]))
  return {
    oldestOpenSeconds: oldest === undefined ? 0 : Math.max(0, Math.round((now - oldest) / 1_000)),
    networks: (yield* (yield* Payments).statuses).map(
      ({ health, isOffered, isReachable, network, nodes, problems }) => {
        const units = (books.get(usdcOn(network)) ?? 0) / microCreditsPerUsdcUnit
        return {
          network,
          isReachable,
          isOffered,
          nodes: nodes.map((node) => ({ ...node, block: node.block ?? null })),
          problems,
          feeBalance: health?.feeBalance ?? null,
          booksUsd: units / unitsPerUsd,
          payeeUsd: health === undefined ? null : health.held / unitsPerUsd
        }
      }
    )
  } satisfies PaymentHealth
})
