/**
 * Port of what an index laid down beside the vectors: segments of 1,024 neighbouring slots, encoded
 * (index/Segments.ts). Disposable: the vectors are the truth.
 *
 * Invariant: a stored segment is exactly what is committed of its slots, wherever the process dies. It is
 * saved only over the state it was encoded from, and every commit that writes or removes a vector deletes
 * the segments of the slots it touches. So nothing is replayed, and what is erased is not in them either.
 */
import type { Effect } from "effect"
import { segmentShift } from "../index/Segments.ts"
import type { Change, CommitUnit, StoreError } from "./NamespaceStore.ts"

/** What all vectors of a namespace have in common. */
export interface SoleModel {
  readonly model: string
  readonly dims: number
}

export interface StoredSegments {
  /** Undefined when there are no vectors, or vectors of several models. */
  readonly soleModel: Effect.Effect<SoleModel | undefined, StoreError>
  /** Numbers of the stored segments, ascending. */
  readonly stored: Effect.Effect<ReadonlyArray<number>, StoreError>
  /** Undefined when it is of another model, or not as it was saved. */
  readonly read: (segment: number, model: string) => Effect.Effect<Uint8Array | undefined, StoreError>
  /** Slots of a segment that have a vector of the model, ascending: what it must hold. */
  readonly slots: (segment: number, model: string) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /** One transaction. False, and nothing is saved, unless `seq` is the last change and nobody else owns the file. */
  readonly save: (seq: number, segment: number, model: string, data: Uint8Array) => Effect.Effect<boolean, StoreError>
  /** Deletes segments, each in a transaction of its own; yields to other fibers between them. */
  readonly discard: (segments: Iterable<number>) => Effect.Effect<void, StoreError>
}

/** Segments of the slots whose vectors these changes write or remove. */
export const segmentsTouchedBy = (units: ReadonlyArray<CommitUnit>): ReadonlySet<number> =>
  new Set(units.flatMap(({ changes }) => changes.filter(touchesVector).map(({ slot }) => slot >>> segmentShift)))

const touchesVector = ({ _tag }: Change): boolean => _tag !== "Patch"
