/**
 * Version 20 of `control.db`: webhooks of accounts and their messages. `secret` and `old_secret` are sealed; `types`
 * and `agents` null: all; `cursor` says how far the account's events are in `account_webhook_message`; `next_at` of a
 * webhook is when one of its messages is due. Times are milliseconds. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const accountWebhooks: Migration = {
  version: 20,
  name: "webhooks of accounts",
  up: (database) => {
    database.exec(`
      CREATE TABLE account_webhook (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL REFERENCES account(id),
        url TEXT NOT NULL,
        types TEXT,
        agents TEXT,
        state TEXT NOT NULL CHECK (state IN ('active', 'paused')),
        secret TEXT NOT NULL,
        old_secret TEXT,
        old_secret_until INTEGER,
        cursor TEXT NOT NULL,
        made_by TEXT,
        created_at INTEGER NOT NULL,
        delivered_at INTEGER,
        reason TEXT,
        next_at INTEGER
      ) STRICT;
      CREATE INDEX account_webhook_account ON account_webhook(account);
      CREATE INDEX account_webhook_due ON account_webhook(next_at) WHERE state = 'active' AND next_at IS NOT NULL;
      CREATE TABLE account_webhook_message (
        sequence INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        webhook TEXT NOT NULL REFERENCES account_webhook(id),
        account TEXT NOT NULL,
        agent TEXT NOT NULL,
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
      CREATE INDEX account_webhook_message_state ON account_webhook_message(webhook, state, agent, sequence);
      CREATE INDEX account_webhook_message_account ON account_webhook_message(account);
    `)
  }
}
