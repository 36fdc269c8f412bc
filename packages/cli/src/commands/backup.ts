/**
 * `muniment backup`: makes, lists, proves and removes backups of the data directory, while the service runs or not.
 * The service makes copies; this process seals and stores them.
 */
import { closeSync, openSync, read, rmSync } from "node:fs"
import { Clock, Console, Effect, Option, Schedule } from "effect"
import { Command, Flag } from "effect/cli"
import type { BackupManifest } from "@muniment/backup/BackupFormat"
import type { BackupStore } from "@muniment/backup/BackupStore"
import { erasedText, firstOf, lastOf, verifyBackup } from "@muniment/backup/RestoreBackup"
import { continueBackup, createBackup, type Created } from "@muniment/backup/CreateBackup"
import { pruneBackups, type Pruned } from "@muniment/backup/PruneBackups"
import { type BackupSource, SourceFailed } from "@muniment/backup/BackupFiles"
import { openRestoredLog } from "@muniment/server/operator/openRestoredLog"
import { Rounds } from "@muniment/worker/Rounds"
import { backupFlags, chosenBackup, makeBackups, openBackups } from "../BackupPlace.ts"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { withStartFailure } from "../LocalServer.ts"
import { serviceIsRunning } from "../ServiceUrl.ts"
import { makeProgress, table, timeText, updateBytes } from "../Terminal.ts"
import { flags } from "./flags.ts"
import { withOperator, type Operator } from "./clients.ts"

const { backup: chosen, from, keyFile, passphraseFile, to, unsealed } = backupFlags

const create = Command.make(
  "create",
  { to, passphraseFile, keyFile, unsealed, json: flags.json },
  Effect.fn("backup.create")(function* ({ json, to: place, unsealed: isUnsealedMeant, ...secrets }) {
    const { created, store } = yield* createOnce(makeBackups(place, secrets, isUnsealedMeant), createBackup)
    yield* Console.log(json ? JSON.stringify(createdJson(created)) : createdText(created, store))
    yield* refuseDamaged(created)
  })
).pipe(
  Command.withDescription(
    "Make a backup of the running service, or of a stopped data directory. What has not changed since the last backup is not copied again; an interrupted run is taken up by the next one."
  ),
  Command.withExamples([
    { command: "muniment backup create --to /var/backups/muniment", description: "Into a directory" },
    {
      command: "muniment backup create --to s3://bucket/muniment --passphrase-file passphrase",
      description: "Into a bucket, sealed"
    }
  ])
)

const list = Command.make(
  "list",
  { from, passphraseFile, keyFile, json: flags.json },
  Effect.fn("backup.list")(function* ({ from: place, json, ...secrets }) {
    const store = yield* openBackups(place, secrets)
    const manifests = yield* Effect.mapError(store.manifests, commandFailed)
    if (json) return yield* Console.log(JSON.stringify({ sealed: store.isSealed, backups: manifests.map(listed) }))
    if (manifests.length === 0) return yield* Console.log("No complete backup.")
    yield* Console.log(table([listHeading, ...manifests.map(listRow)]))
    for (const [at, { log }] of manifests.entries()) {
      const next = manifests.slice(at + 1).find((later) => later.log !== null)?.log
      if (log?.isCut === true)
        yield* Console.log(
          `No moment after ${lastOf(log)}${next ? ` and before ${firstOf(next)}` : ""}: ${erasedText}.`
        )
    }
  })
).pipe(
  Command.withDescription(
    "List the complete backups, oldest first, with the moments that each can be restored at, and why moments are missing"
  ),
  Command.withExamples([
    { command: "muniment backup list --from /var/backups/muniment", description: "Of a directory" },
    {
      command: "muniment backup list --from s3://bucket/muniment --passphrase-file passphrase",
      description: "Of a bucket, sealed"
    }
  ])
)

