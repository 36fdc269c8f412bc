/**
 * Exclusive writes to one file. A file has one writer at a time, and waiting for SQLite's own lock would block the
 * event loop; so connections of one process take turns with this lock instead.
 */
import { type Effect, Semaphore } from "effect"

export type WriteLock = <A, E, R>(write: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** For a file with a single writing connection. */
export const noLock: WriteLock = (write) => write

export const makeWriteLock = (): WriteLock => {
  const semaphore = Semaphore.makeUnsafe(1)
  return (write) => semaphore.withPermit(write)
}
