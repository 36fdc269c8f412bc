/**
 * Schema of a namespace file, version by version (docs/format.md). `slot` is the key of all data of a memory: a small
 * integer, internal to the namespace, reused after a removal.
 */
import type { Database } from "@muniment/sqlite/Database"
import { type Migration, NewerDatabase, tablesAfter, tablesOf } from "@muniment/sqlite/Migrate"
import { eventNumbers } from "../NamespaceStore.ts"
import { StoreDamaged } from "../StoreError.ts"
import { copyContent, writeMeta } from "./namespaceMeta.ts"
import {
  memorySumColumns,
  passageSumColumns,
  registerRowSum,
  summedTables,
  sumOf,
  sumOfColumns,
  vectorSumColumns,
  type SummedTable
} from "./rowSums.ts"
import { retokenise, SqlitePostings } from "./SqlitePostings.ts"
import { baseStem } from "@muniment/language/text/LanguageStems"
import { byLanguage } from "@muniment/language/text/Tokenizer"

/**
 * Throws at a version that this release does not know: `NewerDatabase`, or where the tables are those of this release,
 * `StoreDamaged`. The log makes such a file again, which loses nothing of one that a later release did write.
 */
export const demandKnownVersion = (database: Database): void => {
  const found = Number(database.value("PRAGMA user_version"))
  const known = namespaceMigrations.length
  if (found <= known) return
  const tables = tablesAfter(namespaceMigrations, registerRowSum)
  if (tablesOf(database).symmetricDifference(tables).size > 0)
    throw new NewerDatabase({ filename: database.filename, found, known })
  throw new StoreDamaged({
    reason: `its version is ${found}, its tables are those of version ${known}`,
    cause: undefined
  })
}

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
      SqlitePostings.createFirst(database.handle)
    }
  },
  {
    version: 2,
    name: "conversations, and where a memory was taken from",
    up: (database) =>
      database.exec(`
        ALTER TABLE memory ADD COLUMN sources TEXT;
        ALTER TABLE memory ADD COLUMN neighbours TEXT;
        CREATE INDEX memory_content ON memory(content_hash, subject_id);
        CREATE TABLE conversation (
          id INTEGER PRIMARY KEY,
          scope TEXT NOT NULL UNIQUE,
          subject_id TEXT,
          thread_id TEXT,
          summary TEXT,
          summary_at INTEGER,
          summary_expires_at REAL
        ) STRICT;
        CREATE INDEX conversation_summary_at ON conversation(summary_at);
        CREATE INDEX conversation_summary_expiry ON conversation(summary_expires_at);
        CREATE TABLE conversation_mark (
          conversation INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
          key TEXT NOT NULL,
          PRIMARY KEY (conversation, key)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE conversation_turn (
          turn INTEGER PRIMARY KEY,
          conversation INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
          key TEXT NOT NULL,
          role TEXT NOT NULL,
          content TEXT NOT NULL,
          created_at INTEGER NOT NULL,
          expires_at REAL,
          UNIQUE (conversation, key)
        ) STRICT;
        CREATE INDEX conversation_turn_age ON conversation_turn(created_at);
        CREATE INDEX conversation_turn_expiry ON conversation_turn(expires_at);
      `)
  },
  {
    version: 3,
    name: "encoded vectors in segments of 1,024 slots; irregular words by their base",
    up: (database) => {
      database.exec(`
        CREATE TABLE index_segment (
          segment INTEGER PRIMARY KEY,
          model TEXT NOT NULL,
          crc INTEGER NOT NULL,
          data BLOB NOT NULL
        ) STRICT;
      `)
      SqlitePostings.rewrite(database.handle, baseStem)
    }
  },
  {
    version: 4,
    name: "messages as memories",
    up: (database) =>
      database.exec(`
        ALTER TABLE memory ADD COLUMN position INTEGER;
        ALTER TABLE memory ADD COLUMN speaker TEXT;
        ALTER TABLE memory ADD COLUMN traits INTEGER;
        ALTER TABLE conversation ADD COLUMN next_position INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE conversation_mark ADD COLUMN is_read INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE conversation_mark ADD COLUMN memory TEXT;
        CREATE TABLE conversation_pending (
          id TEXT PRIMARY KEY,
          conversation INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
          messages TEXT NOT NULL,
          kinds TEXT,
          conversation_date TEXT NOT NULL,
          expires_at REAL
        ) STRICT;
        CREATE INDEX conversation_pending_conversation ON conversation_pending(conversation);
      `)
  },
  {
    version: 5,
    name: "long messages in passages",
    up: (database) =>
      database.exec(`
        CREATE TABLE passage (
          slot INTEGER PRIMARY KEY,
          memory INTEGER NOT NULL REFERENCES memory(slot) ON DELETE CASCADE,
          starts INTEGER NOT NULL,
          ends INTEGER NOT NULL,
          traits INTEGER NOT NULL,
          seq INTEGER,
          model TEXT,
          value BLOB
        ) STRICT;
        CREATE INDEX passage_memory ON passage(memory);
        CREATE INDEX passage_model ON passage(model);
      `)
  },
  {
    version: 6,
    name: "extracted memories by the messages they were taken from",
    up: (database) =>
      database.exec(`
        CREATE TABLE memory_source (
          key TEXT NOT NULL,
          memory INTEGER NOT NULL REFERENCES memory(slot) ON DELETE CASCADE,
          PRIMARY KEY (key, memory)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX memory_source_memory ON memory_source(memory);
        INSERT OR IGNORE INTO memory_source (key, memory)
          SELECT json_extract(source.value, '$.key'), memory.slot FROM memory, json_each(memory.sources) AS source
          WHERE memory.origin = 'extraction';
      `)
  },
  {
    version: 7,
    name: "who said a kept turn, and when",
    // A turn of an earlier version takes both from its message, where that is stored.
    up: (database) =>
      database.exec(`
        ALTER TABLE conversation_turn ADD COLUMN name TEXT;
        ALTER TABLE conversation_turn ADD COLUMN sent_at TEXT;
        UPDATE conversation_turn SET name = json_extract(memory.data, '$.name'), sent_at = json_extract(memory.data, '$.sentAt')
          FROM conversation_mark JOIN memory ON memory.id = conversation_mark.memory
          WHERE conversation_mark.conversation = conversation_turn.conversation AND conversation_mark.key = conversation_turn.key;
      `)
  },
  {
    version: 8,
    name: "bytes of the memories, counted by triggers",
    up: (database) => database.exec(countBytes)
  },
  {
    version: 9,
    name: "may follow the commit log",
    // The tables stay: an earlier release refuses the file, since the log may hold commits that the file lacks.
    keepsRows: true,
    up: () => undefined
  },
  {
    version: 10,
    name: "sums of rows",
    // Large rows stay as they are: the sums of memories, passages, vectors and words are in the small table of lengths.
    keepsRows: true,
    up: (database) => {
      registerRowSum(database)
      SqlitePostings.addSums(database.handle)
      database.exec(`UPDATE fulltext_length SET
        sum = coalesce((${sumFrom("memory", memorySumColumns)}), (${sumFrom("passage", passageSumColumns)})),
        vector_sum = coalesce((${sumFrom("vector", vectorSumColumns)}),
          (${sumFrom("passage", vectorSumColumns)} AND passage.model IS NOT NULL)),
        text_sum = (SELECT ${SqlitePostings.textSum} FROM fulltext WHERE fulltext.rowid = fulltext_length.slot)`)
      for (const table of tablesOfTen) {
        database.exec(`ALTER TABLE ${table} ADD COLUMN sum INTEGER`)
        database.exec(`UPDATE ${table} SET sum = ${sumOf(table)}`)
      }
      writeMeta(database, {})
    }
  },
  {
    version: 11,
    name: "events",
    keepsRows: true,
    up: (database) => {
      database.exec(`
        CREATE TABLE event (
          number INTEGER PRIMARY KEY,
          type TEXT NOT NULL,
          id TEXT NOT NULL,
          kind TEXT NOT NULL,
          subject INTEGER,
          superseded_by TEXT,
          at INTEGER NOT NULL,
          sum INTEGER NOT NULL
        ) STRICT;
      `)
      // What was committed before has none.
      const { seq } = copyContent(database)
      writeMeta(database, { event_floor: seq === 0 ? 0 : eventNumbers(seq).other })
    }
  },
  {
    version: 12,
    name: "words by the language of their text",
    // No memory changes: words can be made of them again.
    keepsRows: true,
    up: (database) => retokenise(database, byLanguage)
  },
  {
    version: 13,
    name: "what few memories have: metadata, when data was replaced",
    // No row changes: a sum has the column in it only where there is something.
    keepsRows: true,
    up: (database) => database.exec(`ALTER TABLE memory ADD COLUMN extras TEXT; ${countExtras(withMetadata)}`)
  },
  {
    version: 14,
    name: "bytes of feedback, counted by triggers",
    // No row changes: earlier releases, which would drop feedback with the next change of a memory, refuse the file.
    keepsRows: true,
    up: (database) => database.exec(countExtras(withFeedback))
  }
]

