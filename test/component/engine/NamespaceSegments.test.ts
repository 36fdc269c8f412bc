/**
 * Segments of encoded vectors over the life of a namespace: written when it closes or is quiet, read when it opens,
 * deleted with their vectors. With and without them the image is the same, bit for bit.
 */
import { describe, expect } from "vitest"
import { cpSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { Effect, Layer } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { slotsPerSegment } from "@muniment/engine/bitmap/Bitmap"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { NamespaceState } from "@muniment/engine/namespace/NamespaceState"
import { NamespaceStore, type WholeFile } from "@muniment/engine/store/NamespaceStore"
import { StoreFull } from "@muniment/engine/store/StoreError"
import {
  axisVector,
  creating,
  engineOf,
  exactOnly,
  memoryRecord,
  namespaceKey,
  newMemory,
  replacementOf
} from "../../support/EngineFixtures.ts"
import { filesWith } from "../../support/filesWith.ts"
import { SeededRandom } from "../../support/SeededRandom.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it } from "../../support/it.ts"
import { logFirst } from "../../support/SharedLog.ts"

const key = namespaceKey()
const { model } = axisVector(0)

/** A unique unit vector[8]. */
const vectorOf = (seed: number) => {
  const random = new SeededRandom(seed + 1)
  const values = Float32Array.from({ length: 8 }, () => random.next() - 0.5)
  const length = Math.hypot(...values)
  return { model, values: values.map((value) => value / length) }
}

const ask = <C extends Parameters<NamespaceHost["Service"]["ask"]>[1]>(command: C) =>
  NamespaceHost.use((host) => host.ask(key, command))
const remove = (...numbers: ReadonlyArray<number>) =>
  ask({ _tag: "RemoveMemories", ids: numbers.map((at) => memoryRecord(at, "").id), idempotency: undefined })
const maintain = NamespaceHost.use((host) => host.maintain)

/** Memories in slots 0 to `count - 1`. */
const fill = Effect.fnUntraced(function* (count: number) {
  for (let from = 0; from < count; from += Limits.changesPerCommitMax) {
    const numbers = Array.from({ length: Math.min(count - from, Limits.changesPerCommitMax) }, (_, at) => from + at)
    yield* ask(creating(numbers.map((at) => newMemory(memoryRecord(at, `memory ${at}`), vectorOf(at)))))
  }
})

const session = <A, E>(directory: string, use: Effect.Effect<A, E, NamespaceHost>) =>
  Effect.provide(use, engineOf(directory))
const look = NamespaceHost.use((host) => Effect.map(host.answer(key, { _tag: "Counts" }), (counts) => counts.live))

const database = <A>(directory: string, use: (database: DatabaseSync) => A): A => {
  const opened = new DatabaseSync(join(directory, "namespaces", `${key.tag}.db`))
  try {
    return use(opened)
  } finally {
    opened.close()
  }
}
const stored = (directory: string): ReadonlyArray<number> =>
  database(directory, (opened) =>
    opened
      .prepare("SELECT segment FROM index_segment ORDER BY segment")
      .all()
      .map((row) => Number(row["segment"]))
  )

/** The image after an open, and the number of float32 vectors that were read for it. */
const image = (directory: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = yield* NamespaceStore.use((store) => store.open(key))
      let read = 0
      yield* file.whole((all) =>
        Effect.sync(() => {
          const eachVector = all.eachVector.bind(all)
          Object.assign(all, {
            eachVector: (...[visit, ranges]: Parameters<WholeFile["eachVector"]>) =>
              eachVector((vector) => {
                read++
                visit(vector)
              }, ranges)
          })
        })
      )
      const state = yield* NamespaceState.load(file, exactOnly)
      const index = state.vectors.index(model)!
      const segments = Array.from({ length: 5 }, (_, segment) => index.encodeSegment(segment))
      const models = Array.from({ length: 5 * slotsPerSegment }, (_, slot) => state.vectors.modelOf(slot))
      const size = models.filter((found) => found !== undefined).length
      state.close()
      return { read, image: { segments, models, size } }
    })
  ).pipe(Effect.provide(logFirst(directory)))

