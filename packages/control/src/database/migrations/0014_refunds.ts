/**
 * Version 14 of `control.db`: refunds of payments on their chain. `id` identifies the authorisation that moves the money,
 * `units` millionths of USDC, times are milliseconds. A payment has at most one refund that has not failed. A released
 * migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const refunds: Migration = {
  version: 14,
  name: "refunds",
  up: (database) => {
    database.exec(`
      CREATE TABLE refund (
        id TEXT PRIMARY KEY,
        payment TEXT NOT NULL REFERENCES payment(id),
        account TEXT NOT NULL,
        network TEXT NOT NULL,
        payer TEXT NOT NULL,
        units INTEGER NOT NULL CHECK (units > 0),
        payload TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('verified', 'broadcasting', 'settled', 'finalized', 'failed')),
        tx_hash TEXT,
        tx_raw TEXT,
        reason TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX refund_payment ON refund(payment) WHERE state <> 'failed';
      CREATE INDEX refund_state ON refund(state) WHERE state IN ('verified', 'broadcasting', 'settled');
    `)
  }
}
