/** Compiles a committed WebAssembly file and makes instances of it, each over a memory of its own. */
import { readFileSync } from "node:fs"

export interface KernelMemory {
  readonly buffer: ArrayBuffer
  /** Replaces `buffer`: views on the old one are empty afterwards. */
  readonly grow: (pages: number) => number
}

export interface KernelInstance<Kernels> {
  readonly memory: KernelMemory
  readonly kernels: Kernels
}

/** Sizes in pages of 64 KiB; without a maximum a memory may grow to 4 GiB. */
export interface MemoryPages {
  readonly initial: number
  readonly maximum?: number
}

/** Missing from Node's type declarations. */
declare const WebAssembly: {
  readonly Memory: new (pages: MemoryPages) => KernelMemory
  readonly Module: new (code: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new <Kernels>(
    module: object,
    imports: { readonly env: { readonly memory: KernelMemory } }
  ) => { readonly exports: Kernels }
}

export const loadKernelModule = <Kernels>(file: URL): ((pages: MemoryPages) => KernelInstance<Kernels>) => {
  const module = new WebAssembly.Module(readFileSync(file))
  return (pages) => {
    const memory = new WebAssembly.Memory(pages)
    return { memory, kernels: new WebAssembly.Instance<Kernels>(module, { env: { memory } }).exports }
  }
}
