/**
 * Version 17 of `control.db`: who made a key, so that its revocation reaches what it made: the id of a key, or a wallet's
 * address; null: the operator. For earlier keys the audit log knows. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const keyMakers: Migration = {
  version: 17,
  name: "makers of keys",
  up: (database) => {
    database.exec(`
      ALTER TABLE api_key ADD COLUMN made_by TEXT;
      UPDATE api_key SET made_by = nullif(made.detail ->> '$.by', '')
        FROM audit_event AS made
        WHERE made.action = 'keys.createKey' AND made.detail ->> '$.keyId' = api_key.id;
      CREATE INDEX api_key_made_by ON api_key(made_by) WHERE made_by IS NOT NULL;
    `)
  }
}
