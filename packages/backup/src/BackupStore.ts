/**
 * A backup's documents and files in a target, sealed or not. A file is stored in parts of `partBytes`, so that no object
 * is larger than every store takes, and a failed request costs one part.
 *
 * Invariants: an object is never written twice under one name; a manifest is written after all it names; what is read
 * back has the digest that its manifest says, or the read fails.
 */
import { Data, Effect, Option } from "effect"
import { createHash, type Hash } from "node:crypto"
import {
  type BackupDraft,
  type BackupFile,
  type BackupHeader,
  type BackupManifest,
  type BackupSecret,
  DamagedBackup,
  documentBytes,
  draftPrefix,
  headerName,
  manifestPrefix,
  newNonce,
  newSealing,
  objectPrefix,
  openPart,
  openSealing,
  type PartKey,
  readDraft,
  readHeader,
  readManifest,
  sealPart,
  WrongSecret
} from "./BackupFormat.ts"

export const partBytes = 8 * 1_048_576

/** Lists of manifests of which one is gone when it is read. */
const attemptsMax = 4

export type BackupFailure = TargetFailed | DamagedBackup | WrongSecret

/** Parts of a stored file, and their digest. */
type StoredFile = Pick<BackupFile, "object" | "parts" | "bytes" | "sha256">

/** Bytes of a file; the last ones are fewer than asked for, and none after the end. */
export type ReadChunk<E> = (at: number, bytes: number) => Effect.Effect<Uint8Array, E>

export class BackupStore {
  readonly target: BackupTarget
  readonly #key: PartKey | undefined

  private constructor(target: BackupTarget, key: PartKey | undefined) {
    this.target = target
    this.#key = key
  }

  get isSealed(): boolean {
    return this.#key !== undefined
  }

  /** The backups that are there; fails if there are none, or sealed with another secret. */
  static readonly open = Effect.fnUntraced(function* (target: BackupTarget, secret: Option.Option<BackupSecret>) {
    const header = yield* headerOf(target)
    if (header === undefined) {
      return yield* new DamagedBackup({ message: `${target.description} holds no backups of Muniment` })
    }
    return new BackupStore(target, yield* keyOf(header, secret))
  })

  /** The same, made where there is none yet. */
  static readonly openOrMake = Effect.fnUntraced(function* (
    target: BackupTarget,
    secret: Option.Option<BackupSecret>
  ): Effect.fn.Return<BackupStore, BackupFailure> {
    const found = yield* headerOf(target)
    if (found !== undefined) {
      if (found.sealing === null && Option.isSome(secret)) {
        return yield* new WrongSecret({
          message: `the backups in ${target.description} are not sealed; begin sealed ones elsewhere`
        })
      }
      return new BackupStore(target, yield* keyOf(found, secret))
    }
    if ((yield* target.list(manifestPrefix)).length > 0) {
      return yield* new DamagedBackup({ message: `${target.description} has backups, but ${headerName} is missing` })
    }
    const made = Option.isSome(secret) ? yield* newSealing(secret.value) : undefined
    const header: BackupHeader = { muniment: "backup", format: 1, sealing: made?.header ?? null }
    yield* target.put(headerName, documentBytes(header))
    return new BackupStore(target, made?.key)
  })

  /** Ids of all complete backups, oldest first. */
  get ids(): Effect.Effect<ReadonlyArray<string>, TargetFailed> {
    return Effect.map(this.target.list(manifestPrefix), (names) => names.map(idIn(manifestPrefix)))
  }

  /** All complete backups, oldest first, also while `follow` puts one in the place of another. */
  get manifests(): Effect.Effect<ReadonlyArray<BackupManifest>, BackupFailure> {
    return Effect.gen({ self: this }, function* () {
      for (let attempt = 1; ; attempt++) {
        const ids = yield* this.ids
        const found = yield* Effect.forEach(ids, (id) => this.#document(manifestNameOf(id), readManifest))
        const there = found.filter((manifest) => manifest !== undefined)
        if (there.length === ids.length || attempt === attemptsMax) return there
      }
    })
  }

  manifest(id: string): Effect.Effect<BackupManifest, BackupFailure> {
    return Effect.flatMap(this.#document(manifestNameOf(id), readManifest), (found) =>
      found === undefined
        ? Effect.fail(new DamagedBackup({ message: `there is no backup ${id} in ${this.target.description}` }))
        : Effect.succeed(found)
    )
  }

  putManifest(manifest: BackupManifest): Effect.Effect<void, TargetFailed> {
    return this.#put(manifestNameOf(manifest.id), 0, 1, documentBytes(manifest))
  }

  removeManifest(id: string): Effect.Effect<void, TargetFailed> {
    return this.target.remove(manifestNameOf(id))
  }

  /** A draft that cannot be read counts as none: what it saves is only work. */
  get drafts(): Effect.Effect<ReadonlyArray<BackupDraft>, TargetFailed> {
    return Effect.gen({ self: this }, function* () {
      const found: Array<BackupDraft> = []
      for (const name of yield* this.target.list(draftPrefix)) {
        const draft = yield* this.#document(name, readDraft).pipe(
          Effect.catchTag("DamagedBackup", () => Effect.succeed(undefined))
        )
        if (draft !== undefined) found.push(draft)
      }
      return found
    })
  }

  putDraft(draft: BackupDraft): Effect.Effect<void, TargetFailed> {
    return this.#put(`${draftPrefix}${draft.id}.json`, 0, 1, documentBytes(draft))
  }

  removeDraft(id: string): Effect.Effect<void, TargetFailed> {
    return this.target.remove(`${draftPrefix}${id}.json`)
  }

  /** Names of all parts of all objects. */
  get parts(): Effect.Effect<ReadonlyArray<string>, TargetFailed> {
    return this.target.list(objectPrefix)
  }

