/** Failures of the durable store. An owner that meets one stops: its image may no longer match the file. */
import { Data } from "effect"

/** The disk is full; the commit did not happen. */
export class StoreFull extends Data.TaggedError("StoreFull")<{ readonly cause: unknown }> {}
/** Another owner has committed to the file; this one must stop and not reopen it. */
export class StoreFenced extends Data.TaggedError("StoreFenced")<{ readonly epoch: number }> {}
/** The file is damaged, or of a later release. */
export class StoreDamaged extends Data.TaggedError("StoreDamaged")<{
  readonly reason: string
  readonly cause: unknown
  /** The file is whole, of a later release: its version, and the last one that this release knows. */
  readonly newer?: { readonly found: number; readonly known: number }
}> {}
/** A commit with an unknown outcome, or any other failure; the owner must reopen the file. */
export class StoreFault extends Data.TaggedError("StoreFault")<{ readonly cause: unknown }> {}

/** The namespace was erased with its account. */
export class StoreErased extends Data.TaggedError("StoreErased") {}

export type StoreError = StoreFull | StoreFenced | StoreDamaged | StoreFault | StoreErased

export const isStoreError = (error: unknown): error is StoreError =>
  error instanceof StoreFull ||
  error instanceof StoreFenced ||
  error instanceof StoreDamaged ||
  error instanceof StoreFault ||
  error instanceof StoreErased

/** The store's own error as it is; anything else that was thrown is a `StoreFault`. */
export const toStoreError = (cause: unknown): StoreError => (isStoreError(cause) ? cause : new StoreFault({ cause }))
