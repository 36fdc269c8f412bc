/**
 * Removes old backups, and what none of the others needs. Order, against a backup that begins meanwhile: manifests go
 * first, then drafts are read, then objects go. Either this sees the draft of the other and removes no object, or the
 * other reads the manifests after these were removed and takes over nothing of them (`CreateBackup.ts`).
 */
import { Clock, Effect } from "effect"
import type { BackupManifest } from "./BackupFormat.ts"
import { type BackupStore, partNamesOf } from "./BackupStore.ts"
import { draftDeadMillis } from "./CreateBackup.ts"

interface Retention {
  /** So many of the newest stay. */
  readonly keep?: number | undefined
  /** Those with a moment at this time or later stay: milliseconds. */
  readonly since?: number | undefined
}

export interface Pruned {
  readonly removed: ReadonlyArray<string>
  readonly kept: ReadonlyArray<string>
  /** Undefined: objects stay for now, because a backup is being made. */
  readonly objects: number | undefined
}

/** The newest backup always stays. A dry run only says what would go; -> ids. */
export const pruneBackups = Effect.fn("PruneBackups")(function* (
  store: BackupStore,
  retention: Retention,
  { dryRun = false }: { readonly dryRun?: boolean } = {}
) {
  const nowMillis = yield* Clock.currentTimeMillis
  // Before the manifests are read: an object that is made later is never looked at.
  const parts = yield* store.parts
  const ids = yield* store.ids
  const manifests: Array<BackupManifest> = []
  for (const id of ids) manifests.push(yield* store.manifest(id))
  const removed = manifests.filter((manifest, at) => !staysIn(retention, manifest, manifests.length - 1 - at))
  const kept = manifests.filter((manifest) => !removed.includes(manifest))
  const result = { removed: removed.map(({ id }) => id), kept: kept.map(({ id }) => id) }
  if (dryRun) return { ...result, objects: 0 } satisfies Pruned
  for (const { id } of removed) yield* store.removeManifest(id)

  const drafts = yield* store.drafts
  if (drafts.some(({ touchedAt }) => nowMillis - touchedAt < draftDeadMillis)) {
    return { ...result, objects: undefined } satisfies Pruned
  }
  const stored = [...kept, ...drafts].flatMap(({ files }) => files)
  const segments = kept.flatMap(({ log }) => log?.segments ?? [])
  const needed = new Set([...stored, ...segments].flatMap(partNamesOf))
  const unneeded = parts.filter((name) => !needed.has(name))
  for (const name of unneeded) yield* store.target.remove(name)
  return { ...result, objects: unneeded.length } satisfies Pruned
})

/** A backup that was followed begins before the last moment that it can be restored at. */
const staysIn = ({ keep, since }: Retention, { log, startedAt }: BackupManifest, newerOnes: number): boolean =>
  newerOnes === 0 ||
  (keep !== undefined && newerOnes < keep) ||
  (since !== undefined && Math.max(startedAt, log?.through ?? startedAt) >= since)
