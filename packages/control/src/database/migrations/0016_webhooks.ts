/**
 * Version 16 of `control.db`: messages for the operator's webhook. `id` goes on the wire, `sequence` is the order,
 * `due_since` is when the attempts began (again). Times are milliseconds. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const webhooks: Migration = {
  version: 16,
  name: "webhooks",
  up: (database) => {
    database.exec(`
      CREATE TABLE webhook (
        sequence INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        payment TEXT NOT NULL REFERENCES payment(id),
        type TEXT NOT NULL,
        body TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
        attempts INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        due_since INTEGER NOT NULL,
        next_at INTEGER NOT NULL,
        delivered_at INTEGER,
        reason TEXT
      ) STRICT;
      CREATE INDEX webhook_pending ON webhook(payment, sequence) WHERE state = 'pending';
      CREATE INDEX webhook_due ON webhook(next_at) WHERE state = 'pending';
      CREATE INDEX webhook_failed ON webhook(sequence) WHERE state = 'failed';
      CREATE INDEX webhook_delivered ON webhook(delivered_at) WHERE state = 'delivered';
    `)
  }
}
