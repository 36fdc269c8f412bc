/**
 * The optional native dependency hnswlib-node, as much of it as we use.
 *
 * It needs a compiler when it is installed, so it may be missing: it is loaded through a dynamic
 * import, and the service runs on the exact engine without it. Its types are restated here so
 * that a machine without it still type-checks.
 */

/** One native graph. Everything is synchronous except the two that touch a file. */
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

/** The module, or undefined after the reason was handed to `onUnavailable` (for log and doctor). */
export const loadHnswlib = async (onUnavailable?: (reason: string) => void): Promise<HnswlibModule | undefined> => {
  // A specifier the compiler cannot see: the package may be absent.
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
