/**
 * Version 18 of `control.db`: agents that are retired because nothing of theirs was left. Their rows keep the tags for
 * them. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const retiredAgents: Migration = {
  version: 18,
  name: "retired agents",
  up: (database) => {
    database.exec("ALTER TABLE namespace ADD COLUMN retired_at INTEGER")
  }
}
