/**
 * Version 19 of `control.db`: what its last transactions changed, by number, until the commit log has it; the newest
 * row says the database's number. `changes` null: the changes before are not in the log; empty: the log has it. A row
 * of `erasure_due` says that text was removed or replaced which logs may still have, as those of earlier releases. A
 * released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const changeRecords: Migration = {
  version: 19,
  name: "changes for the commit log",
  up: (database) => {
    database.exec(`
      CREATE TABLE change_record (
        number INTEGER PRIMARY KEY,
        version INTEGER NOT NULL,
        changes BLOB
      ) STRICT;
      CREATE TABLE erasure_due (id INTEGER PRIMARY KEY) STRICT;
      INSERT INTO erasure_due SELECT 1 WHERE EXISTS (SELECT 1 FROM account);
    `)
  }
}
