/**
 * The open namespaces, by tag, with reference counts.
 *
 * Invariants: one owner per file (an open waits for the previous close); at most `openMax` open files (an open waits
 * until the least recently used idle one is closed); a namespace in use is never closed; a failed open leaves no
 * entry.
 */
import { Clock, Deferred, Effect, Exit, Scope, Semaphore } from "effect"

interface Keyed {
  readonly tag: string
}

export interface NamespaceRegistry<K extends Keyed, A, E> {
  /** Runs `use` with the namespace, which stays open meanwhile; opens it first if it is closed. */
  readonly with: <B, E2, R>(key: K, use: (opened: A) => Effect.Effect<B, E2, R>) => Effect.Effect<B, E | E2, R>
  /** The namespace if it is open, counted as used now. For synchronous use only: nothing keeps it open. */
  readonly peek: (key: K, nowMillis: number) => A | undefined
  /** Runs `use` if the namespace is open. Does not count as a use for eviction. */
  readonly whileOpen: <B, E2, R>(
    key: K,
    use: (opened: A) => Effect.Effect<B, E2, R>
  ) => Effect.Effect<B | undefined, E | E2, R>
  /** Closes the namespace when its last user is done; the next use opens it again. */
  readonly retire: (key: K) => Effect.Effect<void>
  /** As `retire`, and waits until it is closed. */
  readonly close: (key: K) => Effect.Effect<void>
  /** Closes the namespaces that were last used before `beforeMillis`. */
  readonly closeIdle: (beforeMillis: number) => Effect.Effect<void>
  readonly openKeys: () => ReadonlyArray<K>
}

/** The registry closes its namespaces with its scope, within `closeBudgetMillis`. */
export const makeNamespaceRegistry = <K extends Keyed, A, E>(options: {
  readonly open: (key: K) => Effect.Effect<A, E, Scope.Scope>
  readonly openMax: number
  readonly closeBudgetMillis: number
}): Effect.Effect<NamespaceRegistry<K, A, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const registry = new Registry(options.open, Semaphore.makeUnsafe(options.openMax))
    yield* Effect.addFinalizer(() =>
      registry.closeAll.pipe(Effect.timeoutOrElse({ duration: options.closeBudgetMillis, orElse: () => Effect.void }))
    )
    return registry
  })

interface Entry<K, A, E> {
  readonly key: K
  readonly scope: Scope.Closeable
  readonly opened: Deferred.Deferred<A, E>
  readonly closed: Deferred.Deferred<void>
  /** Undefined until it is open. */
  value: A | undefined
  users: number
  isClosing: boolean
  lastUsedMillis: number
}

class Registry<K extends Keyed, A, E> implements NamespaceRegistry<K, A, E> {
  readonly #open: (key: K) => Effect.Effect<A, E, Scope.Scope>
  readonly #places: Semaphore.Semaphore
  /** By tag, in order of last use: the first idle entry is evicted. */
  readonly #entries = new Map<string, Entry<K, A, E>>()
  #waitingForPlace = 0

  constructor(open: (key: K) => Effect.Effect<A, E, Scope.Scope>, places: Semaphore.Semaphore) {
    this.#open = open
    this.#places = places
  }

  with<B, E2, R>(key: K, use: (opened: A) => Effect.Effect<B, E2, R>): Effect.Effect<B, E | E2, R> {
    return Effect.acquireUseRelease(
      this.#acquire(key),
      (entry) => Effect.flatMap(Deferred.await(entry.opened), use),
      (entry) => this.#release(entry)
    )
  }

  peek(key: K, nowMillis: number): A | undefined {
    const entry = this.#entries.get(key.tag)
    if (entry === undefined || entry.isClosing) return undefined
    this.#touch(entry, nowMillis)
    return entry.value
  }

