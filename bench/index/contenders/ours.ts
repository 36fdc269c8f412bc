/**
 * Our index as a namespace has it (`PlannedIndex`), pinned to an engine or left to its planner, and
 * its inverted lists alone, swept over the margin (`QuantizedIndex`).
 *
 * `settle` is the work that the service does beside its searches, done to the end: its time counts
 * as part of the writes here.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import type { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { type KernelFactory, loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { loadHnswlib, PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { type CostBook, type IndexPin, measureCosts } from "@muniment/engine/vectors/planner/Planner"
import { QuantizedIndex } from "@muniment/engine/vectors/lists/QuantizedIndex"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import type { ColdStart, Contender, ContenderKind, Slots } from "../Contender.ts"

const workMillis = 1_000
/** How far below the k-th best score the centroid score of a probed list may lie; the last margin probes all lists. */
const margins = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 2]

/** What is compared: a write, a search, work to do. Sequence numbers only ever rise here. */
interface Index {
  readonly upsert: (slot: number, vector: Float32Array, seq: number) => void
  readonly work: (budgetMillis: number, now: () => number) => number
  readonly close: () => void
}

export const ours = (pin: IndexPin): ContenderKind => ({
  name: `ours, ${pin}`,
  countMax: pin === "exact" || pin === "hnsw" ? 100_000 : 1_000_000,
  open: async ({ dims, directory }) => {
    const hnswlib = await loadHnswlib()
    // The namespaces of a process share slabs, so an index that is opened again finds one.
    const slabs = new SlabPool(kernels())
    const open = () => new PlannedIndex({ dims, slabs, hnswlib, pin, costs: costs() })
    const index = open()
    return {
      ...writes(index),
      knob: { name: "", values: [0] },
      search: (query, k) => index.search(query, k, undefined).slots,
      searchWhere: (query, k, _width, { allowed }) => index.search(query, k, allowed).slots,
      persist: () => persist(index, open, join(directory, "namespace.db"))
    }
  }
})

export const oursSwept: ContenderKind = {
  name: "ours, lists",
  countMax: 1_000_000,
  open: async ({ dims }) => {
    const index = new QuantizedIndex(new VectorArena(dims, new SlabPool(kernels()).take()))
    const search = (query: Float32Array, k: number, margin: number, allowed: Bitmap | undefined): Slots =>
      index.search(query, k, allowed, () => margin).slots
    return {
      ...writes(index),
      knob: { name: "margin", values: margins },
      search: (query, k, margin) => search(query, k, margin, undefined),
      searchWhere: (query, k, margin, { allowed }) => search(query, k, margin, allowed),
      persist: undefined
    }
  }
}

const writes = (index: Index): Pick<Contender, "add" | "settle" | "filterKind" | "replace" | "close"> => {
  let seq = 0
  return {
    add: (from, vectors) => vectors.forEach((vector, at) => index.upsert(from + at, vector, ++seq)),
    settle: () => {
      while (index.work(workMillis, () => performance.now()) > 0);
    },
    filterKind: "bitmap",
    replace: (slots, vectors) => slots.forEach((slot, at) => index.upsert(slot, vectors[at]!, ++seq)),
    close: () => index.close()
  }
}

/** Compiled once, and costs measured once, as the service does when it starts. */
let compiled: KernelFactory | undefined
export const kernels = (): KernelFactory => (compiled ??= loadKernels())
let measured: CostBook | undefined
export const costs = (): CostBook => {
  if (measured !== undefined) return measured
  const steps = measureCosts(new SlabPool(kernels()).take(), () => performance.now())
  for (;;) {
    const step = steps.next()
    if (step.done === true) return (measured = { current: step.value })
  }
}

/** The encoded vectors as BLOBs of one SQLite file with their sums, in the form that the service keeps them. */
const persist = async (index: PlannedIndex, open: () => PlannedIndex, path: string): Promise<ColdStart> => {
  const database = new DatabaseSync(path)
  database.exec("CREATE TABLE segments (segment INTEGER PRIMARY KEY, crc INTEGER NOT NULL, data BLOB NOT NULL)")
  const insert = database.prepare("INSERT INTO segments VALUES (?, ?, ?)")
  for (const segment of index.changedSegments()) {
    const data = index.encodeSegment(segment)
    if (data !== undefined) insert.run(segment, crc32(data), data)
  }
  database.close()
  return {
    bytes: (await stat(path)).size,
    firstAnswer: async (query, k) => {
      const stored = new DatabaseSync(path, { readOnly: true })
      const opened = open()
      for (const { segment, crc, data } of stored.prepare("SELECT segment, crc, data FROM segments").iterate()) {
        if (!(data instanceof Uint8Array) || crc32(data) !== crc)
          throw new Error(`segment ${String(segment)} is damaged`)
        if (opened.adoptSegment(Number(segment), data) === undefined)
          throw new Error(`segment ${String(segment)} was not taken`)
      }
      stored.close()
      const { slots } = opened.search(query, k, undefined)
      opened.close()
      return slots
    }
  }
}
