/** A moment of the past, and the backup that it can be restored from. */
import type { BackupLog, BackupManifest } from "./BackupFormat.ts"

/** Up to an ordinal of the commit log, or a time in milliseconds, both inclusive. */
export type Moment =
  | { readonly _tag: "Ordinal"; readonly ordinal: number }
  | { readonly _tag: "Time"; readonly millis: number }

/** `1234` is an ordinal, anything else a time (ISO 8601; UTC where it names no zone); undefined: neither. */
export const momentOf = (text: string): Moment | undefined => {
  if (/^\d{1,15}$/.test(text)) return { _tag: "Ordinal", ordinal: Number(text) }
  const isWithoutZone = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text)
  const millis = Date.parse(isWithoutZone ? `${text.replace(" ", "T")}Z` : text)
  return Number.isNaN(millis) ? undefined : { _tag: "Time", millis }
}

/** The newest backup that has the moment; undefined: none has it. */
export const backupAt = (manifests: ReadonlyArray<BackupManifest>, moment: Moment): BackupManifest | undefined =>
  manifests.findLast(({ log }) => {
    if (log === null) return false
    return moment._tag === "Ordinal"
      ? log.complete <= moment.ordinal && moment.ordinal <= log.last
      : log.completeAt <= moment.millis && moment.millis <= log.through
  })

/** Why no backup has the moment, as the rest of a sentence. */
export const whyMissing = (manifests: ReadonlyArray<BackupManifest>, moment: Moment): string => {
  const logs = manifests.flatMap(({ log }) => log ?? [])
  const isBefore = ({ last, through }: BackupLog) =>
    moment._tag === "Ordinal" ? last < moment.ordinal : through < moment.millis
  const before = logs.findLast(isBefore)
  const after = logs.find((log) => !isBefore(log))
  if (before === undefined) return after === undefined ? "none has a commit log" : `the first one is ${firstOf(after)}`
  const last = lastOf(before)
  if (after === undefined) return `the last one is ${last}`
  const reason = before.isCut === true ? erasedText : "in between no backup was made"
  return `the last one before it is ${last}, the next one ${firstOf(after)}; ${reason}`
}

export const erasedText = "what came in between was partly erased before a backup had it"

/** The first and the last moment of a log, exactly as `momentOf` reads them. */
export const firstOf = ({ complete, completeAt }: BackupLog): string => `${timeOf(completeAt)} (ordinal ${complete})`
export const lastOf = ({ last, through }: BackupLog): string => `${timeOf(through)} (ordinal ${last})`

const timeOf = (millis: number): string => new Date(millis).toISOString()