const verify = Command.make(
  "verify",
  {
    from,
    backup: chosen,
    passphraseFile,
    keyFile,
    scratch: Flag.String("scratch").pipe(
      Flag.withDescription("Folder with room for the whole backup; default the system's for temporary files"),
      Flag.optional
    ),
    json: flags.json
  },
  Effect.fn("backup.verify")(function* ({ backup: id, from: place, json, scratch, ...secrets }) {
    const store = yield* openBackups(place, secrets)
    const manifest = yield* chosenBackup(store, id)
    const progress = yield* makeProgress("Verifying")
    const { proveRestored } = yield* Effect.promise(() => import("@muniment/server/operator/restoredDirectory"))
    const options = {
      scratch: Option.getOrUndefined(scratch),
      openLog: openRestoredLog,
      onProgress: updateBytes(progress),
      prove: (directory: string) =>
        proveRestored(directory, (done, total) => progress.update(done, total, "Verifying agents"))
    }
    const faults = yield* verifyBackup(store, manifest, options).pipe(
      Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))),
      Effect.mapError(commandFailed)
    )
    if (json) yield* Console.log(JSON.stringify({ id: manifest.id, files: manifest.files.length, faults }))
    else for (const { file, reason } of faults) yield* Console.error(`! ${file}: ${reason}`)
    if (faults.length > 0) {
      return yield* new CommandFailed({
        reason: `Backup ${manifest.id} cannot be restored as it is: ${faults.length} faults.`
      })
    }
    if (json) return
    return yield* Console.log(
      `Backup ${manifest.id}: all ${manifest.files.length} files can be restored; memories and ledger are whole.`
    )
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Restore a backup into a scratch directory and prove it: digests, every memory's content hash, the ledger. The directory is removed afterwards."
  ),
  Command.withExamples([
    { command: "muniment backup verify --from /var/backups/muniment", description: "The newest backup" },
    {
      command: "muniment backup verify --from s3://bucket/muniment --passphrase-file passphrase --scratch /var/tmp",
      description: "A sealed one, on a disk with room for it"
    }
  ])
)

const prune = Command.make(
  "prune",
  {
    from,
    keep: Flag.Int("keep").pipe(Flag.withDescription("So many of the newest stay"), Flag.optional),
    days: Flag.Int("days").pipe(Flag.withDescription("Those with a moment of the last days stay"), Flag.optional),
    dryRun: Flag.Boolean("dry-run").pipe(Flag.withDescription("Only show what would go"), Flag.withDefault(false)),
    passphraseFile,
    keyFile,
    json: flags.json
  },
  Effect.fn("backup.prune")(function* ({ days, dryRun, from: place, json, keep: kept, ...secrets }) {
    const counts = [kept, days].flatMap((flag) => (Option.isSome(flag) ? [flag.value] : []))
    if (counts.length === 0 || counts.some((count) => count < 1)) {
      return yield* new CommandFailed({ reason: "Say how many stay: --keep N, --days N, or both, each at least 1." })
    }
    const store = yield* openBackups(place, secrets)
    const since = Option.map(days, (count) => count * dayMillis)
    const nowMillis = yield* Clock.currentTimeMillis
    const retention = {
      keep: Option.getOrUndefined(kept),
      since: Option.getOrUndefined(Option.map(since, (millis) => nowMillis - millis))
    }
    const pruned = yield* Effect.mapError(pruneBackups(store, retention, { dryRun }), commandFailed)
    return yield* Console.log(json ? JSON.stringify({ dryRun, ...pruned }) : prunedText(pruned, dryRun))
  })
).pipe(
  Command.withDescription("Remove old backups and what no other one needs; what stays is named by --keep or --days"),
  Command.withExamples([
    { command: "muniment backup prune --from /var/backups/muniment --keep 7", description: "The newest seven stay" }
  ])
)

