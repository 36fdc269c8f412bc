/**
 * Version 3 of `control.db`: the ledger, reservations, payments and runs of the daily job. Times are
 * milliseconds, amounts millionths of a credit, `units` millionths of USDC, `day` is `YYYY-MM-DD` UTC.
 * Transfers are append-only: triggers refuse their change. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const ledger: Migration = {
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