  /** Stores `bytes` bytes under a name that was never used. */
  putFile<E>(object: string, bytes: number, read: ReadChunk<E>): Effect.Effect<StoredFile, TargetFailed | E> {
    return Effect.gen({ self: this }, function* () {
      const parts = Math.max(1, Math.ceil(bytes / partBytes))
      const hash = createHash("sha256")
      for (let part = 0; part < parts; part++) {
        const chunk = yield* read(part * partBytes, Math.min(partBytes, bytes - part * partBytes))
        hash.update(chunk)
        yield* this.#put(partNameOf(object, part), part, parts, chunk)
      }
      return { object, parts, bytes, sha256: hash.digest("hex") }
    })
  }

  /** Hands on the parts in order, and fails after the last one if the whole is not what was stored. */
  getFile<E>(
    file: StoredFile,
    write: (chunk: Uint8Array) => Effect.Effect<void, E>
  ): Effect.Effect<void, BackupFailure | E> {
    return Effect.gen({ self: this }, function* () {
      const hash = createHash("sha256")
      for (let part = 0; part < file.parts; part++) {
        const name = partNameOf(file.object, part)
        const chunk = yield* this.#get(name, part, file.parts)
        if (chunk === undefined) return yield* new DamagedBackup({ message: `${name} is missing` })
        hash.update(chunk)
        yield* write(chunk)
      }
      yield* this.#compare(file, hash)
    })
  }

  #compare({ object, sha256 }: StoredFile, hash: Hash): Effect.Effect<void, DamagedBackup> {
    return hash.digest("hex") === sha256
      ? Effect.void
      : Effect.fail(new DamagedBackup({ message: `${object} is not what was stored: its digest is another one` }))
  }

  #document<A>(
    name: string,
    read: (name: string, bytes: Uint8Array) => A
  ): Effect.Effect<A | undefined, TargetFailed | DamagedBackup> {
    return Effect.flatMap(this.#get(name, 0, 1), (bytes) =>
      bytes === undefined ? Effect.succeed(undefined) : reading(() => read(name, bytes))
    )
  }

  #put(name: string, part: number, parts: number, plain: Uint8Array): Effect.Effect<void, TargetFailed> {
    return Effect.suspend(() =>
      this.target.put(
        name,
        this.#key === undefined ? plain : sealPart(this.#key, { name, part, parts }, plain, newNonce())
      )
    )
  }

  #get(name: string, part: number, parts: number): Effect.Effect<Uint8Array | undefined, TargetFailed | DamagedBackup> {
    return Effect.flatMap(this.target.get(name), (bytes) => {
      if (bytes === undefined || this.#key === undefined) return Effect.succeed(bytes)
      const plain = openPart(this.#key, { name, part, parts }, bytes)
      return plain === undefined
        ? Effect.fail(new DamagedBackup({ message: `${name} was changed after it was sealed` }))
        : Effect.succeed(plain)
    })
  }
}

export const partNamesOf = ({ object, parts }: Pick<StoredFile, "object" | "parts">): ReadonlyArray<string> =>
  Array.from({ length: parts }, (_, part) => partNameOf(object, part))

const manifestNameOf = (id: string): string => `${manifestPrefix}${id}.json`

const partDigits = 6
const partNameOf = (object: string, part: number): string => `${object}/${String(part).padStart(partDigits, "0")}`

const idIn = (prefix: string) => (name: string) => name.slice(prefix.length, -".json".length)

const headerOf = (target: BackupTarget) =>
  Effect.flatMap(target.get(headerName), (bytes) =>
    bytes === undefined ? Effect.succeed(undefined) : reading(() => readHeader(bytes))
  )

const keyOf = (
  { sealing }: BackupHeader,
  secret: Option.Option<BackupSecret>
): Effect.Effect<PartKey | undefined, WrongSecret> => {
  if (sealing === null) return Effect.succeed(undefined)
  return Option.match(secret, {
    onNone: () =>
      Effect.fail(new WrongSecret({ message: "the backups are sealed: give --passphrase-file or --key-file" })),
    onSome: (given) => openSealing(sealing, given)
  })
}

const reading = <A>(step: () => A): Effect.Effect<A, DamagedBackup> =>
  Effect.try({
    try: step,
    catch: (cause) =>
      cause instanceof DamagedBackup
        ? cause
        : new DamagedBackup({ message: cause instanceof Error ? cause.message : String(cause) })
  })

/**
 * Place of backups, a directory or a bucket: bytes by name. A name is made of letters, digits, `.`, `_`, `-` and `/`;
 * what is put under it is whole or absent.
 */
export interface BackupTarget {
  /** For a person: a path, or `s3://bucket/prefix`. */
  readonly description: string
  /** Others than the operator may have access: unsealed secrets do not belong there. */
  readonly isShared: boolean
  /** Replaces what has the name. */
  readonly put: (name: string, bytes: Uint8Array) => Effect.Effect<void, TargetFailed>
  /** Undefined: there is nothing under the name. */
  readonly get: (name: string) => Effect.Effect<Uint8Array | undefined, TargetFailed>
  /** All names that begin with the prefix, ascending. */
  readonly list: (prefix: string) => Effect.Effect<ReadonlyArray<string>, TargetFailed>
  /** Nothing under the name is no failure. */
  readonly remove: (name: string) => Effect.Effect<void, TargetFailed>
}

/** The directory or the bucket refuses, or does not answer. */
export class TargetFailed extends Data.TaggedError("TargetFailed")<{
  readonly target: string
  /** Name of the object; empty: the target as a whole. */
  readonly object: string
  readonly reason: string
}> {
  override get message(): string {
    return `${this.target}: ${this.object === "" ? "" : `${this.object}: `}${this.reason}`
  }
}
