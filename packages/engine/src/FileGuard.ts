/**
 * What the host knows of files that are in trouble or closed: which are set aside and why, when
 * something in a closed one expires, and the ballast that makes room on a full disk. A file that is
 * damaged, or that another process writes to, stays where it is until a restart tries it again:
 * moving it away and starting an empty one would be a silent loss.
 */
import { join } from "node:path"
import { Clock, Effect, type Scope } from "effect"
import { Ballast, ballastName } from "./Ballast.ts"
import type { Namespace } from "./Namespace.ts"
import type { NamespaceKey, StoreDamaged, StoreError, StoreFenced } from "./store/NamespaceStore.ts"
import { storeError } from "./store/storeError.ts"

export class FileGuard {
  readonly #directory: string
  readonly #ballast: Ballast
  readonly #quarantine = new Map<string, StoreDamaged | StoreFenced>()
  /** When the next memory of a closed namespace expires. */
  readonly #expiries = new Map<string, { readonly key: NamespaceKey; readonly atMillis: number }>()

  constructor(directory: string) {
    this.#directory = directory
    this.#ballast = new Ballast(join(directory, ballastName))
  }

  /** Opens a namespace: on a full disk with the ballast's room, and remembers its expiry when it closes. */
  opening<R>(
    key: NamespaceKey,
    open: Effect.Effect<Namespace, StoreError, R>
  ): Effect.Effect<Namespace, StoreError, R | Scope.Scope> {
    return open.pipe(
      Effect.catchTag("StoreFull", (full) => (this.#ballast.release() ? open : Effect.fail(full))),
      Effect.tapError((error) => Effect.sync(() => this.failed(key, error))),
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

  /** Sets the file aside if the failure will not pass; true when it did. */
  failed(key: NamespaceKey, error: StoreError): boolean {
    if (error._tag !== "StoreDamaged" && error._tag !== "StoreFenced") return false
    this.#quarantine.set(key.tag, error)
    this.#expiries.delete(key.tag)
    return true
  }

  /** Why a file must not be opened; undefined when it may. */
  refusal(key: NamespaceKey): StoreDamaged | StoreFenced | undefined {
    return this.#quarantine.get(key.tag)
  }

  quarantined(): ReadonlyArray<{ readonly file: string; readonly reason: string }> {
    return [...this.#quarantine].map(([tag, error]) => ({
      file: `namespaces/${tag}.db`,
      reason: error._tag === "StoreDamaged" ? error.reason : "another process writes to it"
    }))
  }

  dueToExpire(nowMillis: number): ReadonlyArray<NamespaceKey> {
    return [...this.#expiries.values()].filter(({ atMillis }) => atMillis <= nowMillis).map(({ key }) => key)
  }

  giveRoom(): boolean {
    return this.#ballast.release()
  }

  get ballastBytes(): number {
    return this.#ballast.bytes
  }

  /** Never in the way of a start or a round of housekeeping: without it only deletes on a full disk suffer. */
  get restoreBallast(): Effect.Effect<void> {
    return Effect.try({ try: () => this.#ballast.restore(this.#directory), catch: storeError }).pipe(
      Effect.catch((error) => Effect.logWarning("the ballast file could not be written", { error: error._tag }))
    )
  }
}
