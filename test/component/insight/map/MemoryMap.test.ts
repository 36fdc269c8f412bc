/** The service and its worker: what it answers, what it refuses, and that it works again afterwards. */
import { drawMap } from "@muniment/insight/map/DrawMap"
import { MapUnavailable, mapLimits, MemoryMap } from "@muniment/insight/map/MemoryMap"
import { it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { describe, expect } from "vitest"
import { groupedMemories, memoryOf } from "../../../unit/insight/map/mapFixtures.ts"

const draw = (memories: Parameters<typeof drawMap>[0]) => MemoryMap.use((map) => map.draw(memories))

/** Half a second of work and more: every pair of words of a long text is counted. */
const heavy = Array.from({ length: 5_000 }, (_, at) =>
  memoryOf(
    `m${at}`,
    { fact: Array.from({ length: 200 }, (_word, word) => `w${(at * word) % 977}`).join(" ") },
    undefined
  )
)

describe("MemoryMap", () => {
  it.live("draws in its worker what the function draws, with vectors and without", () =>
    Effect.gen(function* () {
      const memories = groupedMemories(3, 8)
      expect(yield* draw(memories)).toEqual(drawMap(memories))
      const mixed = memories.map((memory, at) => (at === 5 ? { ...memory, vector: undefined } : memory))
      expect(yield* draw(mixed)).toEqual(drawMap(memories.map((memory) => ({ ...memory, vector: undefined }))))
      expect((yield* draw([])).clusters).toEqual([])
      expect(memories[0]!.vector).toHaveLength(16)
    }).pipe(Effect.provide(MemoryMap.layerWith({ ...mapLimits, deadlineMillis: 25_000 })))
  )

  it.live("refuses more memories than it can draw in time", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(draw(groupedMemories(2, 3)))
      expect(error).toEqual(new MapUnavailable({ reason: "a map shows at most 5 memories" }))
    }).pipe(Effect.provide(MemoryMap.layerWith({ ...mapLimits, memoriesMax: 5 })))
  )

  it.live("gives up at the deadline, kills the worker, and draws the next map", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(draw(heavy))
      expect(error.reason).toBe("not drawn within 100 ms")
      const next = yield* Effect.retry(draw(groupedMemories(2, 3)), { times: 20 })
      expect(next.points).toHaveLength(6)
    }).pipe(Effect.provide(MemoryMap.layerWith({ ...mapLimits, deadlineMillis: 100 })))
  )

  it.live("refuses at once when too many maps wait, and draws those that waited", () =>
    Effect.gen(function* () {
      const map = yield* MemoryMap
      const memories = groupedMemories(2, 4)
      const asked = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => Effect.forkChild(Effect.result(map.draw(memories))))
      const answers = yield* Effect.forEach(asked, Fiber.join)
      const drawn = answers.filter(({ _tag }) => _tag === "Success").length
      expect(drawn).toBe(3)
    }).pipe(Effect.provide(MemoryMap.layerWith({ ...mapLimits, queuedMax: 2, deadlineMillis: 25_000 })))
  )
})
