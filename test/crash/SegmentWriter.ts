/**
 * A process that adds and removes memories, and saves the segments of their vectors in between, until
 * somebody kills it. Its arguments are the data directory and a seed; it prints a line when it begins, and
 * one after each save. What it finds it keeps, up to a bound.
 */
import { Effect, References } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { slotsPerSegment } from "@muniment/engine/bitmap/Bitmap"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import {
  allOf,
  axisVector,
  creating,
  engineOf,
  memoryRecord,
  namespaceKey,
  newMemory
} from "../support/EngineFixtures.ts"
import { SeededRandom } from "../support/SeededRandom.ts"

const memoriesMin = 3 * slotsPerSegment
/** Memories removed between two saves: so many that most segments change. */
const removals = { least: 8, most: 16 }
/** Dimensions: large enough that a save of a segment is many pages. */
const dims = 96

const [directory = "", seed = "0"] = process.argv.slice(2)
const key = namespaceKey()
const random = new SeededRandom(Number(seed))

const create = (numbers: ReadonlyArray<number>) =>
  NamespaceHost.use((host) =>
    host.ask(key, creating(numbers.map((at) => newMemory(memoryRecord(at, "x"), axisVector(at, dims)))))
  )

await Effect.runPromise(
  Effect.gen(function* () {
    const host = yield* NamespaceHost
    const numbers = [...(yield* allOf(key)).keys()].map((id) => Number(id.slice("mem_".length)))
    let next = Math.max(-1, ...numbers) + 1
    const take = (count: number) => Array.from({ length: count }, () => next++)
    while (numbers.length < memoriesMin) {
      const added = take(Limits.changesPerCommitMax)
      yield* create(added)
      numbers.push(...added)
    }
    process.stdout.write("begun\n")
    for (;;) {
      // The first round sees a change and waits; the second one saves.
      yield* host.maintain
      yield* host.maintain
      process.stdout.write("saved\n")
      const gone = Array.from(
        { length: random.between(removals.least, removals.most) },
        () => numbers.splice(random.between(0, memoriesMin), 1)[0]
      )
      const ids = gone.filter((at) => at !== undefined).map((at) => memoryRecord(at, "").id)
      yield* host.ask(key, { _tag: "RemoveMemories", ids, idempotency: undefined })
      const added = take(ids.length)
      yield* create(added)
      numbers.push(...added)
    }
  }).pipe(Effect.provide(engineOf(directory)), Effect.provideService(References.MinimumLogLevel, "None"))
)
