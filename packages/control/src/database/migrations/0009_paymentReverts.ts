/**
 * Version 9 of `control.db`: when a chain included a payment's transaction and reverted it, at our cost; null: never. A
 * released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const paymentReverts: Migration = {
  version: 9,
  name: "reverted payments",
  up: (database) => {
    database.exec("ALTER TABLE payment ADD COLUMN reverted_at INTEGER")
    database.exec("CREATE INDEX payment_reverted ON payment(reverted_at) WHERE reverted_at IS NOT NULL")
  }
}
