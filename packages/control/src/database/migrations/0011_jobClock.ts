/**
 * Version 11 of `control.db`: the last time that the service saw (`seen_at`), and what a run of the daily job found to
 * purge, to be removed by a run a day later. Times are milliseconds. What fills a balance clears its account's mark. A
 * released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const jobClock: Migration = {
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