const follow = Command.make(
  "follow",
  {
    to,
    every: Flag.Int("every").pipe(Flag.withDescription("Seconds between two backups"), Flag.withDefault(60)),
    keep: Flag.Int("keep").pipe(
      Flag.withDescription("So many of the newest stay; default 60, or only those of --keep-days where that is given"),
      Flag.optional
    ),
    keepDays: Flag.Int("keep-days").pipe(
      Flag.withDescription("Every backup with a moment of the last days stays, however many they are"),
      Flag.optional
    ),
    passphraseFile,
    keyFile,
    unsealed,
    json: flags.json
  },
  Effect.fn("backup.follow")(function* ({
    every,
    json,
    keep,
    keepDays,
    to: place,
    unsealed: isUnsealedMeant,
    ...secrets
  }) {
    const days = Option.getOrUndefined(keepDays)
    const kept = Option.getOrUndefined(keep) ?? (days === undefined ? keptDefault : undefined)
    if ([every, kept ?? 1, days ?? 1].some((count) => count < 1))
      return yield* new CommandFailed({ reason: "--every, --keep and --keep-days are at least 1." })
    const store = yield* makeBackups(place, secrets, isUnsealedMeant)
    let prunedAtMillis = 0
    const prune = Effect.gen(function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      const isDue =
        days === undefined
          ? // A continued backup takes the place of another one: there are more only after a whole one.
            (yield* store.ids).length > (kept ?? 0)
          : nowMillis - prunedAtMillis >= pruneEveryMillis
      if (!isDue) return
      yield* pruneBackups(store, { keep: kept, since: days === undefined ? undefined : nowMillis - days * dayMillis })
      prunedAtMillis = nowMillis
    })
    const round = Effect.gen(function* () {
      if (!(yield* serviceIsRunning)) return yield* Console.error("No service runs on the data directory; waiting.")
      const { created } = yield* createOnce(Effect.succeed(store), continueBackup)
      yield* Effect.mapError(prune, commandFailed)
      yield* Console.log(json ? JSON.stringify(createdJson(created)) : createdText(created, store))
      return yield* refuseDamaged(created)
    }).pipe(Effect.catch(({ message }) => Console.error(`! ${message} The next round tries again.`)))
    const schedule = Schedule.spaced(every * 1_000)
    const rounds = Rounds.add({ name: "backup", schedule, work: round, isFirstNow: true, isCut: true })
    return yield* Effect.scoped(Effect.andThen(rounds, Effect.never))
  })
).pipe(
  Command.withDescription(
    'Back up the running service until interrupted: every round adds the newest records of the commit log to the last backup, so that "restore --until" knows every moment; after an erasure, and each day, a whole backup begins at once, and the newest are kept. What was written since the last round is lost with the disk.'
  ),
  Command.withExamples([
    {
      command: "muniment backup follow --to /var/backups/muniment",
      description: "At most a minute behind, 60 backups"
    },
    {
      command: "muniment backup follow --to /var/backups/muniment --keep-days 7",
      description: "At most a minute behind, a week back"
    },
    {
      command: "muniment backup follow --to s3://bucket/muniment --passphrase-file passphrase --every 10 --keep 7",
      description: "Into a bucket, sealed, at most ten seconds behind"
    }
  ])
)

export const backup = Command.make("backup").pipe(
  Command.withDescription('Backups of the data directory; "restore" makes a directory of one'),
  Command.withSubcommands([create, list, verify, prune, follow])
)

const dayMillis = 86_400_000
/** Backups that `follow` keeps where nothing else is said. */
const keptDefault = 60
/** Interval in which `follow` removes backups by age: it reads all manifests for that. */
const pruneEveryMillis = 3_600_000

/** `open` comes after the service: where there is none, nothing is made. */
const createOnce = <E, R>(open: Effect.Effect<BackupStore, E, R>, make: typeof createBackup) =>
  withOperator(({ backups }) =>
    Effect.gen(function* () {
      const store = yield* open
      const source = yield* serviceSource(backups)
      const progress = yield* makeProgress("Backing up")
      const created = yield* make(source, store, { onProgress: progress.update })
      yield* backups.noteBackup({ payload: { id: created.manifest.id } })
      return { created, store }
    }).pipe(Effect.scoped)
  )

/** The backup is complete, but not whole: a supervisor should see it. */
const refuseDamaged = Effect.fnUntraced(function* ({ damaged }: Created) {
  for (const { file, isLost, reason } of damaged) {
    yield* Console.error(
      `! ${file} is damaged (${reason}); ${isLost ? "no copy of it exists" : "an earlier copy is kept"}`
    )
  }
  if (damaged.length > 0) {
    return yield* new CommandFailed({
      reason: `${damaged.length} files are damaged; "npm run muniment -- doctor" says more.`
    })
  }
})

const createdJson = ({ copiedBytes, copiedFiles, damaged, manifest }: Created) => ({
  ...listed(manifest),
  copiedFiles,
  copiedBytes,
  damaged
})

const createdText = ({ copiedBytes, copiedFiles, manifest }: Created, { isSealed, target }: BackupStore): string =>
  `Backup ${manifest.id} in ${target.description}: ${manifest.files.length} files, of which ${copiedFiles} were copied (${sizeText(copiedBytes)})${isSealed ? ", sealed" : ""}.`

