/**
 * Files of one backup under way: which of them earlier backups and drafts have already, which were copied, are empty or
 * damaged.
 *
 * Invariants: a file is taken from an earlier backup only if its mark says that it has not changed since, or its digest
 * is that of the new copy; the draft lacks at most `draftFiles` files, or `draftBytes` bytes, of what was stored.
 */
import { Clock, Data, Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import { type BackupFile, type BackupManifest, formatVersion, namespaceTagOf, objectNameOf } from "./BackupFormat.ts"
import { type BackupFailure, type BackupStore, partBytes, type ReadChunk } from "./BackupStore.ts"
import type { Copied } from "./copies/copyOf.ts"
import type { Marks } from "./copies/FileCopies.ts"

export interface DamagedSource {
  readonly file: string
  readonly reason: string
  /** No earlier copy of it either. */
  readonly isLost: boolean
}

type Copy = Extract<SourceCopy, { readonly _tag: "Copy" }>

/** A draft is renewed when it lacks this many files or bytes. */
const draftFiles = 16
const draftBytes = 256 * 1_048_576

export class BackupFiles {
  readonly #source: BackupSource
  readonly #store: BackupStore
  readonly #id: string
  readonly #done: Array<BackupFile> = []
  readonly #empty: Array<string> = []
  readonly #damaged: Array<DamagedSource> = []
  /** Copies of earlier backups, by file. */
  readonly #known = new Map<string, Array<BackupFile>>()
  #copiedFiles = 0
  #copiedBytes = 0
  #unsavedFiles = 0
  #unsavedBytes = 0

  /** `id` of the backup. */
  constructor(source: BackupSource, store: BackupStore, id: string) {
    this.#source = source
    this.#store = store
    this.#id = id
  }

  get done(): ReadonlyArray<BackupFile> {
    return this.#done
  }

  /** Tags of namespaces without a file. */
  get empty(): ReadonlyArray<string> {
    return this.#empty
  }

  get damaged(): ReadonlyArray<DamagedSource> {
    return this.#damaged
  }

  /** Files whose content was copied into the target; all others were there already. */
  get copiedFiles(): number {
    return this.#copiedFiles
  }

  get copiedBytes(): number {
    return this.#copiedBytes
  }

  /** Notes a copy that the target has. */
  learn(file: BackupFile): void {
    const known = this.#known.get(file.file)
    if (known === undefined) this.#known.set(file.file, [file])
    else known.push(file)
  }

  add(file: BackupFile): void {
    this.#done.push(file)
  }

  /** All that an earlier backup has, as it is. */
  takeOver({ empty, files }: BackupManifest): void {
    this.#done.push(...files)
    this.#empty.push(...empty)
  }

  /** For another attempt: what has not changed since is not stored again. */
  beginAgain(): void {
    for (const file of this.#done) this.learn(file)
    this.#done.length = 0
    this.#empty.length = 0
    this.#damaged.length = 0
  }

  /** Copies a file, unless an earlier copy has its mark; without a mark (undefined) there is no such file. */
  take(file: string, mark: string | null | undefined): Effect.Effect<void, BackupFailure | SourceFailed, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const known = this.#known.get(file) ?? []
      const same = typeof mark === "string" ? known.find((each) => each.mark === mark) : undefined
      if (same !== undefined && same.stale === undefined) return this.add(same)
      const copy: SourceCopy = mark === undefined ? { _tag: "Absent" } : yield* this.#source.copy(this.#id, file)
      if (copy._tag === "Copy") return yield* this.keep(file, copy)
      if (copy._tag === "Damaged") return this.#keepEarlier(file, copy.reason)
      const tag = namespaceTagOf(file)
      if (tag !== undefined) this.#empty.push(tag)
    })
  }

  /** Stores a copy, unless the target has an equal one. */
  keep(file: string, copy: Copy): Effect.Effect<void, BackupFailure | SourceFailed> {
    return Effect.gen({ self: this }, function* () {
      const copiedAt = yield* Clock.currentTimeMillis
      const { bytes, records: _records, tags: _tags, ...positions } = copy.copied
      const sha256 = yield* digestOf(copy)
      const equal = (this.#known.get(file) ?? []).find((each) => each.sha256 === sha256 && each.bytes === bytes)
      const object = objectNameOf(file, this.#id, positions)
      const stored = equal ?? (yield* this.#store.putFile(object, bytes, copy.read))
      const { parts } = stored
      this.add({ file, object: stored.object, parts, bytes, sha256, copiedAt, ...positions })
      if (equal !== undefined) return
      this.#copiedFiles++
      this.#copiedBytes += bytes
      this.#unsavedBytes += bytes
      if (++this.#unsavedFiles >= draftFiles || this.#unsavedBytes >= draftBytes) yield* this.saveDraft
    })
  }

  /** Saves what was stored so far, so that another backup takes it over if this one is interrupted. */
  get saveDraft(): Effect.Effect<void, BackupFailure> {
    return Effect.flatMap(Clock.currentTimeMillis, (touchedAt) => {
      this.#unsavedFiles = 0
      this.#unsavedBytes = 0
      const draft = { muniment: "draft", format: formatVersion, id: this.#id, touchedAt } as const
      return this.#store.putDraft({ ...draft, files: [...this.#done] })
    })
  }

  /** Better an older copy than none: the manifest says which files are older, and why. */
  #keepEarlier(file: string, reason: string): void {
    const earlier = (this.#known.get(file) ?? []).toSorted((left, right) => right.copiedAt - left.copiedAt)[0]
    if (earlier !== undefined) this.add({ ...earlier, stale: reason })
    this.#damaged.push({ file, reason, isLost: earlier === undefined })
  }
}

const digestOf = Effect.fnUntraced(function* ({ copied, read }: Copy) {
  const hash = createHash("sha256")
  for (let at = 0; at < copied.bytes; at += partBytes) {
    hash.update(yield* read(at, Math.min(partBytes, copied.bytes - at)))
  }
  return hash.digest("hex")
})

/** The service does not answer, or cannot make a copy. */
export class SourceFailed extends Data.TaggedError("SourceFailed")<{ readonly message: string }> {}

type SourceCopy =
  /** Readable for as long as its scope. */
  | { readonly _tag: "Copy"; readonly copied: Copied; readonly read: ReadChunk<SourceFailed> }
  /** There is no such file (any more). */
  | { readonly _tag: "Absent" }
  /** SQLite cannot read it. */
  | { readonly _tag: "Damaged"; readonly reason: string }

/**
 * Source of a backup: the service that uses the data directory. The command line's is a client of the operator routes.
 */
export interface BackupSource {
  /** Version of the service. */
  readonly release: string
  /** Files that a backup holds, with the marks of what they hold now, and what they have of the commit log. */
  readonly marks: Effect.Effect<Marks, SourceFailed>
  /** A copy that is made now, for the backup `id`. */
  readonly copy: (id: string, file: string) => Effect.Effect<SourceCopy, SourceFailed, Scope.Scope>
}
