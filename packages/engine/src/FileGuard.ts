/**
 * What the host knows of files that are in trouble or closed: which are quarantined and why, when
 * something in a closed one expires, and the ballast that makes room on a full disk. A quarantined
 * file stays where it is, untouched, until a restart tries it again: moving it away and starting an
 * empty one would be a silent loss.
 */
import { join } from "node:path"
import { Clock, Effect, type Scope } from "effect"
import { Ballast } from "./Ballast.ts"
import type { Namespace } from "./Namespace.ts"
import type { NamespaceKey, StoreError } from "./store/NamespaceStore.ts"

export class FileGuard {
  readonly #directory: string
  readonly #ballast: Ballast
  readonly #quarantine = new Map<string, string>()
  /** When the next memory of a closed namespace expires. */
  readonly #expiries = new Map<string, { readonly key: NamespaceKey; readonly atMillis: number }>()

  constructor(directory: string) {
    this.#directory = directory
    this.#ballast = new Ballast(join(directory, "ballast"))
    this.restoreBallast()
  }

  /** Opens a namespace: on a full disk with the ballast's room, and remembers its expiry when it closes. */
  opening(
    key: NamespaceKey,
    open: Effect.Effect<Namespace, StoreError, Scope.Scope>
  ): Effect.Effect<Namespace, StoreError, Scope.Scope> {
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

  /** Sets a damaged file aside; other failures may pass. */
  failed(key: NamespaceKey, error: StoreError): void {
    if (error._tag === "StoreDamaged") this.#quarantine.set(key.tag, error.reason)
  }

  reasonAgainst(key: NamespaceKey): string | undefined {
    return this.#quarantine.get(key.tag)
  }

  quarantined(): ReadonlyArray<{ readonly file: string; readonly reason: string }> {
    return [...this.#quarantine].map(([tag, reason]) => ({ file: `namespaces/${tag}.db`, reason }))
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

  restoreBallast(): void {
    this.#ballast.restore(this.#directory)
  }
}
