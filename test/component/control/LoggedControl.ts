/** control.db over a real commit log, as one start of the process builds both, and what the tests compare. */
import { cpSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { changeNumberOf } from "@muniment/control/database/ChangeLog"
import { CommitLog, type CommitLogShape } from "@muniment/engine/log/CommitLog"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { loggedControl } from "@muniment/server/CommitLogs"
import { Database } from "@muniment/sqlite/Database"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { crashImage } from "./CrashImage.ts"

/** Providing it again for the same directory is a restart. */
export const loggedControlOf = (directory: string) =>
  loggedControl(directory).pipe(
    Layer.provideMerge(fileLogLayer({ directory: join(directory, logFolder), segmentBytes: 1_048_576 })),
    Layer.fresh
  )

/** The log, once what the control.db of `directory` has now is on the disk; more may come meanwhile. */
export const syncedLog = Effect.fnUntraced(function* (directory: string) {
  const log: CommitLogShape = yield* (yield* CommitLog).current
  const number = numberOf(directory)
  while (((yield* log.newestControl)?.number ?? 0) < number) yield* Effect.sleep(1)
  return log
})

/** What a kill leaves: control.db, its write-ahead log and the commit log, as they are now. */
export const loggedImage = (directory: string): string => {
  const image = crashImage(directory)
  cpSync(join(directory, logFolder), join(image, logFolder), { recursive: true })
  return image
}

/** `to` gets the control.db of `from`; none if that has none. */
export const copyControl = (from: string, to: string): void => {
  for (const name of ["control.db", "control.db-wal", "control.db-shm"]) rmSync(join(to, name), { force: true })
  cpSync(crashImage(from), to, { recursive: true })
}

/** All rows of a control.db, without those that say what the log has. */
export const rowsOf = (directory: string): Readonly<Record<string, ReadonlyArray<unknown>>> =>
  withCopy(directory, (database) =>
    Object.fromEntries(
      database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
        .all()
        .map(({ name }) => String(name))
        .filter((table) => table !== "change_record")
        .map((table) => [table, database.prepare(`SELECT * FROM ${table}`).all()])
    )
  )

/** The number of a control.db. */
export const numberOf = (directory: string): number => withCopy(directory, changeNumberOf)

const withCopy = <A>(directory: string, look: (database: Database) => A): A => {
  const copy = join(temporaryDirectory(), "copy")
  cpSync(crashImage(directory), copy, { recursive: true })
  const database = new Database({ filename: join(copy, "control.db") })
  try {
    return look(database)
  } finally {
    database.close()
  }
}
