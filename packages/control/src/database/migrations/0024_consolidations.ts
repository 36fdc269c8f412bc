/**
 * Version 24 of `control.db`: what the consolidation of memories did, never what they say; `at` and `undone_at` in
 * milliseconds, `report` is JSON. `consolidation_mark`: the last of an agent's memories that was looked
 * at. `model_share`: tokens of one use of the language model by UTC day. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const consolidations: Migration = {
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
