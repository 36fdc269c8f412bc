/**
 * Saving and loading segments: adopted and read vectors together always equal the committed ones, after any change to
 * the file.
 */
import { describe, expect } from "vitest"
import { crc32 } from "node:zlib"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { saveSegments, slotsOutside, adoptSegments } from "@muniment/engine/namespace/NamespaceVectors"
import type { OpenNamespace } from "@muniment/engine/store/NamespaceStore"
import { axisVector, memoryRecord, namespaceKey } from "../../support/EngineFixtures.ts"
import { openedIn } from "../../support/SharedLog.ts"
import { put, unit } from "../../support/storeConformance.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { PlainIndex } from "./store/PlainIndex.ts"
import { it } from "../../support/it.ts"

const key = namespaceKey()
const dims = 8
const { model } = axisVector(0)
/** In four segments, of which one has a single vector and one none. */
const slots = [0, 1, 700, 1_023, 1_024, 2_000, 4_096]
const last = slots.length

const opening = (directory: string) => openedIn(directory, key)

const sourceOf = (index: PlainIndex, seq = last) => ({ model, index, seq, slotCount: 4_097 })

/** Memories with vectors in a file, and an index of them. */
const filled = Effect.fnUntraced(function* (directory: string) {
  const file = yield* opening(directory)
  const index = new PlainIndex(dims)
  for (const slot of slots) index.upsert(slot, axisVector(slot).values)
  yield* file.commit(0, [unit(slots.map((slot) => put(slot, memoryRecord(slot, "x"), axisVector(slot))))], 1)
  return { file, index }
})

const saved = (directory: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { file, index } = yield* filled(directory)
      expect(yield* saveSegments(file.segments, sourceOf(index), Infinity)).toBe(true)
      expect(index.changedSegments()).toEqual([])
    })
  )

/** An index as an open builds it, and the number of vectors adopted from segments. */
const loaded = Effect.fnUntraced(function* (file: OpenNamespace) {
  const index = new PlainIndex(dims)
  const taken = yield* adoptSegments(file.segments, yield* file.segments.stored, model, index)
  if (taken === undefined) index.vectors.clear()
  const adopted = index.vectors.size
  yield* file.whole((all) =>
    all.eachVector(({ slot, values }) => index.upsert(slot, values), slotsOutside(taken ?? new Map()))
  )
  return { index, adopted }
})

const expectWhole = (index: PlainIndex, expected: ReadonlyArray<number> = slots) => {
  expect([...index.vectors.keys()].toSorted((left, right) => left - right)).toEqual(expected)
  for (const slot of expected) expect(index.vectors.get(slot)).toEqual(axisVector(slot).values)
}

const tamper = (directory: string, change: (database: DatabaseSync) => void): void => {
  const database = new DatabaseSync(join(directory, "namespaces", `${key.tag}.db`))
  change(database)
  database.close()
}

/** Replaces the bytes of a segment, with a valid CRC. */
const rewrite = (segment: number, edit: (data: Uint8Array) => Uint8Array) => (database: DatabaseSync) => {
  const row = database.prepare("SELECT data FROM index_segment WHERE segment = ?").get(segment)
  const data = edit(row?.["data"] as Uint8Array)
  database.prepare("UPDATE index_segment SET crc = ?, data = ? WHERE segment = ?").run(crc32(data), data, segment)
}
const run = (sql: string) => (database: DatabaseSync) => database.exec(sql)

