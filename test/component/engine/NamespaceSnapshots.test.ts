/**
 * HNSW snapshots: written when the namespace closes, read when it opens, deleted before a vector in them is erased,
 * refused when damaged. The engine is pinned to HNSW, so that a few vectors have a graph.
 */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { NamespaceState } from "@muniment/engine/namespace/NamespaceState"
import type { IndexSettings } from "@muniment/engine/namespace/NamespaceVectors"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import type { StoreCall } from "../../support/EngineFixtures.ts"
import {
  axisVector,
  creating,
  engineOf,
  exactOnly,
  memoryRecord,
  namespaceKey,
  newMemory,
  replacementOf,
  StoreProbe
} from "../../support/EngineFixtures.ts"
import { logFirst } from "../../support/SharedLog.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { hnswlib } from "./vectors/indexFixtures.ts"
import { it } from "../../support/it.ts"

const key = namespaceKey()
const model = "test-model"
const pinned: IndexSettings = { ...exactOnly, hnswlib, pin: "hnsw" }
const count = 40
const memories = Array.from({ length: count }, (_, at) => newMemory(memoryRecord(at, `memory ${at}`), axisVector(at)))

const snapshotFile = (directory: string) => join(directory, "namespaces", `${key.tag}.hnsw.${model}`)
const snapshotFiles = (directory: string) =>
  readdirSync(join(directory, "namespaces")).filter((name) => name.includes(".hnsw"))

/** Runs `use` on its own host, and ends after the graph is built. */
const session = <A, E>(
  directory: string,
  use: Effect.Effect<A, E, NamespaceHost>,
  probe = new StoreProbe(),
  index = pinned
) =>
  Effect.gen(function* () {
    const host = yield* NamespaceHost
    const result = yield* use
    const pending = Effect.map(host.answer(key, { _tag: "Counts" }), ({ indexBacklog }) => indexBacklog)
    while ((yield* pending) > 0) yield* Effect.yieldNow
    return result
  }).pipe(Effect.provide(engineOf(directory, { probe, index })))

const ask = <C extends Parameters<NamespaceHost["Service"]["ask"]>[1]>(command: C) =>
  NamespaceHost.use((host) => host.ask(key, command))
const filled = (directory: string) => session(directory, ask(creating(memories)))
const reading = NamespaceHost.use((host) => Effect.map(host.answer(key, { _tag: "Counts" }), (counts) => counts.live))

/** Number of vectors missing from the graph after an open, before anything is built. */
const pendingAtOpen = (directory: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = yield* NamespaceStore.use((store) => store.open(key))
      const state = yield* NamespaceState.load(file, pinned)
      const pending = state.vectors.index(model)?.stats().pending
      state.close()
      return pending
    })
  ).pipe(Effect.provide(logFirst(directory)))

/** Records the number of snapshot files at each commit. */
const watching = (directory: string, seen: Array<number>): StoreProbe => {
  const probe = new StoreProbe()
  probe.before = (call: StoreCall) =>
    Effect.sync(() => {
      if (call.name === "commit") seen.push(snapshotFiles(directory).length)
    })
  return probe
}

