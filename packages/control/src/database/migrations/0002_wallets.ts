/**
 * Version 2 of `control.db`: whose account a wallet's signature opens, and which grants their grantors
 * took back. `linked_at` and `revoked_at` are milliseconds; `expires_at` is the grant's own expiry, in
 * seconds. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const wallets: Migration = {
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