/** Expects the same image with the stored segments and without them. */
const expectSame = Effect.fnUntraced(function* (directory: string, rowsRead: number) {
  const bySegments = yield* image(directory)
  database(directory, (opened) => opened.exec("DELETE FROM index_segment"))
  const byRows = yield* image(directory)
  expect([bySegments.read, byRows.read]).toEqual([rowsRead, byRows.image.size])
  expect(bySegments.image).toEqual(byRows.image)
})

/** The bytes of a vector in the segment of its slot. */
const codeOf = (vector: Float32Array): Buffer => {
  const index = new PlannedIndex({ dims: vector.length, ...exactOnly })
  index.upsert(0, vector, 1)
  const empty = new PlannedIndex({ dims: vector.length, ...exactOnly })
  for (const slot of [0, 1]) empty.upsert(slot, vector, 1)
  const [one, two] = [index.encodeSegment(0)!, empty.encodeSegment(0)!]
  index.close()
  empty.close()
  // A second vector adds its code, its slot and its sequence number.
  return Buffer.from(one.slice(one.length - (two.length - one.length - 12)))
}

describe("segments of a namespace", () => {
  it.effect("are written when it closes, and give the same image without reading a vector", function* () {
    const directory = temporaryDirectory()
    yield* session(directory, fill(2_100))
    expect(stored(directory)).toEqual([0, 1, 2])
    yield* session(
      directory,
      Effect.andThen(remove(5, 2_099), ask(creating([newMemory(memoryRecord(9_000, "new"), vectorOf(9_000))])))
    )
    expect(stored(directory)).toEqual([0, 1, 2])
    yield* expectSame(directory, 0)
  })

  it.effect("are not written for few vectors, nor for vectors of two models", function* () {
    const few = temporaryDirectory()
    yield* session(few, fill(slotsPerSegment - 1))
    expect(stored(few)).toEqual([])
    const mixed = temporaryDirectory()
    const next = { ...vectorOf(0), model: "next-model" }
    const { contentHash, id } = memoryRecord(0, "memory 0")
    const change = ask({ _tag: "StoreVectors", vectors: [{ id, contentHash, vector: next }] })
    yield* session(mixed, Effect.andThen(fill(2_000), change))
    expect(stored(mixed)).toEqual([])
    const back = ask({ _tag: "StoreVectors", vectors: [{ id, contentHash, vector: vectorOf(0) }] })
    yield* session(mixed, back)
    expect(stored(mixed)).toEqual([0, 1])
    yield* session(mixed, change)
    expect(stored(mixed)).toEqual([1])
    expect((yield* image(mixed)).read).toBe(2_000)
    expect(stored(mixed)).toEqual([])
  })

  it.effect("are written by housekeeping when many have changed, but none since the last round", function* () {
    const directory = temporaryDirectory()
    yield* session(
      directory,
      Effect.gen(function* () {
        yield* fill(3_100)
        yield* maintain
        expect(stored(directory)).toEqual([])
        yield* maintain
        expect(stored(directory)).toEqual([0, 1, 2, 3])
        yield* remove(3)
        yield* maintain
        yield* maintain
        // A single changed segment is not saved while the namespace is open.
        expect(stored(directory)).toEqual([1, 2, 3])
      })
    )
    yield* expectSame(directory, 0)
  })

  it.effect("are not written again by an open that changed nothing", function* () {
    const directory = temporaryDirectory()
    yield* session(directory, fill(1_100))
    const before = readFileSync(join(directory, "namespaces", `${key.tag}.db`))
    yield* session(directory, look)
    expect(readFileSync(join(directory, "namespaces", `${key.tag}.db`)).equals(before)).toBe(true)
  })

  it.effect("are read together with the vectors of segments that a killed process had changed", function* () {
    const directory = temporaryDirectory()
    yield* session(directory, fill(2_100))
    yield* session(
      directory,
      Effect.gen(function* () {
        yield* remove(1_500)
        yield* ask(creating([replacementOf(memoryRecord(2_050, "another"), vectorOf(9_999))]))
        // The file as after a kill: its owner has saved nothing.
        expect(stored(directory)).toEqual([0])
        const { image: found, read } = yield* image(directory)
        expect([read, found.size]).toEqual([2_099 - slotsPerSegment, 2_099])
      })
    )
  })

  it.effect("are deleted one by one before a commit that touches many of them", function* () {
    const directory = temporaryDirectory()
    yield* session(directory, fill(4_200))
    expect(stored(directory)).toEqual([0, 1, 2, 3, 4])
    yield* session(
      directory,
      Effect.gen(function* () {
        yield* remove(1, 1_030, 2_050, 4_190)
        expect(stored(directory)).toEqual([3])
      })
    )
    yield* expectSame(directory, 0)
  })

  it.effect("hold nothing of a memory that was removed, in any file, after one round of housekeeping", function* () {
    const directory = temporaryDirectory()
    const code = codeOf(vectorOf(77).values)
    yield* session(directory, fill(1_100))
    expect(filesWith(join(directory, "namespaces"), code)).not.toEqual([])
    yield* session(
      directory,
      Effect.gen(function* () {
        yield* remove(77)
        yield* maintain
        expect(filesWith(join(directory, "namespaces"), code)).toEqual([])
      })
    )
    expect(stored(directory)).toEqual([0, 1])
    expect(filesWith(join(directory, "namespaces"), code)).toEqual([])
  })

  const run = (sql: string) => (opened: DatabaseSync) => opened.exec(sql)
  /** The first segment in the format of a later release, with a valid CRC. */
  const laterLayout = (opened: DatabaseSync): void => {
    const data = opened.prepare("SELECT data FROM index_segment WHERE segment = 0").get()?.["data"] as Uint8Array
    new Uint32Array(data.buffer, data.byteOffset, 2)[1]! += 1
    opened.prepare("UPDATE index_segment SET crc = ?, data = ? WHERE segment = 0").run(crc32(data), data)
  }
  /** A change to 1,500 memories in two segments, and the number of vectors that the next open reads. */
  const damages: ReadonlyArray<readonly [string, (opened: DatabaseSync) => void, number]> = [
    ["flipped bytes", run("UPDATE index_segment SET data = zeroblob(length(data)) WHERE segment = 0"), slotsPerSegment],
    ["a lost end", run("UPDATE index_segment SET data = substr(data, 1, 9000) WHERE segment = 0"), slotsPerSegment],
    ["another layout", laterLayout, slotsPerSegment],
    ["another model", run("UPDATE index_segment SET model = 'another'"), 1_500],
    ["another's sum", run("UPDATE index_segment SET crc = crc + 1"), 1_500],
    ["a vector too many", run("DELETE FROM vector WHERE slot = 1100"), 1_499]
  ]
  const pattern = temporaryDirectory()
  for (const [what, damage, rowsRead] of damages) {
    it.effect(
      `with ${what} are not believed: the image is the same, and the next close writes them anew`,
      function* () {
        const directory = temporaryDirectory()
        if (readdirSync(pattern).length === 0) yield* session(pattern, fill(1_500))
        cpSync(pattern, directory, { recursive: true })
        database(directory, damage)
        const { image: found, read } = yield* image(directory)
        expect(read).toBe(rowsRead)
        yield* session(directory, look)
        expect(stored(directory)).toEqual([0, 1])
        const again = yield* image(directory)
        expect([again.read, again.image]).toEqual([0, found])
      }
    )
  }

  it.effect("that cannot be saved on a full disk do not prevent closing, opening and answering", function* () {
    const directory = temporaryDirectory()
    const full = Effect.fail(new StoreFull({ cause: "test" }))
    const fullDisk = Layer.effect(
      NamespaceStore,
      Effect.map(NamespaceStore, (store) => ({
        ...store,
        open: (opened: typeof key) =>
          Effect.tap(store.open(opened), ({ segments }) =>
            Effect.sync(() => Object.assign(segments, { save: () => full }))
          )
      }))
    ).pipe(Layer.provide(logFirst(directory)))
    const engine = NamespaceHost.layer({ dataDirectory: directory, index: exactOnly }).pipe(Layer.provide(fullDisk))
    const use = Effect.gen(function* () {
      yield* fill(3_100)
      yield* maintain
      yield* maintain
      yield* remove(4)
      expect(yield* look).toBe(3_099)
    })
    yield* Effect.provide(use, Layer.fresh(engine))
    expect(stored(directory)).toEqual([])
    yield* session(directory, look)
    yield* expectSame(directory, 0)
  })
})
