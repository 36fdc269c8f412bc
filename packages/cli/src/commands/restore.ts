/** `muniment restore`: makes a data directory of a backup. No service is needed, and none is started. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { restoreBackup } from "@muniment/backup/RestoreBackup"
import { backupFlags, chosenBackup, openBackups } from "../BackupPlace.ts"
import { commandFailed } from "../CommandFailed.ts"
import { makeProgress } from "../Progress.ts"
import { timeText } from "../Table.ts"

const { backup, from, keyFile, passphraseFile } = backupFlags

export const restore = Command.make(
  "restore",
  {
    from,
    to: Flag.String("to").pipe(Flag.withDescription("Data directory to make; it must be empty or missing")),
    backup,
    passphraseFile,
    keyFile
  },
  Effect.fn("restore")(function* ({ backup: id, from: place, to, ...secrets }) {
    const store = yield* openBackups(place, secrets)
    const manifest = yield* chosenBackup(store, id)
    const progress = yield* makeProgress("Restoring")
    yield* Effect.mapError(restoreBackup(store, manifest, to, { onProgress: progress.update }), commandFailed)
    for (const { copiedAt, file, stale } of manifest.files) {
      if (stale !== undefined)
        yield* Console.error(`! ${file} is of ${timeText(copiedAt)} UTC: it was damaged later (${stale})`)
    }
    yield* Console.log(
      `${to} is the service of ${timeText(manifest.startedAt)} UTC (backup ${manifest.id}). Start it with MUNIMENT_DATA_DIR=${to}, then run "muniment doctor".`
    )
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Make a data directory of a backup: memories, keys, accounts, schemas, ledger and payments of that moment"
  ),
  Command.withExamples([
    { command: "muniment restore --from /var/backups/muniment --to data", description: "The newest backup" }
  ])
)
