/**
 * Version 7 of `control.db`: erasures of whole accounts, under way or finished, and whose a kept answer is. Revocations
 * of grants no longer refer to their account: they outlive it, as a grant may. `name_hash` is the hex SHA-256 of the
 * name, `namespaces` a JSON array of tags, `files`
 * one of file names, `found` and `report` JSON. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const accountErasure: Migration = {
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
