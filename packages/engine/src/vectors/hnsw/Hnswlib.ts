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
