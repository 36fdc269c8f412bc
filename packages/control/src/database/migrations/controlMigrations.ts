/**
 * All versions of `control.db`, oldest first. Times are milliseconds since the epoch unless said otherwise, hashes are hex
 * SHA-256. A released migration never changes again, the white space of its SQL included.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

/** SQL by name, in the order of the versions. */
const versions: Readonly<Record<string, string>> = {
  /** Times are milliseconds since the epoch; `tag` is 12 hex digits. Hashes are hex SHA-256. */
  "accounts, keys, schemas, namespaces, idempotency": `
      CREATE TABLE account (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        plan TEXT NOT NULL,
        created_at INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE api_key (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL REFERENCES account(id),
        label TEXT NOT NULL,
        prefix TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER,
        revoked_at INTEGER
      ) STRICT;
      CREATE INDEX api_key_account ON api_key(account);
      CREATE TABLE memory_schema (
        account TEXT NOT NULL REFERENCES account(id),
        name TEXT NOT NULL,
        description TEXT NOT NULL,
        unique_on TEXT,
        schema TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (account, name)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE namespace (
        tag TEXT PRIMARY KEY CHECK (length(tag) = 12),
        account TEXT NOT NULL REFERENCES account(id),
        agent_id TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        UNIQUE (account, agent_id)
      ) STRICT;
      CREATE TABLE namespace_alias (
        tag TEXT PRIMARY KEY CHECK (length(tag) = 12),
        namespace_tag TEXT NOT NULL REFERENCES namespace(tag)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE idempotency (
        key TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        status INTEGER NOT NULL,
        body TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX idempotency_created_at ON idempotency(created_at);
    `,
  /**
   * Whose account a wallet's signature opens, and which grants their grantors took back. `linked_at` and `revoked_at` are
   * milliseconds; `expires_at` is the grant's own expiry, in seconds.
   */
  "wallets, revoked grants": `
      CREATE TABLE wallet (
        address TEXT PRIMARY KEY,
        family TEXT NOT NULL CHECK (family IN ('evm', 'sol')),
        account TEXT NOT NULL REFERENCES account(id),
        linked_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX wallet_account ON wallet(account);
      CREATE TABLE grant_revocation (
        grant_id TEXT PRIMARY KEY,
        account TEXT NOT NULL REFERENCES account(id),
        revoked_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX grant_revocation_account ON grant_revocation(account);
      CREATE INDEX grant_revocation_expires_at ON grant_revocation(expires_at);
    `,
  /**
   * The ledger, reservations, payments and runs of the daily job. Times are milliseconds, amounts millionths of a credit,
   * `units` millionths of USDC, `day` is `YYYY-MM-DD` UTC. Transfers are append-only: triggers refuse their change.
   */
  "ledger, reservations, payments, job runs": `
  CREATE TABLE ledger_account (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    owner TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('asset', 'liability', 'income', 'expense', 'equity')),
    debits INTEGER NOT NULL CHECK (debits >= 0),
    credits INTEGER NOT NULL CHECK (credits >= 0),
    CHECK (kind <> 'liability' OR credits >= debits)
  ) STRICT;
  CREATE TABLE transfer (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    debit INTEGER NOT NULL REFERENCES ledger_account(id),
    credit INTEGER NOT NULL REFERENCES ledger_account(id),
    amount INTEGER NOT NULL CHECK (amount > 0),
    kind TEXT NOT NULL CHECK (kind IN ('deposit', 'charge', 'storage', 'storage_metered', 'allowance',
      'allowance_expired', 'reversal', 'adjustment')),
    operation TEXT,
    calls INTEGER NOT NULL DEFAULT 1 CHECK (calls > 0),
    account TEXT,
    at INTEGER NOT NULL,
    CHECK (debit <> credit)
  ) STRICT;
  CREATE INDEX transfer_account ON transfer(account, id);
  CREATE INDEX transfer_allowance ON transfer(account, at) WHERE kind IN ('allowance', 'allowance_expired');
  CREATE TRIGGER transfer_stays BEFORE UPDATE ON transfer
    BEGIN SELECT RAISE(ABORT, 'transfers never change'); END;
  CREATE TRIGGER transfer_remains BEFORE DELETE ON transfer
    BEGIN SELECT RAISE(ABORT, 'transfers are never deleted'); END;
  CREATE TABLE reservation (
    id TEXT PRIMARY KEY,
    request TEXT UNIQUE,
    account TEXT NOT NULL,
    operation TEXT NOT NULL,
    from_allowance INTEGER NOT NULL CHECK (from_allowance >= 0),
    from_balance INTEGER NOT NULL CHECK (from_balance >= 0),
    token TEXT NOT NULL,
    namespaces TEXT NOT NULL,
    at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'settled'))
  ) STRICT;
  CREATE INDEX reservation_state ON reservation(state, at);
  CREATE TABLE payment (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    network TEXT NOT NULL,
    payer TEXT NOT NULL,
    units INTEGER NOT NULL CHECK (units > 0),
    payload TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('verified', 'broadcasting', 'settled', 'finalized', 'failed', 'reversed')),
    tx_hash TEXT,
    tx_raw TEXT,
    reason TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX payment_state ON payment(state, created_at);
  CREATE INDEX payment_account ON payment(account, created_at);
  CREATE TABLE job_run (
    job TEXT NOT NULL,
    day TEXT NOT NULL,
    account TEXT NOT NULL,
    memories INTEGER NOT NULL,
    charged INTEGER NOT NULL,
    metered INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    purged INTEGER NOT NULL,
    insured INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (job, day, account)
  ) STRICT;
  CREATE TABLE job_state (
    job TEXT PRIMARY KEY,
    last_day TEXT NOT NULL
  ) STRICT;
`,
  /** Use of language models by account and UTC day (`YYYY-MM-DD`). Costs are millionths of a US dollar. */
  "model usage": `
  CREATE TABLE model_usage (
    account TEXT NOT NULL,
    day TEXT NOT NULL,
    input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
    output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
    cost_micro_usd INTEGER NOT NULL CHECK (cost_micro_usd >= 0),
    PRIMARY KEY (account, day)
  ) STRICT;
  CREATE INDEX model_usage_day ON model_usage(day);
`,
  /** Whether the conversations of an account leave messages behind; null: as the installation says. */
  "what conversations leave behind":
    "ALTER TABLE account ADD COLUMN remember TEXT CHECK (remember IN ('messages', 'extracted'))",
  /**
   * Accounts that the operator suspended, and wallets that no longer open theirs. Times are milliseconds; null: not
   * suspended, not unlinked.
   */
  "suspended accounts, unlinked wallets": `
      ALTER TABLE account ADD COLUMN suspended_at INTEGER;
      ALTER TABLE wallet ADD COLUMN unlinked_at INTEGER;
    `,
  /**
   * Erasures of whole accounts, under way or finished, and whose a kept answer is. Revocations of grants no longer refer
   * to their account: they outlive it, as a grant may. `name_hash` is the hex SHA-256 of the name, `namespaces` a JSON
   * array of tags, `files` one of file names, `found` and `report` JSON.
   */
  "erasures of accounts": `
      CREATE TABLE account_erasure (
        account TEXT PRIMARY KEY,
        name_hash TEXT NOT NULL,
        namespaces TEXT NOT NULL,
        files TEXT NOT NULL,
        found TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        report TEXT
      ) STRICT;
      ALTER TABLE idempotency ADD COLUMN account TEXT;
      CREATE INDEX idempotency_account ON idempotency(account);
      CREATE TABLE lasting_revocation (
        grant_id TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        revoked_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO lasting_revocation SELECT grant_id, account, revoked_at, expires_at FROM grant_revocation;
      DROP TABLE grant_revocation;
      ALTER TABLE lasting_revocation RENAME TO grant_revocation;
      CREATE INDEX grant_revocation_account ON grant_revocation(account);
      CREATE INDEX grant_revocation_expires_at ON grant_revocation(expires_at);
    `,
  /**
   * What a key may do and until when. `scope` is JSON, `expires_at` milliseconds; null: without restriction, without end.
   */
  "scopes and ends of keys": `
      ALTER TABLE api_key ADD COLUMN scope TEXT;
      ALTER TABLE api_key ADD COLUMN expires_at INTEGER;
    `,
  /** When a chain included a payment's transaction and reverted it, at our cost; null: never. */
  "reverted payments": `
      ALTER TABLE payment ADD COLUMN reverted_at INTEGER;
      CREATE INDEX payment_reverted ON payment(reverted_at) WHERE reverted_at IS NOT NULL;
    `,
  /**
   * What operators did. `at` is milliseconds, `detail` a JSON object of the request's named fields. Rows are only added:
   * triggers refuse their change.
   */
  "audit log": `
      CREATE TABLE audit_event (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        action TEXT NOT NULL,
        subject TEXT,
        detail TEXT NOT NULL
      ) STRICT;
      CREATE TRIGGER audit_event_stays BEFORE UPDATE ON audit_event
        BEGIN SELECT RAISE(ABORT, 'audit events never change'); END;
      CREATE TRIGGER audit_event_remains BEFORE DELETE ON audit_event
        BEGIN SELECT RAISE(ABORT, 'audit events are never deleted'); END;
    `,
  /**
   * The last time that the service saw (`seen_at`), and what a run of the daily job found to purge, to be removed by a
   * run a day later. Times are milliseconds. What fills a balance clears its account's mark.
   */
  "clock of the jobs, marks of purges": `
      CREATE TABLE job_clock (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seen_at INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE purge_mark (
        account TEXT PRIMARY KEY,
        run_at INTEGER NOT NULL,
        created_before INTEGER NOT NULL,
        memories INTEGER NOT NULL
      ) STRICT;
      CREATE TRIGGER purge_mark_cleared AFTER INSERT ON transfer WHEN NEW.kind IN ('deposit', 'adjustment')
        BEGIN DELETE FROM purge_mark WHERE account = NEW.account
          AND NEW.credit = (SELECT id FROM ledger_account WHERE name = 'liability:credits:' || NEW.account); END;
    `,
  /**
   * Limits that the operator set, for a tier of accounts or for one; `value` null: no limit. `namespace.bytes`: what the
   * memories of a namespace take; null: not counted, or changed since it was.
   */
  quotas: `
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
    `,
  /** Transfers of an account by time, for statements. */
  "transfers by time": "CREATE INDEX transfer_account_at ON transfer(account, at, id)",
  /**
   * Refunds of payments on their chain. `id` identifies the authorisation that moves the money, `units` millionths of
   * USDC, times are milliseconds. A payment has at most one refund that has not failed.
   */
  refunds: `
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
    `,
  /**
   * What a receipt of a payment says beside its transaction. `resource`: URL of the call that was paid for, null if it is
   * not known; `settled_at`: milliseconds, when it was credited, null before.
   */
  receipts: `
      ALTER TABLE payment ADD COLUMN resource TEXT;
      ALTER TABLE payment ADD COLUMN settled_at INTEGER;
      UPDATE payment SET settled_at = (SELECT at FROM transfer WHERE key = 'deposit:' || payment.id);
      CREATE INDEX payment_hash ON payment(tx_hash) WHERE tx_hash IS NOT NULL;
    `,
  /**
   * Messages for the operator's webhook. `id` goes on the wire, `sequence` is the order, `due_since` is when the attempts
   * began (again). Times are milliseconds.
   */
  webhooks: `
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
    `,
  /**
   * Who made a key, so that its revocation reaches what it made: the id of a key, or a wallet's address; null: the
   * operator. For earlier keys the audit log knows.
   */
  "makers of keys": `
      ALTER TABLE api_key ADD COLUMN made_by TEXT;
      UPDATE api_key SET made_by = nullif(made.detail ->> '$.by', '')
        FROM audit_event AS made
        WHERE made.action = 'keys.createKey' AND made.detail ->> '$.keyId' = api_key.id;
      CREATE INDEX api_key_made_by ON api_key(made_by) WHERE made_by IS NOT NULL;
    `,
  /** Agents that are retired because nothing of theirs was left. Their rows keep the tags for them. */
  "retired agents": "ALTER TABLE namespace ADD COLUMN retired_at INTEGER",
  /**
   * What its last transactions changed, by number, until the commit log has it; the newest row says the database's
   * number. `changes` null: the changes before are not in the log; empty: the log has it. A row of `erasure_due` says
   * that text was removed or replaced which logs may still have, as those of earlier releases.
   */
  "changes for the commit log": `
      CREATE TABLE change_record (
        number INTEGER PRIMARY KEY,
        version INTEGER NOT NULL,
        changes BLOB
      ) STRICT;
      CREATE TABLE erasure_due (id INTEGER PRIMARY KEY) STRICT;
      INSERT INTO erasure_due SELECT 1 WHERE EXISTS (SELECT 1 FROM account);
    `,
  /**
   * Webhooks of accounts and their messages. `secret` and `old_secret` are sealed; `types` and `agents` null: all;
   * `cursor` says how far the account's events are in `account_webhook_message`; `next_at` of a webhook is when one of
   * its messages is due. Times are milliseconds.
   */
  "webhooks of accounts": `
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
    `,
  /**
   * What became of an account's payments and refunds, as events of the account; `at` in milliseconds, `data` is JSON.
   * Rows stay as long as their account.
   */
  "events of accounts": `
      CREATE TABLE account_event (
        sequence INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        account TEXT NOT NULL,
        type TEXT NOT NULL,
        at INTEGER NOT NULL,
        data TEXT NOT NULL
      ) STRICT;
      CREATE INDEX account_event_account ON account_event(account, sequence);
    `,
  /**
   * For which agent a call was charged, as the tag of its namespace; null: for none or several, or by an earlier release.
   * The name is in `namespace` alone, so that it goes with the account.
   */
  "agents of charges": "ALTER TABLE transfer ADD COLUMN namespace TEXT",
  /**
   * What an account wants remembered of its conversations and what left out; null: nothing beyond what the installation
   * says.
   */
  "instructions for readings": "ALTER TABLE account ADD COLUMN instructions TEXT",
  /**
   * What the consolidation of memories did, never what they say; `at` and `undone_at` in milliseconds, `report` is JSON.
   * `consolidation_mark`: the last of an agent's memories that was looked at. `model_share`: tokens of one use of the
   * language model by UTC day.
   */
  consolidations: `
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
    `,
  /**
   * Messages of all webhooks in one table; `webhook` null: the operator's. `lane`: the agent or the payment whose messages
   * go out in order; `account`: with whose erasure a message goes.
   */
  "one table of messages": `
      CREATE TABLE webhook_message (
        sequence INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        webhook TEXT REFERENCES account_webhook(id),
        account TEXT,
        lane TEXT NOT NULL,
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
      INSERT INTO webhook_message SELECT sequence, id, webhook, account, agent, type, body, state, attempts, created_at,
        due_since, next_at, delivered_at, reason FROM account_webhook_message;
      INSERT INTO webhook_message SELECT NULL, id, NULL, NULL, payment, type, body, state, attempts, created_at,
        due_since, next_at, delivered_at, reason FROM webhook ORDER BY sequence;
      DROP TABLE account_webhook_message;
      DROP TABLE webhook;
      CREATE INDEX webhook_message_state ON webhook_message(webhook, state, lane, sequence, next_at);
      CREATE INDEX webhook_message_account ON webhook_message(account) WHERE account IS NOT NULL;
      CREATE INDEX webhook_message_delivered ON webhook_message(delivered_at)
        WHERE webhook IS NULL AND state = 'delivered';
    `,
  /**
   * Operators beside the first, who holds the data directory's token. Rows stay, so that a name means one of them for
   * good. `audit_event.operator`: who did it; null: an account, or before there were names.
   */
  operators: `
      CREATE TABLE operator (
        name TEXT PRIMARY KEY,
        role TEXT NOT NULL CHECK (role IN ('viewer', 'maintainer', 'admin')),
        prefix TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        made_by TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER,
        revoked_at INTEGER
      ) STRICT;
      ALTER TABLE audit_event ADD COLUMN operator TEXT;
    `
}

export const controlMigrations: ReadonlyArray<Migration> = Object.entries(versions).map(([name, sql], before) => ({
  version: before + 1,
  name,
  up: (database) => database.exec(sql)
}))
