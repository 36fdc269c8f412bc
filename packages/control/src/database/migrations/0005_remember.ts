/**
 * Version 5 of `control.db`: what the conversations of an account leave behind; null: as the installation says. A
 * released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const remember: Migration = {
  version: 5,
  name: "what conversations leave behind",
  up: (database) =>
    database.exec("ALTER TABLE account ADD COLUMN remember TEXT CHECK (remember IN ('messages', 'extracted'))")
}
