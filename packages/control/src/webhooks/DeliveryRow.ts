/** Columns that messages of the operator's webhook and of accounts' webhooks have in common: how far a message is. */
import type { WebhookState } from "@muniment/domain/Webhooks"

export interface DeliveryRow {
  readonly state: WebhookState
  readonly attempts: number
  readonly created_at: number
  readonly next_at: number
  readonly delivered_at: number | null
  readonly reason: string | null
}

export const deliveryOf = (row: DeliveryRow) => ({
  state: row.state,
  attempts: row.attempts,
  createdAt: row.created_at,
  nextAt: row.state === "pending" ? row.next_at : null,
  deliveredAt: row.delivered_at,
  reason: row.reason
})
