/**
 * Version 1 of `control.db`. Times are milliseconds since the epoch; `tag` is 12 hex digits. Hashes
 * are hex SHA-256. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const initial: Migration = {
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
