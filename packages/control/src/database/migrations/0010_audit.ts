/**
 * Version 10 of `control.db`: what operators did. `at` is milliseconds, `detail` a JSON object of the request's named
 * fields. Rows are only added: triggers refuse their change. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const audit: Migration = {
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
