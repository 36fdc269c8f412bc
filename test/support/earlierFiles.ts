/** Files of namespaces as earlier releases have left them. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { namespaceFolder } from "@muniment/engine/store/sqlite/namespaceFiles"
import { copyContent, writeMeta } from "@muniment/engine/store/sqlite/namespaceMeta"
import { bytesTriggers, dropBytesTriggers } from "@muniment/engine/store/sqlite/namespaceMigrations"
import { summedTables } from "@muniment/engine/store/sqlite/rowSums"
import { SqlitePostings } from "@muniment/engine/store/sqlite/SqlitePostings"
import { Database } from "@muniment/sqlite/Database"

/** The last version before files could follow the commit log. */
export const versionWithoutLog = 8

/** The closed files as they were before there was a log, which no file has followed. */
export const forgetLog = (directory: string, tags: ReadonlyArray<NamespaceTag>): void => {
  rmSync(join(directory, logFolder), { recursive: true, force: true })
  for (const tag of tags)
    Database.using(join(directory, namespaceFolder, `${tag}.db`), (database) =>
      database.transaction(() => {
        copyContent(database)
        database.exec("DELETE FROM meta WHERE key IN ('ordinal', 'erasure_due')")
        writeMeta(database, {})
      })
    )
}

/** Takes what few memories have, which version 13 brought, from a file of the newest version. */
export const removeExtras = (database: Database): void =>
  database.exec(`${dropBytesTriggers} ALTER TABLE memory DROP COLUMN extras; ${bytesTriggers}`)

/** Takes the sums and the events, which versions 10 and 11 brought, and what came later, from a file of the newest version. */
export const removeSums = (database: Database): void => {
  removeExtras(database)
  database.exec("DROP TABLE IF EXISTS event; DELETE FROM meta WHERE key IN ('born', 'event_floor')")
  for (const column of SqlitePostings.sums) database.exec(`ALTER TABLE fulltext_length DROP COLUMN ${column}`)
  for (const table of Object.keys(summedTables))
    if (table !== "event") database.exec(`ALTER TABLE ${table} DROP COLUMN sum`)
  database.exec("DELETE FROM meta WHERE key = 'sum'")
}
