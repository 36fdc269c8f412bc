/**
 * Version 22 of `control.db`: for which agent a call was charged, as the tag of its namespace; null: for none or several,
 * or by an earlier release. The name is in `namespace` alone, so that it goes with the account. A released migration never
 * changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const chargedAgents: Migration = {
  version: 22,
  name: "agents of charges",
  up: (database) => {
    database.exec("ALTER TABLE transfer ADD COLUMN namespace TEXT")
  }
}
