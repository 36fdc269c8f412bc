/**
 * All versions of `control.db`, oldest first; versions 12 to 24 are below. Times are milliseconds since the epoch
 * unless said otherwise. A released migration never changes again, the white space of its SQL included.
 */
import type { Migration } from "@muniment/sqlite/Migrate"
import { firstVersions } from "./firstVersions.ts"

/**
 * Limits that the operator set, for a tier of accounts or for one; `value` null: no limit. `namespace.bytes`: what the
 * memories of a namespace take; null: not counted, or changed since it was.
 */
const quotas: Migration = {
  version: 12,
  name: "quotas",
  up: (database) => {
    database.exec(`
      CREATE TABLE tier_quota (
        tier TEXT NOT NULL,
        name TEXT NOT NULL,
        value INTEGER CHECK (value >= 0),
        PRIMARY KEY (tier, name)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE account_quota (
        account TEXT NOT NULL REFERENCES account(id),
        name TEXT NOT NULL,
        value INTEGER CHECK (value >= 0),
        PRIMARY KEY (account, name)
      ) STRICT, WITHOUT ROWID;
      ALTER TABLE namespace ADD COLUMN bytes INTEGER;
    `)
  }
}

/** Transfers of an account by time, for statements. */
const statements: Migration = {
  version: 13,
  name: "transfers by time",
  up: (database) => {
    database.exec("CREATE INDEX transfer_account_at ON transfer(account, at, id)")
  }
}

/**
 * Refunds of payments on their chain. `id` identifies the authorisation that moves the money, `units` millionths of
 * USDC, times are milliseconds. A payment has at most one refund that has not failed.
 */
const refunds: Migration = {
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

/**
 * What a receipt of a payment says beside its transaction. `resource`: URL of the call that was paid for, null if it is
 * not known; `settled_at`: milliseconds, when it was credited, null before.
 */
const receipts: Migration = {
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

/**
 * Messages for the operator's webhook. `id` goes on the wire, `sequence` is the order, `due_since` is when the attempts
 * began (again). Times are milliseconds.
 */
const webhooks: Migration = {
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

/**
 * Who made a key, so that its revocation reaches what it made: the id of a key, or a wallet's address; null: the
 * operator. For earlier keys the audit log knows.
 */
const keyMakers: Migration = {
  version: 17,
  name: "makers of keys",
  up: (database) => {
    database.exec(`
      ALTER TABLE api_key ADD COLUMN made_by TEXT;
      UPDATE api_key SET made_by = nullif(made.detail ->> '$.by', '')
        FROM audit_event AS made
        WHERE made.action = 'keys.createKey' AND made.detail ->> '$.keyId' = api_key.id;
      CREATE INDEX api_key_made_by ON api_key(made_by) WHERE made_by IS NOT NULL;
    `)
  }
}

/** Agents that are retired because nothing of theirs was left. Their rows keep the tags for them. */
const retiredAgents: Migration = {
  version: 18,
  name: "retired agents",
  up: (database) => {
    database.exec("ALTER TABLE namespace ADD COLUMN retired_at INTEGER")
  }
}

/**
 * What its last transactions changed, by number, until the commit log has it; the newest row says the database's
 * number. `changes` null: the changes before are not in the log; empty: the log has it. A row of `erasure_due` says
 * that text was removed or replaced which logs may still have, as those of earlier releases.
 */
const changeRecords: Migration = {
  version: 19,
  name: "changes for the commit log",
  up: (database) => {
    database.exec(`
      CREATE TABLE change_record (
        number INTEGER PRIMARY KEY,
        version INTEGER NOT NULL,
        changes BLOB
      ) STRICT;
      CREATE TABLE erasure_due (id INTEGER PRIMARY KEY) STRICT;
      INSERT INTO erasure_due SELECT 1 WHERE EXISTS (SELECT 1 FROM account);
    `)
  }
}

/**
 * Webhooks of accounts and their messages. `secret` and `old_secret` are sealed; `types` and `agents` null: all;
 * `cursor` says how far the account's events are in `account_webhook_message`; `next_at` of a webhook is when one of
 * its messages is due. Times are milliseconds.
 */
const accountWebhooks: Migration = {
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

/**
 * What became of an account's payments and refunds, as events of the account; `at` in milliseconds, `data` is JSON.
 * Rows stay as long as their account.
 */
const accountEvents: Migration = {
  version: 21,
  name: "events of accounts",
  up: (database) => {
    database.exec(`
      CREATE TABLE account_event (
        sequence INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        account TEXT NOT NULL,
        type TEXT NOT NULL,
        at INTEGER NOT NULL,
        data TEXT NOT NULL
      ) STRICT;
      CREATE INDEX account_event_account ON account_event(account, sequence);
    `)
  }
}

/**
 * For which agent a call was charged, as the tag of its namespace; null: for none or several, or by an earlier release.
 * The name is in `namespace` alone, so that it goes with the account.
 */
const chargedAgents: Migration = {
  version: 22,
  name: "agents of charges",
  up: (database) => {
    database.exec("ALTER TABLE transfer ADD COLUMN namespace TEXT")
  }
}

/**
 * What an account wants remembered of its conversations and what left out; null: nothing beyond what the installation
 * says.
 */
const instructions: Migration = {
  version: 23,
  name: "instructions for readings",
  up: (database) => {
    database.exec("ALTER TABLE account ADD COLUMN instructions TEXT")
  }
}

/**
 * What the consolidation of memories did, never what they say; `at` and `undone_at` in milliseconds, `report` is JSON.
 * `consolidation_mark`: the last of an agent's memories that was looked at. `model_share`: tokens of one use of the
 * language model by UTC day.
 */
const consolidations: Migration = {
  version: 24,
  name: "consolidations",
  up: (database) => {
    database.exec(`
      CREATE TABLE consolidation (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        namespace TEXT NOT NULL,
        at INTEGER NOT NULL,
        report TEXT NOT NULL,
        is_done INTEGER NOT NULL DEFAULT 0 CHECK (is_done IN (0, 1)),
        undone_at INTEGER
      ) STRICT;
      CREATE INDEX consolidation_account ON consolidation(account, at);
      CREATE INDEX consolidation_namespace ON consolidation(namespace);
      CREATE TABLE consolidation_mark (
        namespace TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        memory TEXT NOT NULL,
        at INTEGER NOT NULL,
        is_due INTEGER NOT NULL CHECK (is_due IN (0, 1))
      ) STRICT;
      CREATE TABLE model_share (
        share TEXT NOT NULL,
        day TEXT NOT NULL,
        tokens INTEGER NOT NULL CHECK (tokens >= 0),
        PRIMARY KEY (share, day)
      ) STRICT;
    `)
  }
}

export const controlMigrations: ReadonlyArray<Migration> = [
  ...firstVersions,
  quotas,
  statements,
  refunds,
  receipts,
  webhooks,
  keyMakers,
  retiredAgents,
  changeRecords,
  accountWebhooks,
  accountEvents,
  chargedAgents,
  instructions,
  consolidations
]
