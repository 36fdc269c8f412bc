/**
 * State of the host about files: which are set aside and why, when something expires in a closed one, and the ballast
 * that makes room on a full disk.
 *
 * Invariants: a file that seems damaged is refused at once, and read again once before it stays set aside: a read error
 * of a moment takes no agent offline. A damaged file, or one that another process writes to, stays in place and is not
 * opened until a restart: moving it away and starting with an empty one would lose memories silently.
 */
import { Clock, Effect, Exit, Scope } from "effect"
import { join } from "node:path"
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, truncateSync, writeSync } from "node:fs"
import { InsufficientStorage } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { Namespace } from "../namespace/Namespace.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"
import { type StoreDamaged, StoreErased, type StoreError, type StoreFenced } from "../store/StoreError.ts"

/** A file that is not served. */
export interface SetAside {
  readonly file: string
  readonly reason: string
  /** Version of a file that a later release wrote. */
  readonly newerVersion: number | undefined
}

export class FileGuard {
  readonly #directory: string
  readonly #ballast: Ballast
  readonly #quarantine = new Map<string, StoreDamaged | StoreFenced>()
  readonly #erased = new WeakSet<NamespaceKey>()
  /** Next expiry in each closed namespace. */
  readonly #expiries = new Map<string, { readonly key: NamespaceKey; readonly atMillis: number }>()

  readonly #onSuspicion: (key: NamespaceKey) => void
  readonly #releaseRoom: Effect.Effect<boolean>

  /**
   * `onSuspicion` is told of files that seem damaged and have to be read again; `releaseRoom` frees what the store
   * keeps beside the ballast.
   */
  constructor(directory: string, onSuspicion: (key: NamespaceKey) => void, releaseRoom: Effect.Effect<boolean>) {
    this.#directory = directory
    this.#releaseRoom = releaseRoom
    this.#onSuspicion = onSuspicion
    this.#ballast = new Ballast(join(directory, ballastName))
  }

  /** From now on the namespace is refused; a new one of the same agent is another key. */
  erase(key: NamespaceKey): void {
    this.#erased.add(key)
  }

  /** It is not erased after all, and served again. */
  spare(key: NamespaceKey): void {
    this.#erased.delete(key)
  }

  /** Its files are gone, with all that was known of them. */
  forget(key: NamespaceKey): void {
    this.#quarantine.delete(key.tag)
    this.#expiries.delete(key.tag)
  }

  /** Opens a namespace, on a full disk once more with the ballast's space; records its next expiry when it closes. */
  opening<R>(
    key: NamespaceKey,
    open: Effect.Effect<Namespace, StoreError, R>
  ): Effect.Effect<Namespace, StoreError, R | Scope.Scope> {
    return Effect.suspend(() => {
      const refusal = this.refusal(key)
      return refusal === undefined ? undoneIfFailed(open) : Effect.fail(refusal)
    }).pipe(
      this.retrying("StoreFull"),
      Effect.tapError((error) => Effect.sync(() => this.setAside(key, error))),
      Effect.tap((namespace) => {
        this.#expiries.delete(key.tag)
        return Effect.addFinalizer(() =>
          Effect.map(Clock.currentTimeMillis, (nowMillis) => {
            const { nextExpiry } = namespace.reader.counts(nowMillis)
            if (nextExpiry !== undefined) this.#expiries.set(key.tag, { key, atMillis: nextExpiry })
          })
        )
      })
    )
  }

  /** Sets the file aside if the failure is permanent: damaged, or owned by another process. */
  setAside(key: NamespaceKey, error: StoreError): void {
    if (error._tag !== "StoreDamaged" && error._tag !== "StoreFenced") return
    const isKnown = this.#quarantine.has(key.tag)
    this.#quarantine.set(key.tag, error)
    this.#expiries.delete(key.tag)
    if (!isKnown && error._tag === "StoreDamaged" && error.newer === undefined) this.#onSuspicion(key)
  }

  /** Refuses every open of a file whose check found damage. */
  condemn(key: NamespaceKey, damage: StoreDamaged): void {
    this.#quarantine.set(key.tag, damage)
    this.#expiries.delete(key.tag)
  }

