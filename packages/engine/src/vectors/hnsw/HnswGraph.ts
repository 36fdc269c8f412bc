/**
 * One native HNSW graph (Malkov and Yashunin, arXiv 1603.09320) and the meaning of its labels. Its elements are the
 * arena's rows, decoded but still rotated, which preserves inner products.
 *
 * Labels are never reused, so a label names one version of one slot. It is live while the slot holds that version,
 * else stale: marked deleted, so that walks pass through the element but never return it.
 * Invariant: `missing` holds exactly the live slots without a live label.
 */
import type { Bitmap } from "../../bitmap/Bitmap.ts"
import type { PreparedQuery, VectorArena } from "../arena/VectorArena.ts"

export const graphM = 16
export const graphEfConstruction = 200
const graphSeed = 100

const unlabelled = -1
const capacityMin = 16_384
/** Growing rarely keeps the lock table cheap; the base layer itself grows by remapping pages. */
const capacityGrowth = 2

/** The labels of a snapshot, in order. */
export interface LabelTable {
  readonly slots: Int32Array
  readonly seqs: Float64Array
  readonly fingerprints: Uint32Array
}

export class HnswGraph {
  readonly missing: Bitmap
  readonly #arena: VectorArena
  readonly #native: NativeGraph
  readonly #scratch: Array<number>
  #capacity: number
  #labels = 0
  #staleLabels = 0
  #slotOfLabel: Int32Array
  #liveLabels = 0
  /** Live label of each slot, or `unlabelled`; slots past the end have none. */
  #labelOfSlot: Int32Array

  constructor(native: NativeGraph, arena: VectorArena, capacity: number) {
    this.#native = native
    this.#arena = arena
    this.#capacity = capacity
    this.missing = arena.live.clone()
    this.#scratch = new Array<number>(arena.width).fill(0)
    this.#slotOfLabel = new Int32Array(capacity)
    this.#labelOfSlot = new Int32Array(capacity).fill(unlabelled)
  }

  /** An empty graph with room for what is live now. */
  static empty(module: HnswlibModule, arena: VectorArena): HnswGraph {
    const capacity = Math.max(capacityMin, Math.ceil(arena.size * capacityGrowth))
    const native = new module.HierarchicalNSW("ip", arena.width)
    native.initIndex({
      maxElements: capacity,
      m: graphM,
      efConstruction: graphEfConstruction,
      randomSeed: graphSeed
    })
    return new HnswGraph(native, arena, capacity)
  }

  /** A graph read from a file; labels whose version is no longer the slot's current one are stale. */
  static attach(native: NativeGraph, arena: VectorArena, table: LabelTable): HnswGraph {
    const graph = new HnswGraph(native, arena, native.getMaxElements())
    graph.#labels = table.slots.length
    graph.#slotOfLabel.set(table.slots)
    for (let label = 0; label < graph.#labels; label++) {
      const slot = table.slots[label]!
      if (
        graph.missing.has(slot) &&
        arena.seqOf(slot) === table.seqs[label] &&
        arena.fingerprint(slot) === table.fingerprints[label]
      ) {
        graph.#bind(slot, label)
      } else {
        native.markDelete(label)
        graph.#staleLabels++
      }
    }
    return graph
  }

  get indexed(): number {
    return this.#liveLabels
  }

  get stale(): number {
    return this.#staleLabels
  }

  get staleShare(): number {
    return this.#labels === 0 ? 0 : this.#staleLabels / this.#labels
  }

  /** Adds one slot of `missing` to the graph: 0.3 to 0.6 ms. */
  add(slot: number): void {
    if (this.#labels === this.#capacity) this.#grow()
    const label = this.#labels
    this.#arena.copyRotated(slot, this.#scratch)
    this.#native.addPoint(this.#scratch, label)
    this.#labels++
    this.#slotOfLabel[label] = slot
    this.#bind(slot, label)
  }

  /** After a change of the arena: the slot's label becomes stale, and a live slot is missing. */
  retire(slot: number): void {
    const label = this.#labelOfSlot[slot] ?? unlabelled
    if (label !== unlabelled) {
      this.#native.markDelete(label)
      this.#labelOfSlot[slot] = unlabelled
      this.#liveLabels--
      this.#staleLabels++
    }
    if (this.#arena.live.has(slot)) this.missing.set(slot)
    else this.missing.clear(slot)
  }

  /**
   * Live, allowed slots near the query, best first by the graph's own float32 distances. Undefined if a filter made
   * the walk visit more than `visitsMax` elements.
   */
  candidates(
    query: PreparedQuery,
    count: number,
    ef: number,
    allowed: Bitmap | undefined,
    visitsMax: number
  ): ReadonlyArray<number> | undefined {
    if (this.indexed === 0) return []
    this.#arena.copyQuery(query, this.#scratch)
    this.#native.setEf(ef)
    const wanted = Math.min(count, this.indexed)
    if (allowed === undefined) return this.#toSlots(this.#native.searchKnn(this.#scratch, wanted).neighbors)
    const slotOfLabel = this.#slotOfLabel
    const words = allowed.words
    let visits = 0
    // Reads typed arrays only, because it must not throw. After `visitsMax` every element passes: the result heap fills
    // and the walk ends. There is no other way to stop it.
    const neighbors = this.#native.searchKnn(this.#scratch, wanted, (label) => {
      if (++visits > visitsMax) return true
      const slot = slotOfLabel[label]!
      return ((words[slot >>> 5]! >>> (slot & 31)) & 1) === 1
    }).neighbors
    return visits > visitsMax ? undefined : this.#toSlots(neighbors)
  }