  whileOpen<B, E2, R>(key: K, use: (opened: A) => Effect.Effect<B, E2, R>): Effect.Effect<B | undefined, E | E2, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const entry = this.#entries.get(key.tag)
        if (entry === undefined || entry.isClosing) return undefined
        entry.users++
        return entry
      }),
      (entry) => (entry === undefined ? Effect.succeed(undefined) : Effect.flatMap(Deferred.await(entry.opened), use)),
      (entry) => (entry === undefined ? Effect.void : this.#release(entry))
    )
  }

  retire(key: K): Effect.Effect<void> {
    return Effect.suspend(() => {
      const entry = this.#entries.get(key.tag)
      if (entry === undefined || entry.isClosing) return Effect.void
      // No new user gets this entry: `#acquire` waits until it is closed.
      entry.isClosing = true
      return entry.users === 0 ? this.#close(entry) : Effect.void
    })
  }

  close(key: K): Effect.Effect<void> {
    return Effect.suspend(() => {
      const entry = this.#entries.get(key.tag)
      return entry === undefined ? Effect.void : Effect.andThen(this.retire(key), Deferred.await(entry.closed))
    })
  }

  closeIdle(beforeMillis: number): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        [...this.#entries.values()].filter((entry) => entry.lastUsedMillis < beforeMillis),
        // Checked again, because closing the previous one took time.
        (entry) =>
          Effect.suspend(() =>
            isIdle(entry) && entry.lastUsedMillis < beforeMillis ? this.#close(entry) : Effect.void
          ),
        { discard: true }
      )
    )
  }

  openKeys(): ReadonlyArray<K> {
    return [...this.#entries.values()].map((entry) => entry.key)
  }

  /** Closes what is idle, and waits for what is in use or already closing. */
  get closeAll(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const entries = [...this.#entries.values()]
      return Effect.andThen(
        Effect.forEach(entries, ({ key }) => this.retire(key), { discard: true }),
        Effect.forEach(entries, ({ closed }) => Deferred.await(closed), { discard: true })
      )
    })
  }

  #acquire(key: K): Effect.Effect<Entry<K, A, E>> {
    return Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => {
      const entry = this.#entries.get(key.tag)
      if (entry === undefined) return this.#create(key, nowMillis)
      if (entry.isClosing) return Effect.andThen(Deferred.await(entry.closed), this.#acquire(key))
      entry.users++
      this.#touch(entry, nowMillis)
      return Effect.succeed(entry)
    })
  }

  #touch(entry: Entry<K, A, E>, nowMillis: number): void {
    entry.lastUsedMillis = nowMillis
    this.#entries.delete(entry.key.tag)
    this.#entries.set(entry.key.tag, entry)
  }

  /** Puts the entry into the map before the first suspension, so that a concurrent caller finds it. */
  #create(key: K, nowMillis: number): Effect.Effect<Entry<K, A, E>> {
    const entry: Entry<K, A, E> = {
      key,
      scope: Scope.makeUnsafe(),
      opened: Deferred.makeUnsafe<A, E>(),
      closed: Deferred.makeUnsafe<void>(),
      value: undefined,
      users: 1,
      isClosing: false,
      lastUsedMillis: nowMillis
    }
    this.#entries.set(key.tag, entry)
    return this.#takePlace().pipe(
      Effect.andThen(Effect.exit(Scope.provide(this.#open(key), entry.scope))),
      Effect.flatMap((exit) => {
        if (Exit.isFailure(exit)) entry.isClosing = true
        else entry.value = exit.value
        return Deferred.done(entry.opened, exit)
      }),
      Effect.as(entry)
    )
  }

  #release(entry: Entry<K, A, E>): Effect.Effect<void> {
    return Effect.suspend(() => {
      entry.users--
      const isWanted = !entry.isClosing && this.#waitingForPlace === 0
      return entry.users > 0 || isWanted ? Effect.void : this.#close(entry)
    })
  }

  #takePlace(): Effect.Effect<void> {
    return Effect.flatMap(this.#places.takeIfAvailable(1), (taken) => {
      if (taken) return Effect.void
      this.#waitingForPlace++
      return this.#evictOne().pipe(
        Effect.andThen(this.#places.take(1)),
        Effect.ensuring(Effect.sync(() => this.#waitingForPlace--)),
        Effect.asVoid
      )
    })
  }

  #evictOne(): Effect.Effect<void> {
    for (const entry of this.#entries.values()) if (isIdle(entry)) return this.#close(entry)
    return Effect.void
  }

  #close(entry: Entry<K, A, E>): Effect.Effect<void> {
    entry.isClosing = true
    return Scope.close(entry.scope, Exit.void).pipe(
      Effect.andThen(this.#places.release(1)),
      Effect.andThen(Effect.sync(() => this.#entries.delete(entry.key.tag))),
      Effect.andThen(Deferred.succeed(entry.closed, undefined)),
      Effect.uninterruptible,
      Effect.asVoid
    )
  }
}

const isIdle = (entry: { readonly users: number; readonly isClosing: boolean }): boolean =>
  entry.users === 0 && !entry.isClosing
