/**
 * Search mode `map` (contract: Answers and maps): memories in, topics out. Maps are drawn one at a time in a worker
 * thread that starts with the first map, is killed at the deadline and ends when idle.
 *
 * Invariant: the map is a function of the set of memories: not of their order, their ids or the time.
 */
import { Context, Data, Effect, Layer } from "effect"
import { openWorkerThread, type WorkerFailure } from "@muniment/worker/WorkerThread"
import { type DrawnMap, type MapMemory, type MapRequest, packRequest } from "./MapProtocol.ts"

/** The map could not be drawn in time. */
export class MapUnavailable extends Data.TaggedError("MapUnavailable")<{ readonly reason: string }> {}

export const mapLimits = {
  memoriesMax: 5_000,
  /**
   * From request to answer, waiting included, but not the start of the thread; the largest map takes under a second on
   * a free core.
   */
  deadlineMillis: 15_000,
  /** Maps that may wait for the one being drawn. */
  queuedMax: 8,
  /** Maps are asked for in series; starting a thread costs a quarter of a second. */
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
  const { deadlineMillis, heapMegabytesMax, idleMillis, memoriesMax, queuedMax, stackMegabytes } = limits
  const thread = yield* openWorkerThread<MapRequest, DrawnMap>({
    name: "map",
    entry: new URL("./MapWorker.ts", import.meta.url),
    concurrency: 1,
    queueMax: queuedMax,
    heapMegabytesMax,
    stackMegabytes,
    niceness: 5,
    idleMillis,
    endsIfAbandoned: true
  })

  const draw = Effect.fn("MemoryMap.draw")(function* (memories: ReadonlyArray<MapMemory>) {
    if (memories.length > memoriesMax) {
      return yield* new MapUnavailable({ reason: `a map shows at most ${memoriesMax} memories` })
    }
    const request = yield* packRequest(memories)
    return yield* thread
      .ask(request, {
        deadlineMillis,
        transfer: [request.vectors.buffer, ...request.portions.map(({ buffer }) => buffer)]
      })
      .pipe(Effect.mapError(({ detail, reason }) => new MapUnavailable({ reason: reasons(limits)[reason] ?? detail })))
  })
  return { draw }
})

const reasons = ({ deadlineMillis }: MapLimits): { readonly [Reason in WorkerFailure["reason"]]?: string } => ({
  busy: "too many maps wait to be drawn",
  deadline: `not drawn within ${deadlineMillis} ms`
})
