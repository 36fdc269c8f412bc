/** Where the set-up puts the compiled kernels, outside the sources. */
import { join } from "node:path"

export const kernelsFile = join(import.meta.dirname, "..", "..", "build", "kernels.wasm")
