/**
 * The engine as the service builds it (host, search, SQLite store in a real directory), behind a few
 * promises. It lives in a directory of its own under the system's temporary one, removed at the end.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { Command, ReplyOf } from "@muniment/engine/namespace/Commands"
import { loadHnswlib } from "@muniment/engine/vectors/planner/PlannedIndex"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import type { IndexPin } from "@muniment/engine/vectors/planner/Planner"
import { MemorySearch, type MemoryHit } from "@muniment/engine/search/MemorySearch"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { logFirstStore } from "@muniment/engine/store/logged/LogFirstStore"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { modelId, type Memories, type Question } from "./Memories.ts"

export interface EngineUnderTest {
  readonly directory: string
  readonly ask: <C extends Command>(key: NamespaceKey, command: C) => Promise<ReplyOf<C>>
  readonly search: (key: NamespaceKey, question: Question, filter?: MemoryFilter) => Promise<ReadonlyArray<MemoryHit>>
  /** Milliseconds of each search, one after the other in one fiber, as a request's handler runs it. */
  readonly searchMillis: (
    key: NamespaceKey,
    questions: ReadonlyArray<Question>,
    filter?: MemoryFilter
  ) => Promise<Float64Array>
  /** Until all that was acknowledged is in the namespaces' files. */
  readonly followed: () => Promise<void>
  /** Of the commit log since it was opened. */
  readonly syncs: () => Promise<number>
  /** Until the index has nothing left to build. */
  readonly settled: (key: NamespaceKey) => Promise<void>
  /** Closes the files; the directory stays until `close`. */
  readonly stop: () => Promise<void>
  /** Closes the files, and removes the directory unless it was given. */
  readonly close: () => Promise<void>
}

/** Memories of one import: as many as a request may have. */
export const memoriesPerBatch = 100
const hitsPerSearch = 10

export const namespaceKey = (agentId: string, account = "acc_bench"): NamespaceKey => ({
  tag: sha256Hex(`${account}\0${agentId}`).slice(0, 12),
  account,
  agentId
})

export const openEngine = async (
  options: {
    readonly directory?: string
    readonly pin?: IndexPin
    readonly openMax?: number
  } = {}
): Promise<EngineUnderTest> => {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "muniment-bench-engine-"))
  const index = { hnswlib: await loadHnswlib(), pin: options.pin ?? "auto", slabs: new SlabPool(loadKernels()) }
  const runtime = ManagedRuntime.make(
    MemorySearch.layer.pipe(
      Layer.provideMerge(
        NamespaceHost.layer({
          dataDirectory: directory,
          index,
          ...(options.openMax !== undefined && { openMax: options.openMax })
        })
      ),
      Layer.provide(logFirstStore(directory)),
      Layer.provide(fileLogLayer({ directory: join(directory, logFolder) }))
    )
  )
  const searchOf = (key: NamespaceKey, { text, vector }: Question, filter: MemoryFilter = {}) =>
    MemorySearch.use((search) =>
      search.search([key], {
        text,
        vectors: new Map([[modelId, vector]]),
        filter,
        limit: hitsPerSearch,
        minRelevance: 0,
        newerFirst: true
      })
    )
  return {
    directory,
    ask: (key, command) => runtime.runPromise(NamespaceHost.use((host) => host.ask(key, command))),
    search: async (key, question, filter) => (await runtime.runPromise(searchOf(key, question, filter))).hits,
    searchMillis: (key, questions, filter) =>
      runtime.runPromise(
        Effect.gen(function* () {
          const millis = new Float64Array(questions.length)
          for (const [at, question] of questions.entries()) {
            const started = performance.now()
            yield* searchOf(key, question, filter)
            millis[at] = performance.now() - started
          }
          return millis
        })
      ),
    followed: () => runtime.runPromise(NamespaceHost.use((host) => host.settleAll)),
    syncs: async () => (await runtime.runPromise(NamespaceHost.use((host) => host.status))).log?.syncs ?? 0,
    settled: async (key) => {
      for (;;) {
        const backlog = await runtime.runPromise(
          NamespaceHost.use((host) =>
            Effect.map(host.answer(key, { _tag: "Counts" }), ({ indexBacklog }) => indexBacklog)
          )
        )
        if (backlog === 0) return
        await new Promise((done) => setImmediate(done))
      }
    },
    stop: () => runtime.dispose(),
    close: async () => {
      await runtime.dispose()
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true })
    }
  }
}

/** Imports memories `from` to `to` (exclusive) in batches, one after the other. */
export const fill = async (
  engine: EngineUnderTest,
  memories: Memories,
  key: NamespaceKey,
  range: { readonly from: number; readonly to: number }
): Promise<void> => {
  for (let from = range.from; from < range.to; from += memoriesPerBatch) {
    const to = Math.min(range.to, from + memoriesPerBatch)
    const batch = Array.from({ length: to - from }, (_, at) => memories.memory(from + at, key.agentId))
    await engine.ask(key, { _tag: "StoreMemories", memories: batch, idempotency: undefined })
  }
}