  /** The file was read again and is whole. */
  acquit(key: NamespaceKey): void {
    if (this.#quarantine.get(key.tag)?._tag === "StoreDamaged") this.#quarantine.delete(key.tag)
  }

  /** The reason why the file is set aside; undefined while it may be opened. */
  refusal(key: NamespaceKey): StoreDamaged | StoreFenced | StoreErased | undefined {
    return this.#erased.has(key) ? new StoreErased() : this.#quarantine.get(key.tag)
  }

  quarantined(): ReadonlyArray<SetAside> {
    return [...this.#quarantine].map(([tag, error]) => ({
      file: `namespaces/${tag}.db`,
      reason: error._tag === "StoreDamaged" ? error.reason : "another process writes to it",
      newerVersion: error._tag === "StoreDamaged" ? error.newer?.found : undefined
    }))
  }

  /** Closed namespaces in which something has expired. */
  dueToExpire(nowMillis: number): ReadonlyArray<NamespaceKey> {
    return [...this.#expiries.values()].filter(({ atMillis }) => atMillis <= nowMillis).map(({ key }) => key)
  }

  /** Repeats what found the disk full, each time with more of the reserve, as long as there is any. */
  retrying<Tag extends "StoreFull" | "InsufficientStorage">(
    full: Tag
  ): <A, E extends { readonly _tag: string }, R>(step: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> {
    return Effect.retry({
      times: reservesMax,
      while: ({ _tag }: { readonly _tag: string }) => (_tag === full ? this.makeRoom : Effect.succeed(false))
    })
  }

  /** Deletes the ballast, or then what the store keeps; false: the reserve is used up. */
  get makeRoom(): Effect.Effect<boolean> {
    return Effect.suspend(() => (this.#ballast.release() ? Effect.succeed(true) : this.#releaseRoom))
  }

  /** Refuses what needs space while the ballast is out. */
  get demandRoom(): Effect.Effect<void, InsufficientStorage> {
    return Effect.suspend(() =>
      this.#ballast.isOut(this.#directory) ? Effect.fail(new InsufficientStorage(reserveOnly)) : Effect.void
    )
  }

  get ballastBytes(): number {
    return this.#ballast.bytes
  }

  /** Writes the ballast if it is missing and the disk has room. A failure only affects removals on a full disk. */
  get restoreBallast(): Effect.Effect<void> {
    return Effect.try(() => this.#ballast.restore(this.#directory)).pipe(
      Effect.catch((cause) =>
        Effect.logWarning("ballast file not written; the next housekeeping tries again", { cause })
      )
    )
  }
}

/** Gives back what a failed opening holds before the next one, which would wait for it. */
const undoneIfFailed = <A, E, R>(open: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.gen(function* () {
    const own = yield* Scope.fork(yield* Effect.scope)
    return yield* Effect.onError(Scope.provide(open, own), (cause) => Scope.close(own, Exit.failCause(cause)))
  })

/** The ballast, old segments of the commit log, its spare. */
const reservesMax = 3

const reserveOnly = {
  code: "insufficient_storage",
  error: "disk is full and the reserve for deletes is in use: only deletes are accepted until the operator frees space"
} as const

/** File name in the data directory. */
export const ballastName = "ballast"

/** Free space required to write it again, as a multiple of its size. */
const roomFactor = 4
/** Free space without which nothing that grows is written while the ballast is out, as a multiple of its size. */
const reserveFactor = 2

/**
 * A file of zeros, deleted when the disk is full so that removals still work: they need space in the log, and without
 * the ballast they failed on 27 of 32 full disks. Written again once several times its size is free.
 */
export class Ballast {
  readonly #path: string
  /** As last seen. Every write asks, and a look at the file took a twentieth of its processor time. */
  #bytesSeen: number

  constructor(path: string) {
    this.#path = path
    this.#bytesSeen = this.bytes
  }

  /** Looks at the file. */
  get bytes(): number {
    return (this.#bytesSeen = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0)
  }

  /** Deletes the file; false if there was none. */
  release(): boolean {
    if (this.bytes === 0) return false
    rmSync(this.#path, { force: true })
    this.#bytesSeen = 0
    return true
  }

  /**
   * The ballast was used, and what is free has to be kept for removals in its place: before, ordinary writes took it,
   * and then nothing could be removed any more.
   */
  isOut(directory: string): boolean {
    if (this.#bytesSeen * 2 >= Limits.filesystemBallastBytes) return false
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize < Limits.filesystemBallastBytes * reserveFactor
  }

  /** Shortens the file by `bytes`, and deletes it at the end. */
  releasePart(bytes: number): void {
    const left = this.bytes - bytes
    if (left <= 0) return void this.release()
    truncateSync(this.#path, left)
    this.#bytesSeen = left
  }

  /** Writes the file if it is missing and there is room. */
  restore(directory: string): void {
    const { bavail, bsize } = statfsSync(directory)
    if (this.bytes === Limits.filesystemBallastBytes || bavail * bsize < Limits.filesystemBallastBytes * roomFactor)
      return
    const file = openSync(this.#path, "w")
    try {
      writeSync(file, new Uint8Array(Limits.filesystemBallastBytes))
      fsyncSync(file)
    } finally {
      closeSync(file)
      this.#bytesSeen = this.bytes
    }
  }
}
