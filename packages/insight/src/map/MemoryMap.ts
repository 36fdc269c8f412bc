/**
 * Port of search mode `map` (interface.md section 4.6): memories in, topics out.
 *
 * Invariant: the map is a function of the set of memories: not of their order, nor of their ids, nor
 * of the moment.
 */
import { Context, Data, type Effect } from "effect"
import type { JsonObject } from "@muniment/domain/Memory"

export interface MapMemory {
  readonly id: string
  readonly kind: string
  readonly data: JsonObject
  readonly contentHash: string
  /** Unit length; of one model for all of them, or undefined: then words place it. */
  readonly vector: Float32Array | undefined
}

export interface MapCluster {
  /** A few distinctive terms as a heading. */
  readonly topic: string
  readonly terms: ReadonlyArray<string>
  readonly count: number
  readonly kinds: ReadonlyArray<string>
  readonly memoryIds: ReadonlyArray<string>
  readonly position: MapPosition
}

/** Place in the drawing, both -1..1. */
export interface MapPosition {
  readonly x: number
  readonly y: number
}

export interface MapPoint extends MapPosition {
  readonly id: string
  /** Index into `clusters`; null: it belongs to none. */
  readonly cluster: number | null
}

export interface DrawnMap {
  /** Markdown: a heading per topic, a bullet per memory. */
  readonly memoryMap: string
  readonly clusters: ReadonlyArray<MapCluster>
  readonly points: ReadonlyArray<MapPoint>
}

/** The map could not be drawn in time. */
export class MapUnavailable extends Data.TaggedError("MapUnavailable")<{ readonly reason: string }> {}

export class MemoryMap extends Context.Service<
  MemoryMap,
  {
    readonly draw: (memories: ReadonlyArray<MapMemory>) => Effect.Effect<DrawnMap, MapUnavailable>
  }
>()("muniment/insight/MemoryMap") {}
