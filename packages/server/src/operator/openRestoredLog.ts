/** The commit log of a directory that is restored from a backup (`muniment restore`). */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { BackupLog } from "@muniment/backup/BackupFormat"
import type { LogWriter } from "@muniment/backup/RestoreBackup"
import { type LogEnd, RestoredLog } from "@muniment/engine/log/LogArchive"
import { logFolder } from "@muniment/engine/log/segmentFiles"

export const wholeLog: LogEnd = { ordinal: Infinity, millis: Infinity }

/** The service that starts over the directory brings its files to the end of the log. */
export const openRestoredLog = (
  directory: string,
  { complete, first }: BackupLog,
  end: LogEnd = wholeLog
): LogWriter => {
  const folder = join(directory, logFolder)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const log = new RestoredLog(folder, first, complete, end)
  return { add: (bytes) => log.add(bytes), close: () => log.close() }
}
