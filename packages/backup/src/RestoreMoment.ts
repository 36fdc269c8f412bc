/** A moment of the past, and the backup that it can be restored from. */
import type { BackupManifest } from "./BackupFormat.ts"

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
