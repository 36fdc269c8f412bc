/**
 * Version 6 of `control.db`: accounts that the operator suspended, and wallets that no longer open theirs. Times are
 * milliseconds; null: not suspended, not unlinked. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const suspension: Migration = {
  version: 6,
  name: "suspended accounts, unlinked wallets",
  up: (database) => {
    database.exec(`
      ALTER TABLE account ADD COLUMN suspended_at INTEGER;
      ALTER TABLE wallet ADD COLUMN unlinked_at INTEGER;
    `)
  }
}