  /** The labels for a snapshot. Only for a graph without stale labels. */
  labelTable(): LabelTable {
    const slots = this.#slotOfLabel.slice(0, this.#labels)
    const seqs = new Float64Array(this.#labels)
    const fingerprints = new Uint32Array(this.#labels)
    for (let label = 0; label < this.#labels; label++) {
      seqs[label] = this.#arena.seqOf(slots[label]!)
      fingerprints[label] = this.#arena.fingerprint(slots[label]!)
    }
    return { slots, seqs, fingerprints }
  }

  /** Writes the native graph on another thread; add nothing until the promise settles. */
  async write(path: string): Promise<void> {
    await this.#native.writeIndex(path)
  }

  #bind(slot: number, label: number): void {
    if (slot >= this.#labelOfSlot.length) {
      const grown = new Int32Array(Math.max(slot + 1, this.#labelOfSlot.length * capacityGrowth)).fill(unlabelled)
      grown.set(this.#labelOfSlot)
      this.#labelOfSlot = grown
    }
    this.#labelOfSlot[slot] = label
    this.#liveLabels++
    this.missing.clear(slot)
  }

  #toSlots(labels: ReadonlyArray<number>): ReadonlyArray<number> {
    return labels.map((label) => this.#slotOfLabel[label]!)
  }

  #grow(): void {
    this.#capacity = Math.ceil(this.#capacity * capacityGrowth)
    this.#native.resizeIndex(this.#capacity)
    const grown = new Int32Array(this.#capacity)
    grown.set(this.#slotOfLabel)
    this.#slotOfLabel = grown
  }
}

/**
 * The optional native dependency hnswlib-node, as far as it is used here. Installing it needs a C++ compiler, so it may
 * be missing: it is imported dynamically, its types are restated so that a machine without it type-checks, and without
 * it a pinned graph is an exact scan.
 */

/** Synchronous, except for the two methods that use a file. */
export interface NativeGraph {
  initIndex(options: {
    readonly maxElements: number
    readonly m: number
    readonly efConstruction: number
    readonly randomSeed: number
  }): void
  resizeIndex(maxElements: number): void
  addPoint(point: Array<number>, label: number): void
  markDelete(label: number): void
  setEf(ef: number): void
  /** A filter that throws aborts the process (hnswlib-node issue 132). */
  searchKnn(query: Array<number>, k: number, filter?: (label: number) => boolean): { readonly neighbors: Array<number> }
  getCurrentCount(): number
  getMaxElements(): number
  readIndex(path: string): Promise<boolean>
  writeIndex(path: string): Promise<boolean>
}

export interface HnswlibModule {
  readonly HierarchicalNSW: new (space: "ip", dims: number) => NativeGraph
}

/** The module; undefined if it cannot be loaded, with the reason given to `onUnavailable`. */
export const loadHnswlib = async (onUnavailable?: (reason: string) => void): Promise<HnswlibModule | undefined> => {
  // Hidden from the compiler: the package may be missing.
  const specifier: string = "hnswlib-node"
  try {
    const loaded: unknown = await import(specifier)
    if (hasDefault(loaded) && isHnswlib(loaded.default)) return loaded.default
    onUnavailable?.("hnswlib-node does not export HierarchicalNSW")
  } catch (cause) {
    onUnavailable?.(cause instanceof Error ? cause.message : String(cause))
  }
  return undefined
}

const hasDefault = (value: unknown): value is { readonly default: unknown } =>
  typeof value === "object" && value !== null && "default" in value

const isHnswlib = (value: unknown): value is HnswlibModule =>
  typeof value === "object" &&
  value !== null &&
  "HierarchicalNSW" in value &&
  typeof value.HierarchicalNSW === "function"
