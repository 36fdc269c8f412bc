/**
 * Interface of every index in the bench, ours and the peers': each does it by the means that its own documentation
 * recommends, and says in `filterKind` how it filters.
 *
 * Slots are small dense whole numbers. A contender is used by one caller, one call at a time.
 */
import type { Attributes, Filter } from "./VectorSet.ts"

export type Slots = ArrayLike<number>
export type Answer = Slots | Promise<Slots>
type Done = void | Promise<void>

/** Where and for what a contender is opened. */
export interface Place {
  readonly dims: number
  /** Slots it will hold at most. */
  readonly capacity: number
  /** An empty directory of its own. */
  readonly directory: string
  readonly attributes: Attributes
}

export interface ContenderKind {
  readonly name: string
  /** Largest set it is asked to hold: a scan of a million rows shows nothing new. */
  readonly countMax: number
  /** Rejects when the peer is not installed or does not run here; the message is the note. */
  readonly open: (place: Place) => Promise<Contender>
}

export interface Contender {
  /** What trades recall against latency, and its values, cheapest first; one value when there is nothing to trade. */
  readonly knob: { readonly name: string; readonly values: ReadonlyArray<number> }
  /** The vectors of slots `from`, `from` + 1 and so on. */
  readonly add: (from: number, vectors: ReadonlyArray<Float32Array>) => Done
  /** Finishes what goes on in the background, so that searches are at their best; part of the time of writes. */
  readonly settle: () => Done
  readonly search: (query: Float32Array, k: number, width: number) => Answer
  readonly filterKind: string
  readonly searchWhere: (query: Float32Array, k: number, width: number, filter: Filter) => Answer
  /** Vectors it is given at once where others get one: LanceDB's documentation asks for batches. 1 when left out. */
  readonly writeBatch?: number
  /** Other vectors for slots that have one. */
  readonly replace: (slots: ReadonlyArray<number>, vectors: ReadonlyArray<Float32Array>) => Done
  /** Lays everything down in the directory; undefined where there is no such thing. */
  readonly persist: (() => Promise<ColdStart>) | undefined
  readonly close: () => Done
}

export interface ColdStart {
  readonly bytes: number
  /** From the files to the first answer, in a fresh instance. */
  readonly firstAnswer: (query: Float32Array, k: number) => Promise<Slots>
}

/** Candidates a contender without filters takes, to filter them afterwards. */
export const postFilterWidth = 200
