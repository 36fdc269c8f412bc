/**
 * Versions 1 to 11 of `control.db`. Times are milliseconds since the epoch unless said otherwise, hashes are hex
 * SHA-256. A released migration never changes again, the white space of its SQL included.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

/** Times are milliseconds since the epoch; `tag` is 12 hex digits. Hashes are hex SHA-256. */
const initial: Migration = {
  version: 1,
  name: "accounts, keys, schemas, namespaces, idempotency",
  up: (database) => {
    database.exec(`
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
    `)
  }
}

/**
 * Whose account a wallet's signature opens, and which grants their grantors took back. `linked_at` and `revoked_at` are
 * milliseconds; `expires_at` is the grant's own expiry, in seconds.
 */
const wallets: Migration = {
  version: 2,
  name: "wallets, revoked grants",
  up: (database) => {
    database.exec(`
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
    `)
  }
}

/**
 * The ledger, reservations, payments and runs of the daily job. Times are milliseconds, amounts millionths of a credit,
 * `units` millionths of USDC, `day` is `YYYY-MM-DD` UTC. Transfers are append-only: triggers refuse their change.
 */
const ledger: Migration = {
  version: 3,
  name: "ledger, reservations, payments, job runs",
  up: (database) => {
    database.exec(transfers)
    database.exec(paymentsAndRuns)
  }
}

const transfers = `
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
`

const paymentsAndRuns = `
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
`

/** What language models used, by account and UTC day (`YYYY-MM-DD`). Costs are millionths of a US dollar. */
const modelUsage: Migration = {
  version: 4,
  name: "model usage",
  up: (database) => database.exec(modelUsageTable)
}

const modelUsageTable = `
  CREATE TABLE model_usage (
    account TEXT NOT NULL,
    day TEXT NOT NULL,
    input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
    output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
    cost_micro_usd INTEGER NOT NULL CHECK (cost_micro_usd >= 0),
    PRIMARY KEY (account, day)
  ) STRICT;
  CREATE INDEX model_usage_day ON model_usage(day);
`

/** What the conversations of an account leave behind; null: as the installation says. */
const remember: Migration = {
  version: 5,
  name: "what conversations leave behind",
  up: (database) =>
    database.exec("ALTER TABLE account ADD COLUMN remember TEXT CHECK (remember IN ('messages', 'extracted'))")
}

/**
 * Accounts that the operator suspended, and wallets that no longer open theirs. Times are milliseconds; null: not
 * suspended, not unlinked.
 */
const suspension: Migration = {
  version: 6,
  name: "suspended accounts, unlinked wallets",
  up: (database) => {
    database.exec(`
      ALTER TABLE account ADD COLUMN suspended_at INTEGER;
      ALTER TABLE wallet ADD COLUMN unlinked_at INTEGER;
    `)
  }
}

/**
 * Erasures of whole accounts, under way or finished, and whose a kept answer is. Revocations of grants no longer refer
 * to their account: they outlive it, as a grant may. `name_hash` is the hex SHA-256 of the name, `namespaces` a JSON
 * array of tags, `files` one of file names, `found` and `report` JSON.
 */
const accountErasure: Migration = {
  version: 7,
  name: "erasures of accounts",
  up: (database) => {
    database.exec(`
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
    `)
  }
}

/**
 * What a key may do and until when. `scope` is JSON, `expires_at` milliseconds; null: without restriction, without end.
 */
const keyScopes: Migration = {
  version: 8,
  name: "scopes and ends of keys",
  up: (database) => {
    database.exec(`
      ALTER TABLE api_key ADD COLUMN scope TEXT;
      ALTER TABLE api_key ADD COLUMN expires_at INTEGER;
    `)
  }
}

/** When a chain included a payment's transaction and reverted it, at our cost; null: never. */
const paymentReverts: Migration = {
  version: 9,
  name: "reverted payments",
  up: (database) => {
    database.exec("ALTER TABLE payment ADD COLUMN reverted_at INTEGER")
    database.exec("CREATE INDEX payment_reverted ON payment(reverted_at) WHERE reverted_at IS NOT NULL")
  }
}

/**
 * What operators did. `at` is milliseconds, `detail` a JSON object of the request's named fields. Rows are only added:
 * triggers refuse their change.
 */
const audit: Migration = {
  version: 10,
  name: "audit log",
  up: (database) => {
    database.exec(`
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
    `)
  }
}

/**
 * The last time that the service saw (`seen_at`), and what a run of the daily job found to purge, to be removed by a
 * run a day later. Times are milliseconds. What fills a balance clears its account's mark.
 */
const jobClock: Migration = {
  version: 11,
  name: "clock of the jobs, marks of purges",
  up: (database) => {
    database.exec(`
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
    `)
  }
}

export const firstVersions: ReadonlyArray<Migration> = [
  initial,
  wallets,
  ledger,
  modelUsage,
  remember,
  suspension,
  accountErasure,
  keyScopes,
  paymentReverts,
  audit,
  jobClock
]
