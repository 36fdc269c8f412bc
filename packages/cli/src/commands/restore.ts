/** `muniment restore`: makes a data directory of a backup. No service is needed, and none is started. */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { BackupStore } from "@muniment/backup/BackupStore"
import { backupAt, momentOf, restoreBackup, type RestoreOptions, whyMissing } from "@muniment/backup/RestoreBackup"
import { openRestoredLog, wholeLog } from "@muniment/server/operator/openRestoredLog"
import { backupFlags, chosenBackup, openBackups } from "../BackupPlace.ts"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { pathFlag } from "../InputFile.ts"
import { withStartFailure } from "../LocalServer.ts"
import { flags } from "./flags.ts"
import { makeProgress, timeText, updateBytes } from "../Terminal.ts"

const { backup, from, keyFile, passphraseFile } = backupFlags

export const restore = Command.make(
  "restore",
  {
    from,
    to: pathFlag("to", "Data directory to make; it must be empty or missing"),
    backup,
    until: Flag.String("until").pipe(
      Flag.withDescription(
        'Moment to restore: a time (2026-11-23T09:14:05Z) or an ordinal of the commit log, both inclusive; "backup list" shows which. Default: the end of the backup'
      ),
      Flag.optional
    ),
    passphraseFile,
    keyFile,
    json: flags.json
  },
  Effect.fn("restore")(function* ({ backup: id, from: place, json, to, until, ...secrets }) {
    const store = yield* openBackups(place, secrets)
    const { end, manifest } = yield* momentIn(store, id, until)
    const progress = yield* makeProgress("Restoring")
    const openLog: RestoreOptions["openLog"] = (directory, log) => openRestoredLog(directory, log, end)
    const { settleRestored } = yield* Effect.promise(() => import("@muniment/server/operator/restoredDirectory"))
    const options = { onProgress: updateBytes(progress), openLog, settle: settleRestored }
    const behind = yield* restoreBackup(store, manifest, to, options).pipe(
      Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))),
      Effect.mapError(commandFailed)
    )
    for (const file of behind)
      yield* Console.error(`! ${file} cannot follow the commit log: the service will set its agent aside`)
    for (const { copiedAt, file, stale } of manifest.files) {
      if (stale !== undefined)
        yield* Console.error(`! ${file} is of ${timeText(copiedAt)} UTC: it was damaged later (${stale})`)
    }
    if (json) return yield* Console.log(JSON.stringify({ directory: to, backup: manifest.id, setAside: behind }))
    return yield* Console.log(
      `${to} is the service of ${Option.getOrElse(until, () => `${timeText(manifest.log?.through ?? manifest.startedAt)} UTC`)} (backup ${manifest.id}). Start it with MUNIMENT_DATA_DIR=${to}, then run "npm run muniment -- doctor".`
    )
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Make a data directory of a backup: memories, keys, accounts, schemas, ledger and payments of that moment"
  ),
  Command.withExamples([
    { command: "muniment restore --from /var/backups/muniment --to data", description: "The newest backup" },
    {
      command: "muniment restore --from /var/backups/muniment --to data --until 2026-11-23T09:14:05Z",
      description: "The service as it was at that second"
    }
  ])
)

/** The backup to restore, and where its log ends. */
const momentIn = Effect.fnUntraced(function* (
  store: BackupStore,
  id: Option.Option<string>,
  until: Option.Option<string>
) {
  if (Option.isNone(until)) return { manifest: yield* chosenBackup(store, id), end: wholeLog }
  const moment = momentOf(until.value)
  if (moment === undefined) {
    return yield* new CommandFailed({
      reason: `--until ${until.value} is neither a time like 2026-11-23T09:14:05Z nor an ordinal.`
    })
  }
  const manifests = Option.isSome(id)
    ? [yield* chosenBackup(store, id)]
    : yield* Effect.mapError(store.manifests, commandFailed)
  const manifest = backupAt(manifests, moment)
  if (manifest === undefined) {
    return yield* new CommandFailed({
      reason: `No backup has the moment ${until.value}: ${whyMissing(manifests, moment)}.`
    })
  }
  const end =
    moment._tag === "Ordinal" ? { ...wholeLog, ordinal: moment.ordinal } : { ...wholeLog, millis: moment.millis }
  return { manifest, end }
})
