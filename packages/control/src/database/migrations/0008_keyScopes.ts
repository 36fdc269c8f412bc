/**
 * Version 8 of `control.db`: what a key may do and until when. `scope` is JSON, `expires_at` milliseconds; null: without
 * restriction, without end. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const keyScopes: Migration = {
  version: 8,
  name: "scopes and ends of keys",
  up: (database) => {
    database.exec(`
      ALTER TABLE api_key ADD COLUMN scope TEXT;
      ALTER TABLE api_key ADD COLUMN expires_at INTEGER;
    `)
  }
}
