/**
 * Search mode `map` (interface.md section 4.6): memories in, topics out. Maps are drawn one after the
 * other in a worker thread that is started when it is needed, killed when it is late, and let go when
 * it is idle.
 *
 * Invariant: the map is a function of the set of memories: not of their order, nor of their ids, nor
 * of the moment.
 */
import { Context, Data, Effect, Layer } from "effect"
import type { JsonObject } from "@muniment/domain/Memory"
import { openWorkerThread } from "../WorkerThread.ts"
import { type MapRequest, packRequest } from "./MapProtocol.ts"

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

export const mapLimits = {
  memoriesMax: 5_000,
  /** From asking to answer, waiting included; a map of 5,000 takes less than a second of a core of its own. */
  deadlineMillis: 15_000,
  /** Maps that may wait for the one being drawn. */
  queuedMax: 8,
  /** Whoever looks at a map asks again; a new thread costs the next map a quarter of a second. */
  idleMillis: 120_000,
  heapMegabytesMax: 256,
  stackMegabytes: 4
} as const
export type MapLimits = { readonly [Name in keyof typeof mapLimits]: number }

export class MemoryMap extends Context.Service<
  MemoryMap,
  {
    readonly draw: (memories: ReadonlyArray<MapMemory>) => Effect.Effect<DrawnMap, MapUnavailable>
  }
>()("muniment/insight/MemoryMap") {
  static readonly layerWith = (limits: MapLimits): Layer.Layer<MemoryMap> =>
    Layer.effect(
      this,
      Effect.suspend(() => make(limits))
    )

  static readonly layer: Layer.Layer<MemoryMap> = MemoryMap.layerWith(mapLimits)
}

const make = Effect.fnUntraced(function* (limits: MapLimits) {
  const pool = yield* openWorkerThread<MapRequest, DrawnMap>({
    ...limits,
    entry: new URL("./MapWorker.ts", import.meta.url),
    queueMax: limits.queuedMax
  })

  let underWay = 0

  const draw = Effect.fn("MemoryMap.draw")(function* (memories: ReadonlyArray<MapMemory>) {
    if (memories.length > limits.memoriesMax) {
      return yield* new MapUnavailable({ reason: `a map shows at most ${limits.memoriesMax} memories` })
    }
    // The pool's own bound does not count what arrives while its thread starts.
    if (underWay > limits.queuedMax) return yield* new MapUnavailable({ reason: "too many maps wait to be drawn" })
    underWay += 1
    return yield* Effect.tryPromise({
      // An interrupted caller, and a deadline, abort the signal: piscina then kills the worker at work.
      try: (signal) => {
        const request = packRequest(memories)
        return pool.run(request, { signal, transferList: [request.vectors.buffer] })
      },
      catch: (cause) => new MapUnavailable({ reason: cause instanceof Error ? cause.message : String(cause) })
    }).pipe(
      Effect.timeoutOrElse({
        duration: limits.deadlineMillis,
        orElse: () => Effect.fail(new MapUnavailable({ reason: `not drawn within ${limits.deadlineMillis} ms` }))
      }),
      Effect.ensuring(
        Effect.sync(() => {
          underWay -= 1
        })
      )
    )
  })
  return { draw }
})
