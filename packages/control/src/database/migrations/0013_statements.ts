/**
 * Version 13 of `control.db`: transfers of an account by time, for statements. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const statements: Migration = {
  version: 13,
  name: "transfers by time",
  up: (database) => {
    database.exec("CREATE INDEX transfer_account_at ON transfer(account, at, id)")
  }
}
