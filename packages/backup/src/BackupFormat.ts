/**
 * The documents of a backup: its header, the manifest of each backup, and the draft of one that is being made. README,
 * Format, has the names and an example.
 *
 * A document is a line of JSON and a line with the SHA-256 of the first, so that rot in it is noticed without a key too.
 */
import { createHash } from "node:crypto"
import { Data, Option, Schema } from "effect"
import { SealingHeader } from "./Sealing.ts"

export const formatVersion = 1
export const headerName = "muniment-backup.json"
export const manifestPrefix = "manifests/"
export const draftPrefix = "drafts/"
export const objectPrefix = "objects/"

export const controlFile = "control.db"

/** Never sealed: it says how the others are. */
export const BackupHeader = Schema.Struct({
  muniment: Schema.Literal("backup"),
  format: Schema.Literal(formatVersion),
  /** Null: nothing is sealed. */
  sealing: Schema.NullOr(SealingHeader)
})
export type BackupHeader = typeof BackupHeader.Type

/** A file of the data directory as it was copied. Times in milliseconds. */
export const BackupFile = Schema.Struct({
  /** Path in the data directory, with slashes. */
  file: Schema.String,
  /** Name of the object, of which there are `parts` parts. */
  object: Schema.String,
  parts: Schema.Int,
  bytes: Schema.Int,
  sha256: Schema.String,
  /** Began at; what was committed before is in it. */
  copiedAt: Schema.Int,
  /** The same mark of the file later means the same content; null: the file had just changed. */
  mark: Schema.NullOr(Schema.String),
  /** Epoch, last sequence number, and ordinal of the commit log if it has one: of a namespace. */
  epoch: Schema.optionalKey(Schema.Int),
  seq: Schema.optionalKey(Schema.Int),
  ordinal: Schema.optionalKey(Schema.Int),
  /** `PRAGMA user_version` of a database. */
  version: Schema.optionalKey(Schema.Int),
  /** Why this is an older copy than the others: the file is damaged since. */
  stale: Schema.optionalKey(Schema.String)
})
export type BackupFile = typeof BackupFile.Type

/** Records of the commit log between two ordinals, both inclusive. */
const BackupSegment = Schema.Struct({
  object: Schema.String,
  parts: Schema.Int,
  bytes: Schema.Int,
  sha256: Schema.String,
  first: Schema.Int,
  last: Schema.Int
})

/** Ordinals and times (milliseconds), all inclusive. */
export const BackupLog = Schema.Struct({
  first: Schema.Int,
  /** The files have no record behind it: the first moment that can be restored. */
  complete: Schema.Int,
  completeAt: Schema.Int,
  last: Schema.Int,
  /** All that was acknowledged until then is in it. */
  through: Schema.Int,
  /** It has what was erased later: nothing that is dated later may continue it. */
  isOutlived: Schema.optionalKey(Schema.Boolean),
  /** The next records were erased before a backup had them. */
  isCut: Schema.optionalKey(Schema.Boolean),
  segments: Schema.Array(BackupSegment)
})
export type BackupLog = typeof BackupLog.Type

export const BackupManifest = Schema.Struct({
  muniment: Schema.Literal("manifest"),
  format: Schema.Literal(formatVersion),
  id: Schema.String,
  /** Every write that was acknowledged before is in the backup. */
  startedAt: Schema.Int,
  finishedAt: Schema.Int,
  /** Release of the service. */
  release: Schema.String,
  /** `control.db` first, then files of keys, then namespaces. */
  files: Schema.Array(BackupFile),
  /** Namespaces of `control.db` without a file: agents that hold nothing yet. */
  empty: Schema.Array(Schema.String),
  /** Null: the service has no commit log, or it could not be read, and each file has a moment of its own. */
  log: Schema.NullOr(BackupLog)
})
export type BackupManifest = typeof BackupManifest.Type

/** Files that a backup has copied so far; the next one takes over what has not changed since. */
export const BackupDraft = Schema.Struct({
  muniment: Schema.Literal("draft"),
  format: Schema.Literal(formatVersion),
  id: Schema.String,
  /** Renewed while the backup is being made. */
  touchedAt: Schema.Int,
  files: Schema.Array(BackupFile)
})
export type BackupDraft = typeof BackupDraft.Type

/** A document that is no longer what was written, or that this release cannot read. */
export class DamagedBackup extends Data.TaggedError("DamagedBackup")<{ readonly message: string }> {}

export const documentBytes = (value: BackupHeader | BackupManifest | BackupDraft): Uint8Array => {
  const json = JSON.stringify(value)
  return Buffer.from(`${json}\n${digestOf(json)}\n`, "utf8")
}

export const readHeader = (bytes: Uint8Array) => read(BackupHeader, headerName, bytes)
export const readManifest = (name: string, bytes: Uint8Array) => read(BackupManifest, name, bytes)
export const readDraft = (name: string, bytes: Uint8Array) => read(BackupDraft, name, bytes)

/** Throws `DamagedBackup`. */
const read = <A>(schema: Schema.Codec<A, unknown>, name: string, bytes: Uint8Array): A => {
  const [json = "", digest] = Buffer.from(bytes).toString("utf8").split("\n")
  if (digestOf(json) !== digest) throw new DamagedBackup({ message: `${name} was damaged after it was written` })
  const value: unknown = JSON.parse(json)
  if (isNewer(value)) {
    throw new DamagedBackup({ message: `${name} was written by a later release; read it with that one` })
  }
  const decoded = Schema.decodeUnknownOption(schema)(value)
  if (Option.isNone(decoded)) throw new DamagedBackup({ message: `${name} is not what its name says` })
  return decoded.value
}

const isNewer = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  "format" in value &&
  typeof value.format === "number" &&
  value.format > formatVersion

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex")

/** `20261122T220000123Z-5f3a`: ordered by time. `suffix` tells backups of one millisecond apart. */
export const backupIdOf = (atMillis: number, suffix: string): string =>
  `${new Date(atMillis).toISOString().replace(/[-:.]/g, "")}-${suffix}`

/** Where the copy of a file lies; `id` is of the backup that copied it, so that no name is ever written twice. */
export const objectNameOf = (
  file: string,
  id: string,
  at: { readonly epoch?: number; readonly seq?: number }
): string => {
  const tag = namespaceTagOf(file)
  return tag === undefined
    ? `${objectPrefix}${file}/${id}`
    : `${objectPrefix}${tag}/${at.epoch ?? 0}-${at.seq ?? 0}.${id}`
}

/** Name by which a source gives the records of the log behind an ordinal. */
export const recordsFile = (afterOrdinal: number): string => `log/${afterOrdinal}`
export const recordsBehind = (file: string): number | undefined => {
  const digits = /^log\/(\d{1,15})$/.exec(file)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
export const recordsObjectOf = (id: string, first: number, last: number): string =>
  `${objectPrefix}log/${first}-${last}.${id}`

export const namespaceFile = (tag: string): string => `namespaces/${tag}.db`

export const namespaceTagOf = (file: string): string | undefined => /^namespaces\/([0-9a-f]{12})\.db$/.exec(file)?.[1]
