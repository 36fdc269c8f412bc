/** The whole map as a function: what it depends on, what it does with little, how well it sorts. */
import { drawMap } from "@muniment/insight/map/DrawMap"
import type { DrawnMap, MapMemory } from "@muniment/insight/map/MapProtocol"
import { denseText } from "@muniment/engine/text/MemoryText"
import { Embedder } from "@muniment/models/Embedder"
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { agreement } from "../../../../bench/map/Agreement.ts"
import { balancedSet, mapMemories, retellings } from "../../../../bench/map/TopicSet.ts"
import { SeededRandom } from "../../../support/SeededRandom.ts"
import { realModel, realModelsDir, requireRealModel } from "../../models/realModel.ts"
import { groupedMemories, memoryOf, shuffled } from "../../../unit/insight/map/mapFixtures.ts"
import { everyDay } from "../../../support/Repetitions.ts"

/** Every id once, every number in its range, counts and indices that agree. */
const expectWellFormed = (drawn: DrawnMap, memories: ReadonlyArray<MapMemory>): void => {
  expect(drawn.points.map(({ id }) => id).sort()).toEqual(memories.map(({ id }) => id).sort())
  for (const { x, y } of [...drawn.points, ...drawn.clusters.map(({ position }) => position)]) {
    expect(Math.abs(x)).toBeLessThanOrEqual(1)
    expect(Math.abs(y)).toBeLessThanOrEqual(1)
  }
  for (const [at, cluster] of drawn.clusters.entries()) {
    const own = drawn.points.filter((point) => point.cluster === at)
    expect(own.map(({ id }) => id)).toEqual(cluster.memoryIds)
    expect(cluster.count).toBe(own.length)
    expect(cluster.topic).not.toBe("")
    expect(cluster.position.x).toBeCloseTo(own.reduce((sum, { x }) => sum + x, 0) / own.length, 3)
    expect(drawn.memoryMap).toContain(`(${cluster.count})\n`)
  }
  expect(new Set(drawn.clusters.map(({ topic }) => topic)).size).toBe(drawn.clusters.length)
  for (const { id } of memories) expect(drawn.memoryMap.split(`- ${id} (`)).toHaveLength(2)
}

describe("what a map depends on", () => {
  const memories = groupedMemories(4, 9)

  it("is the same for any order of the memories, and every time", () => {
    const random = new SeededRandom(11)
    const drawn = drawMap(memories)
    expectWellFormed(drawn, memories)
    for (let round = 0; round < 5; round++) expect(drawMap(shuffled(memories, random))).toEqual(drawn)
  })

  it("does not depend on the ids", () => {
    const drawn = drawMap(memories)
    const renamed = memories.map((memory, at) => ({ ...memory, id: `other_${900 - at}` }))
    const newIds = new Map(memories.map(({ id }, at) => [id, renamed[at]!.id]))
    const redrawn = drawMap(renamed)
    expect(redrawn.points).toEqual(drawn.points.map((point) => ({ ...point, id: newIds.get(point.id) })))
    expect(redrawn.clusters.map(({ topic, position }) => ({ topic, position }))).toEqual(
      drawn.clusters.map(({ topic, position }) => ({ topic, position }))
    )
  })

  it("keeps equal memories together, whatever their ids, and does not move the others", () => {
    const copies = [5, 1, 3].map((number) => ({ ...memories[0]!, id: `copy_${number}` }))
    const once = drawMap(memories)
    const often = drawMap([...copies, ...memories])
    expect(often).toEqual(drawMap([...memories, ...copies.reverse()]))
    const places = new Map(often.points.map((point) => [point.id, point]))
    for (const { id, x, y } of once.points) expect(places.get(id)).toMatchObject({ x, y })
    for (const { id } of copies) expect(places.get(id)).toEqual({ ...places.get(memories[0]!.id), id })
  })

  it("is well formed and repeatable for twenty random subsets, with vectors and without", () => {
    const random = new SeededRandom(20)
    const set = [...groupedMemories(5, 8), ...mapMemories(balancedSet, undefined).slice(0, 60)]
    for (let round = 0; round < 20; round++) {
      const subset = shuffled(set, random).slice(0, random.between(1, 50))
      const usable = round % 2 === 0 ? subset : subset.filter(({ vector }) => vector !== undefined)
      const drawn = drawMap(usable)
      expectWellFormed(drawn, usable)
      expect(drawMap(shuffled(usable, random))).toEqual(drawn)
    }
  })
})

