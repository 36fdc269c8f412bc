/**
 * The bytes on disk of a namespace, version by version. `slot` is the key of every table: a small
 * integer that never leaves the namespace and is reused after a delete.
 */
import type { Migration } from "@muniment/sqlite/Migrate"
import { FullText } from "../recall/FullText.ts"

export const namespaceMigrations: ReadonlyArray<Migration> = [
  {
    version: 1,
    name: "memories, vectors, full text, idempotency keys",
    up: (database) => {
      database.exec(`
        CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
        CREATE TABLE memory (
          slot INTEGER PRIMARY KEY,
          id TEXT NOT NULL UNIQUE,
          created_seq INTEGER NOT NULL,
          kind TEXT NOT NULL,
          subject_id TEXT,
          thread_id TEXT,
          data TEXT NOT NULL,
          tags TEXT NOT NULL,
          mentions TEXT NOT NULL,
          event_time TEXT,
          confidence REAL NOT NULL,
          content_hash TEXT NOT NULL,
          created_at INTEGER NOT NULL,
          updated_at INTEGER NOT NULL,
          expires_at REAL,
          unique_key TEXT,
          origin TEXT NOT NULL
        ) STRICT;
        CREATE TABLE vector (
          slot INTEGER PRIMARY KEY REFERENCES memory(slot) ON DELETE CASCADE,
          seq INTEGER NOT NULL,
          model TEXT NOT NULL,
          value BLOB NOT NULL
        ) STRICT;
        CREATE INDEX vector_model ON vector(model);
        CREATE TABLE idempotency (
          key TEXT PRIMARY KEY,
          fingerprint TEXT NOT NULL,
          at INTEGER NOT NULL,
          result TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX idempotency_at ON idempotency(at);
      `)
      FullText.create(database.handle)
    }
  }
]
