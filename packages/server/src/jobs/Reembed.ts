/**
 * Gives every memory a vector of the configured model: those stored while no model was there, and
 * those whose vector another model made. Online (old vectors serve until theirs is replaced),
 * resumable (what is left is read from the files), and never in the way of a write.
 */
import { Context, Effect, Layer, Queue, Ref, Schedule } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import { denseText } from "@muniment/engine/recall/MemoryText"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import { Embedder } from "@muniment/models/Embedder"
import { QueryEmbedding } from "../memories/QueryEmbedding.ts"

export interface ReembedState {
  readonly model: string | null
  /** Memories that wait for a vector of the model. */
  readonly pending: number
  readonly total: number
}

/** A round is tried again after this long while something is left, for instance in a file that failed. */
const retryMillis = 30_000
/** How often a model that is not there is asked for. */
const readyPollMillis = 1_000

export class Reembed extends Context.Service<
  Reembed,
  {
    readonly progress: Effect.Effect<ReembedState>
    /** Counts what waits, wakes the background fiber and answers at once. */
    readonly start: Effect.Effect<ReembedState>
  }
>()("muniment/server/Reembed") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  const embedder = yield* Embedder
  const queries = yield* QueryEmbedding
  const model = embedder.defaultModel
  const counted = yield* Ref.make({ pending: 0, total: 0 })
  const wake = yield* Queue.sliding<void>(1)

  /**
   * Looks into every namespace: how much waits, and which older models still have vectors. With a
   * `target` it first embeds what waits there.
   */
  const pass = Effect.fnUntraced(function* (target: string | undefined) {
    const older = new Set<string>()
    let pending = 0
    let total = 0
    queries.forgetMissed()
    for (const key of directory.all()) {
      if (target !== undefined) yield* tryToEmbed(key, target)
      const seen = yield* Effect.result(look(key))
      if (seen._tag === "Failure") continue
      for (const name of seen.success.models) older.add(name)
      pending += seen.success.missing
      total += seen.success.rows
      yield* Effect.yieldNow
    }
    queries.setOlderModels(older)
    yield* Ref.set(counted, { pending, total })
  })

  const look = Effect.fnUntraced(function* (key: NamespaceKey) {
    const { models, rows } = yield* host.read(key, (reader, now) => ({
      models: reader.models,
      rows: reader.counts(now).rows
    }))
    const missing = model === undefined ? 0 : yield* host.readRecords(key, (reader) => reader.countWithoutVector(model))
    return { models, rows, missing }
  })

  const tryToEmbed = (key: NamespaceKey, target: string) =>
    Effect.catch(embedNamespace(key, target), (error) =>
      Effect.logWarning("a namespace could not be embedded; it is tried again", {
        namespace: key.tag,
        error: error._tag
      })
    )

  const embedNamespace = Effect.fn("Reembed.namespace")(function* (key: NamespaceKey, target: string) {
    // Counting is cheap; looking for what waits reads every row.
    if ((yield* host.readRecords(key, (reader) => reader.countWithoutVector(target))) === 0) return
    for (let afterSlot = -1; ;) {
      const found = yield* host.readRecords(key, (reader) =>
        reader.withoutVector(target, afterSlot, Limits.embedBackfillBatch)
      )
      if (found.length === 0) return
      const values = yield* embedder.embedPassages(
        found.map(({ record }) => denseText(record)),
        target
      )
      const stored = yield* host.ask(key, {
        _tag: "StoreVectors",
        vectors: found.map(({ record }, at) => ({
          id: record.id,
          contentHash: record.contentHash,
          vector: { model: target, values: values[at]! }
        }))
      })
      yield* Ref.update(counted, ({ pending, total }) => ({ pending: Math.max(0, pending - stored), total }))
      afterSlot = found[found.length - 1]!.slot
    }
  })

  const progress = Effect.map(Ref.get(counted), ({ pending, total }) => ({
    model: model ?? null,
    pending: pending + queries.missedCount(),
    total
  }))

  // Looks into the files only once there is a model: without one every write is a reason to look.
  const untilReady = embedder.status.pipe(
    Effect.repeat({ until: ({ state }) => state === "ready", schedule: Schedule.spaced(readyPollMillis) })
  )
  const untilDue = Effect.flatMap(Ref.get(counted), ({ pending }) =>
    Effect.raceAllFirst([
      Queue.take(wake),
      queries.missed,
      ...(pending > 0 && model !== undefined ? [Effect.sleep(retryMillis)] : [])
    ])
  )
  const round = Effect.gen(function* () {
    if (model !== undefined) yield* untilReady
    yield* pass(model)
  })
  const wantsRound = Effect.map(progress, ({ pending }) => pending > 0)
  yield* pass(undefined).pipe(
    Effect.andThen(wantsRound),
    Effect.flatMap((isWanted) => (isWanted ? round : Effect.void)),
    Effect.andThen(Effect.forever(Effect.andThen(untilDue, round))),
    Effect.forkScoped
  )
  const start = Effect.andThen(pass(undefined), Effect.andThen(Queue.offer(wake, undefined), progress))

  return { progress, start }
})