const listed = ({ files, finishedAt, id, log, release, startedAt }: BackupManifest) => ({
  id,
  startedAt,
  finishedAt,
  /** Moments that `restore --until` may name: ordinals and times. */
  until:
    log === null
      ? null
      : { ordinals: [log.complete, log.last] as const, times: [log.completeAt, log.through] as const },
  /** The next records were erased before a backup had them. */
  isCut: log?.isCut === true,
  release,
  files: files.length,
  bytes: bytesOf(files),
  stale: files.flatMap(({ file, stale }) => (stale === undefined ? [] : [file]))
})

const bytesOf = (files: BackupManifest["files"]): number => files.reduce((sum, { bytes }) => sum + bytes, 0)

const listHeading = ["ID", "STARTED", "SECONDS", "FILES", "SIZE", "OLDER COPIES", "UNTIL", "ORDINALS", "RELEASE"]

const listRow = (manifest: BackupManifest): ReadonlyArray<string> => {
  const { bytes, files, stale, until } = listed(manifest)
  return [
    manifest.id,
    timeText(manifest.startedAt),
    ((manifest.finishedAt - manifest.startedAt) / 1_000).toFixed(1),
    String(files),
    sizeText(bytes),
    String(stale.length),
    until === null ? "-" : until.times.map((millis) => new Date(millis).toISOString()).join(" to "),
    until === null ? "-" : until.ordinals.join(" to "),
    manifest.release
  ]
}

const mebibyte = 1_048_576
const sizeText = (bytes: number): string => `${(bytes / mebibyte).toFixed(1)} MiB`

const prunedText = ({ kept, objects, removed }: Pruned, dryRun: boolean): string => {
  if (dryRun) return `${removed.length} backups would go, ${kept.length} stay.`
  const rest =
    objects === undefined
      ? "a backup is being made, so the next run removes what they alone needed"
      : `${objects} objects`
  return `${removed.length} backups removed (${rest}), ${kept.length} stay.`
}

/**
 * The service as the source of a backup: it makes copies in its data directory, and this process, which is on the same
 * machine, reads them there. A copy loses its name as soon as it is open, so that a kill leaves none behind.
 */
const serviceSource = Effect.fnUntraced(function* (operator: Operator["backups"]) {
  const { release } = yield* Effect.mapError(operator.listFiles(), sourceFailed)
  return {
    release,
    marks: operator.listFiles().pipe(
      Effect.map(({ files, ordinal }) => ({ files, ordinal: ordinal ?? undefined })),
      Effect.mapError(sourceFailed)
    ),
    copy: Effect.fnUntraced(function* (id, file) {
      const answer = yield* copyOf(operator, id, file)
      if (answer.state === "damaged") return { _tag: "Damaged" as const, reason: answer.reason ?? "it cannot be read" }
      const { copied, path } = answer
      if (answer.state !== "ready" || copied === undefined || path === undefined) return { _tag: "Absent" as const }
      const handle = yield* Effect.acquireRelease(
        Effect.try({ try: () => openUnnamed(path), catch: sourceFailed }),
        (opened) => Effect.sync(() => closeSync(opened))
      )
      return { _tag: "Copy" as const, copied, read: (at: number, bytes: number) => readAt(handle, at, bytes) }
    })
  } satisfies BackupSource
})

const copyOf = Effect.fnUntraced(function* (operator: Operator["backups"], id: string, file: string) {
  for (;;) {
    const answer = yield* Effect.mapError(operator.copyFile({ query: { id, file } }), sourceFailed)
    if (answer.state !== "copying") return answer
  }
})

const openUnnamed = (path: string): number => {
  const handle = openSync(path, "r")
  rmSync(path)
  return handle
}

const readAt = (handle: number, at: number, bytes: number): Effect.Effect<Uint8Array, SourceFailed> =>
  Effect.callback((resume) => {
    const chunk = new Uint8Array(bytes)
    const fill = (from: number): void =>
      read(handle, chunk, from, bytes - from, at + from, (error, count) => {
        if (error !== null) return resume(Effect.fail(sourceFailed(error)))
        if (count === 0 && from < bytes) {
          return resume(Effect.fail(new SourceFailed({ message: "a copy is shorter than the service said" })))
        }
        return from + count === bytes ? resume(Effect.succeed(chunk)) : fill(from + count)
      })
    fill(0)
  })

const sourceFailed = (cause: unknown): SourceFailed =>
  new SourceFailed({ message: cause instanceof Error && cause.message !== "" ? cause.message : String(cause) })
