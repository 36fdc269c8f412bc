/**
 * Version 23 of `control.db`: what an account wants remembered of its conversations and what left out; null: nothing
 * beyond what the installation says. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const instructions: Migration = {
  version: 23,
  name: "instructions for readings",
  up: (database) => {
    database.exec("ALTER TABLE account ADD COLUMN instructions TEXT")
  }
}
