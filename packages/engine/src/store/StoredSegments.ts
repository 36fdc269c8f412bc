/**
 * Port of the encoded vectors that an index saves beside the vectors, in segments of neighbouring slots
 * (`slotsPerSegment`). Disposable: the vectors are the truth.
 *
 * Invariant: a stored segment equals the committed vectors of its slots, wherever the process dies. It is saved only
 * over the state it was encoded from, and every commit that writes or removes a vector deletes the segments of the
 * slots it touches. So nothing is replayed, and no segment holds an erased vector.
 */
import type { Effect } from "effect"
import { segmentShift } from "../bitmap/Bitmap.ts"
import type { CommandChanges, MemoryChange } from "./Commit.ts"
import type { StoreError } from "./StoreError.ts"

/** The one model of all vectors of a namespace. */
export interface SoleModel {
  readonly model: string
  readonly dims: number
}

export interface StoredSegments {
  /** Undefined when there are no vectors, or vectors of several models. */
  readonly soleModel: Effect.Effect<SoleModel | undefined, StoreError>
  /** Numbers of the stored segments, ascending. */
  readonly stored: Effect.Effect<ReadonlyArray<number>, StoreError>
  /** Undefined when it is of another model, or its checksum differs. */
  readonly read: (segment: number, model: string) => Effect.Effect<Uint8Array | undefined, StoreError>
  /** Slots of the segment that have a vector of the model, ascending: what the segment must hold. */
  readonly slots: (segment: number, model: string) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /** One transaction. False, and nothing is saved, unless `seq` is the last change and this owner made it. */
  readonly save: (seq: number, segment: number, model: string, data: Uint8Array) => Effect.Effect<boolean, StoreError>
  /** Deletes segments, each in its own transaction; yields to other fibers between them. */
  readonly discard: (segments: Iterable<number>) => Effect.Effect<void, StoreError>
}

/** Segments of the slots whose vectors a commit writes or removes. */
export const segmentsTouchedBy = (group: ReadonlyArray<CommandChanges>): ReadonlySet<number> =>
  new Set(group.flatMap(({ changes }) => changes.filter(touchesVector).map(({ slot }) => slot >>> segmentShift)))

const touchesVector = ({ _tag }: MemoryChange): boolean => !withoutVector.has(_tag)

const withoutVector: ReadonlySet<MemoryChange["_tag"]> = new Set(["Patch", "Surround", "Reindex"])
