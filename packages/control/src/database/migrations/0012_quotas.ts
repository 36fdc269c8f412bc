/**
 * Version 12 of `control.db`: limits that the operator set, for a tier of accounts or for one; `value` null: no limit.
 * `namespace.bytes`: what the memories of a namespace take; null: not counted, or changed since it was. A released
 * migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const quotas: Migration = {
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
