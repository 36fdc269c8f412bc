/**
 * Version 21 of `control.db`: what became of an account's payments and refunds, as events of the account; `at` in
 * milliseconds, `data` is JSON. Rows stay as long as their account. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const accountEvents: Migration = {
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
