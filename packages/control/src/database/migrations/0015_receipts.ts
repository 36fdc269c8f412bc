/**
 * Version 15 of `control.db`: what a receipt of a payment says beside its transaction. `resource`: URL of the call that
 * was paid for, null if it is not known; `settled_at`: milliseconds, when it was credited, null before. A released
 * migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const receipts: Migration = {
  version: 15,
  name: "receipts",
  up: (database) => {
    database.exec(`
      ALTER TABLE payment ADD COLUMN resource TEXT;
      ALTER TABLE payment ADD COLUMN settled_at INTEGER;
      UPDATE payment SET settled_at = (SELECT at FROM transfer WHERE key = 'deposit:' || payment.id);
      CREATE INDEX payment_hash ON payment(tx_hash) WHERE tx_hash IS NOT NULL;
    `)
  }
}