describe("a snapshot", () => {
  it.effect("is written at the close and leaves nothing to build at the next open", function* () {
    const directory = temporaryDirectory()
    yield* filled(directory)
    expect(snapshotFiles(directory).sort()).toEqual([`${key.tag}.hnsw.${model}`, `${key.tag}.hnsw.${model}.labels`])
    expect(yield* pendingAtOpen(directory)).toBe(0)
  })

  it.effect("leaves only later additions to build", function* () {
    const directory = temporaryDirectory()
    yield* filled(directory)
    const more = [100, 101, 102].map((at) => newMemory(memoryRecord(at, "more"), axisVector(at)))
    const labels = readFileSync(`${snapshotFile(directory)}.labels`)
    const graph = readFileSync(snapshotFile(directory))
    yield* session(directory, ask(creating(more)))
    writeFileSync(`${snapshotFile(directory)}.labels`, labels)
    writeFileSync(snapshotFile(directory), graph)
    expect(yield* pendingAtOpen(directory)).toBe(3)
  })

  it.effect("is not written again when nothing has changed", function* () {
    const directory = temporaryDirectory()
    yield* filled(directory)
    const written = () => statSync(snapshotFile(directory), { bigint: true }).ino
    const before = written()
    yield* session(directory, reading)
    expect(written()).toBe(before)
    yield* session(directory, ask(creating([newMemory(memoryRecord(100, "more"), axisVector(100))])))
    expect(written()).not.toBe(before)
  })

  const erasing: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, NamespaceHost>]> = [
    ["a removal", ask({ _tag: "RemoveMemories", ids: [memoryRecord(3, "").id], idempotency: undefined })],
    ["a replacement", ask(creating([replacementOf(memoryRecord(3, "another text"), axisVector(77))]))],
    ["a removal by filter", ask({ _tag: "RemoveMatching", filter: {} })],
    [
      "the vector of another model",
      ask({
        _tag: "StoreVectors",
        vectors: [
          {
            id: memoryRecord(3, "").id,
            contentHash: memoryRecord(3, "memory 3").contentHash,
            vector: axisVector(3, 8, "next-model")
          }
        ]
      })
    ]
  ]
  for (const [what, command] of erasing) {
    it.effect(`is gone before ${what} is committed`, function* () {
      const directory = temporaryDirectory()
      yield* filled(directory)
      const seen: Array<number> = []
      yield* session(directory, Effect.ignore(command), watching(directory, seen))
      expect(seen).toEqual([0])
    })
  }

  it.effect("is not written while the graph holds what was removed", function* () {
    const directory = temporaryDirectory()
    yield* filled(directory)
    yield* session(directory, ask({ _tag: "RemoveMemories", ids: [memoryRecord(3, "").id], idempotency: undefined }))
    expect(snapshotFiles(directory)).toEqual([])
    expect(yield* pendingAtOpen(directory)).toBe(count - 1)
  })

  it.effect("stays when memories are only added or tagged", function* () {
    const directory = temporaryDirectory()
    yield* filled(directory)
    const seen: Array<number> = []
    const ids = [memoryRecord(3, "").id]
    yield* session(
      directory,
      Effect.andThen(
        ask({ _tag: "PatchMemories", ids, patch: { tags: ["t"] }, atMillis: 1, idempotency: undefined }),
        ask(creating([newMemory(memoryRecord(100, "more"), axisVector(100))]))
      ),
      watching(directory, seen)
    )
    expect(seen).toEqual([2, 2])
  })

  for (const part of ["", ".labels"]) {
    it.effect(
      `with a flipped byte in ${part === "" ? "the graph" : "the labels"} is thrown away and built anew`,
      function* () {
        const directory = temporaryDirectory()
        yield* filled(directory)
        const path = `${snapshotFile(directory)}${part}`
        const bytes = readFileSync(path)
        bytes[bytes.length >> 1]! ^= 0x10
        writeFileSync(path, bytes)
        expect(yield* pendingAtOpen(directory)).toBe(count)
        expect(existsSync(path)).toBe(false)
        const { candidates } = yield* session(
          directory,
          NamespaceHost.use((host) =>
            host.answer(key, {
              _tag: "Candidates",
              query: { terms: [], idf: [], documents: 0, averageLength: 1, scoreBound: 0 },
              vectors: new Map([[model, axisVector(5).values]]),
              filter: {},
              atMillis: 0
            })
          )
        )
        expect(candidates.toSorted((left, right) => right.cosine! - left.cosine!)[0]?.id).toBe(memoryRecord(5, "").id)
      }
    )
  }

  it.effect("of garbage does not prevent an open", function* () {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, "namespaces"), { recursive: true })
    for (const end of ["", ".labels", ".writing", ".labels.writing"]) {
      writeFileSync(`${snapshotFile(directory)}${end}`, "garbage")
    }
    yield* filled(directory)
    expect(yield* pendingAtOpen(directory)).toBe(0)
  })
})