/** Tables with sums of their own in version 10. */
const tablesOfTen = (Object.keys(summedTables) as ReadonlyArray<SummedTable>).filter((table) => table !== "event")

const sumFrom = (table: string, columns: ReadonlyArray<string>): string =>
  `SELECT ${sumOfColumns(columns, table)} FROM ${table} WHERE ${table}.slot = fulltext_length.slot`

/** The first version with sums. */
export const versionWithSums = 10

/** What a row of `memory` takes: 1,024 bytes, its data and its tags. */
const rowBytes = (row: string): string => `1024 + octet_length(${row}data) + octet_length(${row}tags)`
const extraBytes = (row: string, name: string): string => `coalesce(octet_length(${row}extras -> '$.${name}'), 0)`
/** Since version 13 its metadata too. */
export const withMetadata = (row: string): string => `${rowBytes(row)} + ${extraBytes(row, "metadata")}`
/** Since version 14 its feedback too. */
const withFeedback = (row: string): string => `${withMetadata(row)} + ${extraBytes(row, "feedback")}`
const addBytes = (difference: string): string => `UPDATE meta SET value = value + ${difference} WHERE key = 'bytes';`

/** Of version 8. */
export const bytesTriggers = `
  CREATE TRIGGER memory_bytes_insert AFTER INSERT ON memory BEGIN ${addBytes(rowBytes("new."))} END;
  CREATE TRIGGER memory_bytes_update AFTER UPDATE OF data, tags ON memory
    BEGIN ${addBytes(`(${rowBytes("new.")}) - (${rowBytes("old.")})`)} END;
  CREATE TRIGGER memory_bytes_delete AFTER DELETE ON memory BEGIN ${addBytes(`-(${rowBytes("old.")})`)} END;
`

const countBytes = `
  INSERT INTO meta (key, value) SELECT 'bytes', coalesce(sum(${rowBytes("")}), 0) FROM memory;
  ${bytesTriggers}`

export const dropBytesTriggers = `
  DROP TRIGGER memory_bytes_insert;
  DROP TRIGGER memory_bytes_update;
  DROP TRIGGER memory_bytes_delete;`

/** Counts bytes by another measure from now on. */
export const countExtras = (bytes: (row: string) => string): string => `
  ${dropBytesTriggers}
  CREATE TRIGGER memory_bytes_insert AFTER INSERT ON memory BEGIN ${addBytes(bytes("new."))} END;
  CREATE TRIGGER memory_bytes_update AFTER UPDATE OF data, tags, extras ON memory
    BEGIN ${addBytes(`(${bytes("new.")}) - (${bytes("old.")})`)} END;
  CREATE TRIGGER memory_bytes_delete AFTER DELETE ON memory BEGIN ${addBytes(`-(${bytes("old.")})`)} END;
`