describe("a map of little", () => {
  it("is empty without memories", () => {
    expect(drawMap([])).toEqual({ memoryMap: "", clusters: [], points: [] })
  })

  it("lists one, two or three unrelated memories under a last heading", () => {
    const alone = ["The ferry leaves at nine", "Basil hates frost", "Quarterly numbers rose"].map((text, at) =>
      memoryOf(
        `m${at}`,
        { fact: text },
        Float32Array.from([0, 0, 0, 0], (_, dim) => (dim === at ? 1 : 0))
      )
    )
    for (const count of [1, 2, 3]) {
      const drawn = drawMap(alone.slice(0, count))
      expectWellFormed(drawn, alone.slice(0, count))
      expect(drawn.clusters).toEqual([])
      expect(drawn.memoryMap).toMatch(new RegExp(`^## Other \\(${count}\\)\\n\\n- `))
    }
  })

  it("makes one cluster of memories that are all the same", () => {
    const same = Array.from({ length: 7 }, (_, at) => memoryOf(`m${at}`, { fact: "likes tea" }, Float32Array.of(0, 1)))
    const drawn = drawMap(same)
    expectWellFormed(drawn, same)
    expect(drawn.clusters).toHaveLength(1)
    expect(drawn.clusters[0]).toMatchObject({ topic: "tea", count: 7, kinds: ["factual_memory"] })
  })

  it("makes two clusters of two groups that are far from each other", () => {
    const drawn = drawMap(groupedMemories(2, 10))
    expect(drawn.clusters.map(({ count }) => count)).toEqual([10, 10])
    const [one, two] = drawn.clusters
    expect(Math.hypot(one!.position.x - two!.position.x, one!.position.y - two!.position.y)).toBeGreaterThan(0.5)
  })

  it("draws vectors of length 0 and data without words without a NaN", () => {
    const mute = Array.from({ length: 15 }, (_, at) => memoryOf(`m${at}`, { count: at }, new Float32Array(8)))
    expectWellFormed(drawMap(mute), mute)
    const wordless = mute.map((memory) => ({ ...memory, vector: undefined }))
    expectWellFormed(drawMap(wordless), wordless)
  })
})

describe("how well memories are sorted", () => {
  it("finds topics by words alone where memories share words", () => {
    const subjects = [
      "engine oil gearbox clutch tyre brake",
      "violin concert orchestra melody choir piano",
      "tomato seedling compost garden hedge soil"
    ]
    const random = new SeededRandom(3)
    const memories = subjects.flatMap((words, topic) =>
      Array.from({ length: 14 }, (_, at) => {
        const said = shuffled(words.split(" "), random).slice(0, 4).join(" and ")
        return memoryOf(`${topic}-${at}`, { fact: `note ${at} on ${said}` }, undefined)
      })
    )
    const drawn = drawMap(memories)
    const score = agreement(
      drawn.points.map(({ cluster }) => cluster),
      drawn.points.map(({ id }) => id.slice(0, 1))
    )
    expect(score.purity).toBeGreaterThan(0.95)
    expect(score.leftOut).toBeLessThan(0.1)
    for (const { topic } of drawn.clusters) {
      expect(subjects.some((words) => words.split(" ").includes(topic.split(/[ ,]/)[0]!))).toBe(true)
    }
  })

  describe("with a real model", () => {
    beforeAll(requireRealModel)

    layer(Embedder.layer({ modelsDir: realModelsDir, modelId: realModel.id }))((modelIt) => {
      for (const [telling, purityMin] of everyDay(1, [
        ["22 people", 0.7],
        ["kind = topic", 0.8],
        ["subject = topic", 0.9]
      ] as const)) {
        modelIt.effect(`finds the topics of the labelled set, told with ${telling}`, () =>
          Effect.gen(function* () {
            const told = balancedSet.map(retellings[telling]!)
            const texts = told.map(({ kind, data }) => denseText({ kind, data, tags: [] }))
            const vectors = yield* (yield* Embedder).embedPassages(texts)
            const drawn = drawMap(mapMemories(told, vectors))
            const score = agreement(
              drawn.points.map(({ cluster }) => cluster),
              drawn.points.map(({ id }) => told[Number(id)]!.topic)
            )
            expect(score.purity).toBeGreaterThan(purityMin)
            expect(score.leftOut).toBeLessThan(0.1)
            expect(score.clusters).toBeGreaterThanOrEqual(9)
            expect(score.clusters).toBeLessThanOrEqual(16)
          })
        )
      }
    })
  })
})
