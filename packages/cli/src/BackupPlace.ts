/** Flags of the commands about backups: where they lie, and what opens them. */
import { Effect, FileSystem, Option } from "effect"
import { Flag } from "effect/cli"
import { BackupStore } from "@muniment/backup/BackupStore"
import { type BackupSecret, keyFileBytesMin } from "@muniment/backup/BackupFormat"
import { openTarget } from "@muniment/backup/target/openTarget"
import { CommandFailed, commandFailed } from "./CommandFailed.ts"
import { pathFlag, warnIfOthersRead } from "./InputFile.ts"

const placeText =
  "a directory, or s3://bucket/prefix with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if needed, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL"

export const backupFlags = {
  to: pathFlag("to", `Where the backups lie: ${placeText}`),
  from: pathFlag("from", `Where the backups lie: ${placeText}`),
  backup: Flag.String("backup").pipe(
    Flag.withDescription('Id of the backup, as "backup list" shows it; default the newest'),
    Flag.optional
  ),
  passphraseFile: pathFlag("passphrase-file", "File whose first line is the passphrase that seals the backups").pipe(
    Flag.optional
  ),
  keyFile: pathFlag(
    "key-file",
    `File of at least ${keyFileBytesMin} random bytes that seals the backups, instead of a passphrase`
  ).pipe(Flag.optional),
  unsealed: Flag.Boolean("unsealed").pipe(
    Flag.withDescription("Store keys and memories in a bucket although nothing is sealed"),
    Flag.withDefault(false)
  )
}

interface SecretFlags {
  readonly passphraseFile: Option.Option<string>
  readonly keyFile: Option.Option<string>
}

/** Backups that are there. */
export const openBackups = Effect.fnUntraced(function* (from: string, secrets: SecretFlags) {
  const target = yield* openTarget(from)
  return yield* BackupStore.open(target, yield* secretOf(secrets))
}, Effect.mapError(commandFailed))

/** Backups that are there or begin now. */
export const makeBackups = Effect.fnUntraced(function* (to: string, secrets: SecretFlags, isUnsealedMeant: boolean) {
  const target = yield* openTarget(to)
  const secret = yield* secretOf(secrets)
  if (target.isShared && Option.isNone(secret) && !isUnsealedMeant) {
    return yield* new CommandFailed({
      reason: `A backup holds the key of attestations, the operator's token and all memories. Seal it with --passphrase-file or --key-file, or say --unsealed if ${target.description} may have them in the clear.`
    })
  }
  return yield* BackupStore.openOrMake(target, secret)
}, Effect.mapError(commandFailed))

/** The manifest of the id, or of the newest backup. */
export const chosenBackup = Effect.fnUntraced(function* (store: BackupStore, id: Option.Option<string>) {
  if (Option.isSome(id)) return yield* store.manifest(id.value)
  const newest = (yield* store.manifests).at(-1)
  return newest ?? (yield* new CommandFailed({ reason: `${store.target.description} has no complete backup.` }))
}, Effect.mapError(commandFailed))

const passphraseLengthMin = 8

const secretOf = Effect.fnUntraced(function* ({ keyFile, passphraseFile }: SecretFlags) {
  if (Option.isSome(keyFile) && Option.isSome(passphraseFile)) {
    return yield* new CommandFailed({ reason: "Give --passphrase-file or --key-file, not both." })
  }
  if (Option.isSome(keyFile)) {
    const bytes = yield* readSecret(keyFile.value)
    return bytes.length < keyFileBytesMin
      ? yield* new CommandFailed({ reason: `${keyFile.value} has fewer than ${keyFileBytesMin} bytes.` })
      : Option.some<BackupSecret>({ _tag: "KeyFile", bytes })
  }
  if (Option.isNone(passphraseFile)) return Option.none<BackupSecret>()
  const [line = ""] = new TextDecoder().decode(yield* readSecret(passphraseFile.value)).split(/\r?\n/, 1)
  return line.length < passphraseLengthMin
    ? yield* new CommandFailed({
        reason: `The first line of ${passphraseFile.value} is shorter than ${passphraseLengthMin} characters.`
      })
    : Option.some<BackupSecret>({ _tag: "Passphrase", text: line })
})

const readSecret = Effect.fnUntraced(function* (path: string) {
  yield* warnIfOthersRead(path)
  return yield* (yield* FileSystem.FileSystem).readFile(path)
})
