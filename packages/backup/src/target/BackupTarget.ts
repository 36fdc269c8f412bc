/**
 * Place of backups, a directory or a bucket: bytes by name. A name is made of letters, digits, `.`, `_`, `-` and `/`;
 * what is put under it is whole or absent.
 */
import { Data, type Effect } from "effect"

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
