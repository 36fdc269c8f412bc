/**
 * Source of a backup: the service that uses the data directory. The command line's is a client of the operator routes.
 */
import { Data, type Effect, type Scope } from "effect"
import type { ReadChunk } from "./BackupStore.ts"
import type { Copied } from "./copies/copyOf.ts"
import type { Marks } from "./copies/FileCopies.ts"

/** The service does not answer, or cannot make a copy. */
export class SourceFailed extends Data.TaggedError("SourceFailed")<{ readonly message: string }> {}

export type SourceCopy =
  /** Readable for as long as its scope. */
  | { readonly _tag: "Copy"; readonly copied: Copied; readonly read: ReadChunk<SourceFailed> }
  /** There is no such file (any more). */
  | { readonly _tag: "Absent" }
  /** SQLite cannot read it. */
  | { readonly _tag: "Damaged"; readonly reason: string }

export interface BackupSource {
  /** Version of the service. */
  readonly release: string
  /** Files that a backup holds, with the marks of what they hold now, and what they have of the commit log. */
  readonly marks: Effect.Effect<Marks, SourceFailed>
  /** A copy that is made now, for the backup `id`. */
  readonly copy: (id: string, file: string) => Effect.Effect<SourceCopy, SourceFailed, Scope.Scope>
}