describe("an index that opens its file", () => {
  it.effect("takes every vector from the segments, equal to what was committed", function* () {
    const directory = temporaryDirectory()
    yield* saved(directory)
    const { adopted, index } = yield* loaded(yield* opening(directory))
    expect(adopted).toBe(slots.length)
    expectWhole(index)
    expect(index.changedSegments()).toEqual([])
  })

  it.effect("reads the vectors committed since, and no others", function* () {
    const directory = temporaryDirectory()
    yield* saved(directory)
    const file = yield* opening(directory)
    const added = put(1_025, memoryRecord(1_025, "y"), axisVector(1_025))
    yield* file.commit(last, [unit([{ _tag: "Remove", slot: 1_024 }, added])], 2)
    const { adopted, index } = yield* loaded(file)
    expect(adopted).toBe(5)
    expectWhole(index, [0, 1, 700, 1_023, 1_025, 2_000, 4_096])
    expect(index.changedSegments()).toEqual([1])
  })

  /** A change, the vectors it leaves to adopt, and the segments stored afterwards. */
  const damages: ReadonlyArray<readonly [string, (database: DatabaseSync) => void, number, ReadonlyArray<number>]> = [
    ["a flipped bit", run("UPDATE index_segment SET data = zeroblob(length(data)) WHERE segment = 1"), 5, [0, 4]],
    ["a lost end", run("UPDATE index_segment SET data = substr(data, 1, 20) WHERE segment = 0"), 3, [1, 4]],
    ["no bytes", run("UPDATE index_segment SET data = x'' WHERE segment = 0"), 3, [1, 4]],
    ["another model", run("UPDATE index_segment SET model = 'older' WHERE segment = 0"), 3, [1, 4]],
    ["another segment's number", run("UPDATE index_segment SET segment = 9 WHERE segment = 0"), 3, [1, 4]],
    ["another width", rewrite(1, (data) => Uint8Array.from([7, ...data.subarray(1)])), 5, [0, 4]],
    ["another version's bytes", rewrite(1, () => Buffer.from("version 9")), 5, [0, 4]],
    ["a slot without a vector", run("DELETE FROM vector WHERE slot = 2000"), 0, []],
    ["a vector fewer than there are", rewrite(0, (data) => data.slice(0, 4 + 3 * 36)), 0, []]
  ]
  for (const [what, change, adoptedMost, left] of damages) {
    it.effect(`reads the vectors where a segment has ${what}`, function* () {
      const directory = temporaryDirectory()
      yield* saved(directory)
      tamper(directory, change)
      const file = yield* opening(directory)
      const { adopted, index } = yield* loaded(file)
      expect(adopted).toBe(adoptedMost)
      expectWhole(index, what === "a slot without a vector" ? slots.filter((slot) => slot !== 2_000) : slots)
      expect(yield* file.segments.stored).toEqual(left)
    })
  }
})

describe("saving segments", () => {
  it.effect("writes again only what has changed, or is not stored", function* () {
    const { file, index } = yield* filled(temporaryDirectory())
    yield* saveSegments(file.segments, sourceOf(index), Infinity)
    yield* file.segments.discard([1])
    const written: Array<number> = []
    const save = file.segments.save.bind(file.segments)
    Object.assign(file.segments, {
      save: (...[seq, segment, by, data]: Parameters<typeof save>) => {
        written.push(segment)
        return save(seq, segment, by, data)
      }
    })
    expect(yield* saveSegments(file.segments, sourceOf(index), Infinity)).toBe(true)
    expect(written).toEqual([1])
  })

  it.effect("ends when a commit intervenes, and never fails a commit", function* () {
    const { file, index } = yield* filled(temporaryDirectory())
    yield* file.commit(last, [unit([{ _tag: "Remove", slot: 0 }])], 2)
    expect(yield* saveSegments(file.segments, sourceOf(index), Infinity)).toBe(false)
    expect(yield* file.segments.stored).toEqual([])
    index.remove(0)
    expect(yield* saveSegments(file.segments, sourceOf(index, last + 1), Infinity)).toBe(true)
    expectWhole((yield* loaded(file)).index, slots.slice(1))
  })

  it.effect("ends after its time, and the next save continues", function* () {
    const { file, index } = yield* filled(temporaryDirectory())
    yield* TestClock.adjust(10)
    expect(yield* saveSegments(file.segments, sourceOf(index), 10)).toBe(false)
    expect(yield* saveSegments(file.segments, sourceOf(index), 11)).toBe(true)
    expect(yield* file.segments.stored).toEqual([0, 1, 4])
  })

  it.effect("leaves nothing of an erased memory in the file once it was removed and the log truncated", function* () {
    const directory = temporaryDirectory()
    const { file, index } = yield* filled(directory)
    const bytes = Buffer.from(axisVector(700).values.buffer)
    const holds = (): number =>
      ["", "-wal"]
        .map((end) => join(directory, "namespaces", `${key.tag}.db${end}`))
        .filter((path) => existsSync(path) && readFileSync(path).includes(bytes)).length
    yield* saveSegments(file.segments, sourceOf(index), Infinity)
    // Only the segment still holds it: the memory has another vector.
    yield* file.commit(last, [unit([{ _tag: "Embed", slot: 2_000, isPassage: false, vector: axisVector(3) }])], 2)
    expect(holds()).toBeGreaterThan(0)
    yield* file.commit(last + 1, [unit([{ _tag: "Remove", slot: 700 }])], 3)
    yield* file.checkpoint("TRUNCATE")
    expect(holds()).toBe(0)
    index.remove(700)
    index.upsert(2_000, axisVector(3).values)
    expect(yield* saveSegments(file.segments, sourceOf(index, last + 2), Infinity)).toBe(true)
    yield* file.checkpoint("TRUNCATE")
    expect(holds()).toBe(0)
  })
})
